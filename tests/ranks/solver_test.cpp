// CG and BiCGstab over several ranks against one process, also where devices form their sums themselves; and how ranks
// hear of each other's signals meanwhile.
#include "core/field/convert.h"
#include "dirac/systems/even_odd.h"
#include "dirac/wilson.h"
#include "solvers/methods/methods.h"
#include "solvers/preconditioners/mr.h"
#include "tests/dirac/dirac_testing.h"
#include "tests/ranks/ranks_testing.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <csignal>

namespace quadrille {
namespace {

using testing::divided_dims;
using testing::ranks;

using MakeSolver = std::unique_ptr<Solver> (*)(const SolverParts& parts);

std::unique_ptr<Solver> make_bicgstab_2(const SolverParts& parts) { return make_bicgstab_l(parts, 2); }
std::unique_ptr<Solver> make_overrelaxed_mr(const SolverParts& parts) { return make_mr(parts, 1.1); }
/// With steps of MR as preconditioner.
std::unique_ptr<Solver> make_smoothed_gcr(const SolverParts& parts) {
  SolverParts smoothed = parts;
  smoothed.preconditioner = std::make_shared<MinimalResidual>(parts.iterating(), 2, 0.85);
  return make_gcr(smoothed, 8);
}

/// The even-odd system on a random field, and a random right-hand side.
struct Problem {
  Lattice lattice;
  EvenOddSystem system;
  Field b, x;

  Problem(std::shared_ptr<const Communicator> communicator, std::uint64_t seed)
      : lattice(divided_dims, std::move(communicator)),
        system(std::make_shared<const WilsonOperator>(
            std::make_shared<const GaugeStore>(lattice, GaugeStart::weak(seed, 0.3), testing::backend()),
            WilsonParameters{.mass = 0.1}, OperatorForm{})),
        b(system.reduced().field_desc()),
        x(system.reduced().field_desc()) {
    const HostSpinor whole = testing::random_spinor(divided_dims, seed + 1);
    HostSpinor part(lattice.dims());
    for (std::int64_t site = 0; site < lattice.volume(); ++site) {
      const std::int64_t global = lattice.global_site(lattice.coordinates(site));
      std::copy_n(whole.data.begin() + global * 12, 12, part.data.begin() + site * 12);
    }
    Field full(FieldDesc::spinor(lattice, Subset::Full, Precision::Double, testing::backend()));
    import_spinor(full, part);
    convert(b, full.parity(Parity::Even));
  }
  /// `form`: of the iterations; null: uniform.
  SolveReport solve(MakeSolver make, const OperatorForm* form, const ProgressCallback& progress = {}) {
    const auto inner = form != nullptr ? system.reduced().converted(*form) : nullptr;
    const auto solver = make({system.reduced(), inner.get(), form != nullptr ? 0.1 : 0});
    solver->set_progress(progress);
    return solver->solve(x, b, {1e-10 * std::sqrt(double(lattice.volume())), 500});
  }
};

/// Histories are the same but for rounding, in units of |b|. Products near zero make BiCGstab enlarge it a hundredfold.
void expect_alike(const SolveReport& mine, const SolveReport& other, double rounding, const std::string& what) {
  ASSERT_TRUE(mine.converged && other.converged) << what << ": " << mine.message << other.message;
  EXPECT_NEAR(mine.iterations, other.iterations, 5 + other.iterations / 4) << what;
  ASSERT_GT(std::min(mine.history.size(), other.history.size()), 8u) << what;
  for (std::size_t n = 0; n < 8; ++n) {
    EXPECT_NEAR(mine.history[n].iterated, other.history[n].iterated, rounding * other.history[0].iterated)
        << what << ", entry " << n;
  }
}

class RankSolver : public ::testing::TestWithParam<MakeSolver> {};

TEST_P(RankSolver, GoesAsOneProcess) {
  const std::uint64_t seed = testing::shared_seed();
  Problem alone(single_process(), seed);
  const OperatorForm half{Precision::Half, Reconstruct::R12, true};
  const SolveReport uniform = alone.solve(GetParam(), nullptr), mixed = alone.solve(GetParam(), &half);
  for (const Dims& grid : testing::some_grids(3)) {
    Problem mine(ranks().communicator(grid), seed);
    expect_alike(mine.solve(GetParam(), nullptr), uniform, 1e-11, grid_text(grid));
    expect_alike(mine.solve(GetParam(), &half), mixed, 0.05, grid_text(grid) + " in half");
  }
}

#ifdef QUADRILLE_TEST_GPU
// Hosts form sums where messages go through them.
TEST_P(RankSolver, SumsOfDevicesAreThoseOfHosts) {
  const std::uint64_t seed = testing::shared_seed();
  const Dims grid = testing::some_grids(1).front();
  SolveReport of_hosts;
  {
    const testing::Forced forced("pinned");
    of_hosts = Problem(ranks().communicator(grid), seed).solve(GetParam(), nullptr);
  }
  const testing::Forced forced(nullptr);
  Problem mine(ranks().communicator(grid), seed);
  expect_alike(mine.solve(GetParam(), nullptr), of_hosts, 1e-11, "devices");
  for (int again = 0; again < 2; ++again)
    expect_alike(mine.solve(GetParam(), nullptr), of_hosts, 1e-11, "again, with the same boxes");
}
#endif

TEST_P(RankSolver, RanksHearOfSignals) {
  constexpr int raised_after = 3, most = 18;  // where no host forms sums, one iteration in 16 asks
  Problem mine(ranks().communicator(testing::some_grids(1).front()), testing::shared_seed());
  const Communicator& communicator = mine.lattice.communicator();
  communicator.forget_signals();
  int heard = 0, iterations = 0;
  bool raised = false;
  while (iterations < 2 * most) {
    iterations += mine.solve(GetParam(), nullptr,
                             [&](const Progress& now) {
                               if (!raised && iterations + now.iteration >= raised_after) {
                                 raised = true;
                                 if (communicator.rank() == communicator.size() - 1) communicator.raise(SIGTERM);
                               }
                               if (heard == 0 && communicator.agreed_signal() == SIGTERM)
                                 heard = iterations + now.iteration;
                             })
                      .iterations;
  }
  EXPECT_GE(heard, raised_after);
  EXPECT_LE(heard, raised_after + most);
  double first = heard, last = -heard;
  communicator.maximum(&first, 1);
  communicator.maximum(&last, 1);
  EXPECT_EQ(first, -last) << "in the same iteration on all ranks";
  communicator.forget_signals();
}

std::string name_of(const ::testing::TestParamInfo<MakeSolver>& info) {
  return std::array{"Cg", "Bicgstab", "Bicgstab2", "SmoothedGcr", "Mr"}.at(info.index);
}
INSTANTIATE_TEST_SUITE_P(Methods, RankSolver,
                         ::testing::Values(&make_cg, &make_bicgstab, &make_bicgstab_2, &make_smoothed_gcr,
                                           &make_overrelaxed_mr),
                         name_of);

}  // namespace
}  // namespace quadrille
