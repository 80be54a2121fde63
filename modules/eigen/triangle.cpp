#include "modules/eigen/triangle.h"

#include "core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace quadrille::eigen {
namespace {

// One thread each: those of OpenMP would still wait for work while OpenBLAS's need the cores.

/// Numbers beyond 2^wide or all below 2^-wide are scaled.
constexpr int wide = 128;

std::string text_of(double x) { return fmt::format("{}", x); }
std::string text_of(std::complex<double> x) { return fmt::format("{} + {}i", x.real(), x.imag()); }

template <class T>
[[noreturn]] void name_the_first(std::int64_t n, const T* a, std::int64_t lda, const std::string& name,
                                 Triangle given) {
  const bool upper = given == Triangle::upper;
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = j; i < n; ++i) {
      const T x = a[i + j * lda];
      if (std::isfinite(magnitude(x))) continue;
      refuse_infinite(upper ? j : i, upper ? i : j, name, upper ? conjugate(x) : x);
    }
  }
  throw Error(ErrorCode::internal, name + " changed while it was read");
}

template <class T>
void require_real_diagonal(std::int64_t n, const T* a, std::int64_t lda, const std::string& name) {
  for (std::int64_t j = 0; is_complex<T> && j < n; ++j) {
    if (std::imag(a[j + j * lda]) != 0) refuse_diagonal(j, name, a[j + j * lda]);
  }
}

/// Calls set(i, j) for all i > j, block by block, as one of the two elements is far from the one before.
template <class Set>
void for_lower_blocks(std::int64_t n, const Set& set) {
  constexpr std::int64_t block = 64;
  for (std::int64_t first = 0; first < n; first += block) {
    const std::int64_t end = std::min(n, first + block);
    for (std::int64_t top = first; top < n; top += block) {
      for (std::int64_t j = first; j < end; ++j) {
        for (std::int64_t i = std::max(top, j + 1); i < std::min(n, top + block); ++i) set(i, j);
      }
    }
  }
}

}  // namespace

double magnitude(double x) { return std::abs(x); }
double magnitude(std::complex<double> x) {
  const double real = std::abs(x.real()), imaginary = std::abs(x.imag());
  return real < imaginary || std::isnan(imaginary) ? imaginary : real;
}

template <class T>
void refuse_infinite(std::int64_t i, std::int64_t j, const std::string& name, T x) {
  throw Error(ErrorCode::numerical,
              fmt::format("element [{}, {}] of {} is {}: it must be finite", i, j, name, text_of(x)));
}

template <class T>
void refuse_diagonal(std::int64_t j, const std::string& name, T x) {
  throw Error(
      ErrorCode::invalid_input,
      fmt::format("element [{}, {}] of {} is {}: the diagonal of a Hermitian matrix is real", j, j, name, text_of(x)));
}

int extreme_exponent(double largest) {
  const int exponent = largest == 0 ? 0 : std::ilogb(largest) / 2 * 2;
  return std::abs(exponent) <= wide ? 0 : exponent;
}

double times_power(double x, int exponent) { return std::ldexp(x, exponent); }
std::complex<double> times_power(std::complex<double> x, int exponent) {
  return {std::ldexp(x.real(), exponent), std::ldexp(x.imag(), exponent)};
}

void scale_back(std::vector<double>& values, int exponent) {
  for (double& value : values) {
    value = std::ldexp(value, exponent);
    if (std::isfinite(value)) continue;
    throw Error(ErrorCode::numerical, "eigenvalues are beyond the largest double: scale A or B");
  }
}

template <class T>
void fill_lower(std::int64_t n, T* a, std::int64_t lda, Triangle triangle) {
  if (triangle == Triangle::lower) return;
  for_lower_blocks(n, [&](std::int64_t i, std::int64_t j) { a[i + j * lda] = conjugate(a[j + i * lda]); });
}

template <class T>
void fill_upper(std::int64_t n, T* a, std::int64_t lda) {
  for_lower_blocks(n, [&](std::int64_t i, std::int64_t j) { a[j + i * lda] = conjugate(a[i + j * lda]); });
}

template <class T>
int scale_lower(std::int64_t n, T* a, std::int64_t lda, const std::string& name, Triangle given) {
  double largest = 0;
  bool finite = true;
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = j; i < n; ++i) {
      const double size = magnitude(a[i + j * lda]);
      largest = std::max(largest, size);
      finite = finite && std::isfinite(size);
    }
  }
  if (!finite) name_the_first(n, a, lda, name, given);
  require_real_diagonal(n, a, lda, name);
  const int exponent = extreme_exponent(largest);
  for (std::int64_t j = 0; exponent != 0 && j < n; ++j) {
    for (std::int64_t i = j; i < n; ++i) a[i + j * lda] = times_power(a[i + j * lda], -exponent);
  }
  return exponent;
}

template void fill_lower(std::int64_t, double*, std::int64_t, Triangle);
template void fill_lower(std::int64_t, std::complex<double>*, std::int64_t, Triangle);
template void fill_upper(std::int64_t, double*, std::int64_t);
template void fill_upper(std::int64_t, std::complex<double>*, std::int64_t);
template int scale_lower(std::int64_t, double*, std::int64_t, const std::string&, Triangle);
template int scale_lower(std::int64_t, std::complex<double>*, std::int64_t, const std::string&, Triangle);
template void refuse_infinite(std::int64_t, std::int64_t, const std::string&, double);
template void refuse_infinite(std::int64_t, std::int64_t, const std::string&, std::complex<double>);
template void refuse_diagonal(std::int64_t, const std::string&, double);
template void refuse_diagonal(std::int64_t, const std::string&, std::complex<double>);

}  // namespace quadrille::eigen
