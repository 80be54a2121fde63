// Transfers and coarse operators against their definitions, on the host and by plain loops.
#include "core/error.h"
#include "dirac/systems/even_odd.h"
#include "solvers/multigrid/short_gcr.h"
#include "tests/solvers/multigrid_testing.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <tuple>

namespace quadrille {
namespace {

using namespace testing;
using multigrid::Aggregates;
using multigrid::LevelSystem;
using multigrid::Transfer;

/// Extents, blocks, precision.
class MultigridLevel : public ::testing::TestWithParam<std::tuple<std::pair<Dims, Dims>, Precision>> {
 protected:
  static Dims dims() { return std::get<0>(GetParam()).first; }
  static Dims block() { return std::get<0>(GetParam()).second; }
  static Precision precision() { return std::get<1>(GetParam()); }
  static double rounding() { return precision() == Precision::Double ? 1e-12 : 1e-4; }
  static OperatorForm form() { return {precision(), Reconstruct::R18, false}; }
  static constexpr int vectors = 8;
};
INSTANTIATE_TEST_SUITE_P(Extents, MultigridLevel,
                         ::testing::Combine(::testing::Values(std::pair{Dims{8, 8, 8, 8}, Dims{4, 4, 4, 4}},
                                                              std::pair{Dims{4, 6, 8, 10}, Dims{2, 3, 2, 5}},
                                                              std::pair{Dims{12, 4, 2, 6}, Dims{3, 2, 1, 3}},
                                                              std::pair{Dims{4, 4, 4, 4}, Dims{2, 2, 2, 2}}),
                                            ::testing::Values(Precision::Double, Precision::Single)));

/// One column of P, in all aggregates.
Field whole_column(const Transfer& transfer, int k, int chirality) {
  Field sum(transfer.fine_desc()), part(transfer.fine_desc());
  blas::zero(sum);
  for (int colour = 0; colour < Aggregates::colours; ++colour) {
    poison(part);
    transfer.column(part, k, chirality, colour);
    blas::axpy(1, part, sum);
  }
  return sum;
}

TEST_P(MultigridLevel, ColumnsAreOrthonormalAndChiral) {
  const Lattice lattice(dims());
  const FieldDesc fine = FieldDesc::spinor(lattice, Subset::Full, precision(), backend());
  const auto transfer = random_transfer(fine, block(), vectors);
  Field c(transfer->coarse_desc()), again(c.desc()), x(fine);
  fill_random(c);
  poison(x);
  transfer->prolong_each(only({&x, &c}));
  transfer->restrict_each(only({&again, &x}));
  EXPECT_LT(field_distance(again, c), rounding());
  for (int chirality = 0; chirality < 2; ++chirality) {
    HostSpinor column(dims());
    export_spinor(column, whole_column(*transfer, 3, chirality));
    double size[2] = {};  // of the upper and lower spins
    for (std::size_t i = 0; i < column.data.size(); ++i) size[i % 12 / 6] += std::norm(column.data[i]);
    const double less = std::min(size[0], size[1]), more = std::max(size[0], size[1]);
    EXPECT_LT(std::sqrt(less), rounding());
    EXPECT_NEAR(more, double(transfer->aggregates().count()), rounding() * more);
  }
}

TEST_P(MultigridLevel, RestrictionIsInnerProductsBySite) {
  const Lattice lattice(dims());
  const FieldDesc fine = FieldDesc::spinor(lattice, Subset::Full, precision(), backend());
  const auto transfer = random_transfer(fine, block(), vectors);
  const Lattice& coarse = transfer->aggregates().coarse();
  Field x(fine), c(transfer->coarse_desc());
  fill_random(x);
  poison(c);
  transfer->restrict_each(only({&c, &x}));
  std::array<std::vector<double>, 2> found;
  for_numbers(c, [&, p = 0](const auto* numbers, std::int64_t count) mutable {
    found[std::size_t(p++)].assign(numbers, numbers + count);
  });
  HostSpinor values(dims()), column(dims());
  export_spinor(values, x);
  for (const auto& [k, chirality] : {std::pair{0, 1}, std::pair{vectors - 1, 0}}) {
    export_spinor(column, whole_column(*transfer, k, chirality));
    std::vector<Complex> expected(std::size_t(coarse.volume()));
    for (std::int64_t site = 0; site < lattice.volume(); ++site) {
      Dims at = lattice.coordinates(site);
      for (std::size_t mu = 0; mu < 4; ++mu) at[mu] /= block()[mu];
      Complex& sum = expected[std::size_t(coarse.site(at))];
      for (std::size_t i = 12 * std::size_t(site); i < 12 * std::size_t(site + 1); ++i) {
        sum += std::conj(column.data[i]) * values.data[i];
      }
    }
    double worst = 0;
    for (std::int64_t site = 0; site < coarse.volume(); ++site) {
      const Dims at = coarse.coordinates(site);
      const Parity p = Parity(Lattice::parity(at));
      const std::size_t place = std::size_t(coarse.even_odd_index(at) * 4 * vectors + 2 * (chirality * vectors + k));
      const std::vector<double>& numbers = found[std::size_t(p)];
      worst = std::max(worst, std::abs(Complex(numbers[place], numbers[place + 1]) - expected[std::size_t(site)]));
    }
    EXPECT_LT(worst, 10 * rounding());
  }
}

TEST_P(MultigridLevel, TransfersOfHalfALatticeAreThoseWithZeroOnTheRest) {
  const Lattice lattice(dims());
  const FieldDesc fine = FieldDesc::spinor(lattice, Subset::Full, precision(), backend());
  const auto transfer = random_transfer(fine, block(), vectors);
  for (const Parity p : {Parity::Even, Parity::Odd}) {
    Field x(fine), whole(transfer->coarse_desc()), half(transfer->coarse_desc()), up(fine);
    fill_random(x);
    Field rest = x.parity(opposite(p)), kept = x.parity(p);
    blas::zero(rest);
    transfer->restrict_each(only({&whole, &x}));
    transfer->restrict_each(only({&half, &kept}));
    EXPECT_LT(field_distance(half, whole), rounding());
    transfer->prolong_each(only({&up, &whole}));
    poison(kept);
    transfer->prolong_each(only({&kept, &whole}));
    const Field expected = up.parity(p);
    EXPECT_EQ(field_distance(kept, expected), 0);
  }
}

/// y = P^+ A P x
Field galerkin(const LinearOperator& a, const Transfer& transfer, const Field& x) {
  Field up(transfer.fine_desc()), image(transfer.fine_desc()), y(x.desc());
  transfer.prolong_each(only({&up, &x}));
  a.apply(image, up, Dagger::No);
  transfer.restrict_each(only({&y, &image}));
  return y;
}

/// y = sigma_3 x of coarse vectors: the sign of the second chirality.
Field with_sigma3(const Field& x, int vectors) {
  Field y(x.desc());
  blas::copy(y, x);
  for_numbers(y, [&](auto* numbers, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      if (i % (4 * vectors) >= 2 * vectors) numbers[i] = -numbers[i];
    }
  });
  return y;
}

void check_level(const LinearOperator& a, const Transfer& transfer, const LevelSystem& level, double rounding,
                 bool hermitian) {
  Field x(transfer.coarse_desc()), y(x.desc()), b(x.desc()), image(x.desc());
  fill_random(x);
  fill_random(y);
  poison(b);
  level.full().apply(b, x, Dagger::No);
  EXPECT_LT(field_distance(b, galerkin(a, transfer, x)), rounding);
  if (hermitian) {  // sigma_3 A is Hermitian
    level.full().apply(image, y, Dagger::No);
    const auto one = blas::dot(with_sigma3(x, transfer.vectors()), image);
    const auto other = blas::dot(with_sigma3(y, transfer.vectors()), b);
    EXPECT_LT(std::abs(one - std::conj(other)), rounding * std::sqrt(blas::norm2(x) * blas::norm2(image)));
  }
  // The Schur complement, its right-hand side and the full solution.
  Field rhs(level.reduced().field_desc()), reduced(rhs.desc());
  const Field even = x.parity(Parity::Even);
  poison(rhs);
  level.prepare_each(only({&rhs, &b}));
  poison(reduced);
  level.reduced().apply(reduced, even, Dagger::No);
  EXPECT_LT(field_distance(reduced, rhs), 10 * rounding);
  Field again(x.desc());
  poison(again);
  level.reconstruct_each(only({&again, &even, &b}));
  EXPECT_LT(field_distance(again, x), 100 * rounding);
}

TEST_P(MultigridLevel, CoarseOperatorsAreGalerkinProductsOnTwoLevels) {
  for (const Scene::Terms& terms : {Scene::Terms{}, Scene::Terms{.csw_r = 1.2, .csw_t = 0.9},
                                    Scene::Terms{.mu = 0.3, .csw_r = 1.2, .csw_t = 0.9}}) {
    Scene scene(dims(), weak_start(Lattice(dims()), next_seed(), 0.4), terms);
    const auto a = scene.wilson(form());
    const auto transfer = random_transfer(a.field_desc(), block(), vectors);
    const auto level = multigrid::make_coarse_system(a, *transfer);
    EXPECT_NEAR(level->bytes(), multigrid::coarse_system_bytes(transfer->coarse_desc()), 1);
    check_level(a, *transfer, *level, rounding(), terms.mu == 0);
    const Dims& coarse = transfer->aggregates().coarse().dims();
    if (volume(coarse) == 16) continue;  // 2 in each direction: no third level
    const auto second = random_transfer(transfer->coarse_desc(), multigrid::fitting_blocks(coarse, {2, 2, 2, 2}), 16);
    const auto coarsest = multigrid::make_coarse_system(level->full(), *second);
    check_level(level->full(), *second, *coarsest, rounding(), terms.mu == 0);
  }
}

/// Also with as many right-hand sides as a launch on a GPU has at most, and with more.
TEST(Multigrid, BitsDoNotDependOnTheBatch) {
  constexpr int vectors = 8;
  const Scene scene = Scene::weak({8, 4, 4, 8}, 0.4);
  const auto a = scene.wilson({Precision::Single, Reconstruct::R18, false});
  const auto transfer = random_transfer(a.field_desc(), {4, 2, 2, 4}, vectors);
  const auto level = multigrid::make_coarse_system(a, *transfer);
  const auto solver = multigrid::make_inner_solver(level->reduced(), nullptr, 6, 0.1);
  for (const std::size_t rhs : {7u, 12u, 35u}) {
    std::vector<Field> x, c, y, up, found;
    std::vector<Operands> down_calls, calls, up_calls, solves;
    for (std::size_t r = 0; r < rhs; ++r) {
      for (auto* fields : {&x, &up}) fields->emplace_back(a.field_desc());
      for (auto* fields : {&c, &y}) fields->emplace_back(transfer->coarse_desc());
      found.emplace_back(level->reduced().field_desc());
      fill_random(x.back());
    }
    std::vector<Field> even;
    for (Field& coarse : c) even.push_back(coarse.parity(Parity::Even));
    for (std::size_t r = 0; r < rhs; ++r) {
      down_calls.push_back({&c[r], &x[r]});
      calls.push_back({&y[r], &c[r]});
      up_calls.push_back({&up[r], &y[r]});
      solves.push_back({&found[r], &even[r]});
    }
    transfer->restrict_each(down_calls);
    level->full().apply_each(calls, Dagger::No);
    transfer->prolong_each(up_calls);
    solver->apply_each(solves, Dagger::No);
    for (std::size_t r = 0; r < rhs; ++r) {
      Field one(c[r].desc()), image(one.desc()), fine(x[r].desc()), solved(found[r].desc());
      transfer->restrict_each(only({&one, &x[r]}));
      level->full().apply(image, one, Dagger::No);
      transfer->prolong_each(only({&fine, &image}));
      EXPECT_EQ(field_distance(fine, up[r]), 0) << r << " of " << rhs;
      solver->apply(solved, one.parity(Parity::Even), Dagger::No);
      EXPECT_EQ(field_distance(solved, found[r]), 0) << r << " of " << rhs;
    }
  }
}

TEST(Multigrid, ManyVectorsMakeAGalerkinProduct) {
  const Scene scene = Scene::weak({8, 8, 8, 8}, 0.4);
  const auto a = scene.wilson({Precision::Single, Reconstruct::R18, false});
  const auto transfer = random_transfer(a.field_desc(), {4, 4, 4, 4}, 40);
  check_level(a, *transfer, *multigrid::make_coarse_system(a, *transfer), 1e-4, true);
}

TEST(Multigrid, BlocksFitTheLattice) {
  using multigrid::fitting_blocks;
  EXPECT_EQ(fitting_blocks({16, 16, 16, 32}, {4, 4, 4, 4}), (Dims{4, 4, 4, 4}));
  EXPECT_EQ(fitting_blocks({12, 6, 10, 4}, {4, 4, 4, 4}), (Dims{3, 3, 5, 2}));
  EXPECT_EQ(fitting_blocks({2, 20, 24, 14}, {4, 4, 4, 4}), (Dims{1, 5, 4, 7}));
  EXPECT_THROW((void)fitting_blocks({2, 2, 2, 2}, {4, 4, 4, 4}), Error);
  const Lattice lattice({8, 8, 8, 8});
  for (const Dims& wrong : {Dims{3, 4, 4, 4}, Dims{4, 8, 4, 4}, Dims{4, 4, 0, 4}, Dims{4, 4, 4, 1}}) {
    EXPECT_THROW(Aggregates(lattice, wrong), Error);
  }
}

TEST(Multigrid, VectorsOfWhichNothingIsLeftAreSeen) {
  const Lattice lattice({4, 4, 4, 4});
  const FieldDesc fine = FieldDesc::spinor(lattice, Subset::Full, Precision::Single, backend());
  const auto transfer = random_transfer(fine, {2, 2, 2, 2}, 8);
  EXPECT_GT(transfer->orthonormalise(), 0.99);
  const Field same = whole_column(*transfer, 2, 1);
  transfer->take(5, same);
  EXPECT_LT(transfer->orthonormalise(), 1e-6);
}

TEST(Multigrid, AVectorThatIsNotANumberInOneBlockKeepsNothing) {
  const Lattice lattice({4, 4, 4, 8});
  const FieldDesc fine = FieldDesc::spinor(lattice, Subset::Full, Precision::Single, backend());
  for (const std::size_t spin : {0u, 3u}) {
    const auto transfer = random_transfer(fine, {2, 2, 2, 2}, 8);
    HostSpinor values = random_spinor(lattice.dims());
    values.data[12 * 37 + 3 * spin] = std::nan("");
    Field vector(fine);
    import_spinor(vector, values);
    transfer->take(2, vector);
    EXPECT_FALSE(transfer->orthonormalise() > 1e-5) << "spin " << spin;
  }
  const double nan = std::nan("");
  EXPECT_EQ(multigrid::smallest_part(std::vector<double>{0.5, nan, 0.25}), 0);
  EXPECT_EQ(multigrid::smallest_part(std::vector<double>{0.5, 0.25, 1}), 0.25);
}

/// x -> factor x, without a number where the factor is none.
class Multiple final : public LinearOperator {
 public:
  Multiple(const FieldDesc& desc, double factor) : desc_(desc), factor_(factor) {}
  const FieldDesc& field_desc() const override { return desc_; }
  void apply(Field& y, const Field& x, Dagger) const override {
    blas::copy(y, x);
    blas::scale(factor_, y);
  }
  double flops() const override { return 0; }

 private:
  FieldDesc desc_;
  double factor_;
};

TEST(Multigrid, WhatGivesNoNumbersDoesNotContract) {
  const Lattice lattice({4, 4, 4, 4});
  const FieldDesc desc = FieldDesc::spinor(lattice, Subset::Even, Precision::Single, backend());
  Field x(desc), y(desc);
  const auto contraction = [&](double of_operator, double of_preconditioner) {
    const Multiple a(desc, of_operator), k(desc, of_preconditioner);
    const multigrid::ShortGcr solver(a, &k, 4, 0.01);
    solver.apply(y, x, Dagger::No);
    return solver.contraction();
  };
  fill_random(x);
  EXPECT_LT(contraction(2, 3), 0.01);
  for (const double bad : {std::nan(""), 0.0}) {
    EXPECT_EQ(contraction(2, bad), 1) << bad;
    EXPECT_EQ(contraction(bad, 3), 1) << bad;
  }
  poison(x);
  EXPECT_EQ(contraction(2, 3), 1) << "of a right-hand side without numbers";
  blas::zero(x);
  EXPECT_EQ(contraction(2, 3), 0) << "of nothing";
}

}  // namespace
}  // namespace quadrille
