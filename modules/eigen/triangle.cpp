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

template <class T>
T conjugate(T x) {
  if constexpr (is_complex<T>) {
    return std::conj(x);
  } else {
    return x;
  }
}

/// The larger of the magnitudes of the parts; NaN and infinity stay what they are.
double magnitude(double x) { return std::abs(x); }
double magnitude(std::complex<double> x) {
  const double real = std::abs(x.real()), imaginary = std::abs(x.imag());
  return real < imaginary || std::isnan(imaginary) ? imaginary : real;
}

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
      throw Error(ErrorCode::numerical, fmt::format("element [{}, {}] of {} is {}: it must be finite", upper ? j : i,
                                                    upper ? i : j, name, text_of(upper ? conjugate(x) : x)));
    }
  }
  throw Error(ErrorCode::internal, name + " changed while it was read");
}

template <class T>
void require_real_diagonal(std::int64_t n, const T* a, std::int64_t lda, const std::string& name) {
  if constexpr (is_complex<T>) {
    for (std::int64_t j = 0; j < n; ++j) {
      if (a[j + j * lda].imag() == 0) continue;
      throw Error(ErrorCode::invalid_input,
                  fmt::format("element [{}, {}] of {} is {}: the diagonal of a Hermitian matrix is real", j, j, name,
                              text_of(a[j + j * lda])));
    }
  }
}

}  // namespace

template <class T>
void fill_lower(std::int64_t n, T* a, std::int64_t lda, Triangle triangle) {
  if (triangle == Triangle::lower) return;
  constexpr std::int64_t block = 64;
  for (std::int64_t first = 0; first < n; first += block) {
    const std::int64_t end = std::min(n, first + block);
    for (std::int64_t top = first; top < n; top += block) {
      for (std::int64_t j = first; j < end; ++j) {
        for (std::int64_t i = std::max(top, j + 1); i < std::min(n, top + block); ++i) {
          a[i + j * lda] = conjugate(a[j + i * lda]);
        }
      }
    }
  }
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
  const int exponent = largest == 0 ? 0 : std::ilogb(largest) / 2 * 2;
  if (std::abs(exponent) <= wide) return 0;
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = j; i < n; ++i) {
      T& x = a[i + j * lda];
      if constexpr (is_complex<T>) {
        x = {std::ldexp(x.real(), -exponent), std::ldexp(x.imag(), -exponent)};
      } else {
        x = std::ldexp(x, -exponent);
      }
    }
  }
  return exponent;
}

template void fill_lower(std::int64_t, double*, std::int64_t, Triangle);
template void fill_lower(std::int64_t, std::complex<double>*, std::int64_t, Triangle);
template int scale_lower(std::int64_t, double*, std::int64_t, const std::string&, Triangle);
template int scale_lower(std::int64_t, std::complex<double>*, std::int64_t, const std::string&, Triangle);

}  // namespace quadrille::eigen
