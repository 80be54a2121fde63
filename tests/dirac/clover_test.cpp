// The clover operator: every kernel against the naive reference, and the identities that hold without one.
#include "core/blas/blas.h"
#include "core/error.h"
#include "core/gauge/clover_leaves.h"
#include "dirac/clover/clover_blocks.h"
#include "dirac/systems/even_odd.h"
#include "tests/dirac/site_terms_testing.h"

#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace quadrille {
namespace {

using namespace testing;
using ::testing::HasSubstr;

struct CloverCase {
  std::string name;
  Scene::Terms terms;
  Dims dims;
};

/// Every extent with the clover term, and some with an exponential of it and a twisted mass.
std::vector<CloverCase> cases() {
  std::vector<CloverCase> all;
  const auto add = [&](const std::string& name, double mu, bool exponential, const std::vector<Dims>& extents) {
    for (const Dims& dims : extents) {
      const std::string text = fmt::format("{}_{}", name, fmt::join(dims, "_"));
      all.push_back({text, {.mu = mu, .csw_r = 1.1, .csw_t = 0.87, .exponential = exponential}, dims});
    }
  };
  add("clover", 0, false, test_extents);
  add("exponential", 0, true, {{4, 4, 4, 4}, {12, 4, 2, 6}});
  add("twisted", -0.43, false, {{4, 4, 4, 4}, {12, 4, 2, 6}});
  add("twisted_exponential", 0.37, true, {{6, 6, 6, 6}});
  return all;
}

class Clover : public ::testing::TestWithParam<CloverCase> {
 protected:
  static const Dims& dims() { return GetParam().dims; }
  static Scene scene_of(const HostLinks& links) { return Scene(dims(), links, GetParam().terms); }
  static HostLinks rough_links() { return hot_start(Lattice(dims()), next_seed()); }
  static Scene rough() { return scene_of(rough_links()); }
  static Scene smooth(double epsilon) { return scene_of(weak_start(Lattice(dims()), next_seed(), epsilon)); }
};
INSTANTIATE_TEST_SUITE_P(Cases, Clover, ::testing::ValuesIn(cases()),
                         [](const ::testing::TestParamInfo<CloverCase>& info) { return info.param.name; });

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
  const HostSpinor psi = random_spinor(dims());
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
  const HostSpinor x = random_spinor(dims()), y = random_spinor(dims());
  const Complex left = dot(y, apply(m, x)), right = dot(apply(m, y, Dagger::Yes), x);
  EXPECT_LT(std::abs(left - right), 1e-12 * std::sqrt(std::abs(dot(x, x) * dot(y, y))));
  Scene::Terms other = GetParam().terms;
  other.mu = -other.mu;
  const Scene conjugate(dims(), scene.gauge->host_links(), other);
  const HostSpinor conjugated = reference::gamma5(apply(conjugate.wilson(), reference::gamma5(x)));
  EXPECT_LT(relative_distance(conjugated, apply(m, x, Dagger::Yes)), 1e-14);
}

TEST_P(Clover, IsGaugeCovariant) {
  const Scene scene = rough();
  const std::vector<Complex> g = random_transformation(scene.lattice, next_seed());
  const Scene rotated = scene_of(gauge_transformed(scene.lattice, scene.gauge->host_links(), g));
  const HostSpinor psi = random_spinor(dims());
  const HostSpinor before = gauge_transformed(apply(scene.wilson(), psi), g);
  const HostSpinor after = apply(rotated.wilson(), gauge_transformed(psi, g));
  EXPECT_LT(relative_distance(after, before), 1e-13);
  EXPECT_GT(relative_distance(after, apply(rotated.wilson(), psi)), 0.1);
}

TEST_P(Clover, IsWilsonOnUnitLinks) {
  const Scene clover = scene_of(cold_start(Lattice(dims())));
  const Scene wilson(dims(), cold_start(Lattice(dims())), {.mu = GetParam().terms.mu});
  const HostSpinor psi = random_spinor(dims());
  EXPECT_LT(relative_distance(apply(clover.wilson(), psi), apply(wilson.wilson(), psi)), 1e-15);
}

