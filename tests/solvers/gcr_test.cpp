// GCR, alone and with preconditioners: also some that are none.
#include "method_checks.h"
#include "solvers/methods/methods.h"
#include "solvers/preconditioners/mr.h"
#include "solvers/preconditioners/solver_operator.h"

namespace quadrille::test {
namespace {

constexpr ToySpectrum right_half{.smallest = 0.05, .angle = 1};

std::unique_ptr<Solver> gcr(const SolverParts& parts) { return make_gcr(parts, 16); }
std::unique_ptr<Solver> smoothed_gcr(const SolverParts& parts) {
  SolverParts smoothed = parts;
  smoothed.preconditioner = std::make_shared<MinimalResidual>(parts.iterating(), 3, 0.85);
  return make_gcr(smoothed, 16);
}

TEST(Gcr, UniformDouble) { check_uniform_double(gcr, right_half); }
TEST(Gcr, Reliable) { check_reliable(gcr, right_half); }
TEST(Gcr, ReliablePreconditioned) { check_reliable(smoothed_gcr, right_half, 8); }
TEST(Gcr, AllocatesNothing) { check_allocates_nothing(gcr, right_half); }
TEST(Gcr, AllocatesNothingPreconditioned) { check_allocates_nothing(smoothed_gcr, right_half); }
TEST(Gcr, SameBitsForAnyThreads) { check_threads(smoothed_gcr, right_half); }
TEST(Gcr, Ends) { check_ends(gcr, right_half); }
TEST(Gcr, Stagnates) { check_stagnation(gcr, right_half); }

/// |r_k| is the smallest that k directions allow: with the restart length beyond them that of GMRES, which takes at
/// most 12 iterations for 12 x 12 matrices that are the same on all sites.
TEST(Gcr, MinimizesOverTheWholeSpace) {
  const Lattice lattice({4, 4, 4, 4});
  std::array<Complex, 144> matrix{};
  std::mt19937_64 random(next_seed());
  std::normal_distribution<double> normal;
  for (Complex& c : matrix) c = {normal(random), normal(random)};
  for (std::size_t i = 0; i < 12; ++i) matrix[13 * i] += 8.0;
  const ToyOperator a(lattice, matrix);
  const Field b = gaussian(a.field_desc(), next_seed());
  Field x(a.field_desc());
  const SolveReport whole = make_gcr({a}, 20)->solve(x, b, {1e-10 * norm(b), 40});
  EXPECT_TRUE(whole.converged) << whole.message;
  EXPECT_LE(whole.iterations, 12);
  for (std::size_t i = 1; i < whole.history.size(); ++i) {
    EXPECT_LE(whole.history[i].iterated, whole.history[i - 1].iterated * (1 + 1e-12));
  }
  const SolveReport restarted = make_gcr({a}, 2)->solve(x, b, {1e-10 * norm(b), 400});
  EXPECT_TRUE(restarted.converged) << restarted.message;
  EXPECT_GE(restarted.iterations, whole.iterations);
  EXPECT_EQ(restarted.restarts, (restarted.iterations - 1) / 2);
}

/// A reliable update costs no iterations while the space has room: there are as many as in uniform double.
TEST(Gcr, ReliableUpdatesKeepTheSpace) {
  const Lattice lattice({4, 4, 4, 4});
  const ToyOperator a(lattice, {.smallest = 0.1, .angle = 1}, next_seed());
  const Field b = gaussian(a.field_desc(), next_seed());
  Field x(a.field_desc());
  const Stopping stopping{1e-10 * norm(b), 3000};
  constexpr int more_than_enough = 200;
  const SolveReport uniform = make_gcr({a}, more_than_enough)->solve(x, b, stopping);
  EXPECT_TRUE(uniform.converged) << uniform.message;
  EXPECT_LT(uniform.iterations, more_than_enough);
  for (const OperatorForm& form : sloppy_forms) {
    SCOPED_TRACE(to_string(form));
    const auto inner = a.converted(form);
    const SolveReport report = make_gcr({a, inner.get(), 0.1}, more_than_enough)->solve(x, b, stopping);
    EXPECT_TRUE(report.converged) << report.message;
    EXPECT_LE(relative_residual(a, x, b), 1.0001e-10);
    EXPECT_GE(report.reliable_updates, 9);
    EXPECT_EQ(report.restarts, 0);
    EXPECT_LE(report.iterations, uniform.iterations + 3);
  }
}

TEST(Gcr, AGoodPreconditionerSavesIterations) {
  const Lattice lattice({4, 4, 4, 4});
  const ToyOperator a(lattice, {.smallest = 0.01, .angle = 1}, next_seed());
  const auto inner = a.converted({Precision::Single, Reconstruct::R12, false});
  const Field b = gaussian(a.field_desc(), next_seed());
  Field x(a.field_desc());
  const Stopping stopping{1e-10 * norm(b), 3000};
  const SolveReport alone = gcr({a, inner.get(), 0.1})->solve(x, b, stopping);
  SolverParts parts{a, inner.get(), 0.1};
  parts.preconditioner = std::make_shared<SolverOperator>(*inner, make_bicgstab({*inner}), 0.1, 50);
  a.applications = 0;
  const auto& low = dynamic_cast<const ToyOperator&>(*inner);
  low.applications = 0;
  const SolveReport report = make_gcr(parts, 16)->solve(x, b, stopping);
  EXPECT_DOUBLE_EQ(report.flops, (a.applications + low.applications) * a.flops()) << "those of every incomplete solve";
  EXPECT_TRUE(alone.converged && report.converged) << alone.message << report.message;
  EXPECT_LE(report.iterations, 30) << "a factor of 10 each";
  EXPECT_LT(10 * report.iterations, alone.iterations);
  EXPECT_LE(relative_residual(a, x, b), 1.0001e-10);
}

/// What a preconditioner must not be.
class BadPreconditioner final : public LinearOperator {
 public:
  BadPreconditioner(const LinearOperator& a, double factor) : a_(a), factor_(factor) {}
  const FieldDesc& field_desc() const override { return a_.field_desc(); }
  void apply(Field& y, const Field& x, Dagger) const override {
    blas::copy(y, x);
    blas::scale(factor_, y);
  }
  double flops() const override { return 0; }

