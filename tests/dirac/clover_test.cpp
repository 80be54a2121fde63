// The clover operator: every kernel against the naive reference, and the identities that hold without one.
#include "core/blas/blas.h"
#include "core/error.h"
#include "core/gauge/clover_leaves.h"
#include "dirac/clover/clover_blocks.h"
#include "dirac/preconditioned.h"
#include "tests/dirac/site_terms_testing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace quadrille {
namespace {

using namespace testing;
using ::testing::HasSubstr;

class Clover : public ::testing::TestWithParam<Dims> {
 protected:
  static Scene scene_of(const HostLinks& links) { return Scene(GetParam(), links, {.csw_r = 1.1, .csw_t = 0.87}); }
  static Scene rough() { return scene_of(hot_start(Lattice(GetParam()), next_seed())); }
  static Scene smooth(double epsilon) { return scene_of(weak_start(Lattice(GetParam()), next_seed(), epsilon)); }
};
INSTANTIATE_TEST_SUITE_P(Extents, Clover, ::testing::ValuesIn(test_extents));

double bound_of(const OperatorForm& form) {
  const bool eight = form.reconstruct == Reconstruct::R8;
  switch (form.precision) {
    case Precision::Double: return eight ? 1e-12 : 1e-14;
    case Precision::Single: return eight ? 1e-4 : 2e-6;
    default: return 2e-3;
  }
}

/// M psi in the operator's own gauge.
HostSpinor apply_inside(const WilsonOperator& m, const HostSpinor& psi, Dagger dagger) {
  Field x(m.field_desc()), y(m.field_desc());
  import_spinor(x, psi);
  m.apply(y, x, dagger);
  HostSpinor out(psi.dims);
  export_spinor(out, y);
  return out;
}

TEST_P(Clover, EveryKernelAgreesWithTheReferenceOnItsOwnLinks) {
  const Scene scene = rough();
  const HostSpinor psi = random_spinor(GetParam());
  for (const bool temporal : {false, true}) {
    const HostLinks exact = links_of(scene.wilson({Precision::Double, Reconstruct::R18, temporal}).dslash());
    for (const OperatorForm& form : all_forms()) {
      if (form.temporal_gauge != temporal) continue;
      for (const Dagger dagger : {Dagger::No, Dagger::Yes}) {
        const WilsonOperator m = scene.wilson(form);
        const HostSpinor expected =
            reference::clover(links_of(m.dslash()), exact, scene.setup(), psi, dagger == Dagger::Yes);
        EXPECT_LT(relative_distance(apply_inside(m, psi, dagger), expected), bound_of(form))
            << to_string(form) << " dagger " << int(dagger);
      }
    }
  }
}

TEST_P(Clover, DaggerIsTheAdjointAndGamma5Conjugate) {
  const Scene scene = rough();
  const WilsonOperator m = scene.wilson();
  const HostSpinor x = random_spinor(GetParam()), y = random_spinor(GetParam());
  const Complex left = dot(y, apply(m, x)), right = dot(apply(m, y, Dagger::Yes), x);
  EXPECT_LT(std::abs(left - right), 1e-12 * std::sqrt(std::abs(dot(x, x) * dot(y, y))));
  const HostSpinor conjugated = reference::gamma5(apply(m, reference::gamma5(x)));
  EXPECT_LT(relative_distance(conjugated, apply(m, x, Dagger::Yes)), 1e-14);
}

TEST_P(Clover, IsGaugeCovariant) {
  const Scene scene = rough();
  const std::vector<Complex> g = random_transformation(scene.lattice, next_seed());
  const Scene rotated = scene_of(gauge_transformed(scene.lattice, scene.gauge->host_links(), g));
  const HostSpinor psi = random_spinor(GetParam());
  const HostSpinor before = gauge_transformed(apply(scene.wilson(), psi), g);
  const HostSpinor after = apply(rotated.wilson(), gauge_transformed(psi, g));
  EXPECT_LT(relative_distance(after, before), 1e-13);
  EXPECT_GT(relative_distance(after, apply(rotated.wilson(), psi)), 0.1);
}

TEST_P(Clover, IsWilsonOnUnitLinks) {
  const Scene clover = scene_of(cold_start(Lattice(GetParam())));
  const Scene wilson(GetParam(), cold_start(Lattice(GetParam())));
  const HostSpinor psi = random_spinor(GetParam());
  EXPECT_LT(relative_distance(apply(clover.wilson(), psi), apply(wilson.wilson(), psi)), 1e-15);
}

TEST_P(Clover, EvenOddSolvesTheFullSystem) {
  const Scene scene = smooth(0.4);
  const EvenOddSystem system(scene.shared_wilson());
  Field x(system.full_desc()), b(system.full_desc()), again(system.full_desc()), residual(system.full_desc());
  import_spinor(x, random_spinor(GetParam()));
  system.dirac().apply(b, x, Dagger::No);
  Field rhs(system.reduced().field_desc()), reduced(system.reduced().field_desc());
  system.prepare(rhs, b);
  system.reduced().apply(reduced, x.parity(Parity::Even), Dagger::No);
  EXPECT_LT(std::sqrt(blas::subtract_norm2(rhs, reduced)), 1e-13 * std::sqrt(blas::norm2(rhs)));
  system.reconstruct(again, x.parity(Parity::Even), b);
  EXPECT_LT(system.full_residual(residual, again, b), 1e-13 * std::sqrt(blas::norm2(b)));
}

TEST_P(Clover, FollowsTheLinks) {
  const Scene scene = rough(), other = rough();
  const HostSpinor psi = random_spinor(GetParam());
  const auto store = std::make_shared<GaugeStore>(scene.lattice, scene.gauge->host_links(), backend());
  const WilsonOperator changing(store, scene.parameters, {Precision::Single, Reconstruct::R12, true});
  const HostSpinor before = apply(changing, psi);
  EXPECT_LT(relative_distance(before, apply(scene.wilson(), psi)), 1e-5);
  store->set(other.gauge->host_links());
  EXPECT_LT(relative_distance(apply(changing, psi), apply(other.wilson(), psi)), 1e-5);
}

/// log |det A| of both parities from the blocks of the reference, by Gaussian elimination of 12 x 12 matrices.
std::array<double, 2> reference_log_det(const Scene& scene) {
  const Dims& dims = scene.lattice.dims();
  const HostLinks links = scene.gauge->host_links();
  std::vector<std::vector<Complex>> columns;
  for (int n = 0; n < 12; ++n) {
    HostSpinor unit(dims);
    for (std::size_t site = 0; site < unit.data.size() / 12; ++site) unit.data[site * 12 + std::size_t(n)] = 1;
    columns.push_back(reference::clover_site_term(links, scene.setup(), unit).data);
  }
  std::array<double, 2> sums{};
  for (std::int64_t site = 0; site < scene.lattice.volume(); ++site) {
    std::array<std::array<Complex, 12>, 12> a;
    for (std::size_t i = 0; i < 12; ++i) {
      for (std::size_t j = 0; j < 12; ++j) a[i][j] = columns[j][std::size_t(site) * 12 + i];
    }
    double& sum = sums[std::size_t(Lattice::parity(scene.lattice.coordinates(site)))];
    for (std::size_t k = 0; k < 12; ++k) {
      std::size_t pivot = k;
      for (std::size_t i = k; i < 12; ++i) {
        if (std::abs(a[i][k]) > std::abs(a[pivot][k])) pivot = i;
      }
      std::swap(a[k], a[pivot]);
      sum += std::log(std::abs(a[k][k]));
      for (std::size_t i = k + 1; i < 12; ++i) {
        const Complex factor = a[i][k] / a[k][k];
        for (std::size_t j = k; j < 12; ++j) a[i][j] -= factor * a[k][j];
      }
    }
  }
  return sums;
}

TEST_P(Clover, DeterminantsOfTheSiteTerm) {
  const Scene scene = smooth(0.5);
  const CloverBlocks blocks(scene.gauge, scene.parameters.clover_term());
  const auto found = blocks.log_det(), expected = reference_log_det(scene);
  for (std::size_t p : {0u, 1u}) EXPECT_NEAR(found[p] / expected[p], 1, 1e-13);
}

TEST(CloverErrors, ATermThatCannotBeInvertedNamesItsSite) {
  const Scene scene({4, 4, 4, 4}, cold_start(Lattice({4, 4, 4, 4})), {.csw_r = 1, .csw_t = 1});
  try {
    const CloverBlocks blocks(scene.gauge, {.number = 0, .spatial = 1, .temporal = 1});
    FAIL() << "inverted zero";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::numerical);
    EXPECT_THAT(error.message(), HasSubstr("site (0,0,0,0) cannot be inverted"));
  }
}

}  // namespace
}  // namespace quadrille
