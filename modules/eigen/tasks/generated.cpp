#include "modules/eigen/tasks/generated.h"

#include "core/error.h"
#include "core/random/random.h"
#include "modules/eigen/problem.h"
#include "modules/eigen/triangle.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <utility>

namespace quadrille::eigen {
namespace {

enum Stream : std::uint32_t { of_elements = 16, of_phases = 17 };

/// Element (i, j), i >= j, of a real one.
using ElementOf = std::function<double(std::int64_t i, std::int64_t j)>;

ElementOf element_of(const std::string& kind, std::int64_t n) {
  if (kind == "clement") {
    return [n](std::int64_t i, std::int64_t j) { return i == j + 1 ? std::sqrt(double(i) * double(n - i)) : 0.0; };
  }
  if (kind == "wilkinson") {
    return [](std::int64_t i, std::int64_t j) {
      constexpr std::int64_t rows = 21;
      if (i == j) return std::abs(double(i % rows) - double(rows - 1) / 2);
      return i != j + 1 ? 0.0 : i % rows == 0 ? 1e-8 : 1.0;
    };
  }
  if (kind == "toeplitz") {
    return [](std::int64_t i, std::int64_t j) { return i == j ? 2.0 : i == j + 1 ? -1.0 : 0.0; };
  }
  if (kind == "overlap")
    return [](std::int64_t i, std::int64_t j) { return std::ldexp(1.0, -int(std::min<std::int64_t>(i - j, 2000))); };
  throw Error(ErrorCode::internal, "there is no generated matrix '" + kind + "'");
}

template <class T>
T signed_phase(double size, double angle) {
  if constexpr (is_complex<T>) {
    return std::polar(std::abs(size), angle + (size < 0 ? std::numbers::pi : 0));
  } else {
    return size;
  }
}

template <class T>
using Row = std::function<void(std::int64_t i, T* to)>;

/// Normal random numbers times d_i d_j, where d falls from 1 to `last`.
template <class T>
Row<T> random_rows(std::int64_t n, std::uint64_t seed, double last) {
  std::vector<double> size(std::size_t(n), 1.0);
  for (std::int64_t k = 1; k < n; ++k) size[std::size_t(k)] = std::pow(last, double(k) / double(n - 1));
  return [=, size = std::move(size)](std::int64_t i, T* to) {
    SiteRandom random(seed, RandomPurpose::GeneratedSystem, i, of_elements);
    for (std::int64_t j = 0; j <= i; ++j) {
      const double real = random.normal() * size[std::size_t(i)] * size[std::size_t(j)];
      if constexpr (is_complex<T>) {
        const double imaginary = random.normal() * size[std::size_t(i)] * size[std::size_t(j)];
        to[j] = T(real, i == j ? 0 : imaginary);
      } else {
        to[j] = real;
      }
    }
  };
}

}  // namespace

template <class T>
GeneratedRows<T>::GeneratedRows(const std::string& kind, std::int64_t n, std::uint64_t seed) {
  if (kind == "random" || kind == "graded") {
    row_ = random_rows<T>(n, seed, kind == "random" ? 1 : 1e-6);
    return;
  }
  std::vector<double> angle(std::size_t(n), 0.0);
  for (std::int64_t i = 0; is_complex<T> && i < n; ++i) {
    angle[std::size_t(i)] =
        2 * std::numbers::pi * SiteRandom(seed, RandomPurpose::GeneratedSystem, i, of_phases).uniform();
  }
  row_ = [element = element_of(kind, n), angle = std::move(angle)](std::int64_t i, T* to) {
    for (std::int64_t j = 0; j <= i; ++j) {
      const double size = element(i, j);
      to[j] = i == j || size == 0 ? T(size) : signed_phase<T>(size, angle[std::size_t(i)] - angle[std::size_t(j)]);
    }
  };
}

template <class T>
std::vector<T> generated_matrix(const std::string& kind, std::int64_t n, std::uint64_t seed) {
  const GeneratedRows<T> rows(kind, n, seed);
  std::vector<T> a(std::size_t(n * n));
#pragma omp parallel for schedule(dynamic, 16)
  for (std::int64_t i = 0; i < n; ++i) {
    T* const column = a.data() + i * n;  // of the upper triangle
    rows.row(i, column);
    for (std::int64_t j = 0; j <= i; ++j) {
      a[std::size_t(i + j * n)] = column[j];
      column[j] = conjugate(column[j]);
    }
  }
  return a;
}

template class GeneratedRows<double>;
template class GeneratedRows<std::complex<double>>;
template std::vector<double> generated_matrix(const std::string&, std::int64_t, std::uint64_t);
template std::vector<std::complex<double>> generated_matrix(const std::string&, std::int64_t, std::uint64_t);

}  // namespace quadrille::eigen
