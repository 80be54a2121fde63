#include "modules/mgemm/cuda/device_product.h"

#include "core/backend/cuda/runtime.h"
#include "core/dense/cuda/cublas.h"
#include "core/error.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace quadrille::mgemm {

template <class T>
void dense_product_on_device(T alpha, DenseView<const T> a, DenseView<const T> b, T beta, DenseView<T> c) {
  const auto operation = [](const DenseView<const T>& view) { return view.by_rows ? CUBLAS_OP_T : CUBLAS_OP_N; };
  if constexpr (std::is_same_v<T, double>) {
    QUADRILLE_CUBLAS_CHECK(cublasDgemm_64(cuda::cublas(), operation(a), operation(b), c.rows, c.cols, a.cols, &alpha,
                                          a.data, a.ld, b.data, b.ld, &beta, c.data, c.ld));
  } else {
    QUADRILLE_CUBLAS_CHECK(cublasSgemm_64(cuda::cublas(), operation(a), operation(b), c.rows, c.cols, a.cols, &alpha,
                                          a.data, a.ld, b.data, b.ld, &beta, c.data, c.ld));
  }
}

template void dense_product_on_device(double, DenseView<const double>, DenseView<const double>, double,
                                      DenseView<double>);
template void dense_product_on_device(float, DenseView<const float>, DenseView<const float>, float, DenseView<float>);

void multiply_split_panels(const DeviceSplit& split, double alpha, DenseView<const double> a, bool load_a,
                           DenseView<const double> b, bool load_b, double beta, DenseView<double> c,
                           DevicePanels& panels) {
  const FormTraits& form = traits_of(split.form);
  // Both are asked for before the first is waited for. What is replaced goes first: its memory is needed.
  if (load_a) {
    panels.a.reset();
    panels.a.emplace(a, Side::left).analyse(split.delta);
  }
  if (load_b) {
    panels.b.reset();
    panels.b.emplace(b, Side::right).analyse(split.delta);
  }
  if (load_a) panels.a->convert(form);
  if (load_b) panels.b->convert(form);
  multiply_converted(alpha, {&*panels.a, 0, c.rows}, {&*panels.b, 0, c.cols}, beta, c, split.depth);
}

std::int64_t split_bytes(const ProductShape& s, std::int64_t large, const FormTraits& form) {
  return DeviceFactor::bytes(s.m, s.k, form) + DeviceFactor::bytes(s.n, s.k, form) + multiply_bytes(s.m, s.n, s.k) +
         12 * large;
}

std::optional<PanelPlan> plan_device_split(const ProductShape& shape, std::int64_t large, const FormTraits& form,
                                           std::int64_t bytes) {
  if (split_bytes(shape, large, form) <= bytes) return PanelPlan(shape, shape.m, shape.n, shape.k, true);
  PanelMemory memory;
  // What belongs to neither panels nor sums, for panels as long as they may be.
  const std::int64_t rest = split_bytes({0, 0, std::min(shape.k, large_slab)}, large, form);
  memory.min_k = shortest_split_panel;
  memory.max_k = large_slab;
  memory.cap = bytes - rest;
  memory.a_bytes = memory.b_bytes = padded_part_bytes(form);
  // Sums in single precision, which come in multiples of 16 lines, and what is turned for sparse products.
  memory.c_bytes = 9;
  if (memory.cap < bytes / 2) return {};
  const std::optional<PanelPlan> plan = find_panels(shape, memory, true);
  if (!plan || split_bytes({plan->rows(), plan->columns(), plan->depth()}, large, form) > bytes) return {};
  return plan;
}

std::int64_t device_budget(std::int64_t memory_cap) {
  const std::int64_t free = std::int64_t(0.95 * double(cuda::available_bytes()));
  return memory_cap > 0 ? std::min(memory_cap, free) : free;
}

void describe(const DeviceChoice& choice, const FactorProfile& a, const FactorProfile& b, const ProductShape& shape,
              bool swapped, MgemmReport& report) {
  const CutoffExtremesOfLines &of_a = a.extremes[choice.cutoff], &of_b = b.extremes[choice.cutoff];
  report.analysed = true;
  report.delta = a.deltas[choice.cutoff];
  report.large_elements = of_a.large + of_b.large;
  report.large_a = double(of_a.large) / (double(shape.m) * double(shape.k));
  report.large_b = double(of_b.large) / (double(shape.k) * double(shape.n));
  if (swapped) std::swap(report.large_a, report.large_b);
  report.expected_speedup = choice.expected_speedup;
  report.reason = choice.reason;
  report.form = choice.split ? MgemmForm::split : MgemmForm::plain_double;
  if (choice.split) {
    report.small_form = choice.form;
    report.depth = choice.depth;
    report.bound = choice.bound.certain;
    report.probable_bound = choice.bound.probable;
  } else {
    report.bound = report.probable_bound = double_error_bound(shape.k, a.max_abs, b.max_abs);
  }
}

}  // namespace quadrille::mgemm
