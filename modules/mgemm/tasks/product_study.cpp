#include "modules/mgemm/tasks/product_study.h"

#include "core/backend/of_backend.h"
#include "modules/mgemm/choice/host_choice.h"
#include "modules/mgemm/product/blas.h"
#include "modules/mgemm/product/compared_products.h"
#include "modules/shared/study/differences.h"
#include "modules/shared/study/take_turns.h"

#include <cblas.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

namespace quadrille::mgemm {
namespace {

std::vector<float> in_single(const std::vector<double>& from) { return {from.begin(), from.end()}; }

/// Errors of all elements.
template <class T>
void compare(const std::vector<T>& c, const std::vector<double>& reference, std::int64_t n, ProductMeasurement& to) {
  Differences differences;
  differences.add(c.data(), reference.data(), n, n);
  to.max_error = differences.largest();
  to.rms_error = differences.rms();
}

class HostProducts : public ComparedProducts {
 public:
  explicit HostProducts(ComparedCase one)
      : one_(std::move(one)),
        single_a_(in_single(one_.a)),
        single_b_(in_single(one_.b)),
        reference_(one_.a.size()),
        c_(one_.a.size()),
        single_c_(one_.a.size()) {}

  void dgemm() override { dense_product(1.0, view(one_.a), view(one_.b), 0.0, to(reference_)); }
  void sgemm() override { dense_product(1.0f, view(single_a_), view(single_b_), 0.0f, to(single_c_)); }
  CleaverReport panels() override { return cleaver(gemm_, {one_.memory_cap, nullptr}); }
  MgemmReport mixed() override { return mgemm(gemm_, one_.cutoff, one_.options); }
  void analyse() override {
    (void)choose_on_host(check_arguments(gemm_), check_numbers(gemm_), one_.cutoff, one_.options);
  }

  const std::vector<double>& of_dgemm() override { return reference_; }
  const std::vector<float>& of_sgemm() override { return single_c_; }
  const std::vector<double>& of_module() override { return c_; }

 private:
  template <class T>
  DenseView<const T> view(const std::vector<T>& matrix) const {
    return {matrix.data(), one_.n, one_.n, one_.n, false};
  }
  template <class T>
  DenseView<T> to(std::vector<T>& matrix) const {
    return {matrix.data(), one_.n, one_.n, one_.n, false};
  }

  ComparedCase one_;
  std::vector<float> single_a_, single_b_;
  std::vector<double> reference_, c_;
  std::vector<float> single_c_;
  Gemm<double> gemm_{.m = one_.n,
                     .n = one_.n,
                     .k = one_.n,
                     .a = one_.a.data(),
                     .lda = one_.n,
                     .b = one_.b.data(),
                     .ldb = one_.n,
                     .c = c_.data(),
                     .ldc = one_.n};
};

std::unique_ptr<ComparedProducts> make_products(const ProductCase& one, const ProductStudyOptions& options) {
  ComparedCase made;
  made.n = one.n;
  made.a = salted_matrix(one.n * one.n, one.salt, one.seed, 0);
  made.b = salted_matrix(one.n * one.n, one.salt, one.seed, 1);
  made.cutoff = options.cutoff;
  made.options.always_split = options.always_split;
  made.options.backend = options.backend;
  made.memory_cap = options.memory_cap;
  const bool here = options.backend == nullptr || options.backend->host_memory();
  if (here) return std::make_unique<HostProducts>(std::move(made));
  return with_cuda<std::unique_ptr<ComparedProducts>>([&](auto) { return products_on_device(std::move(made)); });
}

}  // namespace

std::vector<ProductMeasurement> measure_products(const ProductCase& one, const ProductStudyOptions& options,
                                                 bool with_module) {
  const AllBlasThreads threads;
  const std::unique_ptr<ComparedProducts> work = make_products(one, options);
  std::vector<ProductMeasurement> out(with_module ? 4 : 2);
  MgemmReport report;
  CleaverReport panels;
  const auto multiply = [&](std::size_t which) {
    switch (which) {
      case 0: return work->dgemm();
      case 1: return work->sgemm();
      case 2: panels = work->panels(); break;
      default: report = work->mixed();
    }
  };
  constexpr const char* names[] = {"dgemm", "sgemm", "cleaver", "mgemm"};
  const std::vector<double>* reference = nullptr;
  for (std::size_t which = 0; which < out.size(); ++which) {  // touches the memory, too, before anything is timed
    out[which].product = names[which];
    multiply(which);
    if (which == 0) reference = &work->of_dgemm();
    if (which == 1) compare(work->of_sgemm(), *reference, one.n, out[which]);
    if (which >= 2) compare(work->of_module(), *reference, one.n, out[which]);
  }
  std::vector<std::vector<double>> times(out.size());
  std::vector<double> analyses;
  take_turns(options.repeats, out.size(), [&](std::size_t which) {
    times[which].push_back(seconds_of([&] { multiply(which); }));
    if (which == 3) analyses.push_back(seconds_of([&] { work->analyse(); }));
  });
  for (std::size_t which = 0; which < out.size(); ++which) out[which].seconds = median(times[which]);
  if (with_module) {
    out[2].panel_bytes = panels.panel_bytes;
    out[3].report = report;
    out[3].analysis_seconds = median(analyses);
  }
  return out;
}

}  // namespace quadrille::mgemm
