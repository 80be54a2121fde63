#include "method_checks.h"
#include "solvers/methods/methods.h"

#include <gtest/gtest.h>

namespace quadrille::test {
namespace {

// CG needs nothing of A but that it is regular: eigenvalues all around the origin.
constexpr ToySpectrum anywhere{.smallest = 0.05, .angle = 3.14};

TEST(Cg, UniformDouble) { check_uniform_double(make_cg, anywhere); }
TEST(Cg, Reliable) { check_reliable(make_cg, anywhere); }
TEST(Cg, DriftInSingle) {
  check_drift(make_cg, {.smallest = 0.005, .angle = 3.14}, {Precision::Single, Reconstruct::R12, false});
}
TEST(Cg, DriftInHalf) {
  check_drift(make_cg, {.smallest = 0.01, .angle = 3.14}, {Precision::Half, Reconstruct::R12, false});
}
TEST(Cg, AllocatesNothing) { check_allocates_nothing(make_cg, anywhere); }
TEST(Cg, SameBitsForAnyThreads) { check_threads(make_cg, anywhere); }
TEST(Cg, Ends) { check_ends(make_cg, anywhere); }
TEST(Cg, Stagnates) { check_stagnation(make_cg, anywhere); }

TEST(Cg, ResidualNeverGrows) {
  const std::uint64_t seed = next_seed();
  const Lattice lattice({4, 4, 4, 4});
  const ToyOperator a(lattice, anywhere, seed);
  const Field b = gaussian(a.field_desc(), seed);
  Field x(a.field_desc());
  const SolveReport report = make_cg({a})->solve(x, b, {1e-10 * norm(b), 2000});
  for (std::size_t i = 1; i < report.history.size(); ++i) {
    EXPECT_LE(report.history[i].iterated, report.history[i - 1].iterated);
  }
}

// The corrected direction keeps what the search has learnt: reliable updates cost few iterations more than none.
TEST(Cg, UpdatesHardlyCostIterations) {
  const std::uint64_t seed = next_seed();
  const Lattice lattice({4, 4, 4, 4});
  const ToyOperator a(lattice, {.smallest = 0.02, .angle = 3.14}, seed);
  const auto inner = a.converted({Precision::Single, Reconstruct::R12, false});
  const Field b = gaussian(a.field_desc(), seed);
  Field x(a.field_desc());
  const Stopping stopping{1e-10 * norm(b), 5000};
  const SolveReport uniform = make_cg({a})->solve(x, b, stopping);
  const SolveReport reliable = make_cg({a, inner.get(), 0.1})->solve(x, b, stopping);
  EXPECT_TRUE(uniform.converged);
  EXPECT_TRUE(reliable.converged);
  EXPECT_LT(reliable.iterations, 1.2 * uniform.iterations) << "uniform " << uniform.iterations;
}

// Updates come when rounding asks for them, whatever delta allows. With delta alone half takes 1.2 times the iterations
// of double at 0.01, and 3 to 10 times at 0.001.
TEST(Cg, HalfKeepsThePaceOfDoubleAtAnyDelta) {
  const std::uint64_t seed = next_seed();
  const Lattice lattice({4, 4, 4, 4});
  const ToyOperator a(lattice, {.smallest = 0.02, .angle = 3.14}, seed);
  const auto inner = a.converted({Precision::Half, Reconstruct::R12, false});
  const Field b = gaussian(a.field_desc(), seed);
  Field x(a.field_desc());
  const Stopping stopping{1e-10 * norm(b), 5000};
  const SolveReport uniform = make_cg({a})->solve(x, b, stopping);
  for (const double delta : {0.1, 0.01, 0.001}) {
    const SolveReport report = make_cg({a, inner.get(), delta})->solve(x, b, stopping);
    EXPECT_TRUE(report.converged) << report.message;
    EXPECT_LT(report.iterations, 1.12 * uniform.iterations) << "delta " << delta << ", uniform " << uniform.iterations;
    EXPECT_LT(report.reliable_updates, 20) << "delta " << delta;
    std::cout << "delta " << delta << ": " << report.iterations << " iterations, " << report.reliable_updates
              << " updates; uniform double " << uniform.iterations << "\n";
  }
}

TEST(Cg, SingularOperatorBreaksDown) {
  const std::uint64_t seed = next_seed();
  const Lattice lattice({4, 4, 4, 4});
  const Field b = gaussian(FieldDesc::spinor(lattice, Subset::Even, Precision::Double), seed);
  Field x(b.desc());
  const ToyOperator nothing(lattice, {.zero_modes = 12}, seed);
  SolveReport report = make_cg({nothing})->solve(x, b, {1e-10 * norm(b), 2000});
  EXPECT_EQ(report.stop_reason, StopReason::breakdown);
  EXPECT_NE(report.message.find("CG broke down at iteration 1: |A^+ r|^2 = 0"), std::string::npos) << report.message;
  EXPECT_EQ(report.residual, norm(b));

  const ToyOperator some(lattice, {.smallest = 0.2, .angle = 3.14, .zero_modes = 2}, seed);
  report = make_cg({some})->solve(x, b, {1e-10 * norm(b), 2000});
  EXPECT_FALSE(report.converged);
  EXPECT_NEAR(report.residual / norm(b), std::sqrt(2. / 12), 0.05) << "the least-squares solution";
}

TEST(Cg, WrongAdjointDiverges) {
  const std::uint64_t seed = next_seed();
  const Lattice lattice({4, 4, 4, 4});
  const ToyOperator a(lattice, {.smallest = 0.05, .dagger_factor = -1e5}, seed);
  const Field b = gaussian(a.field_desc(), seed);
  Field x(b.desc());
  const SolveReport report = make_cg({a})->solve(x, b, {1e-10 * norm(b), 2000});
  EXPECT_EQ(report.stop_reason, StopReason::diverged);
  EXPECT_NE(report.message.find("has grown from"), std::string::npos) << report.message;
}

}  // namespace
}  // namespace quadrille::test
