#include "modules/ri_mp2/step3.h"

#include "modules/mgemm/product/cleaver.h"
#include "modules/shared/study/take_turns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace quadrille::ri_mp2 {
namespace {

using mgemm::ProductPrecision;

void multiply_in_single(const System& system, const std::vector<double>& root, std::vector<double>& b) {
  const std::vector<float> a(system.ia_p.begin(), system.ia_p.end()), x(root.begin(), root.end());
  std::vector<float> c(b.size());
  (void)mgemm::cleaver(product_of_step3(system, a.data(), x.data(), c.data()));
  std::copy(c.begin(), c.end(), b.begin());
}

}  // namespace

double Step3Errors::of_integrals(const std::vector<double>& squares, std::int64_t n) const {
  const double longest = std::sqrt(*std::max_element(squares.begin(), squares.end()));
  return 2 * bound * std::sqrt(double(n)) * longest + double(n) * bound * bound;
}

mgemm::MgemmOptions mgemm_options(const Options& options) {
  mgemm::MgemmOptions out;
  out.always_split = options.products.always_split;
  out.small_form = options.small_form;
  out.backend = options.backend;
  return out;
}

bool splits_step3(const Options& options) {
  return options.products.precision == ProductPrecision::mgemm && !options.step3.automatic;
}

Options with_step3_in_double(Options options) {
  options.step3 = mgemm::Cutoff::for_error(0);
  return options;
}

std::string coarse_step3_form(const Options& options, double error) {
  return fmt::format(
      "double: delta_step3 = {:.3g} alone may change the energy by {:.3g} Hartree, which is above the target",
      options.step3.delta, error);
}

Step3Errors describe_step3(const mgemm::MgemmReport& report, Step& step) {
  if (report.form == mgemm::MgemmForm::plain_double) {
    step.form = "double: " + report.reason;
    return {};
  }
  const std::string small = report.small_form == mgemm::SmallForm::single
                                ? ""
                                : fmt::format(", small elements in {}", mgemm::to_string(report.small_form));
  step.form = fmt::format("mgemm{}, delta {:.3g}, large {:.2e} and {:.2e}", small, report.delta, report.large_a,
                          report.large_b);
  return {true, report.bound};
}

std::vector<double> make_b_here(const System& system, const Options& options, const std::vector<double>& root,
                                Step& step, Step3Errors& errors) {
  const double began = now();
  std::vector<double> b(system.ia_p.size());
  const mgemm::Gemm<double> gemm = product_of_step3(system, system.ia_p.data(), root.data(), b.data());
  errors = {};
  if (options.products.precision == ProductPrecision::single) {
    multiply_in_single(system, root, b);
    step.form = "single";
  } else if (splits_step3(options)) {
    errors = describe_step3(mgemm::mgemm(gemm, options.step3, mgemm_options(options)), step);
  } else {  // an automatic cutoff has no error to give away here, where a tenth of the work is
    (void)mgemm::cleaver(gemm);
    step.form = "double";
  }
  step.seconds += now() - began;
  step.flops += 2.0 * double(gemm.m) * double(gemm.n) * double(gemm.k);
  return b;
}

}  // namespace quadrille::ri_mp2
