#include "modules/mgemm/product_study.h"

#include "modules/mgemm/blas.h"
#include "modules/mgemm/choice.h"
#include "modules/mgemm/cleaver.h"
#include "modules/take_turns.h"

#include <cblas.h>
#include <omp.h>

#include <algorithm>
#include <cmath>

namespace quadrille::mgemm {
namespace {

/// While it lives, OpenBLAS uses as many threads a call as OpenMP would.
class AllBlasThreads {
 public:
  AllBlasThreads() : before_(openblas_get_num_threads()) { openblas_set_num_threads(omp_get_max_threads()); }
  ~AllBlasThreads() { openblas_set_num_threads(before_); }
  AllBlasThreads(const AllBlasThreads&) = delete;
  AllBlasThreads& operator=(const AllBlasThreads&) = delete;

 private:
  int before_;
};

std::vector<float> in_single(const std::vector<double>& from) { return {from.begin(), from.end()}; }

/// Largest and root mean square difference of n x n numbers, the squares summed column by column: the same bits for any
/// number of threads.
template <class T>
void compare(const std::vector<T>& c, const std::vector<double>& reference, std::int64_t n, ProductMeasurement& to) {
  std::vector<double> largest(static_cast<std::size_t>(n)), squares(static_cast<std::size_t>(n));
#pragma omp parallel for
  for (std::int64_t j = 0; j < n; ++j) {
    double most = 0, sum = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const std::size_t at = std::size_t(j * n + i);
      const double error = std::abs(double(c[at]) - reference[at]);
      if (!(error <= most)) most = error;  // not-a-number is the worst
      sum += error * error;
    }
    largest[std::size_t(j)] = most;
    squares[std::size_t(j)] = sum;
  }
  double most = 0, sum = 0;
  for (std::size_t j = 0; j < largest.size(); ++j) {
    if (!(largest[j] <= most)) most = largest[j];
    sum += squares[j];
  }
  to.max_error = most;
  to.rms_error = std::sqrt(sum / (double(n) * double(n)));
}

class Comparison {
 public:
  Comparison(const ProductCase& one, const ProductStudyOptions& options)
      : n_(one.n),
        cutoff_(options.cutoff),
        a_(salted_matrix(n_ * n_, one.salt, one.seed, 0)),
        b_(salted_matrix(n_ * n_, one.salt, one.seed, 1)),
        single_a_(in_single(a_)),
        single_b_(in_single(b_)),
        reference_(a_.size()),
        c_(a_.size()),
        single_c_(a_.size()) {
    options_.always_split = options.always_split;
    gemm_.m = gemm_.n = gemm_.k = gemm_.lda = gemm_.ldb = gemm_.ldc = n_;
    gemm_.a = a_.data();
    gemm_.b = b_.data();
    gemm_.c = c_.data();
  }

  void dgemm() { dense_product(1.0, view(a_), view(b_), 0.0, {reference_.data(), n_, n_, n_, false}); }
  void sgemm() { dense_product(1.0f, view(single_a_), view(single_b_), 0.0f, {single_c_.data(), n_, n_, n_, false}); }
  void panels() { (void)cleaver(gemm_); }
  void mixed() { report_ = mgemm(gemm_, cutoff_, options_); }

  /// What mgemm does before it multiplies.
  void analyse() const {
    const auto [max_a, max_b] = check_numbers(gemm_);
    (void)choose_form(check_arguments(gemm_), max_a, max_b, cutoff_, options_);
  }

  void errors_of_single(ProductMeasurement& to) const { compare(single_c_, reference_, n_, to); }
  void errors_of_c(ProductMeasurement& to) const { compare(c_, reference_, n_, to); }
  const MgemmReport& report() const { return report_; }

 private:
  template <class T>
  DenseView<const T> view(const std::vector<T>& matrix) const {
    return {matrix.data(), n_, n_, n_, false};
  }

  std::int64_t n_;
  Cutoff cutoff_;
  MgemmOptions options_;
  std::vector<double> a_, b_;
  std::vector<float> single_a_, single_b_;
  std::vector<double> reference_, c_;
  std::vector<float> single_c_;
  Gemm<double> gemm_;
  MgemmReport report_;
};

}  // namespace

std::vector<ProductMeasurement> measure_products(const ProductCase& one, const ProductStudyOptions& options,
                                                 bool with_module) {
  const AllBlasThreads threads;
  Comparison work(one, options);
  std::vector<ProductMeasurement> out(with_module ? 4 : 2);
  const auto multiply = [&](std::size_t which) {
    switch (which) {
      case 0: return work.dgemm();
      case 1: return work.sgemm();
      case 2: return work.panels();
      default: return work.mixed();
    }
  };
  constexpr const char* names[] = {"dgemm", "sgemm", "cleaver", "mgemm"};
  for (std::size_t which = 0; which < out.size(); ++which) {  // touches the memory, too, before anything is timed
    out[which].product = names[which];
    multiply(which);
    if (which == 1) work.errors_of_single(out[which]);
    if (which >= 2) work.errors_of_c(out[which]);
  }
  std::vector<std::vector<double>> times(out.size());
  std::vector<double> analyses;
  take_turns(options.repeats, out.size(), [&](std::size_t which) {
    times[which].push_back(seconds_of([&] { multiply(which); }));
    if (which == 3) analyses.push_back(seconds_of([&] { work.analyse(); }));
  });
  for (std::size_t which = 0; which < out.size(); ++which) out[which].seconds = median(times[which]);
  if (with_module) {
    out[3].report = work.report();
    out[3].analysis_seconds = median(analyses);
  }
  return out;
}

}  // namespace quadrille::mgemm
