#include "modules/eigen/solve.h"

#include "core/error.h"
#include "core/system/memory.h"
#include "modules/eigen/lapack.h"
#include "modules/eigen/pairs/refinement.h"
#include "modules/eigen/pairs/tridiagonal.h"
#include "modules/eigen/phases.h"
#include "modules/eigen/triangle.h"
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
  if (problem.refine > 0 && problem.fraction.kind() == Fraction::Kind::none) {
    refuse("refinement takes eigenvectors, of which none are wanted");
  }
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

/// A of a problem with both halves, scaled by a power of 2.
template <class T>
struct ScaledCopy {
  std::vector<T> a;
  int exponent = 0;
};
template <class T>
ScaledCopy<T> scaled_copy(const Problem<T>& problem) {
  const std::int64_t n = problem.n;
  ScaledCopy<T> out{std::vector<T>(std::size_t(n * n)), 0};
  for (std::int64_t j = 0; j < n; ++j) std::copy_n(problem.a + j * problem.lda, n, out.a.data() + j * n);
  fill_lower(n, out.a.data(), n, problem.triangle);
  out.exponent = scale_lower(n, out.a.data(), n, "A", problem.triangle);
  fill_upper(n, out.a.data(), n);
  return out;
}

/// Keeps the wanted ones of all pairs.
template <class T>
void keep(IndexRange range, Pairs<T>& pairs) {
  pairs.range = range;
  const auto first = pairs.values.begin() + std::ptrdiff_t(range.first);
  pairs.values = std::vector<double>(first, first + std::ptrdiff_t(range.count));
  const auto from = pairs.vectors.begin() + std::ptrdiff_t(range.first * pairs.n);
  if (range.first > 0) std::copy_n(from, range.count * pairs.n, pairs.vectors.begin());
  pairs.vectors.resize(std::size_t(range.count * pairs.n));
  pairs.vectors.shrink_to_fit();
}

/// Refines the wanted ones of all pairs, and keeps them.
template <class T>
void refine_wanted(const Problem<T>& problem, const ScaledCopy<T>& copy, Pairs<T>& pairs) {
  const IndexRange wanted = problem.fraction.among(pairs.values);
  const std::vector<T> b = problem.b == nullptr ? std::vector<T>() : problem.b->matrix();
  const int of_b = problem.b == nullptr ? 0 : problem.b->exponent();
  const auto scale = [&](int of_values, int of_vectors) {
    scale_back(pairs.values, of_values);
    if (of_vectors == 0) return;
    for (T& x : pairs.vectors) x = times_power(x, of_vectors);
  };
  scale(of_b - copy.exponent, of_b / 2);
  SolvedProblem<T> solved{problem.n, copy.a.data(), b.empty() ? nullptr : b.data(), std::move(pairs.values),
                          std::move(pairs.vectors)};
  pairs.refinements = refine(solved, wanted, problem.refine);
  pairs.values = std::move(solved.values);
  pairs.vectors = std::move(solved.vectors);
  scale(copy.exponent - of_b, -of_b / 2);
  keep(wanted, pairs);
}

/// All pairs, and then the wanted ones refined.
template <class T>
Pairs<T> solve_and_refine(const Problem<T>& problem) {
  require_memory(solve_bytes<T>(problem.n, problem.fraction, true),
                 fmt::format("the eigenproblem of {} rows with refinement", problem.n));
  const ScaledCopy<T> copy = scaled_copy(problem);
  Problem<T> whole = problem;
  whole.fraction = Fraction::all();
  whole.refine = 0;
  const auto half = [&](double begin) {
    return [&, begin](const std::string& phase, double fraction) {
      if (problem.progress) problem.progress(phase, begin + fraction / 2);
    };
  };
  whole.progress = half(0);
  Pairs<T> pairs = solve(whole);
  const mgemm::AllBlasThreads all_threads;
  Phases phases(half(0.5), 0);
  phases.run(phase::refinement, 0, [&] { refine_wanted(problem, copy, pairs); });
  phases.run(phase::normalization, 0, [&] {
    for (std::int64_t k = 0; k < pairs.range.count; ++k) fix_sign(pairs.n, pairs.vectors.data() + k * pairs.n);
  });
  for (Phase& ran : phases.take()) pairs.phases.push_back(std::move(ran));
  return pairs;
}

}  // namespace

template <class T>
double solve_bytes(std::int64_t n, const Fraction& fraction, bool refined) {
  if (refined) {
    const double square = double(n) * double(n) * sizeof(T);
    return square + std::max(solve_bytes<T>(n, Fraction::all()), 2 * square + refinement_bytes<T>(n));
  }
  const std::int64_t most = fraction.most(n);
  const double tridiagonal = tridiagonal_bytes(n, most), blocks = 256.0 * double(n) * sizeof(T);
  const double vectors = is_complex<T> ? double(n) * double(most) * (sizeof(double) + sizeof(T)) : 0;
  return std::max(tridiagonal, vectors) + blocks;
}

template <class T>
Pairs<T> solve(const Problem<T>& problem) {
  check(problem);
  if (problem.refine > 0) return solve_and_refine(problem);
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

template double solve_bytes<double>(std::int64_t, const Fraction&, bool);
template double solve_bytes<std::complex<double>>(std::int64_t, const Fraction&, bool);
template Pairs<double> solve(const Problem<double>&);
template Pairs<std::complex<double>> solve(const Problem<std::complex<double>>&);

}  // namespace quadrille::eigen
