// Many right-hand sides of one call: each goes as if it were alone, to the last bit.
#include "core/blas/blas.h"
#include "core/error.h"
#include "method_checks.h"
#include "solvers/driver.h"
#include "solvers/joined_operator.h"
#include "toy_operator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace quadrille::test {
namespace {

using ::testing::ElementsAre;

bool same_bits(const Field& a, const Field& b) {
  return std::memcmp(a.numbers(Parity::Even), b.numbers(Parity::Even), a.desc().bytes()) == 0;
}

/// `of` of a report without its seconds.
void expect_same(const SolveReport& mine, const SolveReport& alone) {
  EXPECT_EQ(mine.iterations, alone.iterations);
  EXPECT_EQ(mine.reliable_updates, alone.reliable_updates);
  EXPECT_EQ(mine.restarts, alone.restarts);
  EXPECT_EQ(mine.stop_reason, alone.stop_reason);
  EXPECT_EQ(mine.message, alone.message);
  EXPECT_EQ(mine.residual, alone.residual);
  EXPECT_EQ(mine.flops, alone.flops);
  ASSERT_EQ(mine.history.size(), alone.history.size());
  for (std::size_t i = 0; i < mine.history.size(); ++i) EXPECT_EQ(mine.history[i].iterated, alone.history[i].iterated);
}

/// Right-hand sides that end at different times: zero, one in two eigenspaces of a site, some anywhere, of any size.
std::vector<Field> right_hand_sides(const FieldDesc& desc, int count) {
  std::vector<Field> out;
  for (int i = 0; i < count; ++i) {
    out.push_back(gaussian(desc, next_seed()));
    if (i % 4 == 1) blas::zero(out.back());
    if (i % 4 == 2) blas::scale(std::ldexp(1.0, 100 * (i % 3) - 100), out.back());
  }
  return out;
}

struct Batch {
  std::vector<Field> x;
  std::vector<SolveReport> reports;
};
Batch solve_at_once(SystemSolver& solver, const FieldDesc& desc, const std::vector<Field>& b) {
  Batch out;
  std::vector<Field*> x;
  std::vector<const Field*> rhs;
  for (const Field& one : b) {
    out.x.push_back(gaussian(desc, next_seed()));  // must be overwritten
    rhs.push_back(&one);
  }
  for (Field& one : out.x) x.push_back(&one);
  out.reports = solver.solve(x, rhs);
  return out;
}

SolverSpec spec_of(const std::string& type, Scheme scheme, Precision sloppy) {
  SolverSpec spec;
  spec.type = type;
  spec.scheme = scheme;
  spec.tolerance = 1e-10;
  spec.sloppy = {sloppy, Reconstruct::R12, false};
  return spec;
}

TEST(Batch, BitsAndReportsAreThoseOfEachAlone) {
  const Lattice lattice({4, 4, 6, 4});
  const ToySystem system(lattice, {.smallest = 0.05, .angle = 0.5}, next_seed());
  const std::vector<Field> b = right_hand_sides(system.full_desc(), 7);
  for (const SolverEntry& method : solver_registry()) {
    for (const Scheme scheme : {Scheme::reliable, Scheme::defect, Scheme::uniform}) {
      const SolverSpec spec = spec_of(method.name, scheme, Precision::Single);
      SCOPED_TRACE(method.name + " " + to_string(scheme));
      SystemSolver together(system, spec), alone(system, spec);
      const Batch batch = solve_at_once(together, system.full_desc(), b);
      ASSERT_EQ(batch.reports.size(), b.size());
      for (std::size_t i = 0; i < b.size(); ++i) {
        SCOPED_TRACE(i);
        Field x(system.full_desc());
        expect_same(batch.reports[i], alone.solve(x, b[i]));
        EXPECT_TRUE(same_bits(batch.x[i], x));
      }
    }
  }
}

TEST(Batch, OneThatFailsDoesNotDisturbOthers) {
  const Lattice lattice({4, 4, 6, 4});
  const ToySystem system(lattice, {.smallest = 0.05, .angle = 0.5}, next_seed());
  std::vector<Field> b = right_hand_sides(system.full_desc(), 4);
  const SolverSpec spec = spec_of("bicgstab", Scheme::reliable, Precision::Half);
  SystemSolver solver(system, spec);
  const Batch good = solve_at_once(solver, system.full_desc(), b);
  blas::scale(std::nan(""), b[0]);
  std::vector<Field> found;
  std::vector<Field*> x;
  std::vector<const Field*> rhs;
  for (const Field& one : b) {
    found.emplace_back(system.full_desc());
    rhs.push_back(&one);
  }
  for (Field& one : found) x.push_back(&one);
  EXPECT_THROW((void)solver.solve(x, rhs), Error);
  for (std::size_t i = 1; i < b.size(); ++i) EXPECT_TRUE(same_bits(found[i], good.x[i])) << i;
}

TEST(Batch, ProgressTellsOfWhom) {
  const Lattice lattice({4, 4, 6, 4});
  const ToySystem system(lattice, {.smallest = 0.05, .angle = 0.5}, next_seed());
  const std::vector<Field> b = right_hand_sides(system.full_desc(), 3);  // the second is zero
  SystemSolver solver(system, spec_of("cg", Scheme::reliable, Precision::Single));
  std::vector<int> last(b.size());
  solver.set_progress([&](const Progress& progress) {
    EXPECT_EQ(progress.iteration, last[std::size_t(progress.rhs)] + 1);
    last[std::size_t(progress.rhs)] = progress.iteration;
  });
  const Batch batch = solve_at_once(solver, system.full_desc(), b);
  for (std::size_t i = 0; i < b.size(); ++i) EXPECT_EQ(last[i], batch.reports[i].iterations) << i;
}

/// Counts how many right-hand sides come with a call.
class Counting final : public LinearOperator {
 public:
  explicit Counting(const FieldDesc& desc) : desc_(desc) {}
  const FieldDesc& field_desc() const override { return desc_; }
  void apply(Field& y, const Field& x, Dagger) const override { blas::copy(y, x); }
  void apply_each(OperandList list, Dagger dagger) const override {
    calls.push_back(int(list.size()));
    LinearOperator::apply_each(list, dagger);
  }
  double flops() const override { return 0; }

