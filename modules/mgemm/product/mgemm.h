// MGEMM: a double-precision matrix product done mostly in single precision (Watson, Olivares-Amaya, Edgar,
// Aspuru-Guzik, Comput. Sci. Eng. 12(4) (2010) 40; Olivares-Amaya et al., JCTC 6 (2010) 135, doi:10.1021/ct900543q).
//
// Elements with |a| > delta are large. A B = A_large B + A_small B_large + A_small B_small: the first two are sparse
// products in double, the last is a dense product in single.
#pragma once

#include "core/api.h"
#include "core/system/names.h"
#include "modules/mgemm/choice/cost_model.h"
#include "modules/mgemm/choice/device_cost.h"
#include "modules/mgemm/choice/forms.h"
#include "modules/mgemm/product/arguments.h"
#include "modules/mgemm/product/blas.h"

#include <cstdint>
#include <string>

namespace quadrille {
class Backend;
}

namespace quadrille::mgemm {

/// What was done in the end.
enum class MgemmForm {
  split,         ///< large elements in double, small ones in `SmallForm`
  plain_double,  ///< everything in double
};

/// What an automatic cutoff must keep below its target: the bound of all rounding errors, which is far above those of
/// most products; that of independent rounding errors (error_bound.h); or what a sample of the product shows
/// (sampled_error.h), which a single product takes on the CPU only.
enum class Assurance { certain, probable, measured };
inline constexpr Named<Assurance> assurance_names[] = {
    {Assurance::certain, "certain"}, {Assurance::probable, "probable"}, {Assurance::measured, "measured"}};

struct Cutoff {
  bool automatic = false;
  double delta = 0;         ///< not automatic: the cutoff, >= 0
  double target_error = 0;  ///< automatic: largest absolute error wanted of an element of op(A) op(B), > 0
  Assurance assurance = Assurance::certain;

  static Cutoff at(double delta) { return {false, delta, 0, Assurance::certain}; }
  static Cutoff for_error(double target, Assurance assurance = Assurance::certain) {
    return {true, 0, target, assurance};
  }
};

struct MgemmOptions {
  SmallForm small_form = SmallForm::automatic;
  /// Who multiplies: the CPU where null; with the CUDA backend operands pass through the memory of the device, and the
  /// memory cap is of that.
  Backend* backend = nullptr;
  std::int64_t memory_cap = 0;  ///< bytes that panels and lists of large elements may take; 0: no limit
  std::int64_t depth = 0;       ///< longest sum in single precision; 0: chosen (2048, or less for the target error)
  bool always_split = false;    ///< also where it is not expected to be faster, or the product is small
  CostModel cost{};
  DeviceCostModel device_cost{};
  Pause pause = {};  ///< on the CPU
};

struct MgemmReport {
  MgemmForm form = MgemmForm::plain_double;
  SmallForm small_form = SmallForm::single;  ///< of the split
  double delta = 0;                          ///< of the split
  std::int64_t depth = 0;                    ///< longest sum in single precision
  bool analysed = false;                     ///< the fractions below are known
  double large_a = 0, large_b = 0;           ///< fractions of large elements, for that delta or the smallest one tried
  std::int64_t large_elements = 0;           ///< their number in both
  double bound = 0;                          ///< no element of op(A) op(B) has a larger absolute error
  double probable_bound = 0;                 ///< see error_bound.h
  double measured = 0;                       ///< see sampled_error.h; 0 where nothing was measured
  double expected_speedup = 1;               ///< of the split over plain double, by the cost model
  std::int64_t panel_bytes = 0;              ///< taken by panels and lists of large elements
  std::string reason;                        ///< why this form
};

/// C = alpha op(A) op(B) + beta C. beta = 0 does not read C, and alpha = 0 or k = 0 neither A nor B. Uses as many
/// threads as OpenMP would; every dense product is one thread's, so that their number does not enter the result.
/// Errors: those of check_arguments and check_numbers, ErrorCode::invalid_input for a cutoff, a cap, a depth or a form
/// that cannot be; C is as it was then. ErrorCode::unsupported for what fails on the device, and for the assurance
/// measured there.
QUADRILLE_API MgemmReport mgemm(const Gemm<double>& gemm, const Cutoff& cutoff, const MgemmOptions& options = {});

/// Errors: ErrorCode::invalid_input for what mgemm refuses.
QUADRILLE_API void check_choices(const Cutoff& cutoff, const MgemmOptions& options);

QUADRILLE_API std::string to_string(MgemmForm form);
QUADRILLE_API std::string to_string(Assurance assurance);

}  // namespace quadrille::mgemm
