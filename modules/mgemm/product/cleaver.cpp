#include "modules/mgemm/product/cleaver.h"

#include "core/backend/backend.h"
#include "core/backend/of_backend.h"
#include "core/error.h"
#include "modules/mgemm/device.h"
#include "modules/mgemm/product/blas.h"

#include <algorithm>
#include <memory>

namespace quadrille::mgemm {
namespace {

/// Panels below this many numbers are copied by one thread: waking others takes longer.
constexpr std::int64_t worth_threads = 1 << 14;

/// Copies into a panel without gaps, in the storage order of `from`.
template <class T>
DenseView<T> copy_in(DenseView<const T> from, T* panel) {
  const std::int64_t length = from.line_length();
#pragma omp parallel for schedule(static) if (from.rows * from.cols > worth_threads)
  for (std::int64_t n = 0; n < from.lines(); ++n) std::copy_n(from.line(n), length, panel + n * length);
  return from.packed(panel);
}

template <class T>
void copy_out(DenseView<const T> panel, DenseView<T> to) {
#pragma omp parallel for schedule(static) if (to.rows * to.cols > worth_threads)
  for (std::int64_t n = 0; n < to.lines(); ++n) std::copy_n(panel.line(n), to.line_length(), to.line(n));
}

template <class T>
class Staging {
 public:
  Staging(const Operands<T>& operands, std::int64_t cap, const Pause& pause)
      : operands_(operands), pause_(pause), plan_(make_plan(operands, cap)) {
    report_.panel_bytes = plan_.bytes(memory(cap));
    a_memory_ = std::make_unique_for_overwrite<T[]>(std::size_t(plan_.rows() * plan_.depth()));
    b_memory_ = std::make_unique_for_overwrite<T[]>(std::size_t(plan_.depth() * plan_.columns()));
    c_memory_ = std::make_unique_for_overwrite<T[]>(std::size_t(plan_.rows() * plan_.columns()));
  }

  CleaverReport run() {
    for (std::int64_t number = 0; number < plan_.steps(); ++number) product(plan_.step(number));
    report_.steps = plan_.steps();
    return report_;
  }

 private:
  static PanelMemory memory(std::int64_t cap) {
    PanelMemory memory;
    memory.cap = cap;
    memory.a_bytes = memory.b_bytes = memory.c_bytes = int(sizeof(T));
    return memory;
  }
  static PanelPlan make_plan(const Operands<T>& o, std::int64_t cap) {
    return plan_panels({o.m(), o.n(), o.k()}, memory(cap), o.beta != T(0));
  }
  void count(std::int64_t rows, std::int64_t cols) { report_.staged_bytes += rows * cols * std::int64_t(sizeof(T)); }

  void product(const PanelStep& s) {
    const DenseView<T> c = operands_.c.block(s.row, s.column, s.rows, s.columns);
    if (s.load_a) {
      a_ = copy_in(operands_.a.block(s.row, s.depth, s.rows, s.depths), a_memory_.get());
      count(s.rows, s.depths);
    }
    if (s.load_b) {
      b_ = copy_in(operands_.b.block(s.depth, s.column, s.depths, s.columns), b_memory_.get());
      count(s.depths, s.columns);
    }
    if (s.begins_c && operands_.beta != T(0)) {
      c_ = copy_in(c.constant(), c_memory_.get());
      count(s.rows, s.columns);
    } else if (s.begins_c) {
      c_ = {c_memory_.get(), s.rows, s.columns, s.rows, false};
    }
    shared_product(operands_.alpha, a_.constant(), b_.constant(), s.begins_c ? operands_.beta : T(1), c_, pause_);
    if (s.ends_c) {
      copy_out(c_.constant(), c);
      count(s.rows, s.columns);
    }
  }

  const Operands<T>& operands_;
  const Pause& pause_;
  PanelPlan plan_;
  CleaverReport report_;
  std::unique_ptr<T[]> a_memory_, b_memory_, c_memory_;
  DenseView<T> a_, b_, c_;
};

}  // namespace

template <class T>
CleaverReport multiply_panels(const Operands<T>& o, std::int64_t memory_cap, const Pause& pause) {
  const bool leading_fits = std::max({o.a.ld, o.b.ld, o.c.ld}) <= max_blas_extent;
  if (memory_cap > 0) return Staging<T>(o, memory_cap, pause).run();
  // OpenBLAS counts in 32 bits: matrices that lie too far apart for it pass through panels of 1 GiB.
  if (!leading_fits) return Staging<T>(o, std::int64_t(1) << 30, pause).run();
  shared_product(o.alpha, o.a, o.b, o.beta, o.c, pause);
  return {0, 1, 0};
}

template <class T>
CleaverReport cleaver(const Gemm<T>& gemm, const CleaverOptions& options) {
  const Operands<T> operands = check_arguments(gemm);
  if (options.memory_cap < 0) throw Error(ErrorCode::invalid_input, "the memory cap cannot be negative");
  check_numbers(gemm);
  const bool on_device = options.backend != nullptr && !options.backend->host_memory();
  if (gemm.has_product()) {
    return on_device
               ? with_cuda<CleaverReport>([&](auto) { return multiply_panels_on_device(operands, options.memory_cap); })
               : multiply_panels(operands, options.memory_cap, options.pause);
  }
  if (gemm.m > 0 && gemm.n > 0) scale(operands.c, operands.beta);
  return {};
}

template CleaverReport cleaver(const Gemm<double>&, const CleaverOptions&);
template CleaverReport cleaver(const Gemm<float>&, const CleaverOptions&);
template CleaverReport multiply_panels(const Operands<double>&, std::int64_t, const Pause&);
template CleaverReport multiply_panels(const Operands<float>&, std::int64_t, const Pause&);

}  // namespace quadrille::mgemm
