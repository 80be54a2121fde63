// Temporal gauge fixing, gauge transformations and starting configurations.
#include "core/gauge/temporal_gauge.h"

#include "core/blas/random_fill.h"
#include "core/field/convert.h"
#include "core/gauge/gauge_store.h"
#include "core/su3/su3.h"
#include "tests/testing/backend_under_test.h"
#include "tests/testing/extents.h"
#include "tests/testing/gauge_testing.h"
#include "tests/testing/host_starts.h"
#include "tests/testing/random_seed.h"

#include <gtest/gtest.h>

namespace quadrille {
namespace {

using testing::gauge_observables;
using testing::next_seed;

class TemporalGaugeOn : public ::testing::TestWithParam<Dims> {
 protected:
  const Lattice lattice{GetParam()};

  /// The links in temporal gauge.
  HostLinks fixed(const HostLinks& links) const {
    const GaugeStore store(lattice, links, testing::backend());
    const auto form = store.form({Precision::Double, Reconstruct::R18, true});
    HostLinks out(lattice.dims());
    export_links(out, form->spatial);
    export_links(out, form->time);
    return out;
  }
};
INSTANTIATE_TEST_SUITE_P(Extents, TemporalGaugeOn, ::testing::ValuesIn(testing::test_extents));

TEST_P(TemporalGaugeOn, TimeLinksAreOneUpToTheLastSlice) {
  const HostLinks fixed = this->fixed(testing::hot_start(lattice, next_seed()));
  bool trivial = true;
  for (std::int64_t site = 0; site < lattice.volume(); ++site) {
    const double off = std::abs(fixed.link(site, 3)[0] - 1.0);
    if (lattice.coordinates(site)[3] < GetParam()[3] - 1) {
      EXPECT_EQ(off, 0);
    } else {
      trivial = trivial && off < 1e-3;
    }
  }
  EXPECT_FALSE(trivial) << "the last slice must carry the Polyakov loop";
}

TEST_P(TemporalGaugeOn, KeepsGaugeInvariants) {
  const HostLinks links = testing::weak_start(lattice, next_seed(), 0.5);
  const GaugeObservables before = gauge_observables(links), after = gauge_observables(fixed(links));
  for (int plane = 0; plane < 6; ++plane) EXPECT_NEAR(after.planes[plane], before.planes[plane], 1e-14);
  EXPECT_GT(std::abs(after.link_trace - before.link_trace), 1e-4) << "nothing was transformed";
  EXPECT_LT(after.unitarity.unitarity, 1e-14);
}

TEST_P(TemporalGaugeOn, RestoreInvertsTransformInEveryPrecision) {
  const GaugeStore store(lattice, GaugeStart::hot(next_seed()), testing::backend());
  const auto gauge = store.temporal_gauge();
  Field psi(FieldDesc::spinor(lattice, Subset::Full, Precision::Double, testing::backend())), back(psi.desc());
  fill_gaussian(psi, next_seed());
  HostSpinor before(GetParam()), after(GetParam());
  export_spinor(before, psi);
  for (Precision p : {Precision::Double, Precision::Single, Precision::Half}) {
    Field inside(FieldDesc::spinor(lattice, Subset::Full, p, testing::backend()));
    gauge->transform(inside, psi);
    export_spinor(after, inside);
    EXPECT_GT(std::abs(after.data[after.data.size() - 1] - before.data[before.data.size() - 1]), 1e-3);
    gauge->restore(back, inside);
    export_spinor(after, back);
    double largest = 0;
    for (std::size_t i = 0; i < before.data.size(); ++i)
      largest = std::max(largest, std::abs(after.data[i] - before.data[i]));
    EXPECT_LT(largest, 40 * rounding_unit(p)) << to_string(p);
  }
}

TEST(Starts, ColdIsTheUnitMatrix) {
  const Lattice lattice({4, 4, 4, 4});
  const GaugeObservables seen = gauge_observables(testing::cold_start(lattice));
  EXPECT_EQ(seen.plaquette, 1);
  EXPECT_EQ(seen.link_trace, 1);
}

TEST(Starts, HotIsUniformOnTheGroup) {
  const Lattice lattice({8, 8, 8, 8});
  const HostLinks links = testing::hot_start(lattice, next_seed());
  const GaugeObservables seen = gauge_observables(links);
  EXPECT_LT(seen.unitarity.unitarity, 1e-14);
  EXPECT_LT(seen.unitarity.determinant, 1e-14);
  // Haar: <tr U> = 0, <|tr U|^2> = 1, <(tr U)^3> = 1 (one singlet in 3 x 3 x 3), <|tr U|^4> = 2.
  const double n = double(lattice.volume()) * 4;
  Complex first = 0, third = 0;
  double second = 0, fourth = 0;
  for (std::int64_t k = 0; k < lattice.volume() * 4; ++k) {
    const Complex* u = links.data.data() + k * 9;
    const Complex trace = u[0] + u[4] + u[8];
    first += trace / n;
    second += std::norm(trace) / n;
    third += trace * trace * trace / n;
    fourth += std::norm(trace) * std::norm(trace) / n;
  }
  const double sigma = 1 / std::sqrt(n);
  EXPECT_LT(std::abs(first), 6 * sigma);
  EXPECT_NEAR(second, 1, 6 * sigma);
  EXPECT_LT(std::abs(third - 1.0), 6 * sigma * 3);
  EXPECT_NEAR(fourth, 2, 6 * sigma * 5);
}

TEST(Starts, WeakDependsOnSeedAndEpsilonOnly) {
  const Lattice lattice({4, 4, 4, 8});
  const std::uint64_t seed = next_seed();
  EXPECT_EQ(testing::weak_start(lattice, seed, 0.2).data, testing::weak_start(lattice, seed, 0.2).data);
  EXPECT_NE(testing::weak_start(lattice, seed, 0.2).data, testing::weak_start(lattice, seed + 1, 0.2).data);
  const GaugeObservables seen = gauge_observables(testing::weak_start(lattice, seed, 0.05));
  EXPECT_LT(seen.unitarity.unitarity, 1e-14);
  // Re tr U_p / 3 = 1 - (4 links) epsilon^2 <tr H^2> / 6 + ..., <tr H^2> = 8 / 2
  EXPECT_NEAR(1 - seen.plaquette, 4 * 0.05 * 0.05 * 4 / 6, 0.1 * 4 * 0.05 * 0.05 * 4 / 6);
}

}  // namespace
}  // namespace quadrille
