// Field algebra on its fused operations.
#include "core/blas/blas.h"

#include "core/blas/launch.h"
#include "core/blas/ops.h"
#include "core/simd/isa.h"
#include "core/simd/of_isa.h"

#include <algorithm>
#include <array>
#include <span>
#include <type_traits>

#include <vector>

namespace quadrille::blas {

QUADRILLE_DECLARE_FOR_ISAS(ChunkKernel, find_kernel, (int op, Precision precision, int lanes))
void run_cuda(const cuda::AlgebraCall& call, double* sums);

namespace {

const OpSet& op_set() {
  static const OpSet set = make_set(
      Ops{},
      [](Isa isa, int number, Precision precision, int lanes) {
        return QUADRILLE_OF_ISA(isa, find_kernel)(number, precision, lanes);
      },
      [](auto) { return &run_cuda; });
  return set;
}

template <class Op>
auto run(const Op& op, const FieldsOf<Op>& fields) {
  return launch(op_set(), Ops::number_of<Op>(), op, fields);
}

Coefficient coefficient(Complex a) { return {a.real(), a.imag()}; }

/// Calls pass(first, count) for the fields first to first + count, four at a time; count is a constant.
template <class Pass>
void in_passes(std::size_t fields, const Pass& pass) {
  constexpr std::size_t most = 4;
  for (std::size_t first = 0; first < fields; first += most) {
    switch (std::min(most, fields - first)) {
      case 1: pass(first, std::integral_constant<int, 1>{}); break;
      case 2: pass(first, std::integral_constant<int, 2>{}); break;
      case 3: pass(first, std::integral_constant<int, 3>{}); break;
      default: pass(first, std::integral_constant<int, 4>{});
    }
  }
}

template <int count>
std::array<const Field*, count + 1> fields_of_pass(std::span<const Field* const> x, std::size_t first, const Field& y) {
  std::array<const Field*, count + 1> fields;
  std::copy_n(x.begin() + std::ptrdiff_t(first), count, fields.begin());
  fields.back() = &y;
  return fields;
}

}  // namespace

void zero(Field& x) { run(Zero{}, {&x}); }

void copy(Field& y, const Field& x) { run(Copy{}, {&x, &y}); }

void scale(double a, Field& x) { run(Scale{a}, {&x}); }

void axpy(double a, const Field& x, Field& y) { run(Axpy{a}, {&x, &y}); }

void xpay(const Field& x, double a, Field& y) { run(Xpay{a}, {&x, &y}); }

void caxpy(Complex a, const Field& x, Field& y) { run(Caxpy{coefficient(a)}, {&x, &y}); }

double subtract_norm2(const Field& b, Field& r) { return run(SubtractNorm2{}, {&b, &r})[0]; }

double norm2(const Field& x) { return run(Norm2{}, {&x})[0]; }

Complex dot(const Field& x, const Field& y) {
  const auto sums = run(Dot{}, {&x, &y});
  return {sums[0], sums[1]};
}

double axpy_norm2(double a, const Field& x, Field& y) { return run(AxpyNorm2{a}, {&x, &y})[0]; }

void axpy_xpay(double a, Field& p, Field& y, const Field& z, double b) { run(AxpyXpay{a, b}, {&p, &y, &z}); }

void cxpay(const Field& x, Complex a, Field& y) { run(Cxpay{coefficient(a)}, {&x, &y}); }

double caxpy_norm2(Complex a, const Field& x, Field& y) { return run(CaxpyNorm2{coefficient(a)}, {&x, &y})[0]; }

DotNorm2 dot_norm2(const Field& x, const Field& y) {
  const auto sums = run(DotAndNorm2{}, {&x, &y});
  return {{sums[0], sums[1]}, sums[2]};
}

void dots(std::span<const Field* const> x, const Field& y, Complex* out) {
  in_passes(x.size(), [&](std::size_t first, auto constant) {
    constexpr int count = constant;
    if constexpr (count == 1) {
      out[first] = dot(*x[first], y);
    } else {
      const auto sums = run(Dots<count>{}, fields_of_pass<count>(x, first, y));
      for (std::size_t i = 0; i < count; ++i) out[first + i] = {sums[2 * i], sums[2 * i + 1]};
    }
  });
}

void caxpys(std::span<const Complex> a, std::span<const Field* const> x, Field& y) {
  in_passes(x.size(), [&](std::size_t first, auto constant) {
    constexpr int count = constant;
    if constexpr (count == 1) {
      caxpy(a[first], *x[first], y);
    } else {
      Caxpys<count> op{};
      for (std::size_t i = 0; i < count; ++i) op.a[i] = coefficient(a[first + i]);
      run(op, fields_of_pass<count>(x, first, y));
    }
  });
}

void combine(std::span<const double> a, std::span<const Field* const> x, std::span<Field* const> y) {
  const std::size_t columns = x.size(), whole = columns / 4 * 4, together = y.size() / 4 * 4;
  for (std::size_t k = 0; k < together; k += 4) {
    for (std::size_t i = 0; i < whole; i += 4) {
      Combine op{};
      FieldsOf<Combine> fields{};
      for (std::size_t n = 0; n < 4; ++n) {
        for (std::size_t m = 0; m < 4; ++m) op.a[n][m] = a[(k + n) * columns + i + m];
        fields[n] = x[i + n];
        fields[4 + n] = y[k + n];
      }
      run(op, fields);
    }
  }
  for (std::size_t k = 0; k < y.size(); ++k) {
    std::vector<Complex> left;
    const std::size_t first = k < together ? whole : 0;
    for (std::size_t i = first; i < columns; ++i) left.emplace_back(a[k * columns + i]);
    caxpys(left, x.subspan(first), *y[k]);
  }
}

}  // namespace quadrille::blas
