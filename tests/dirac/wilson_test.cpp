// The Wilson operator: every kernel against the naive reference, and the identities that hold without one.
#include "dirac/wilson.h"

#include "core/blas/blas.h"
#include "core/error.h"
#include "core/kernel_log.h"
#include "dirac/kernel_table.h"
#include "tests/backend_under_test.h"
#include "tests/dirac/dirac_testing.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <numbers>

namespace quadrille {
namespace {

using namespace testing;

std::string extents_name(const ::testing::TestParamInfo<Dims>& info) {
  const Dims& d = info.param;
  return std::to_string(d[0]) + "x" + std::to_string(d[1]) + "x" + std::to_string(d[2]) + "x" + std::to_string(d[3]);
}

class Wilson : public ::testing::TestWithParam<Dims> {};
INSTANTIATE_TEST_SUITE_P(Extents, Wilson, ::testing::ValuesIn(test_extents), extents_name);

/// Bounds on |M psi - reference| / |reference| where both have the same links.
struct Bounds {
  double lower, upper;
};
Bounds expected(const OperatorForm& form) {
  // 8 numbers: kernel and codec decode with other roundings, which a link near a singular one magnifies.
  const bool eight = form.reconstruct == Reconstruct::R8;
  switch (form.precision) {
    case Precision::Double: return {0, eight ? 1e-12 : 3e-15};
    case Precision::Single: return {1e-9, eight ? 1e-4 : 1e-6};
    default: return {1e-6, 1e-3};
  }
}

/// M psi in the operator's own gauge: no transformation on the way in and out.
HostSpinor apply_inside(const WilsonOperator& m, const HostSpinor& psi, Dagger dagger) {
  Field x(m.field_desc()), y(m.field_desc());
  import_spinor(x, psi);
  m.apply(y, x, dagger);
  HostSpinor out(psi.dims);
  export_spinor(out, y);
  return out;
}

void every_kernel_agrees(const Scene& scene) {
  const Dims dims = scene.lattice.dims();
  const HostSpinor psi = random_spinor(dims);
  for (const OperatorForm& form : all_forms()) {
    HostLinks stored(dims);
    const WilsonOperator wilson = scene.wilson(form);  // its links, with the codec's error: this tests the kernel
    export_links(stored, wilson.dslash().spatial_links());
    export_links(stored, wilson.dslash().time_links());
    for (bool dagger : {false, true}) {
      const HostSpinor reference = reference::wilson(stored, scene.setup(), psi, dagger);
      for (Isa isa : available_isas()) {
        const ForcedIsa forced(isa);
        const WilsonOperator m = scene.wilson(form);
        const double error = relative_distance(apply_inside(m, psi, dagger ? Dagger::Yes : Dagger::No), reference);
        const Bounds bounds = expected(form);
        EXPECT_LT(error, bounds.upper) << to_string(form) << " " << to_string(isa) << " dagger " << dagger;
        EXPECT_GE(error, bounds.lower) << to_string(form) << " " << to_string(isa) << ": did low precision run?";
        if (backend().host_memory()) {
          EXPECT_LE(parse_isa(m.dslash().architecture()), isa);
        }
      }
    }
  }
}

TEST_P(Wilson, EveryKernelAgreesWithTheReferenceOnItsOwnLinks) {
  Scene scene = Scene::hot(GetParam());
  every_kernel_agrees(scene);
  scene.parameters.boundary = {0, 1, 0, 1};  // real factors
  every_kernel_agrees(scene);
}

TEST_P(Wilson, EighteenAndTwelveNumbersAgreeWithTheReferenceOnTheLinksAsRead) {
  const Scene scene = Scene::hot(GetParam());
  const HostSpinor psi = random_spinor(GetParam());
  for (bool dagger : {false, true}) {
    const HostSpinor reference = reference::wilson(scene.gauge->links(), scene.setup(), psi, dagger);
    for (const OperatorForm& form : all_forms()) {
      if (form.reconstruct == Reconstruct::R8) continue;
      const double error =
          relative_distance(apply(scene.wilson(form), psi, dagger ? Dagger::Yes : Dagger::No), reference);
      EXPECT_LT(error, expected(form).upper) << to_string(form) << " dagger " << dagger;
      EXPECT_GE(error, expected(form).lower) << to_string(form) << " dagger " << dagger;
    }
  }
}

TEST_P(Wilson, EightNumbersAreAccurateOnThermalLinks) {
  // Links about as rough as those of a beta = 6 configuration: no link comes near the singular ones.
  const Scene scene = Scene::weak(GetParam(), 0.4);
  const HostSpinor psi = random_spinor(GetParam());
  const HostSpinor reference = reference::wilson(scene.gauge->links(), scene.setup(), psi, false);
  for (bool temporal : {false, true}) {
    const auto error = [&](Precision p) {
      return relative_distance(apply(scene.wilson({p, Reconstruct::R8, temporal}), psi), reference);
    };
    EXPECT_LT(error(Precision::Double), 1e-12);
    EXPECT_LT(error(Precision::Single), 1e-4);
    EXPECT_GT(error(Precision::Single), 1e-9);
    EXPECT_LT(error(Precision::Half), 5e-3);
    EXPECT_GT(error(Precision::Half), 1e-6);
  }
}

TEST_P(Wilson, UnitLinksStayRegularInEightNumbers) {
  const Scene scene(GetParam(), cold_start(Lattice(GetParam())));
  const HostSpinor psi = random_spinor(GetParam());
  const HostSpinor reference = reference::wilson(scene.gauge->links(), scene.setup(), psi, false);
  for (Isa isa : available_isas()) {
    const ForcedIsa forced(isa);
    EXPECT_LT(relative_distance(apply(scene.wilson({Precision::Double, Reconstruct::R8}), psi), reference), 1e-14);
    EXPECT_LT(relative_distance(apply(scene.wilson({Precision::Single, Reconstruct::R8}), psi), reference), 1e-6);
    EXPECT_LT(relative_distance(apply(scene.wilson({Precision::Half, Reconstruct::R8}), psi), reference), 1e-3);
  }
}

TEST_P(Wilson, DaggerIsTheAdjointAndGamma5Conjugate) {
  const Scene scene = Scene::hot(GetParam());
  const WilsonOperator m = scene.wilson();
  const HostSpinor x = random_spinor(GetParam()), y = random_spinor(GetParam());
  const Complex left = dot(y, apply(m, x)), right = dot(apply(m, y, Dagger::Yes), x);
  EXPECT_LT(std::abs(left - right), 1e-12 * std::sqrt(std::abs(dot(x, x) * dot(y, y))));
  const HostSpinor conjugated = reference::gamma5(apply(m, reference::gamma5(x)));
  EXPECT_LT(relative_distance(conjugated, apply(m, x, Dagger::Yes)), 1e-14);
}

TEST_P(Wilson, IsGaugeCovariant) {
  const Scene scene = Scene::hot(GetParam());
  const std::vector<Complex> g = random_transformation(scene.lattice, next_seed());
  const Scene rotated(GetParam(), gauge_transformed(scene.lattice, scene.gauge->links(), g));
  const HostSpinor psi = random_spinor(GetParam());
  const HostSpinor before = gauge_transformed(apply(scene.wilson(), psi), g);
  const HostSpinor after = apply(rotated.wilson(), gauge_transformed(psi, g));
  EXPECT_LT(relative_distance(after, before), 1e-14);
  EXPECT_GT(relative_distance(after, apply(rotated.wilson(), psi)), 0.1);
}

TEST_P(Wilson, FreePlaneWavesAreEigenvectors) {
  const Dims dims = GetParam();
  const Scene scene(dims, cold_start(Lattice(dims)));
  const WilsonParameters& w = scene.parameters;
  SiteRandom random(next_seed(), RandomPurpose::Test, 0);
  std::array<double, 4> p;
  for (int mu = 0; mu < 4; ++mu) {
    const int n = int(random.uniform() * dims[mu]);
    p[mu] = std::numbers::pi * (2 * n + w.boundary[mu]) / dims[mu];
  }
  Complex chi[12];
  for (Complex& c : chi) c = {random.normal(), random.normal()};
  // M exp(ipx) chi = exp(ipx) [A - sum w_mu cos p_mu + i sum w_mu gamma_mu sin p_mu] chi
  Complex expected_chi[12];
  double diagonal = w.diagonal();
  for (int mu = 0; mu < 4; ++mu) diagonal -= (mu < 3 ? w.nu / w.xi0 : 1) * std::cos(p[mu]);
  for (int i = 0; i < 12; ++i) expected_chi[i] = diagonal * chi[i];
  for (int mu = 0; mu < 4; ++mu) {
    const auto g = reference::gamma(mu);
    const Complex factor = Complex(0, 1) * (mu < 3 ? w.nu / w.xi0 : 1) * std::sin(p[mu]);
    for (int s = 0; s < 4; ++s) {
      for (int r = 0; r < 4; ++r) {
        for (int c = 0; c < 3; ++c) expected_chi[3 * s + c] += factor * g[s][r] * chi[3 * r + c];
      }
    }
  }
  HostSpinor psi(dims), wave(dims);
  for (std::int64_t site = 0; site < scene.lattice.volume(); ++site) {
    const Dims x = scene.lattice.coordinates(site);
    double angle = 0;
    for (int mu = 0; mu < 4; ++mu) angle += p[mu] * x[mu];
    for (int i = 0; i < 12; ++i) {
      psi.data[site * 12 + i] = std::polar(1.0, angle) * chi[i];
      wave.data[site * 12 + i] = std::polar(1.0, angle) * expected_chi[i];
    }
  }
  for (const OperatorForm& form : all_forms()) {
    if (form.precision == Precision::Double) {
      EXPECT_LT(relative_distance(apply(scene.wilson(form), psi), wave), 1e-13) << to_string(form);
    }
  }
}

TEST_P(Wilson, BitsDoNotDependOnThreads) {
  const Scene scene = Scene::weak(GetParam(), 0.4);
  const HostSpinor psi = random_spinor(GetParam());
  for (const OperatorForm& form : all_forms()) {
    const WilsonOperator m = scene.wilson(form);
    const int threads = omp_get_max_threads();
    omp_set_num_threads(1);
    const HostSpinor one = apply(m, psi);
    for (int n : {2, 3}) {
      omp_set_num_threads(n);
      EXPECT_EQ(apply(m, psi).data, one.data) << to_string(form) << " with " << n << " threads";
    }
    omp_set_num_threads(threads);
  }
}

TEST(WilsonKernels, FieldsHoldTheBytesOfTheirFormat) {
  if (!backend().host_memory()) GTEST_SKIP() << "of the CPU's layout, which has no padding";
  const Scene scene = Scene::weak({4, 6, 8, 10}, 0.3);
  const std::size_t sites = std::size_t(scene.lattice.volume());
  scene.gauge->temporal_gauge()->prepare(backend());  // not the links of one form
  for (const OperatorForm& form : all_forms()) {
    const std::size_t before = cpu_backend().allocated_bytes();
    const WilsonOperator m = scene.wilson(form);
    EXPECT_EQ(cpu_backend().allocated_bytes() - before,
              sites * 8 * std::size_t(form.reconstruct) * number_bytes(form.precision));
    const Field x(m.field_desc());
    EXPECT_EQ(x.desc().bytes(),
              sites * (24 * number_bytes(form.precision) + (form.precision == Precision::Half ? 4 : 0)));
  }
}

TEST(WilsonKernels, TheLogSaysWhatRan) {
  if (!backend().host_memory()) GTEST_SKIP() << "of the CPU's instruction sets";
  const Scene scene = Scene::weak({8, 8, 8, 8}, 0.3);
  const HostSpinor psi = random_spinor({8, 8, 8, 8});
  for (Isa isa : available_isas()) {
    const ForcedIsa forced(isa);
    const WilsonOperator m = scene.wilson({Precision::Half, Reconstruct::R12, true});
    const auto before = kernel_records();
    apply(m, psi);
    const auto ran = kernel_records_since(before);
    ASSERT_EQ(ran.size(), 1u);
    EXPECT_EQ(ran[0].name, "wilson_half_12_temporal_gauge_xpay");
    EXPECT_EQ(ran[0].isa, to_string(isa));
    EXPECT_EQ(ran[0].calls, 2);
    EXPECT_EQ(ran[0].sites, 4096);
    EXPECT_EQ(ran[0].bytes_per_site, 6 * 24 + 3 * 52);
  }
}

TEST(WilsonKernels, StayInRegistersOnAGpu) {
  Scene scene = Scene::weak({8, 8, 8, 8}, 0.3);
  if (scene.wilson().dslash().architecture() != "sm_90")
    GTEST_SKIP() << "of the GPUs that the kernels are laid out for";
  const HostSpinor psi = random_spinor({8, 8, 8, 8});
  for (const std::array<double, 4>& boundary : {std::array<double, 4>{0.3, 1, -0.55, 0.125}, {0, 1, 0, 1}}) {
    scene.parameters.boundary = boundary;
    for (const OperatorForm& form : all_forms()) {
      const WilsonOperator m = scene.wilson(form);
      apply(m, psi);
      const std::string resources = m.dslash().kernel_resources();
      EXPECT_NE(resources.find(" registers, 0 bytes local, "), std::string::npos) << to_string(form) << resources;
    }
  }
}

TEST(WilsonKernels, AMissingOneNamesWhatIsBuiltAndWhatWouldAddIt) {
  try {
    dirac::find_kernel("wilson_twisted", Precision::Half, Reconstruct::R12, 4);
    FAIL() << "found a kernel that is not there";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_NE(error.message().find("codegen/kernels.yaml"), std::string::npos) << error.message();
    EXPECT_NE(error.message().find("wilson_half_12 (generic)"), std::string::npos) << error.message();
  }
}

TEST(WilsonHalf, ANonFiniteComponentReachesTheNextSum) {
  const Scene scene = Scene::weak({4, 4, 4, 4}, 0.3);
  for (double bad : {std::nan(""), HUGE_VAL}) {
    HostSpinor psi = random_spinor({4, 4, 4, 4});
    psi.data[5] = bad;
    const WilsonOperator m = scene.wilson({Precision::Half, Reconstruct::R12});
    Field original(FieldDesc::spinor(scene.lattice, Subset::Full, Precision::Double, backend()));
    Field x(m.field_desc()), y(m.field_desc());
    import_spinor(original, psi);
    m.enter(x, original);
    EXPECT_FALSE(std::isfinite(blas::norm2(x)));
    m.apply(y, x, Dagger::No);
    EXPECT_FALSE(std::isfinite(blas::norm2(y)));
  }
}

}  // namespace
}  // namespace quadrille
