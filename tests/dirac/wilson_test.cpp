// The Wilson operator: every kernel against the naive reference, and the identities that hold without one.
#include "dirac/wilson.h"

#include "core/blas/blas.h"
#include "core/error.h"
#include "core/tuning/kernel_log.h"
#include "dirac/kernel_table.h"
#include "tests/dirac/dirac_testing.h"
#include "tests/testing/backend_under_test.h"
#include "tests/testing/host_starts.h"

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
    export_links(stored, wilson.dslash().links().spatial);
    export_links(stored, wilson.dslash().links().time);
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

TEST_P(Wilson, ATwistedMassAgreesWithTheReference) {
  Scene scene = Scene::hot(GetParam());
  scene.parameters.mu = -0.43;
  every_kernel_agrees(scene);
}

TEST_P(Wilson, AChemicalPotentialAgreesWithTheReference) {
  Scene scene = Scene::hot(GetParam());
  scene.parameters.chemical_potential = 0.37;
  every_kernel_agrees(scene);
}

TEST_P(Wilson, AChemicalPotentialIsTheOppositeBehindGamma5) {
  Scene scene = Scene::hot(GetParam());
  scene.parameters.chemical_potential = 0.29;
  const HostSpinor x = random_spinor(GetParam());
  const HostSpinor adjoint = apply(scene.wilson(), x, Dagger::Yes);
  EXPECT_GT(relative_distance(reference::gamma5(apply(scene.wilson(), reference::gamma5(x))), adjoint), 0.01);
  scene.parameters.chemical_potential = -0.29;
  EXPECT_LT(relative_distance(reference::gamma5(apply(scene.wilson(), reference::gamma5(x))), adjoint), 1e-14);
}

TEST_P(Wilson, ATwistedMassIsOfTheOtherFlavourBehindGamma5) {
  Scene scene = Scene::hot(GetParam());
  scene.parameters.mu = 0.31;
  const HostSpinor x = random_spinor(GetParam());
  const HostSpinor adjoint = apply(scene.wilson(), x, Dagger::Yes);
  EXPECT_GT(relative_distance(reference::gamma5(apply(scene.wilson(), reference::gamma5(x))), adjoint), 0.01);
  scene.parameters.mu = -0.31;
  EXPECT_LT(relative_distance(reference::gamma5(apply(scene.wilson(), reference::gamma5(x))), adjoint), 1e-14);
}

/// y = b D x + a z on both parities, or b D x where z is null.
HostSpinor hop(const Dslash& dslash, const HostSpinor& x, Dagger dagger, double b, double a, const HostSpinor* z,
               bool in_place) {
  FieldDesc full = FieldDesc::spinor(*dslash.field_desc().lattice, Subset::Full, dslash.form().precision, backend());
  Field in(full), out(full), other(full);
  import_spinor(in, x);
  import_spinor(out, random_spinor(x.dims));  // what is overwritten
  if (z != nullptr) import_spinor(in_place ? out : other, *z);
  for (Parity p : {Parity::Even, Parity::Odd}) {
    Field y = out.parity(p);
    const Field opposite_x = in.parity(opposite(p));
    if (z == nullptr) {
      dslash.apply(y, opposite_x, dagger, {b});
    } else if (in_place) {
      dslash.apply(y, opposite_x, dagger, {b}, {a}, y);
    } else {
      dslash.apply(y, opposite_x, dagger, {b}, {a}, other.parity(p));
    }
  }
  HostSpinor result(x.dims);
  export_spinor(result, out);
  return result;
}

TEST_P(Wilson, HoppingTermsAgreeWithTheReferenceWithoutXpayAndInPlace) {
  const Scene scene = Scene::hot(GetParam());
  const HostSpinor x = random_spinor(GetParam()), z = random_spinor(GetParam());
  const double a = 1.3, b = -0.7;
  for (const OperatorForm& form : all_forms()) {
    const WilsonOperator m = scene.wilson(form);
    HostLinks stored(GetParam());
    export_links(stored, m.dslash().links().spatial);
    export_links(stored, m.dslash().links().time);
    for (bool dagger : {false, true}) {
      const HostSpinor mx = reference::wilson(stored, scene.setup(), x, dagger);
      HostSpinor bare(GetParam()), with_z(GetParam());  // M = diagonal - D / 2
      for (std::size_t i = 0; i < x.data.size(); ++i) {
        bare.data[i] = b * 2.0 * (scene.parameters.diagonal() * x.data[i] - mx.data[i]);
        with_z.data[i] = bare.data[i] + a * z.data[i];
      }
      const Dagger d = dagger ? Dagger::Yes : Dagger::No;
      const double bound = 3 * expected(form).upper;  // the diagonal part of M cancels
      EXPECT_LT(relative_distance(hop(m.dslash(), x, d, b, a, nullptr, false), bare), bound) << to_string(form);
      EXPECT_LT(relative_distance(hop(m.dslash(), x, d, b, a, &z, false), with_z), bound) << to_string(form);
      EXPECT_LT(relative_distance(hop(m.dslash(), x, d, b, a, &z, true), with_z), bound) << to_string(form);
    }
  }
}

