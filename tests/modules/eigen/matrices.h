// Matrices with hard spectra, and LAPACK's answer to compare with.
#pragma once

#include "core/error.h"
#include "modules/eigen/solve.h"
#include "modules/eigen/tasks/generated.h"
#include "tests/testing/random_seed.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <random>
#include <string>
#include <vector>

extern "C" {
void dsygvd_(const int*, const char*, const char*, const int*, double*, const int*, double*, const int*, double*,
             double*, const int*, int*, const int*, int*);
void zhegvd_(const int*, const char*, const char*, const int*, std::complex<double>*, const int*, std::complex<double>*,
             const int*, double*, std::complex<double>*, const int*, double*, const int*, int*, const int*, int*);
}

namespace quadrille::eigen::testing {

using Complex = std::complex<double>;
constexpr double eps = std::numeric_limits<double>::epsilon();

/// What the error says that `call` throws; "" for none.
template <class Call>
std::string message_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

template <class T>
std::vector<T> diagonal_matrix(const std::vector<double>& values) {
  const std::size_t n = values.size();
  std::vector<T> a(n * n);
  for (std::size_t i = 0; i < n; ++i) a[i + i * n] = values[i];
  return a;
}

/// H A H for H = 1 - 2 u u^H with a random unit vector u, three times: a full matrix with the spectrum of A.
template <class T>
std::vector<T> reflected(std::vector<T> a, std::uint64_t seed) {
  const auto n = std::size_t(std::lround(std::sqrt(double(a.size()))));
  std::mt19937_64 engine(seed);
  std::normal_distribution<double> normal;
  const auto conjugate = [](T x) {
    if constexpr (is_complex<T>) {
      return std::conj(x);
    } else {
      return x;
    }
  };
  for (int pass = 0; pass < 3; ++pass) {
    std::vector<T> u(n), w(n);
    double square = 0;
    for (T& x : u) {
      if constexpr (is_complex<T>) {
        x = {normal(engine), normal(engine)};
      } else {
        x = normal(engine);
      }
      square += std::norm(x);
    }
    for (T& x : u) x /= std::sqrt(square);
    T inner = 0;  // u^H A u
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t i = 0; i < n; ++i) w[i] += a[i + j * n] * u[j];
    }
    for (std::size_t i = 0; i < n; ++i) inner += conjugate(u[i]) * w[i];
    for (std::size_t i = 0; i < n; ++i) w[i] -= u[i] * inner;  // A - 2 u w^H - 2 w u^H - ... is Hermitian
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t i = 0; i < n; ++i) a[i + j * n] -= 2.0 * (u[i] * conjugate(w[j]) + w[i] * conjugate(u[j]));
    }
    for (std::size_t i = 0; i < n; ++i) a[i + i * n] = std::real(a[i + i * n]);
  }
  return a;
}

inline const char* const hard_kinds[] = {"random", "clement",  "wilkinson", "toeplitz", "graded",   "identity",
                                         "zero",   "diagonal", "banded",    "repeated", "clustered"};

template <class T>
std::vector<T> hard_matrix(const std::string& kind, std::int64_t n, std::uint64_t seed) {
  std::vector<double> values(std::size_t(n), 0.0);
  const auto fill = [&](auto value_of) {
    for (std::size_t k = 0; k < values.size(); ++k) values[k] = value_of(double(k));
  };
  if (kind == "zero") return diagonal_matrix<T>(values);
  if (kind == "identity") return fill([](double) { return 1.0; }), diagonal_matrix<T>(values);
  if (kind == "diagonal") return fill([](double k) { return std::cos(3 * k); }), diagonal_matrix<T>(values);
  if (kind == "repeated")
    return fill([](double k) { return std::fmod(k, 3); }), reflected(diagonal_matrix<T>(values), seed);
  if (kind == "clustered") {
    return fill([](double k) { return 1 + 1e-14 * k + (std::fmod(k, 2) == 0 ? 0 : 1); }),
           reflected(diagonal_matrix<T>(values), seed);
  }
  if (kind != "banded") return generated_matrix<T>(kind, n, seed);
  std::vector<T> a = generated_matrix<T>("random", n, seed);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < n; ++i) {
      if (std::abs(i - j) > 3) a[std::size_t(i + j * n)] = 0;
    }
  }
  return a;
}

/// L L^H with a last pivot of L of about `pivot`: nearly singular when that is small.
template <class T>
std::vector<T> metric_with_pivot(std::int64_t n, double pivot, std::uint64_t seed) {
  const std::vector<T> overlap = generated_matrix<T>("overlap", n, seed);
  std::vector<T> l(overlap.size()), b(overlap.size());
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = j; i < n; ++i) l[std::size_t(i + j * n)] = overlap[std::size_t(i + j * n)];
  }
  l.back() = pivot;
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t k = 0; k <= std::min(i, j); ++k) {
        T right = l[std::size_t(j + k * n)];
        if constexpr (is_complex<T>) right = std::conj(right);
        b[std::size_t(i + j * n)] += l[std::size_t(i + k * n)] * right;
      }
    }
    b[std::size_t(j + j * n)] = std::real(b[std::size_t(j + j * n)]);
  }
  return b;
}

/// LAPACK's own driver.
template <class T>
Pairs<T> of_lapack(std::int64_t rows, std::vector<T> a, std::vector<T> b) {
  const int kind = 1, n = int(rows), work_length = 2 * n * n + 6 * n + 64 * n + 1, real_length = 2 * n * n + 5 * n + 1,
            integers = 5 * n + 3;
  if (b.empty()) b = diagonal_matrix<T>(std::vector<double>(std::size_t(n), 1.0));
  std::vector<T> work(static_cast<std::size_t>(work_length));
  std::vector<double> real_work(static_cast<std::size_t>(real_length));
  std::vector<int> integer_work(static_cast<std::size_t>(integers));
  Pairs<T> out;
  out.n = n;
  out.range = {0, n};
  out.values.resize(std::size_t(n));
  int info = 0;
  if constexpr (is_complex<T>) {
    zhegvd_(&kind, "V", "L", &n, a.data(), &n, b.data(), &n, out.values.data(), work.data(), &work_length,
            real_work.data(), &real_length, integer_work.data(), &integers, &info);
  } else {
    dsygvd_(&kind, "V", "L", &n, a.data(), &n, b.data(), &n, out.values.data(), work.data(), &work_length,
            integer_work.data(), &integers, &info);
  }
  if (info != 0) throw Error(ErrorCode::numerical, "LAPACK's driver: info = " + std::to_string(info));
  out.vectors = std::move(a);
  return out;
}

/// The pairs of a problem whose matrices are kept; an empty B is the identity. `refine`: steps.
template <class T>
Pairs<T> solved(std::int64_t n, std::vector<T> a, const std::vector<T>& b, const Fraction& fraction = Fraction::all(),
                int refine = 0) {
  if (b.empty()) return solve(Problem<T>{n, a.data(), n, Triangle::lower, nullptr, fraction, {}, refine});
  const Factor<T> factor(n, b, Triangle::lower);
  return solve(Problem<T>{n, a.data(), n, Triangle::lower, &factor, fraction, {}, refine});
}

template <class T>
double norm_of(std::int64_t n, const std::vector<T>& a) {
  double largest = 0;
  for (std::int64_t j = 0; j < n; ++j) {
    double sum = 0;
    for (std::int64_t i = 0; i < n; ++i) sum += std::abs(a[std::size_t(i + j * n)]);
    largest = std::max(largest, sum);
  }
  return largest;
}

}  // namespace quadrille::eigen::testing
