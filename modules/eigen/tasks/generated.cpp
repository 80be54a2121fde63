#include "modules/eigen/tasks/generated.h"

#include "core/error.h"
#include "core/random/random.h"
#include "modules/eigen/problem.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

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
void set(std::vector<T>& a, std::int64_t n, std::int64_t i, std::int64_t j, T value) {
  a[std::size_t(i + j * n)] = value;
  if constexpr (is_complex<T>) value = std::conj(value);
  a[std::size_t(j + i * n)] = value;
}

/// Normal random numbers times d_i d_j, where d falls from 1 to `last`.
template <class T>
std::vector<T> random_matrix(std::int64_t n, std::uint64_t seed, double last) {
  std::vector<T> a(std::size_t(n * n));
  const auto size = [&](std::int64_t i) { return n > 1 ? std::pow(last, double(i) / double(n - 1)) : 1.0; };
#pragma omp parallel for schedule(dynamic, 16)
  for (std::int64_t i = 0; i < n; ++i) {
    SiteRandom random(seed, RandomPurpose::GeneratedSystem, i, of_elements);
    for (std::int64_t j = 0; j <= i; ++j) {
      const double real = random.normal() * size(i) * size(j);
      if constexpr (is_complex<T>) {
        const double imaginary = random.normal() * size(i) * size(j);
        set(a, n, i, j, T(real, i == j ? 0 : imaginary));
      } else {
        set(a, n, i, j, real);
      }
    }
  }
  return a;
}

}  // namespace

template <class T>
std::vector<T> generated_matrix(const std::string& kind, std::int64_t n, std::uint64_t seed) {
  if (kind == "random") return random_matrix<T>(n, seed, 1);
  if (kind == "graded") return random_matrix<T>(n, seed, 1e-6);
  const ElementOf element = element_of(kind, n);
  std::vector<double> angle(std::size_t(n), 0.0);
  for (std::int64_t i = 0; is_complex<T> && i < n; ++i) {
    angle[std::size_t(i)] =
        2 * std::numbers::pi * SiteRandom(seed, RandomPurpose::GeneratedSystem, i, of_phases).uniform();
  }
  std::vector<T> a(std::size_t(n * n));
#pragma omp parallel for schedule(dynamic, 16)
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j <= i; ++j) {
      const double size = element(i, j);
      if constexpr (is_complex<T>) {
        if (size != 0)
          set(a, n, i, j,
              i == j ? T(size)
                     : std::polar(std::abs(size),
                                  angle[std::size_t(i)] - angle[std::size_t(j)] + (size < 0 ? std::numbers::pi : 0)));
      } else {
        set(a, n, i, j, size);
      }
    }
  }
  return a;
}

template std::vector<double> generated_matrix(const std::string&, std::int64_t, std::uint64_t);
template std::vector<std::complex<double>> generated_matrix(const std::string&, std::int64_t, std::uint64_t);

}  // namespace quadrille::eigen
