// What every Krylov method must show, whatever it is: called from the tests of each.
#pragma once

#include "allocation_count.h"
#include "solvers/methods/methods.h"
#include "toy_operator.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

namespace quadrille::test {

using MakeSolver = std::function<std::unique_ptr<Solver>(const SolverParts&)>;

constexpr OperatorForm double18{Precision::Double, Reconstruct::R18, false};
inline const std::vector<OperatorForm> sloppy_forms = {
    {Precision::Double, Reconstruct::R12, false}, {Precision::Single, Reconstruct::R12, false},
    {Precision::Half, Reconstruct::R8, false},    {Precision::Double, Reconstruct::R18, true},
    {Precision::Single, Reconstruct::R18, true},  {Precision::Half, Reconstruct::R12, true}};

inline Field gaussian(const FieldDesc& desc, std::uint64_t seed) {
  Field b(FieldDesc::spinor(*desc.lattice, desc.subset, Precision::Double, *desc.backend));
  fill_gaussian(b, seed);
  Field wanted(desc);
  convert(wanted, b);
  return wanted;
}

inline double norm(const Field& x) { return std::sqrt(blas::norm2(x)); }

/// Uniform in double: converges, the report is true, the history is whole, and the iterated residual is the true one.
/// `sweep`: iterations from one known residual to the next.
inline void check_uniform_double(const MakeSolver& make, const ToySpectrum& spectrum, int sweep = 1) {
  const std::uint64_t seed = next_seed();
  const Lattice lattice({4, 4, 6, 4});
  const ToyOperator a(lattice, spectrum, seed);
  const Field b = gaussian(a.field_desc(), seed);
  Field x = gaussian(a.field_desc(), seed + 1);  // must be overwritten
  const auto solver = make({a});
  a.applications = 0;
  const SolveReport report = solver->solve(x, b, {1e-12 * norm(b), 5000});
  const int applications = a.applications;
  EXPECT_TRUE(report.converged) << report.message;
  EXPECT_EQ(report.stop_reason, StopReason::converged);
  EXPECT_EQ(report.message, "");
  EXPECT_LE(relative_residual(a, x, b), 1.5e-12);
  EXPECT_NEAR(report.residual / norm(b), relative_residual(a, x, b), 1e-15);
  EXPECT_NEAR(report.iterated_residual, report.residual, 1e-13 * norm(b));
  EXPECT_EQ(report.reliable_updates, 0);
  EXPECT_EQ(report.outer_form, "double 18");
  EXPECT_EQ(report.inner_form, "");
  EXPECT_DOUBLE_EQ(report.flops, applications * a.flops());
  ASSERT_EQ(report.history.size(), std::size_t((report.iterations + sweep - 1) / sweep) + 1);
  EXPECT_EQ(report.history.front().iterated, norm(b));
  for (std::size_t i = 0; i < report.history.size(); ++i) {
    EXPECT_EQ(report.history[i].iteration, std::min(int(i) * sweep, report.iterations));
  }
  EXPECT_EQ(report.history.back().true_residual, report.residual);
}

/// Reliable updates reach a residual in double that no inner form has, in every form and gauge. `updates`: the fewest.
inline void check_reliable(const MakeSolver& make, const ToySpectrum& spectrum, int updates = 10) {
  const std::uint64_t seed = next_seed();
  const Lattice lattice({4, 4, 6, 4});
  const ToyOperator a(lattice, spectrum, seed);
  const Field b = gaussian(a.field_desc(), seed);
  Field x(a.field_desc());
  for (const OperatorForm& form : sloppy_forms) {
    SCOPED_TRACE(to_string(form));
    const auto inner = a.converted(form);
    const auto solver = make({a, inner.get(), 0.1});
    const SolveReport report = solver->solve(x, b, {1e-12 * norm(b), 5000});
    EXPECT_TRUE(report.converged) << report.message;
    EXPECT_LE(report.residual, 1e-12 * norm(b)) << "judged on the true residual";
    EXPECT_NEAR(report.residual / norm(b), relative_residual(a, x, b), 1e-15);
    EXPECT_GE(report.reliable_updates, updates) << "a factor of 10 each, and a few more";
    EXPECT_EQ(report.inner_form, to_string(form));
    const auto measured = std::count_if(report.history.begin() + 1, report.history.end(),
                                        [](const HistoryEntry& e) { return std::isfinite(e.true_residual); });
    EXPECT_EQ(measured, report.reliable_updates);
  }
}

/// A long solve: without updates the iterated residual leaves the true one behind, with them it cannot. In half
/// precision a rare right-hand side (one in some 70) ends as stagnated, where SystemSolver begins anew: then another is
/// drawn.
inline void check_drift(const MakeSolver& make, const GaugeOperator& a, const OperatorForm& form, std::uint64_t seed,
                        int at_least, int more_draws = 2) {
  const auto inner = a.converted(form);
  const Field b = gaussian(a.field_desc(), seed);
  Field x(a.field_desc());
  const Stopping stopping{1e-10 * norm(b), 30000};

  const SolveReport off = make({a, inner.get(), 0})->solve(x, b, stopping);
  EXPECT_GE(off.iterations, at_least);
  EXPECT_EQ(off.reliable_updates, 0);
  EXPECT_LE(off.iterated_residual, stopping.target) << "it believes to have converged";
  EXPECT_GT(off.residual, 100 * off.iterated_residual);
  EXPECT_NEAR(off.residual / norm(b), relative_residual(a, x, b), 1e-12);

  const SolveReport on = make({a, inner.get(), 0.1})->solve(x, b, stopping);
  if (on.stop_reason == StopReason::stagnated && form.precision == Precision::Half && more_draws > 0) {
    return check_drift(make, a, form, next_seed(), at_least, more_draws - 1);
  }
  EXPECT_TRUE(on.converged) << on.message;
  EXPECT_GE(on.iterations, at_least);
  EXPECT_GE(on.reliable_updates, 5);
  EXPECT_LE(relative_residual(a, x, b), 1.0001e-10);
  EXPECT_NEAR(on.residual, on.iterated_residual, 0.7 * on.residual) << "the two agree where they meet";
  std::cout << to_string(form) << ": without updates " << off.iterations << " iterations, iterated "
            << off.iterated_residual / norm(b) << ", true " << off.residual / norm(b) << "; with them " << on.iterations
            << " iterations, " << on.reliable_updates << " updates, true " << on.residual / norm(b) << "\n";
}

inline void check_drift(const MakeSolver& make, const ToySpectrum& spectrum, const OperatorForm& form,
                        int at_least = 1000) {
  const std::uint64_t seed = next_seed();
  const Lattice lattice({4, 4, 4, 4});
  check_drift(make, ToyOperator(lattice, spectrum, seed), form, seed, at_least);
}

/// Between the third and the last iteration nothing is allocated, neither fields nor anything on the heap.
inline void check_allocates_nothing(const MakeSolver& make, const ToySpectrum& spectrum) {
  const std::uint64_t seed = next_seed();
  const Lattice lattice({4, 4, 4, 4});
  const ToyOperator a(lattice, spectrum, seed);
  const auto inner = a.converted({Precision::Single, Reconstruct::R12, false});
  const Field b = gaussian(a.field_desc(), seed);
  Field x(a.field_desc());
  for (const bool reliable : {false, true}) {
    const auto solver = make({a, reliable ? inner.get() : nullptr, reliable ? 0.1 : 0});
    const std::size_t before = cpu_backend().allocations();
    std::size_t heap[2] = {};
    int last = 0;
    solver->set_progress([&](const Progress& p) {
      heap[p.iteration > 3] = heap_allocations();
      last = p.iteration;
    });
    const SolveReport report = solver->solve(x, b, {1e-10 * norm(b), 5000});
    EXPECT_TRUE(report.converged);
    EXPECT_EQ(cpu_backend().allocations(), before) << "a solve makes no field";
    EXPECT_GT(last, 10);
    EXPECT_EQ(last, report.iterations);
    EXPECT_EQ(heap[0], heap[1]);
  }
}

/// 1, 2 and 3 threads give the same bits; a solver used again gives them too.
inline void check_threads(const MakeSolver& make, const ToySpectrum& spectrum) {
  const std::uint64_t seed = next_seed();
  const Lattice lattice({8, 4, 6, 12});  // several chunks of 1,024 sites
  const ToyOperator a(lattice, spectrum, seed);
  const auto inner = a.converted({Precision::Single, Reconstruct::R12, true});
  const Field b = gaussian(a.field_desc(), seed);
  const auto solver = make({a, inner.get(), 0.1});
  const int saved = omp_get_max_threads();
  Field first(a.field_desc()), other(a.field_desc());
  SolveReport one;
  for (const int threads : {1, 2, 3}) {
    omp_set_num_threads(threads);
    const SolveReport report = solver->solve(threads == 1 ? first : other, b, {1e-9 * norm(b), 2000});
    EXPECT_TRUE(report.converged);
    if (threads == 1) {
      one = report;
      continue;
    }
    EXPECT_TRUE(same_bits(first, other)) << threads << " threads";
    EXPECT_EQ(report.residual, one.residual);
    EXPECT_EQ(report.iterations, one.iterations);
  }
  omp_set_num_threads(saved);
}

/// max_iterations, a NaN from the operator, a zero and a NaN right-hand side.
/// `largest`: what |r| may be then.
inline void check_ends(const MakeSolver& make, const ToySpectrum& spectrum, double largest = 1) {
  const std::uint64_t seed = next_seed();
  const Lattice lattice({4, 4, 4, 4});
  ToyOperator a(lattice, spectrum, seed);
  Field b = gaussian(a.field_desc(), seed), x(a.field_desc());
  const std::unique_ptr<GaugeOperator> inner = a.converted({Precision::Single, Reconstruct::R12, false});
  for (const bool reliable : {false, true}) {
    SCOPED_TRACE(reliable ? "reliable" : "uniform");
    const auto solver = make({a, reliable ? inner.get() : nullptr, reliable ? 0.1 : 0});
    SolveReport report = solver->solve(x, b, {1e-12 * norm(b), 7});
    EXPECT_FALSE(report.converged);
    EXPECT_EQ(report.stop_reason, StopReason::max_iterations);
    EXPECT_EQ(report.iterations, 7);
    EXPECT_NE(report.message.find("after 7 iterations"), std::string::npos) << report.message;
    EXPECT_LT(relative_residual(a, x, b), largest) << "what there is of x is handed back";
    EXPECT_NEAR(report.residual / norm(b), relative_residual(a, x, b), 1e-14);

    auto& breaking = reliable ? dynamic_cast<ToyOperator&>(*inner) : a;
    breaking.broken_at = breaking.applications + 9;
    report = solver->solve(x, b, {1e-12 * norm(b), 5000});
    breaking.broken_at = -1;
    EXPECT_EQ(report.stop_reason, StopReason::not_finite);
    EXPECT_FALSE(report.converged);
    EXPECT_NE(report.message.find("not finite at iteration"), std::string::npos) << report.message;

    Field none(a.field_desc());
    blas::zero(none);
    report = solver->solve(x, none, {0, 100});
    EXPECT_TRUE(report.converged);
    EXPECT_EQ(report.iterations, 0);
    EXPECT_EQ(norm(x), 0);

    blas::scale(std::nan(""), none);
    report = solver->solve(x, none, {1e-10, 100});
    EXPECT_EQ(report.stop_reason, StopReason::not_finite);
    EXPECT_EQ(report.iterations, 0);
  }
}

/// A target below what double can give: stagnation, in bounded time.
inline void check_stagnation(const MakeSolver& make, const ToySpectrum& spectrum) {
  const std::uint64_t seed = next_seed();
  const Lattice lattice({4, 4, 4, 4});
  const ToyOperator a(lattice, spectrum, seed);
  const auto inner = a.converted({Precision::Single, Reconstruct::R12, false});
  const Field b = gaussian(a.field_desc(), seed);
  Field x(a.field_desc());
  const SolveReport report = make({a, inner.get(), 0.1})->solve(x, b, {1e-18 * norm(b), 20000});
  EXPECT_EQ(report.stop_reason, StopReason::stagnated);
  EXPECT_NE(report.message.find("stagnated at "), std::string::npos) << report.message;
  EXPECT_LT(report.residual, 1e-13 * norm(b));
  EXPECT_LT(report.iterations, 20000);

  // A solve that ends with an update that missed the target: the recurrence of the updates has left b - A x behind.
  const double never = 1e-60 * norm(b);
  const SolveReport longer = make({a, inner.get(), 0.1})->solve(x, b, {never, 400});
  int last_update = 0;
  for (const HistoryEntry& entry : longer.history) {
    if (entry.iteration < longer.iterations && std::isfinite(entry.true_residual)) last_update = entry.iteration;
  }
  const SolveReport ended = make({a, inner.get(), 0.1})->solve(x, b, {never, last_update});
  EXPECT_EQ(ended.iterations, last_update);
  EXPECT_NEAR(ended.residual / norm(b), relative_residual(a, x, b), 1e-3 * relative_residual(a, x, b));
}

}  // namespace quadrille::test
