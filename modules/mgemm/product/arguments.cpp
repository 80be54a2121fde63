#include "modules/mgemm/product/arguments.h"

#include "core/error.h"
#include "modules/shared/dense/magnitude_split.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace quadrille::mgemm {
namespace {

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorCode::invalid_input, message); }

void check_size(const char* name, std::int64_t value) {
  if (value < 0) refuse(fmt::format("{} = {}: a size cannot be negative", name, value));
  if (value > std::numeric_limits<std::int32_t>::max()) {
    refuse(fmt::format("{} = {}: sizes are at most {}", name, value, std::numeric_limits<std::int32_t>::max()));
  }
}

struct Stored {
  const char* matrix;
  const char* leading;
  std::int64_t rows, cols, ld;
};

void check_leading(const Stored& s, Order order) {
  const bool by_rows = order == Order::rows;
  const std::int64_t least = std::max<std::int64_t>(1, by_rows ? s.cols : s.rows);
  if (s.ld < least) {
    refuse(fmt::format("{} = {}: {} is stored by {} as a {} x {} matrix, so {} must be at least {}", s.leading, s.ld,
                       s.matrix, by_rows ? "rows" : "columns", s.rows, s.cols, s.leading, least));
  }
}

void check_pointer(const char* matrix, const void* pointer) {
  if (pointer == nullptr) refuse(fmt::format("{} is a null pointer", matrix));
}

template <class T>
void check_scalar(const char* name, T value) {
  if (!std::isfinite(value)) throw Error(ErrorCode::numerical, fmt::format("{} = {} is not finite", name, value));
}

template <class T>
DenseView<const T> stored_a(const Gemm<T>& g) {
  const bool turned = g.trans_a == Transpose::yes;
  return {g.a, turned ? g.k : g.m, turned ? g.m : g.k, g.lda, g.order == Order::rows};
}

template <class T>
DenseView<const T> stored_b(const Gemm<T>& g) {
  const bool turned = g.trans_b == Transpose::yes;
  return {g.b, turned ? g.n : g.k, turned ? g.k : g.n, g.ldb, g.order == Order::rows};
}

template <class T>
double check_matrix(const char* name, const DenseView<const T>& matrix) {
  const FiniteCheck check = check_finite(matrix);
  if (check.row < 0) return check.max_abs;
  const double value = double(matrix(check.row, check.col));
  throw Error(ErrorCode::numerical,
              fmt::format("{}: the element in row {}, column {} (from 0) is {}; it must be finite", name, check.row,
                          check.col, std::isnan(value) ? "NaN" : "infinite"));
}

}  // namespace

template <class T>
Operands<T> check_arguments(const Gemm<T>& g) {
  check_size("m", g.m);
  check_size("n", g.n);
  check_size("k", g.k);
  const DenseView<const T> a = stored_a(g), b = stored_b(g);
  check_leading({"A", "lda", a.rows, a.cols, a.ld}, g.order);
  check_leading({"B", "ldb", b.rows, b.cols, b.ld}, g.order);
  check_leading({"C", "ldc", g.m, g.n, g.ldc}, g.order);
  if (g.m > 0 && g.n > 0) check_pointer("C", g.c);
  if (g.has_product()) {
    check_pointer("A", g.a);
    check_pointer("B", g.b);
  }
  check_scalar("alpha", g.alpha);
  check_scalar("beta", g.beta);
  const DenseView<const T> op_a = g.trans_a == Transpose::yes ? a.transposed() : a;
  const DenseView<const T> op_b = g.trans_b == Transpose::yes ? b.transposed() : b;
  const DenseView<T> c{g.c, g.m, g.n, g.ldc, g.order == Order::rows};
  if (!c.by_rows) return {op_a, op_b, c, g.alpha, g.beta, false};
  return {op_b.transposed(), op_a.transposed(), c.transposed(), g.alpha, g.beta, true};
}

template <class T>
LargestMagnitudes check_numbers(const Gemm<T>& g) {
  LargestMagnitudes most;
  if (g.has_product()) {
    most.a = check_matrix("A", stored_a(g));
    most.b = check_matrix("B", stored_b(g));
  }
  const DenseView<const T> c{g.c, g.m, g.n, g.ldc, g.order == Order::rows};
  if (g.beta != T(0) && g.m > 0 && g.n > 0) check_matrix("C", c);
  if (c.by_rows) std::swap(most.a, most.b);
  return most;
}

template <class T>
void scale(DenseView<T> c, T beta) {
  if (beta == T(1)) return;
#pragma omp parallel for schedule(static)
  for (std::int64_t n = 0; n < c.lines(); ++n) {
    T* line = c.line(n);
    if (beta == T(0)) {
      std::fill_n(line, c.line_length(), T(0));
    } else {
      for (std::int64_t i = 0; i < c.line_length(); ++i) line[i] *= beta;
    }
  }
}

template struct Operands<double>;
template struct Operands<float>;
template Operands<double> check_arguments(const Gemm<double>&);
template Operands<float> check_arguments(const Gemm<float>&);
template LargestMagnitudes check_numbers(const Gemm<double>&);
template LargestMagnitudes check_numbers(const Gemm<float>&);
template void scale(DenseView<double>, double);
template void scale(DenseView<float>, float);

}  // namespace quadrille::mgemm