/// Links whose first row has all but N = sin(epsilon)^2 of its length in its first number, where 8 numbers are nearly
/// singular; epsilon from 0 to 0.1, some links are 1.
HostLinks nearly_singular_start(const Dims& dims) {
  HostLinks links(dims);
  SiteRandom random(next_seed(), RandomPurpose::Test, 0);
  using Matrix = std::array<std::array<Complex, 3>, 3>;
  const auto product = [](const Matrix& l, const Matrix& r) {
    Matrix out{};
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j)
        for (int k = 0; k < 3; ++k) out[i][j] += l[i][k] * r[k][j];
    return out;
  };
  const auto lower_block = [&] {  // SU(2) in rows 1 and 2, with a phase that row 0 takes back
    Complex p(random.normal(), random.normal()), q(random.normal(), random.normal());
    const double size = std::sqrt(std::norm(p) + std::norm(q));
    p /= size, q /= size;
    const Complex phase = std::polar(1.0, 6.28 * random.uniform());
    return Matrix{{{std::conj(phase), 0, 0}, {0, phase * p, q}, {0, -phase * std::conj(q), std::conj(p)}}};
  };
  for (std::int64_t site = 0; site < volume(dims); ++site) {
    for (int mu = 0; mu < 4; ++mu) {
      const double which = random.uniform();
      const double epsilon = which < 0.2 ? 0 : std::pow(10.0, -1 - 10 * random.uniform());
      const Matrix turn{
          {{std::cos(epsilon), std::sin(epsilon), 0}, {-std::sin(epsilon), std::cos(epsilon), 0}, {0, 0, 1}}};
      const Matrix one{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
      const Matrix u = which < 0.1 ? one : product(product(lower_block(), turn), lower_block());
      for (int i = 0; i < 9; ++i) links.link(site, mu)[i] = u[i / 3][i % 3];
    }
  }
  return links;
}

TEST_P(Wilson, NearlySingularLinksStayFiniteInEightNumbers) {
  const Scene scene(GetParam(), nearly_singular_start(GetParam()));
  const HostSpinor psi = random_spinor(GetParam());
  const HostSpinor reference = reference::wilson(scene.gauge->host_links(), scene.setup(), psi, false);
  // Ten times the square roots of the formats' epsilons.
  const std::pair<Precision, double> bounds[] = {
      {Precision::Double, 1e-7}, {Precision::Single, 3e-3}, {Precision::Half, 6e-2}};
  for (Isa isa : available_isas()) {
    const ForcedIsa forced(isa);
    for (const auto& [precision, bound] : bounds) {
      const double error = relative_distance(apply(scene.wilson({precision, Reconstruct::R8}), psi), reference);
      EXPECT_LT(error, bound) << to_string(precision) << " " << to_string(isa);  // false of not-a-number
    }
  }
}

