#include "modules/mgemm/product/cuda/device_product.h"

#include "core/backend/cuda/runtime.h"
#include "core/error.h"
#include "modules/shared/dense/cuda/cublas.h"
#include "modules/shared/dense/magnitude_split.h"

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

std::int64_t split_bytes(const ProductShape& s, std::int64_t large, const FormTraits& form) {
  return DeviceFactor::bytes(s.m, s.k, form) + DeviceFactor::bytes(s.n, s.k, form) + multiply_bytes(s.m, s.n, s.k) +
         12 * large;
}

std::int64_t split_bytes_beside_panels(std::int64_t depth, std::int64_t large, const FormTraits& form) {
  return split_bytes({0, 0, depth}, large, form) + transposed_panel_bytes(depth);
}

std::optional<PanelPlan> plan_device_split(const ProductShape& shape, std::int64_t large, const FormTraits& form,
                                           std::int64_t bytes) {
  if (split_bytes(shape, large, form) <= bytes) return PanelPlan(shape, shape.m, shape.n, shape.k, true);
  PanelMemory memory;
  const std::int64_t rest = split_bytes_beside_panels(std::min(shape.k, large_slab), large, form);
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

}  // namespace quadrille::mgemm
