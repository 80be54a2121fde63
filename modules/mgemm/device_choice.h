// Which form a product takes on a GPU: how the small elements are multiplied, the cutoff, the length of sums, and
// whether to split at all. Host arithmetic only.
#pragma once

#include "modules/mgemm/form_bound.h"
#include "modules/mgemm/mgemm.h"

#include <cstddef>
#include <string>

namespace quadrille::mgemm {

struct DeviceChoice {
  bool split = false;
  SmallForm form = SmallForm::single;
  std::int64_t depth = 0;
  std::size_t cutoff = 0;  ///< number in the profiles
  ErrorBound bound;        ///< of the split
  double expected_speedup = 1;
  std::string reason;
};

/// Where profiles come from: of a sample (magnitude_sample.h), an analysis is still to come and counts; of that it is
/// done, and a split is taken that is faster than double from there on.
enum class Known { sampled, analysed };

/// Of the forms, lengths of sums and cutoffs of the profiles (the same in both, rising) whose bound is below what is
/// asked for, the one that is expected to take least. What is asked for: of an automatic cutoff its target error; of a
/// given one what the form `single` with sums of 2048 terms keeps; of a given cutoff and form nothing.
DeviceChoice choose_on_device(const ProductShape& shape, const FactorProfile& a, const FactorProfile& b, Known known,
                              const Cutoff& cutoff, const MgemmOptions& options);

/// Errors: ErrorCode::unsupported for an automatic cutoff with the assurance measured: products on a GPU are not
/// sampled.
void require_no_sample(const Cutoff& cutoff);

/// Terms of sums where nothing asks for others: matrix units cut sums, which must be shorter for the same error.
std::int64_t usual_depth(const FormTraits& form);

}  // namespace quadrille::mgemm
