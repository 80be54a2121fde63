// Conversions between host arrays and fields, and between fields of every precision and layout.
#include "core/field/convert.h"

#include "core/blas/random_fill.h"
#include "core/error.h"
#include "core/field/spin_basis.h"
#include "core/layout/grouped_layout.h"
#include "core/layout/vector_layout.h"
#include "core/simd/isa.h"
#include "tests/backend_under_test.h"
#include "tests/extents.h"
#include "tests/random_seed.h"
#include "tests/reference/wilson.h"

#include <gtest/gtest.h>

#include <cmath>

namespace quadrille {
namespace {

const Precision precisions[] = {Precision::Double, Precision::Single, Precision::Half};

constexpr int grouped = 0;  ///< instead of lanes: the layout of devices, in whatever memory

FieldDesc spinor(const Lattice& lattice, Precision p, int lanes, Subset subset = Subset::Full) {
  FieldDesc desc = FieldDesc::spinor(lattice, subset, p, testing::backend());
  if (lanes == grouped) {
    desc.layout = grouped_layout(p);
  } else if (testing::backend().host_memory()) {
    desc.layout.lanes = lanes;
  }
  return desc;
}

double largest_difference(const HostSpinor& a, const HostSpinor& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.data.size(); ++i) {
    const double d = std::abs(a.data[i] - b.data[i]);
    if (!(d <= largest)) largest = d;
  }
  return largest;
}

TEST(Convert, EveryPairOfPrecisionsAndLayouts) {
  for (const Dims& dims : testing::test_extents) {
    const Lattice lattice(dims);
    Field original(spinor(lattice, Precision::Double, 1));
    fill_gaussian(original, testing::next_seed());
    HostSpinor host(dims);
    export_spinor(host, original);
    for (Precision from : precisions) {
      for (Precision to : precisions) {
        for (int from_lanes : {grouped, 1, 4, 16}) {
          for (int to_lanes : {grouped, 1, 2, 8}) {
            const auto fits = [&](int lanes) { return lanes == grouped || VectorLayout::fits(dims, lanes); };
            if (!fits(from_lanes) || !fits(to_lanes)) continue;
            Field a(spinor(lattice, from, from_lanes)), b(spinor(lattice, to, to_lanes));
            import_spinor(a, host);
            convert(b, a);
            HostSpinor back(dims);
            export_spinor(back, b);
            const double unit = std::max(rounding_unit(from), rounding_unit(to));
            EXPECT_LT(largest_difference(back, host), 20 * unit) << to_string(from) << " to " << to_string(to);
          }
        }
      }
    }
  }
}

TEST(Convert, HalfToHalfInAnotherLayoutKeepsTheBits) {
  const Lattice lattice({8, 4, 4, 8});
  Field a(spinor(lattice, Precision::Half, 1)), b(spinor(lattice, Precision::Half, 16)),
      c(spinor(lattice, Precision::Half, grouped)), d(spinor(lattice, Precision::Half, 1));
  fill_gaussian(a, testing::next_seed());
  convert(b, a);
  convert(c, b);
  convert(d, c);
  HostSpinor first({8, 4, 4, 8}), last({8, 4, 4, 8});
  export_spinor(first, a);
  export_spinor(last, d);
  EXPECT_EQ(first.data, last.data);
}

TEST(Convert, OneParityLeavesTheOtherAlone) {
  const Lattice lattice({4, 4, 4, 4});
  Field even(spinor(lattice, Precision::Double, 4, Subset::Even));
  fill_gaussian(even, testing::next_seed());
  HostSpinor host({4, 4, 4, 4});
  for (Complex& x : host.data) x = 7;
  export_spinor(host, even);
  for (std::int64_t site = 0; site < lattice.volume(); ++site) {
    const bool odd = Lattice::parity(lattice.coordinates(site)) == 1;
    EXPECT_EQ(host.data[std::size_t(site) * 12] == Complex(7), odd);
  }
}

TEST(Convert, FreshFieldsAreNotANumber) {
  if (!poisons_memory) GTEST_SKIP() << "of builds for debugging (QUADRILLE_POISON)";
  for (Precision p : precisions) {
    const Lattice lattice({4, 4, 4, 4});
    Field fresh(spinor(lattice, p, 4));
    HostSpinor host({4, 4, 4, 4});
    export_spinor(host, fresh);
    for (const Complex& x : host.data) ASSERT_TRUE(std::isnan(x.real()) && std::isnan(x.imag()));
  }
}

TEST(Convert, RefusesOtherSubsetsAndLattices) {
  const Lattice a({4, 4, 4, 4}), b({4, 4, 4, 4});
  Field full(spinor(a, Precision::Double, 1)), even(spinor(a, Precision::Single, 1, Subset::Even)),
      other(spinor(b, Precision::Single, 1));
  EXPECT_THROW(convert(even, full), Error);
  EXPECT_THROW(convert(other, full), Error);
  EXPECT_THROW(even.parity(Parity::Odd), Error);
}

TEST(SpinBasis, TakesDegrandRossiGammasToTheNonRelativisticOnes) {
  const Complex i(0, 1);
  const Complex inside[4][4][4] = {
      {{0, 0, 0, i}, {0, 0, i, 0}, {0, -i, 0, 0}, {-i, 0, 0, 0}},
      {{0, 0, 0, 1}, {0, 0, -1, 0}, {0, -1, 0, 0}, {1, 0, 0, 0}},
      {{0, 0, i, 0}, {0, 0, 0, -i}, {-i, 0, 0, 0}, {0, i, 0, 0}},
      {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, -1, 0}, {0, 0, 0, -1}},
  };
  for (int mu = 0; mu < 4; ++mu) {
    const auto outside = reference::gamma(mu);
    for (int k = 0; k < 4; ++k) {  // S gamma(DeGrand-Rossi) e_k = gamma(UKQCD) S e_k
      Complex unit[4] = {}, rotated_unit[4], column[4], left[4], back[4];
      unit[k] = 1;
      for (int s = 0; s < 4; ++s) column[s] = outside[std::size_t(s)][std::size_t(k)];
      spin_basis::from_degrand_rossi(left, column, 1);
      spin_basis::from_degrand_rossi(rotated_unit, unit, 1);
      for (int s = 0; s < 4; ++s) {
        Complex right = 0;
        for (int r = 0; r < 4; ++r) right += inside[mu][s][r] * rotated_unit[r];
        EXPECT_LT(std::abs(left[s] - right), 1e-15) << "gamma " << mu << " row " << s << " column " << k;
      }
      spin_basis::to_degrand_rossi(back, rotated_unit, 1);
      for (int s = 0; s < 4; ++s) EXPECT_LT(std::abs(back[s] - unit[s]), 1e-15);
    }
  }
}

}  // namespace
}  // namespace quadrille