void solves_full_system(const Scene& scene, const EvenOddForm& form) {
  const EvenOddSystem system(scene.shared_wilson(), form);
  Field x(system.full_desc()), b(system.full_desc()), again(system.full_desc()), residual(system.full_desc());
  import_spinor(x, random_spinor(scene.lattice.dims()));
  system.dirac().apply(b, x, Dagger::No);
  Field rhs(system.reduced().field_desc()), reduced(system.reduced().field_desc());
  system.prepare(rhs, b);
  system.reduced().apply(reduced, x.parity(form.kept), Dagger::No);
  EXPECT_LT(std::sqrt(blas::subtract_norm2(rhs, reduced)), 1e-13 * std::sqrt(blas::norm2(rhs)));
  system.reconstruct(again, x.parity(form.kept), b);
  EXPECT_LT(system.full_residual(residual, again, b), 1e-13 * std::sqrt(blas::norm2(b)));
}

TEST_P(Clover, EvenOddSolvesTheFullSystem) {
  const Scene scene = smooth(0.4);
  for (const auto kind : {EvenOddForm::Kind::asymmetric, EvenOddForm::Kind::automatic}) {
    for (const Parity kept : {Parity::Even, Parity::Odd}) solves_full_system(scene, {kept, kind});
  }
}

TEST_P(Clover, FollowsTheLinks) {
  const Scene scene = rough(), other = rough();
  const HostSpinor psi = random_spinor(dims());
  const auto store = std::make_shared<GaugeStore>(scene.lattice, scene.gauge->host_links(), backend());
  const WilsonOperator changing(store, scene.parameters, {Precision::Single, Reconstruct::R12, true});
  const HostSpinor before = apply(changing, psi);
  EXPECT_LT(relative_distance(before, apply(scene.wilson(), psi)), 1e-5);
  store->set(other.gauge->host_links());
  EXPECT_LT(relative_distance(apply(changing, psi), apply(other.wilson(), psi)), 1e-5);
}

/// log |det (A + i mu gamma_5)| of both parities from the blocks of the reference, by Gaussian elimination of 12 x 12
/// matrices.
std::array<double, 2> reference_log_det(const Scene& scene) {
  const Dims& dims = scene.lattice.dims();
  const HostLinks links = scene.gauge->host_links();
  std::vector<std::vector<Complex>> columns;
  for (int n = 0; n < 12; ++n) {
    HostSpinor unit(dims);
    for (std::size_t site = 0; site < unit.data.size() / 12; ++site) unit.data[site * 12 + std::size_t(n)] = 1;
    columns.push_back(reference::clover_site_term(links, scene.setup(), unit).data);
    const Complex twist = Complex(0, scene.parameters.mu);
    const std::vector<Complex> chirality = reference::gamma5(unit).data;
    for (std::size_t i = 0; i < chirality.size(); ++i) columns.back()[i] += twist * chirality[i];
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

/// d exp(X) and d exp(-X) are d^2 times inverse to each other: the term with the other sign of csw.
TEST(CloverExponential, TheInverseIsThatOfTheOtherSign) {
  const Dims dims{4, 4, 6, 4};
  const Scene scene(dims, hot_start(Lattice(dims), next_seed()), {.csw_r = 0.8, .csw_t = 0.7, .exponential = true});
  const WilsonOperator m = scene.wilson();
  const CloverTerm term = scene.parameters.clover_term();
  CloverTerm other = term;
  other.spatial *= -1, other.temporal *= -1;
  const CloverBlocks a(scene.gauge, term), b(scene.gauge, other);
  const HostSpinor psi = random_spinor(dims);
  Field x(m.field_desc()), y(m.field_desc());
  import_spinor(x, psi);
  for (const Parity p : {Parity::Even, Parity::Odd}) {
    Field part = y.parity(p);
    m.dslash().apply_local(part, {1 / term.number, 0, &a.blocks({})}, x.parity(p));
    m.dslash().apply_local(part, {1 / term.number, 0, &b.blocks({})}, part);
  }
  HostSpinor back(dims);
  export_spinor(back, y);
  EXPECT_LT(relative_distance(back, psi), 1e-13);
}

TEST(CloverErrors, AnExponentialThatIsNoNumberNamesASite) {
  const Scene scene = Scene::hot({4, 4, 4, 4});
  for (const double csw : {1e4, 1e200}) {
    try {
      const CloverBlocks blocks(scene.gauge, {.number = 4, .spatial = csw, .temporal = csw, .exponential = true});
      FAIL() << "an exponential of " << csw;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::numerical);
      EXPECT_THAT(error.message(), HasSubstr("cannot be inverted"));
    }
  }
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
