// Self-consistent charges against a loop over dense matrices with naive charges, and curvy steps against the same.
#include "modules/block_dft/scf/scf.h"

#include "core/error.h"
#include "modules/block_dft/matrix/block_algebra.h"
#include "modules/block_dft/scf/model_system.h"
#include "tests/modules/block_dft/dense.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace quadrille::block_dft {
namespace {

using namespace testing;
using ::testing::AllOf;
using ::testing::HasSubstr;
using Matrix = BlockMatrix<double>;

struct Problem {
  SccModel<> model;
  double electrons;
};

Problem some_problem(std::int32_t atoms, ChargeInteraction interaction = {.hubbard = 2, .screening = 1}) {
  ModelSystem system = model_system({.sizes = random_sizes(atoms, {2, 3, 5}, next_seed()), .seed = next_seed()});
  Problem out{{std::move(system.h), std::move(system.s), charge_interaction(system.positions, interaction), {}},
              system.electrons};
  // Atoms that want other charges than they have.
  for (std::size_t a = 0; a < system.neutral.size(); ++a) {
    out.model.neutral.push_back(system.neutral[a] + (a % 2 == 0 ? 0.1 : -0.1));
  }
  return out;
}

/// The same by dense matrices, LAPACK and naive loops.
class DenseLoop {
 public:
  explicit DenseLoop(const Problem& problem)
      : n_(problem.model.s.rows().total()),
        sizes_(problem.model.s.rows()),
        h0_(dense_of(problem.model.h0)),
        s_(dense_of(problem.model.s)),
        gamma_(dense_of(problem.model.gamma)),
        neutral_(problem.model.neutral),
        electrons_(std::llround(problem.electrons)) {
    charges = neutral_;
    for (int step = 0; step < 2000; ++step) {
      diagonalize();
      double change = 0;
      const std::vector<double> found = charges_of(p);
      for (std::size_t a = 0; a < found.size(); ++a) {
        change = std::max(change, std::abs(found[a] - charges[a]));
        charges[a] += 0.3 * (found[a] - charges[a]);
      }
      if (change < 1e-13) break;
    }
    energy = 0;
    for (std::size_t k = 0; k < p.size(); ++k) energy += p[k] * h0_[k];
    const std::vector<double> v = potential();
    for (std::size_t a = 0; a < v.size(); ++a) energy += 0.5 * v[a] * (charges[a] - neutral_[a]);
  }

  Dense p;
  std::vector<double> charges;
  double energy = 0;

 private:
  std::vector<double> charges_of(const Dense& density) const {
    const Dense ps = dense_multiplied(density, s_, n_, n_, n_);
    std::vector<double> out(neutral_.size());
    for (std::int64_t m = 0; m < n_; ++m) out[std::size_t(sizes_.block_of(m))] += ps[std::size_t(m * n_ + m)];
    return out;
  }
  std::vector<double> potential() const {
    std::vector<double> out(neutral_.size());
    for (std::size_t a = 0; a < out.size(); ++a) {
      for (std::size_t b = 0; b < out.size(); ++b) {
        out[a] += gamma_[a * out.size() + b] * (charges[b] - neutral_[b]);
      }
    }
    return out;
  }
  void diagonalize() {
    const std::vector<double> v = potential();
    Dense h = h0_;
    for (std::int64_t m = 0; m < n_; ++m) {
      for (std::int64_t n = 0; n < n_; ++n) {
        const double mean = (v[std::size_t(sizes_.block_of(m))] + v[std::size_t(sizes_.block_of(n))]) / 2;
        h[std::size_t(m * n_ + n)] += mean * s_[std::size_t(m * n_ + n)];
      }
    }
    const auto blocked = [&](const Dense& dense) {
      return Matrix::from_dense(dense, sizes_, sizes_, Symmetry::symmetric);
    };
    DenseFactor<BlockMatrix<double>> kept;
    p = dense_of(dense_density(
                     blocked(h), blocked(s_), [&](const std::vector<double>&) { return electrons_; }, kept)
                     .p);
  }