 private:
  const LinearOperator& a_;
  double factor_;
};

TEST(Gcr, PreconditionersThatAreNone) {
  const Lattice lattice({4, 4, 4, 4});
  const ToyOperator a(lattice, right_half, next_seed());
  const Field b = gaussian(a.field_desc(), next_seed());
  Field x(a.field_desc());
  const auto with = [&](double factor) {
    return make_gcr({.outer = a, .preconditioner = std::make_shared<BadPreconditioner>(a, factor)}, 16)
        ->solve(x, b, {1e-10 * norm(b), 3000});
  };
  const SolveReport scaled = with(-1e9), plain = gcr({a})->solve(x, b, {1e-10 * norm(b), 3000});
  EXPECT_TRUE(scaled.converged) << "its size and sign do not matter: " << scaled.message;
  EXPECT_NEAR(scaled.iterations, plain.iterations, 3);
  const SolveReport nan = with(std::nan(""));
  EXPECT_EQ(nan.stop_reason, StopReason::not_finite);
  EXPECT_NE(nan.message.find("preconditioner"), std::string::npos) << nan.message;
  EXPECT_EQ(norm(x), 0);
  const SolveReport nothing = with(0);
  EXPECT_EQ(nothing.stop_reason, StopReason::breakdown);
  EXPECT_NE(nothing.message.find("preconditioner"), std::string::npos) << nothing.message;
}

/// Against the formula, with dot products and updates of their own; |r| does not grow.
TEST(MinimalResidual, FollowsItsFormula) {
  const Lattice lattice({4, 4, 6, 4});
  for (const Precision precision : {Precision::Double, Precision::Single, Precision::Half}) {
    const ToyOperator exact(lattice, right_half, next_seed());
    const auto a = exact.converted({precision, Reconstruct::R18, false});
    const Field x = gaussian(a->field_desc(), next_seed());
    const double omega = 0.85;
    for (const Dagger dagger : {Dagger::No, Dagger::Yes}) {
      Field y(x.desc()), r(x.desc()), t(x.desc()), got = gaussian(x.desc(), next_seed());
      blas::zero(y);
      blas::copy(r, x);
      double before = norm(x);
      for (int step = 0; step < 5; ++step) {
        MinimalResidual(*a, step, omega).apply(got, x, dagger);
        blas::axpy(-1, y, got);
        EXPECT_LE(norm(got), (precision == Precision::Double   ? 1e-13
                              : precision == Precision::Single ? 1e-5
                                                               : 3e-3) *
                                 norm(x));
        a->apply(t, r, dagger);
        const Complex alpha = omega * blas::dot(t, r) / blas::norm2(t);
        blas::caxpy(alpha, r, y);
        blas::caxpy(-alpha, t, r);
        EXPECT_LT(norm(r), before);
        before = norm(r);
      }
    }
  }
  const ToyOperator a(lattice, right_half, 1);
  EXPECT_EQ(MinimalResidual(a, 5, 1).flops(), 5 * a.flops());
}

TEST(MinimalResidual, ImprovesWhatIsThere) {
  const Lattice lattice({4, 4, 6, 4});
  for (const Precision precision : {Precision::Double, Precision::Single, Precision::Half}) {
    const ToyOperator exact(lattice, right_half, next_seed());
    const auto a = exact.converted({precision, Reconstruct::R18, false});
    const MinimalResidual smoother(*a, 4, 0.85);
    std::vector<Field> x, y, expected;
    std::vector<Operands> calls;
    for (int i = 0; i < 3; ++i) {
      x.push_back(gaussian(a->field_desc(), next_seed()));
      y.push_back(gaussian(a->field_desc(), next_seed()));
      Field r(x.back().desc()), correction(x.back().desc());
      a->apply(r, y.back(), Dagger::No);
      blas::xpay(x.back(), -1, r);
      smoother.apply(correction, r, Dagger::No);
      blas::axpy(1, y.back(), correction);
      expected.push_back(std::move(correction));
    }
    for (std::size_t i = 0; i < x.size(); ++i) calls.push_back({&y[i], &x[i]});
    smoother.improve_each(calls);
    for (std::size_t i = 0; i < x.size(); ++i) {
      blas::axpy(-1, expected[i], y[i]);
      EXPECT_LE(norm(y[i]), (precision == Precision::Double   ? 1e-13
                             : precision == Precision::Single ? 1e-5
                                                              : 3e-3) *
                                norm(expected[i]));
    }
  }
}

TEST(MinimalResidual, OfNothingIsNothing) {
  const Lattice lattice({4, 4, 4, 4});
  const ToyOperator a(lattice, right_half, next_seed());
  Field x(a.field_desc()), y = gaussian(a.field_desc(), next_seed());
  blas::zero(x);
  MinimalResidual(a, 3, 1).apply(y, x, Dagger::No);
  EXPECT_EQ(norm(y), 0);
}

TEST(SolverOperator, IsTheInverse) {
  const Lattice lattice({4, 4, 4, 4});
  const ToyOperator a(lattice, right_half, next_seed());
  const SolverOperator inverse(a, gcr({a}), 1e-10, 1000);
  const Field x = gaussian(a.field_desc(), next_seed());
  Field y(a.field_desc());
  a.applications = 0;
  inverse.apply(y, x, Dagger::No);
  EXPECT_LE(relative_residual(a, y, x), 1.1e-10);
  EXPECT_GT(inverse.flops(), 10 * a.flops());
  EXPECT_THROW(inverse.apply(y, x, Dagger::Yes), Error);
}

}  // namespace
}  // namespace quadrille::test
