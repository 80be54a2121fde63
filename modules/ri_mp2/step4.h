// How step 4 is done in mixed precision on the CPU.
#pragma once

#include "modules/ri_mp2/split_choice.h"

#include <cstdint>
#include <vector>

namespace quadrille::ri_mp2 {

/// choose_split() on the CPU, where small elements are in single precision, for batches of `batch` occupied orbitals.
/// `b`: B as it was made, `errors` its errors.
SplitChoice choose_split_here(const System& system, const std::vector<double>& root, const std::vector<double>& b,
                              const Step3Errors& errors, const Options& options, std::int64_t batch);

}  // namespace quadrille::ri_mp2
