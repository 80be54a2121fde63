// Step 3 in double, single or mixed precision, and what step 4 has to know of the errors of a split product.
#pragma once

#include "modules/mgemm/product/mgemm.h"
#include "modules/ri_mp2/ri_mp2.h"

#include <cstdint>
#include <string>
#include <vector>

namespace quadrille::ri_mp2 {

/// The errors of B, which only a split product makes larger than those of double.
struct Step3Errors {
  bool split = false;  ///< otherwise B is exact to double
  double bound = 0;    ///< of a split product: no element of B is wrong by more

  /// What no integral is wrong by more than. With e = bound and the rows B_r as they were made,
  /// |B_r . B_s - (B_r - d_r) . (B_s - d_s)| <= e (|B_r|_1 + |B_s|_1) + n e^2 <= 2 e sqrt(n) max |B_r|_2 + n e^2.
  /// `squares`: |B_r|^2 of every pair; n functions of the auxiliary basis.
  double of_integrals(const std::vector<double>& squares, std::int64_t n) const;
};

/// What mgemm is told.
mgemm::MgemmOptions mgemm_options(const Options& options);

/// Whether step 3 is to be a split product.
bool splits_step3(const Options& options);

/// What is done instead where the errors of a split step 3 are too large.
Options with_step3_in_double(Options options);

/// What Step::form then says; `error`: of the energy, in Hartree.
std::string coarse_step3_form(const Options& options, double error);

/// What was done, wherever it was done: sets step.form.
Step3Errors describe_step3(const mgemm::MgemmReport& report, Step& step);

/// Rows of B = as many of (ia|P) times the root, wherever the three are.
template <class T>
mgemm::Gemm<T> rows_of_step3(const System& system, std::int64_t rows, const T* ia_p, const T* root, T* b) {
  const std::int64_t n = system.auxiliary;
  return {.order = mgemm::Order::rows,
          .m = rows,
          .n = n,
          .k = n,
          .a = ia_p,
          .lda = n,
          .b = root,
          .ldb = n,
          .c = b,
          .ldc = n};
}
template <class T>
mgemm::Gemm<T> product_of_step3(const System& system, const T* ia_p, const T* root, T* b) {
  return rows_of_step3(system, system.pairs(), ia_p, root, b);
}

/// B_ia^Q by the CPU, [occupied][virtuals][auxiliary]. Sets step.form and adds to the rest of `step`.
std::vector<double> make_b_here(const System& system, const Options& options, const std::vector<double>& root,
                                Step& step, Step3Errors& errors);

}  // namespace quadrille::ri_mp2