TEST_P(Wilson, EighteenAndTwelveNumbersAgreeWithTheReferenceOnTheLinksAsRead) {
  const Scene scene = Scene::hot(GetParam());
  const HostSpinor psi = random_spinor(GetParam());
  for (bool dagger : {false, true}) {
    const HostSpinor reference = reference::wilson(scene.gauge->host_links(), scene.setup(), psi, dagger);
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
  const HostSpinor reference = reference::wilson(scene.gauge->host_links(), scene.setup(), psi, false);
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
  const Scene scene(GetParam(), testing::cold_start(Lattice(GetParam())));
  const HostSpinor psi = random_spinor(GetParam());
  const HostSpinor reference = reference::wilson(scene.gauge->host_links(), scene.setup(), psi, false);
  for (Isa isa : available_isas()) {
    const ForcedIsa forced(isa);
    EXPECT_LT(relative_distance(apply(scene.wilson({Precision::Double, Reconstruct::R8}), psi), reference), 1e-14);
    EXPECT_LT(relative_distance(apply(scene.wilson({Precision::Single, Reconstruct::R8}), psi), reference), 1e-6);
    EXPECT_LT(relative_distance(apply(scene.wilson({Precision::Half, Reconstruct::R8}), psi), reference), 1e-3);
  }
}

TEST_P(Wilson, DaggerIsTheAdjointOfATwistedMass) {
  Scene scene = Scene::hot(GetParam());
  scene.parameters.mu = 0.7;
  const WilsonOperator m = scene.wilson();
  const HostSpinor x = random_spinor(GetParam()), y = random_spinor(GetParam());
  const Complex left = dot(y, apply(m, x)), right = dot(apply(m, y, Dagger::Yes), x);
  EXPECT_LT(std::abs(left - right), 1e-12 * std::sqrt(std::abs(dot(x, x) * dot(y, y))));
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
  const std::vector<Complex> g = testing::random_transformation(scene.lattice, next_seed());
  const Scene rotated(GetParam(), gauge_transformed(scene.lattice, scene.gauge->host_links(), g));
  const HostSpinor psi = random_spinor(GetParam());
  const HostSpinor before = gauge_transformed(apply(scene.wilson(), psi), g);
  const HostSpinor after = apply(rotated.wilson(), gauge_transformed(psi, g));
  EXPECT_LT(relative_distance(after, before), 1e-14);
  EXPECT_GT(relative_distance(after, apply(rotated.wilson(), psi)), 0.1);
}

TEST_P(Wilson, FreePlaneWavesAreEigenvectors) {
  const Dims dims = GetParam();
  Scene scene(dims, testing::cold_start(Lattice(dims)));
  scene.parameters.mu = 0.23;
  const WilsonParameters& w = scene.parameters;
  SiteRandom random(next_seed(), RandomPurpose::Test, 0);
  std::array<double, 4> p;
  for (int mu = 0; mu < 4; ++mu) {
    const int n = int(random.uniform() * dims[mu]);
    p[mu] = std::numbers::pi * (2 * n + w.boundary[mu]) / dims[mu];
  }
  Complex chi[12];
  for (Complex& c : chi) c = {random.normal(), random.normal()};
  // M exp(ipx) chi = exp(ipx) [a + i mu gamma_5 - sum w_mu cos p_mu + i sum w_mu gamma_mu sin p_mu] chi
  Complex expected_chi[12];
  double diagonal = w.diagonal();
  for (int mu = 0; mu < 4; ++mu) diagonal -= (mu < 3 ? w.nu / w.xi0 : 1) * std::cos(p[mu]);
  for (int i = 0; i < 12; ++i) expected_chi[i] = Complex(diagonal, i < 6 ? w.mu : -w.mu) * chi[i];
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
  const auto gauge = scene.gauge->temporal_gauge();  // not the links of one form
  for (const OperatorForm& form : all_forms()) {
    const std::size_t before = cpu_backend().allocated_bytes();
    const WilsonOperator m = scene.wilson(form);
    const std::size_t links = form == OperatorForm{} ? 4 : 8;  // the store has half of this form already
    EXPECT_EQ(cpu_backend().allocated_bytes() - before,
              sites * links * std::size_t(form.reconstruct) * number_bytes(form.precision));
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
      const std::size_t none = resources.find(" registers, 0 bytes local, "),
                        one = resources.find(" registers, 8 bytes local, ");
      EXPECT_TRUE(none != std::string::npos || (form.precision == Precision::Double && one != std::string::npos))
          << to_string(form) << resources;
    }
  }
}

TEST(WilsonKernels, EveryWayToLaunchThemGivesTheSameBits) {
  const Dims dims{16, 8, 6, 12};
  Scene scene = Scene::weak(dims, 0.3);
  const HostSpinor x = random_spinor(dims), z = random_spinor(dims);
  for (const std::array<double, 4>& boundary : {std::array<double, 4>{0.3, 1, -0.55, 0.125}, {0, 1, 0, 1}}) {
    scene.parameters.boundary = boundary;
    for (const OperatorForm& form : all_forms()) {
      const WilsonOperator m = scene.wilson(form);
      const HopKernel& kernel = m.dslash().kernel();
      if (kernel.ways(1) == 1) GTEST_SKIP() << "there is one way on " << backend().name();
      Field in(FieldDesc::spinor(scene.lattice, Subset::Full, form.precision, backend()));
      import_spinor(in, x);
      const Field odd = in.parity(Parity::Odd);
      for (const bool xpay : {false, true}) {
        const auto bits = [&](std::size_t way) {
          Field out(in.desc());
          import_spinor(out, z);
          Field y = out.parity(Parity::Even);
          const Operands operands{&y, &odd, xpay ? &y : nullptr};
          kernel.run_in(way, {only(operands), Parity::Even, Dagger::No, {-0.7}, {1.3}});
          HostSpinor result(dims);
          export_spinor(result, out);
          return result.data;
        };
        const auto first = bits(0);
        for (std::size_t way = 1; way < kernel.ways(1); ++way) {
          ASSERT_EQ(bits(way), first) << to_string(form) << " xpay " << xpay << " way " << way;
        }
      }
    }
  }
}

TEST(WilsonKernels, AMissingOneNamesWhatIsBuiltAndWhatWouldAddIt) {
  try {
    dirac::find_kernel("wilson_unknown", Precision::Half, Reconstruct::R12, 4);
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