  mutable std::vector<int> calls;

 private:
  FieldDesc desc_;
};

TEST(Meeting, ThoseWhoHaveLeftCatchUp) {
  const Lattice lattice({4, 4, 4, 4});
  const FieldDesc desc = FieldDesc::spinor(lattice, Subset::Even, Precision::Double);
  const Counting inner(desc), outer(desc);
  Meeting meeting;
  const JoinedOperator joined_inner(inner, meeting), joined_outer(outer, meeting);
  std::vector<Field> x, y;
  for (int i = 0; i < 4; ++i) {
    x.push_back(gaussian(desc, next_seed()));
    y.emplace_back(desc);
  }
  meeting.hold(4, lattice.communicator(), [&](int i) {
    const auto k = std::size_t(i);
    for (int turn = 0; turn < 3; ++turn) {
      joined_inner.apply(y[k], x[k], Dagger::No);
      if (i == 2 && turn == 1) joined_outer.apply(y[k], x[k], Dagger::No);
    }
  });
  EXPECT_THAT(inner.calls, ElementsAre(4, 4, 4));
  EXPECT_THAT(outer.calls, ElementsAre(1));
  for (std::size_t i = 0; i < 4; ++i) EXPECT_TRUE(same_bits(x[i], y[i]));
  joined_inner.apply(y[0], x[1], Dagger::No);  // alone
  EXPECT_TRUE(same_bits(x[1], y[0]));
}

}  // namespace
}  // namespace quadrille::test
