// Even-odd preconditioning against the full operator.
#include "dirac/systems/even_odd.h"

#include "core/blas/blas.h"
#include "core/error.h"
#include "core/operator/normal_operator.h"
#include "tests/dirac/dirac_testing.h"
#include "tests/testing/host_starts.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>

namespace quadrille {
namespace {

using namespace testing;
using Kind = EvenOddForm::Kind;

/// Extents, a twisted mass, which reduced system.
class EvenOdd : public ::testing::TestWithParam<std::tuple<Dims, double, EvenOddForm>> {
 protected:
  static Dims dims() { return std::get<0>(GetParam()); }
  static EvenOddForm form() { return std::get<2>(GetParam()); }
  Scene twisted(const HostLinks& links) const { return Scene(dims(), links, {.mu = std::get<1>(GetParam())}); }
  Scene hot() const { return twisted(hot_start(Lattice(dims()), next_seed())); }
  Scene weak() const { return twisted(weak_start(Lattice(dims()), next_seed(), 0.4)); }
};
INSTANTIATE_TEST_SUITE_P(Extents, EvenOdd,
                         ::testing::Combine(::testing::ValuesIn(test_extents), ::testing::Values(0, -0.37),
                                            ::testing::Values(EvenOddForm{},
                                                              EvenOddForm{Parity::Odd, Kind::symmetric})));
INSTANTIATE_TEST_SUITE_P(Forms, EvenOdd,
                         ::testing::Combine(::testing::Values(Dims{4, 6, 8, 10}), ::testing::Values(-0.37),
                                            ::testing::Values(EvenOddForm{Parity::Even, Kind::symmetric},
                                                              EvenOddForm{Parity::Odd, Kind::asymmetric})));

double norm(const Field& x) { return std::sqrt(blas::norm2(x)); }

/// |a - b| / |b|
double distance(const Field& a, const Field& b) {
  Field difference(a.desc());
  blas::copy(difference, a);
  return std::sqrt(blas::subtract_norm2(b, difference)) / norm(b);
}

TEST_P(EvenOdd, ReducesAndReconstructsTheFullSystem) {
  const Scene scene = hot();
  const EvenOddSystem system(scene.shared_wilson(), form());
  Field x(system.full_desc()), b(system.full_desc()), again(system.full_desc()), residual(system.full_desc());
  import_spinor(x, random_spinor(dims()));
  system.dirac().apply(b, x, Dagger::No);
  Field rhs(system.reduced().field_desc()), reduced(system.reduced().field_desc());
  system.prepare(rhs, b);
  system.reduced().apply(reduced, x.parity(form().kept), Dagger::No);
  EXPECT_LT(distance(reduced, rhs), 1e-13);
  system.reconstruct(again, x.parity(form().kept), b);
  EXPECT_LT(distance(again, x), 1e-13);
  EXPECT_LT(system.full_residual(residual, again, b), 1e-13 * norm(b));
}

TEST_P(EvenOdd, TellsTheResidualOfTheFullSystem) {
  const Scene scene = hot();
  const EvenOddSystem system(scene.shared_wilson(), form());
  Field x(system.full_desc()), b(system.full_desc()), residual(system.full_desc());
  Field guess(system.reduced().field_desc()), rhs(guess.desc()), r(guess.desc());
  import_spinor(b, random_spinor(dims()));
  import_spinor(guess, random_spinor(dims()));
  const double ratio = system.prepare(rhs, b);
  system.reduced().apply(r, guess, Dagger::No);
  double reduced = std::sqrt(blas::subtract_norm2(rhs, r));
  if (form().kind == Kind::symmetric) {  // A times it
    Field image(r.desc()), none = x.parity(opposite(form().kept));
    blas::zero(none);
    system.dirac().diagonal_minus_hop(image, r, none, Dagger::No);
    reduced = norm(image);
  } else {
    EXPECT_EQ(ratio, 1);
  }
  system.reconstruct(x, guess, b);
  EXPECT_NEAR(system.full_residual(residual, x, b) / reduced, 1, 1e-13);

  blas::zero(guess);
  system.reconstruct(x, guess, b);
  EXPECT_NEAR(system.full_residual(residual, x, b) / norm(rhs), ratio, 1e-13 * ratio);
}

TEST_P(EvenOdd, DaggerIsTheAdjointInEveryForm) {
  const Scene scene = weak();
  const EvenOddOperator outer(scene.shared_wilson(), form());
  for (const OperatorForm& form : all_forms()) {
    const auto a = outer.converted(form);
    Field x(a->field_desc()), y(a->field_desc()), ax(a->field_desc()), ay(a->field_desc());
    import_spinor(x, random_spinor(dims()));
    import_spinor(y, random_spinor(dims()));
    a->apply(ax, x, Dagger::No);
    a->apply(ay, y, Dagger::Yes);
    const double tolerance = form.precision == Precision::Double   ? 1e-14
                             : form.precision == Precision::Single ? 1e-6
                                                                   : 1e-3;
    EXPECT_LT(std::abs(blas::dot(y, ax) - blas::dot(ay, x)), tolerance * norm(y) * norm(ax)) << to_string(form);
  }
}

TEST_P(EvenOdd, NormalOperatorIsHermitianAndPositive) {
  const Scene scene = hot();
  const auto a = std::make_shared<const EvenOddOperator>(scene.shared_wilson(), form());
  const NormalOperator outer(a);
  for (const OperatorForm& form : {OperatorForm{}, OperatorForm{Precision::Single, Reconstruct::R12, true}}) {
    const auto normal = outer.converted(form);
    const auto plain = a->converted(form);
    Field x(normal->field_desc()), y(x.desc()), nx(x.desc()), ny(x.desc()), ax(x.desc());
    import_spinor(x, random_spinor(dims()));
    import_spinor(y, random_spinor(dims()));
    normal->apply(nx, x, Dagger::No);
    normal->apply(ny, y, Dagger::Yes);
    plain->apply(ax, x, Dagger::No);
    const double tolerance = form.precision == Precision::Double ? 1e-13 : 1e-5;
    EXPECT_LT(std::abs(blas::dot(y, nx) - blas::dot(ny, x)), tolerance * norm(y) * norm(nx));
    EXPECT_NEAR(blas::dot(x, nx).real() / blas::norm2(ax), 1, tolerance);  // <x, A^+ A x> = |A x|^2
    EXPECT_EQ(normal->flops(), 2 * plain->flops());
  }
}

TEST(EvenOddForms, TwelveNumbersDemandUnitaryLinksOfTheOuterForm) {
  HostLinks links = testing::weak_start(Lattice({4, 4, 4, 4}), next_seed(), 0.3);
  Scene good({4, 4, 4, 4}, links);
  for (int i = 0; i < 9; ++i) links.link(37, 2)[i] *= 1 + 1e-9;
  Scene bad({4, 4, 4, 4}, links);
  const auto convert_to_12 = [](const Scene& scene) {
    const EvenOddSystem system(scene.shared_wilson());
    system.converted({Precision::Double, Reconstruct::R12});
    system.converted({Precision::Double, Reconstruct::R18});
    system.reduced().converted({Precision::Single, Reconstruct::R12});  // an inner operator may be approximate
  };
  EXPECT_NO_THROW(convert_to_12(good));
  try {
    convert_to_12(bad);
    FAIL() << "accepted links off SU(3) by 1e-9";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_input);
    EXPECT_NE(error.message().find("site (1,1,2,0), direction z"), std::string::npos) << error.message();
    EXPECT_NE(error.message().find("gauge.reunitarize"), std::string::npos) << error.message();
  }
}

}  // namespace
}  // namespace quadrille
