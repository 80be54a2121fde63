#include "modules/eigen/solve.h"

#include "core/error.h"
#include "core/system/memory.h"
#include "modules/eigen/lapack.h"
#include "modules/eigen/phases.h"
#include "modules/eigen/triangle.h"
#include "modules/eigen/tridiagonal.h"
#include "modules/mgemm/product/blas.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace quadrille::eigen {
namespace {

/// Rows from which two stages are faster without vectors, on two cores: LAPACK's complex one-stage reduction, which is
/// bound by products with a vector, falls behind earlier.
template <class T>
constexpr std::int64_t two_stages_from = is_complex<T> ? 1000 : 3000;

template <class T>
void check(const Problem<T>& problem) {
  const auto refuse = [](const std::string& message) { throw Error(ErrorCode::invalid_input, message); };
  if (problem.n < 1) refuse(fmt::format("A has {} rows: it must have at least 1", problem.n));
  if (problem.lda < problem.n) {
    refuse(fmt::format("the leading dimension of A is {}: it must be at least the number of rows, {}", problem.lda,
                       problem.n));
  }
  if (problem.b != nullptr && problem.b->n() != problem.n) {
    refuse(fmt::format("A has {} rows, but B has {}", problem.n, problem.b->n()));
  }
  if (problem.n > lapack::longest) {
    throw Error(ErrorCode::unsupported, fmt::format("{} rows: LAPACK, as OpenBLAS has it, counts in 32 bits, up to {}",
                                                    problem.n, lapack::longest));
  }
  problem.fraction.check(problem.n);
}

/// T Z for a real Z, or what it takes of memory, complex.
template <class T>
std::vector<T> as_numbers(std::vector<double>&& z) {
  if constexpr (is_complex<T>) {
    const std::vector<double> real = std::move(z);
    return {real.begin(), real.end()};
  } else {
    return std::move(z);
  }
}

template <class T>
void fix_sign(std::int64_t n, T* x) {
  double largest = 0;
  for (std::int64_t i = 0; i < n; ++i) largest = std::max(largest, std::abs(x[i]));
  constexpr double as_large = 1 - 1e-6;
  T* const chosen = std::find_if(x, x + n, [&](const T& number) { return std::abs(number) >= as_large * largest; });
  if (chosen == x + n || largest == 0) return;
  if constexpr (is_complex<T>) {
    if (chosen->imag() == 0 && chosen->real() > 0) return;
    const T phase = std::conj(*chosen) / std::abs(*chosen);
    std::for_each_n(x, n, [&](T& number) { number *= phase; });
    chosen->imag(0);
  } else if (*chosen < 0) {
    std::for_each_n(x, n, [](T& number) { number = -number; });
  }
}

}  // namespace

template <class T>
double solve_bytes(std::int64_t n, const Fraction& fraction) {
  const std::int64_t most = fraction.most(n);
  const double tridiagonal = tridiagonal_bytes(n, most), blocks = 256.0 * double(n) * sizeof(T);
  const double vectors = is_complex<T> ? double(n) * double(most) * (sizeof(double) + sizeof(T)) : 0;
  return std::max(tridiagonal, vectors) + blocks;
}

template <class T>
Pairs<T> solve(const Problem<T>& problem) {
  check(problem);
  const std::int64_t n = problem.n, most = problem.fraction.most(n);
  const bool with_vectors = problem.fraction.kind() != Fraction::Kind::none;
  require_memory(solve_bytes<T>(n, problem.fraction),
                 fmt::format("the eigenproblem of {} rows with {} vectors", n, with_vectors ? most : 0));
  const mgemm::AllBlasThreads all_threads;
  const double share = with_vectors ? double(most) / double(n) : 0;
  Phases phases(problem.progress,
                cube<T>(n, (problem.b != nullptr ? 1 + share : 0) + 4.0 / 3 + 2 * share) + 4.0 / 3 * share);
  int exponent = 0;
  fill_lower(n, problem.a, problem.lda, problem.triangle);
  exponent += scale_lower(n, problem.a, problem.lda, "A", problem.triangle);
  if (problem.b != nullptr) {
    phases.run(phase::standard_form, cube<T>(n, 1), [&] { problem.b->to_standard(problem.a, problem.lda); });
    exponent += scale_lower(n, problem.a, problem.lda, "L^-1 A L^-H") - problem.b->exponent();
  }
  lapack::Tridiagonal<T> t;
  phases.run(phase::tridiagonalization, cube<T>(n, 4.0 / 3), [&] {
    t = !with_vectors && n >= two_stages_from<T> ? lapack::sytrd_2stage(n, problem.a, problem.lda)
                                                 : lapack::sytrd(n, problem.a, problem.lda);
  });
  TridiagonalPairs pairs;
  const bool divided = problem.fraction.kind() == Fraction::Kind::all;
  phases.run(phase::tridiagonal, divided ? 4.0 / 3 * double(n) * double(n) * double(n) : 0, [&] {
    pairs = solve_tridiagonal(t.diagonal, t.off_diagonal, problem.fraction.kind(), [&](std::vector<double> values) {
      scale_back(values, exponent);
      return problem.fraction.among(values);
    });
  });
  Pairs<T> out;
  out.n = n;
  out.range = pairs.range;
  out.tridiagonal_form = pairs.form;
  scale_back(pairs.values, exponent);
  scale_back(pairs.all, exponent);
  out.values = std::move(pairs.values);
  out.spectrum = std::move(pairs.all);
  if (with_vectors) {
    const std::int64_t count = out.range.count;
    const double part = double(count) / double(n);
    out.vectors = as_numbers<T>(std::move(pairs.vectors));
    phases.run(phase::back_to_standard, cube<T>(n, 2 * part),
               [&] { lapack::apply_q(n, count, problem.a, problem.lda, t.tau, out.vectors.data(), n); });
    if (problem.b != nullptr) {
      phases.run(phase::back_to_general, cube<T>(n, part),
                 [&] { problem.b->back_to_general(out.vectors.data(), n, count); });
    }
    phases.run(phase::normalization, 0, [&] {
      for (std::int64_t k = 0; k < count; ++k) fix_sign(n, out.vectors.data() + k * n);
    });
  }
  out.phases = phases.take();
  return out;
}

template double solve_bytes<double>(std::int64_t, const Fraction&);
template double solve_bytes<std::complex<double>>(std::int64_t, const Fraction&);
template Pairs<double> solve(const Problem<double>&);
template Pairs<std::complex<double>> solve(const Problem<std::complex<double>>&);

}  // namespace quadrille::eigen
