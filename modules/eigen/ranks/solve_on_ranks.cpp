#include "modules/eigen/ranks/solve_on_ranks.h"

#include "core/comm/agreement.h"
#include "core/error.h"
#include "modules/eigen/phases.h"
#include "modules/eigen/ranks/spread.h"
#include "modules/eigen/triangle.h"
#include "modules/mgemm/product/blas.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace quadrille::eigen {
namespace {

using Kind = Fraction::Kind;

/// Vectors from the lowest that may be wanted.
std::int64_t most_wanted(const Fraction& fraction, std::int64_t n) {
  if (fraction.kind() == Kind::none) return 0;
  if (fraction.kind() != Kind::range) return n;
  const IndexRange range = fraction.among({});
  return range.first + range.count;
}

/// The vectors of the general problem, from those of the standard one, normalized.
template <class T>
void finish_vectors(const SpreadProblem<T>& problem, Phases& phases, SpreadPairs<T>& out) {
  const std::int64_t n = problem.layout.n;
  const IndexRange range = out.pairs.range;
  T* const x = out.vectors.data();
  if (problem.b != nullptr) {
    phases.run(phase::back_to_general, cube<T>(n, double(range.count) / double(n)), [&] {
      problem.steps.back_to_general(problem.b->l.data(), x, range);
      if (problem.b->exponent == 0) return;
      const double scale = std::ldexp(1.0, -problem.b->exponent / 2);
      for_columns(problem.layout, problem.ranks.rank(), x, range,
                  [&](std::int64_t, std::int64_t, T& number) { number *= scale; });
    });
  }
  phases.run(phase::normalization, 0, [&] { fix_signs(problem.ranks, problem.layout, range, x); });
}

}  // namespace

template <class T>
SpreadFactor<T> factor_on_ranks(const Communicator& ranks, const Layout& layout, SpreadSteps<T>& steps,
                                std::vector<T> b) {
  const mgemm::AllBlasThreads all_threads;
  SpreadFactor<T> out;
  const double began = now();
  out.exponent = scale_spread(ranks, layout, b.data(), "B");
  if (const std::int64_t minor = steps.cholesky(b.data()); minor != 0) {
    throw Error(ErrorCode::numerical,
                fmt::format("B is not positive definite: its leading {} x {} submatrix is not", minor, minor));
  }
  out.l = std::move(b);
  out.made = {phase::cholesky, now() - began, cube<T>(layout.n, 1.0 / 3)};
  return out;
}

template <class T>
SpreadPairs<T> solve_on_ranks(SpreadProblem<T> problem) {
  const Layout& layout = problem.layout;
  const std::int64_t n = layout.n, most = most_wanted(problem.fraction, n);
  if (n < 1) throw Error(ErrorCode::invalid_input, fmt::format("A has {} rows: it must have at least 1", n));
  problem.fraction.check(n);
  const mgemm::AllBlasThreads all_threads;
  const double share = double(most) / double(n);
  Phases phases(problem.progress, cube<T>(n, (problem.b != nullptr ? 1 + share : 0) + 4.0 / 3 + 2 * share) +
                                      cube<double>(n, 4.0 / 3 * (most > 0 ? 1 : 0)));
  int exponent = scale_spread(problem.ranks, layout, problem.a.data(), "A");
  if (problem.b != nullptr) {
    phases.run(phase::standard_form, cube<T>(n, 1),
               [&] { problem.steps.to_standard(problem.a.data(), problem.b->l.data()); });
    exponent += scale_spread(problem.ranks, layout, problem.a.data(), "L^-1 A L^-H") - problem.b->exponent;
  }
  SpreadPairs<T> out;
  out.layout = layout;
  all_or_none(problem.ranks, [&] {
    if (most > 0) out.vectors.resize(std::size_t(layout.local_size(problem.ranks.rank())));
  });
  const auto choose = [&](std::vector<double> values) {
    scale_back(values, exponent);
    return problem.fraction.among(values);
  };
  StandardSolution found = problem.steps.solve(
      {problem.a.data(), most > 0 ? out.vectors.data() : nullptr, most, choose,
       [&](const char* name, double flops, const std::function<void()>& work) { phases.run(name, flops, work); }});
  out.pairs.n = n;
  out.pairs.range = found.range;
  out.first = found.range.first;
  out.pairs.tridiagonal_form = found.form;
  scale_back(found.values, exponent);
  const auto first = found.values.begin() + std::ptrdiff_t(found.range.first);
  out.pairs.values.assign(first, first + std::ptrdiff_t(found.range.count));
  out.pairs.spectrum = std::move(found.values);
  if (most > 0) finish_vectors(problem, phases, out);
  out.pairs.phases = phases.take();
  return out;
}

template <class T>
double bytes_on_rank(const Layout& layout, const SpreadSteps<T>& steps, const Fraction& fraction, bool generalized,
                     bool check) {
  const bool vectors = fraction.kind() != Kind::none;
  const double part = double(layout.local_size(0)) * sizeof(T), given = generalized ? 2 : 1, kept = check ? given : 0,
               reading = (given + 1) * part,
               solving = (given + kept + (vectors ? 1 : 0)) * part + steps.work_bytes(vectors),
               checking = check ? (given + 1 + given + 1) * part : 0;
  return std::max({reading, solving, checking});
}

template SpreadFactor<double> factor_on_ranks(const Communicator&, const Layout&, SpreadSteps<double>&,
                                              std::vector<double>);
template SpreadPairs<double> solve_on_ranks(SpreadProblem<double>);
template SpreadFactor<std::complex<double>> factor_on_ranks(const Communicator&, const Layout&,
                                                            SpreadSteps<std::complex<double>>&,
                                                            std::vector<std::complex<double>>);
template SpreadPairs<std::complex<double>> solve_on_ranks(SpreadProblem<std::complex<double>>);
template double bytes_on_rank(const Layout&, const SpreadSteps<double>&, const Fraction&, bool, bool);
template double bytes_on_rank(const Layout&, const SpreadSteps<std::complex<double>>&, const Fraction&, bool, bool);

}  // namespace quadrille::eigen