  std::int64_t n_;
  BlockSizes sizes_;
  Dense h0_, s_, gamma_;
  std::vector<double> neutral_;
  std::int64_t electrons_;
};

ScfOptions options_of(const Problem& problem, DensityMethod method) {
  ScfOptions out;
  out.density.method = method;
  out.density.electrons = problem.electrons;
  out.density.function.eps = 1e-10;
  out.eps_scf = 1e-12;
  out.max_iterations = 200;
  return out;
}

void expect_solution(const Problem& problem, const DenseLoop& exact, const Scf<>& found) {
  EXPECT_TRUE(found.converged);
  EXPECT_NEAR(found.energy, exact.energy, 1e-6 * std::abs(exact.energy));
  EXPECT_NEAR(found.electrons, problem.electrons, 1e-6);
  EXPECT_NEAR(found.band_energy + found.charge_energy, found.energy, 1e-10 * std::abs(found.energy));
  EXPECT_LE(largest_difference(found.charges, exact.charges), 1e-5);
  EXPECT_LE(largest_difference(dense_of(found.p), exact.p), 1e-4);
  const DensityCheck check = check_density(found.p, found.h, problem.model.s, 1e-14);
  EXPECT_LE(check.idempotency, 1e-6);
  EXPECT_LE(check.commutation, 1e-4);
}

TEST(SccModel, TheHamiltonianIsTheDerivativeOfTheEnergy) {
  const Problem problem = some_problem(12);
  const SccModel<>& model = problem.model;
  const Matrix p = random_blocks<double>(model.s.rows(), model.s.rows(), Symmetry::symmetric, 0.7, next_seed());
  const Matrix d = random_blocks<double>(model.s.rows(), model.s.rows(), Symmetry::symmetric, 0.7, next_seed());
  const auto energy = [&](double step) {
    Matrix at = p;
    add(1.0, at, step, d);
    return dot(at, model.h0) + charge_energy(model, mulliken_charges(at, model.s));
  };
  // A polynomial of second degree: the difference is exact.
  const double slope = (energy(0.5) - energy(-0.5));
  EXPECT_NEAR(slope, dot(d, scc_hamiltonian(model, mulliken_charges(p, model.s))), 1e-9 * (1 + std::abs(slope)));
}

TEST(SccModel, ChargesAddUpToTheTrace) {
  const Problem problem = some_problem(9);
  const Matrix& s = problem.model.s;
  const Matrix p = random_blocks<double>(s.rows(), s.rows(), Symmetry::symmetric, 0.7, next_seed());
  double sum = 0;
  for (const double q : mulliken_charges(p, s)) sum += q;
  EXPECT_NEAR(sum, dot(p, s), 1e-10);
}

TEST(SccModel, InteractionsFallOffInThePeriodicBox) {
  const AtomPositions two{.at = {{0, 0, 0}, {9, 0, 0}}, .cell = {10, 0, 0}};
  const Matrix gamma = charge_interaction(two, {.hubbard = 2, .screening = 3});
  EXPECT_DOUBLE_EQ(gamma.get(0, 0)[0], 2);
  EXPECT_DOUBLE_EQ(gamma.get(0, 1)[0], std::exp(-1.0 / 3) / std::sqrt(1 + 0.25));
  EXPECT_TRUE(charge_interaction(two, {.hubbard = 2, .screening = 3, .cutoff = 0.9}).get(0, 1).empty());
  EXPECT_TRUE(charge_interaction(two, {.hubbard = 2}).get(0, 1).empty());
}

TEST(Scf, MixingFindsWhatDenseMatricesDo) {
  const Problem problem = some_problem(16);
  const DenseLoop exact(problem);
  double transfer = 0;
  for (std::size_t a = 0; a < exact.charges.size(); ++a) {
    transfer = std::max(transfer, std::abs(exact.charges[a] - problem.model.neutral[a]));
  }
  EXPECT_GT(transfer, 0.01);  // otherwise there is nothing to find
  for (const DensityMethod method :
       {DensityMethod::trs4, DensityMethod::canonical, DensityMethod::sign, DensityMethod::dense}) {
    SCOPED_TRACE(int(method));
    expect_solution(problem, exact, self_consistent(problem.model, options_of(problem, method)));
  }
}

TEST(Scf, CurvyStepsFindTheSameWithoutMixing) {
  const Problem problem = some_problem(16);
  const DenseLoop exact(problem);
  std::vector<std::size_t> iterations;
  for (const CurvyDirection direction : {CurvyDirection::conjugate_gradient, CurvyDirection::steepest_descent}) {
    SCOPED_TRACE(int(direction));
    ScfOptions options = options_of(problem, DensityMethod::trs4);
    options.method = ScfMethod::curvy;
    options.direction = direction;
    const Scf found = self_consistent(problem.model, options);
    expect_solution(problem, exact, found);
    for (std::size_t k = 1; k < found.iterations.size(); ++k) {
      EXPECT_LT(found.iterations[k].change, 1e-8) << k;  // never uphill
    }
    EXPECT_LT(found.iterations.back().gradient, 0.01 * found.iterations[1].gradient);
    iterations.push_back(found.iterations.size());
  }
  EXPECT_LE(iterations[0], iterations[1]);
}

TEST(Scf, CurvyStepsKeepIdempotencyAndElectrons) {
  const Problem problem = some_problem(12);
  const SccModel<>& model = problem.model;
  DensityOptions start{.method = DensityMethod::trs4, .electrons = problem.electrons, .function = {.eps = 1e-13}};
  DensitySolver solver(model.s, start);
  CurvySteps steps(model, solver.density(model.h0).p, solver.inverse_root(), CurvyDirection::conjugate_gradient,
                   start.function);
  for (int step = 0; step < 4; ++step) {
    const double before = steps.energy();
    const CurvyStep done = steps.step();
    EXPECT_LT(done.slope, 0);
    EXPECT_GT(done.t, 0);
    EXPECT_LT(steps.energy(), before);
    // To second order in t the energy falls by half of slope t.
    EXPECT_NEAR(steps.energy() - before, done.slope * done.t / 2, 0.3 * std::abs(done.slope * done.t / 2));
    EXPECT_LE(check_density(steps.p(), model.h0, model.s, 0).idempotency, 1e-9);
    EXPECT_NEAR(dot(steps.p(), model.s), problem.electrons, 1e-8);
  }
}

TEST(Scf, SmallCurvyStepsGoDownhillWithALargeFilter) {
  ModelSystem system = model_system(
      {.sizes = random_sizes(40, {2, 3, 5}, next_seed()), .coupling = 3, .polarity = 0.2, .seed = next_seed()});
  const Problem problem{{std::move(system.h), std::move(system.s),
                         charge_interaction(system.positions, {.hubbard = 2, .screening = 1}), system.neutral},
                        system.electrons};
  ScfOptions options = options_of(problem, DensityMethod::trs4);
  options.method = ScfMethod::curvy;
  options.density.function.eps = 1e-6;
  options.eps_scf = 1e-8;
  const Scf found = self_consistent(problem.model, options);
  EXPECT_TRUE(found.converged);
  EXPECT_LT(found.iterations.size(), 20);
  for (std::size_t k = 1; k < found.iterations.size(); ++k) EXPECT_LT(found.iterations[k].change, 1e-6) << k;
  EXPECT_NEAR(found.energy, DenseLoop(problem).energy, 1e-5);
}

TEST(Scf, WithoutChargesItIsOneDensityMatrix) {
  Problem problem = some_problem(10);
  problem.model.gamma = Matrix();
  problem.model.neutral.clear();
  const Scf found = self_consistent(problem.model, options_of(problem, DensityMethod::trs4));
  EXPECT_TRUE(found.converged);
  EXPECT_EQ(found.iterations.size(), 2);
  const Density one = density_matrix(problem.model.h0, problem.model.s,
                                     {.method = DensityMethod::dense, .electrons = problem.electrons});
  EXPECT_NEAR(found.energy, one.energy, 1e-7);
}

/// Two atoms with a level each: with mixing m charges move by 1 - m (1 + U / 2) of what they moved by before.
Problem dimer(double hubbard) {
  const BlockSizes sizes({1, 1});
  Problem out{{Matrix(sizes, sizes, Symmetry::symmetric),
               identity<double>(sizes),
               charge_interaction({.at = {{0, 0, 0}, {1, 0, 0}}}, {.hubbard = hubbard}),
               {0.52, 0.48}},
              1};
  out.model.h0.put(0, 1, std::vector<double>{-1});
  return out;
}

TEST(Scf, ALoopThatOscillatesSaysSo) {
  const Problem problem = dimer(2.4);
  ScfOptions options = options_of(problem, DensityMethod::trs4);
  options.mixing = 1;
  const std::string message = message_of([&] { self_consistent(problem.model, options); });
  EXPECT_THAT(message,
              AllOf(HasSubstr("oscillates: charges move back and forth by"), HasSubstr("with mixing 1; mixing 0.4")));
  options.mixing = 1 / 2.2;
  EXPECT_TRUE(self_consistent(problem.model, options).converged);
  options.method = ScfMethod::curvy;
  EXPECT_TRUE(self_consistent(problem.model, options).converged);
}

TEST(Scf, ALoopThatIsNotDoneIsReported) {
  const Problem problem = dimer(1);
  ScfOptions options = options_of(problem, DensityMethod::trs4);
  options.max_iterations = 3;
  options.mixing = 0.1;
  const Scf found = self_consistent(problem.model, options);
  EXPECT_FALSE(found.converged);
  EXPECT_EQ(found.iterations.size(), 3);
}

// The first one, of two levels that are the bounds of the spectrum, takes one iteration.
TEST(Scf, ADensityMatrixThatDoesNotConvergeEndsTheLoop) {
  const Problem problem = dimer(1);
  ScfOptions options = options_of(problem, DensityMethod::trs4);
  options.density.function.max_iterations = 1;
  const Scf<> scf = self_consistent(problem.model, options);
  EXPECT_FALSE(scf.converged);
  EXPECT_EQ(scf.iterations.size(), 2u);
  EXPECT_THAT(scf.density_failure, HasSubstr("has not converged: residual"));
}

TEST(Scf, BadInput) {
  const Problem good = dimer(1);
  const auto message = [&](auto change) {
    Problem problem = good;
    ScfOptions options = options_of(problem, DensityMethod::trs4);
    change(problem.model, options);
    return message_of([&] { self_consistent(problem.model, options); });
  };
  using Model = SccModel<>;
  EXPECT_EQ(message([](Model&, ScfOptions&) {}), "");
  EXPECT_THAT(message([](Model&, ScfOptions& o) { o.mixing = 0; }), HasSubstr("mixing = 0"));
  EXPECT_THAT(message([](Model&, ScfOptions& o) { o.mixing = 1.5; }), HasSubstr("mixing = 1.5"));
  EXPECT_THAT(message([](Model&, ScfOptions& o) { o.eps_scf = NAN; }), HasSubstr("eps_scf = nan"));
  EXPECT_THAT(message([](Model&, ScfOptions& o) { o.density.function.eps = 0; }), HasSubstr("eps = 0"));
  EXPECT_THAT(message([](Model&, ScfOptions& o) { o.density.electrons.reset(); }), HasSubstr("number of electrons"));
  EXPECT_THAT(message([](Model&, ScfOptions& o) { o.density.electrons = 2; }), HasSubstr("2 electrons"));
  EXPECT_THAT(message([](Model&, ScfOptions& o) {
                o.method = ScfMethod::curvy;
                o.density.method = DensityMethod::dense;
              }),
              HasSubstr("curvy steps begin with"));
  EXPECT_THAT(message([](Model& m, ScfOptions&) { m.neutral.pop_back(); }), HasSubstr("1 neutral charges for 2 atoms"));
  EXPECT_THAT(message([](Model& m, ScfOptions&) { m.gamma = identity<double>(BlockSizes({1})); }),
              HasSubstr("must be divided into the same blocks"));
  EXPECT_THAT(message([](Model& m, ScfOptions&) { m.s = identity<double>(BlockSizes({2})); }), HasSubstr("H and S"));
  EXPECT_THAT(message([](Model& m, ScfOptions&) { m.h0.put(0, 1, std::vector<double>{NAN}); }),
              HasSubstr("H: element [0, 1] is nan"));
  EXPECT_THAT(message([](Model& m, ScfOptions&) { m.s.put(0, 1, std::vector<double>{1.5}); }),
              HasSubstr("S is not positive definite"));
  EXPECT_THAT(message_of([] {
                charge_interaction({.at = {{0, 0, 0}, {0, 0, 0}}}, {.hubbard = 1, .screening = 1});
              }),
              HasSubstr("atoms 0 and 1 are at the same place"));
  EXPECT_THAT(message_of([] { charge_interaction({.at = {{0, 0, 0}}}, {.hubbard = -1}); }), HasSubstr("= -1"));
}

}  // namespace
}  // namespace quadrille::block_dft
