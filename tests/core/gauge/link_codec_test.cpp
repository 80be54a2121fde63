// 18, 12 and 8 numbers: medians and worst cases of the round trip through fields of every precision.
#include "core/su3/link_codec.h"

#include "core/field/convert.h"
#include "tests/testing/extents.h"
#include "tests/testing/host_starts.h"
#include "tests/testing/random_seed.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace quadrille {
namespace {

struct Deviations {
  double median, worst;
};

/// Largest |element| deviation of each link after a round trip.
Deviations round_trip(const HostLinks& links, const Lattice& lattice, Precision precision, Reconstruct reconstruct) {
  Field field(FieldDesc::links(lattice, precision, reconstruct));
  import_links(field, links);
  HostLinks back(links.dims);
  export_links(back, field);
  std::vector<double> deviations;
  for (std::size_t link = 0; link < links.data.size() / 9; ++link) {
    double largest = 0;
    for (std::size_t i = 0; i < 9; ++i) {
      const double d = std::abs(back.data[link * 9 + i] - links.data[link * 9 + i]);
      if (!(d <= largest)) largest = d;
    }
    deviations.push_back(largest);
  }
  std::sort(deviations.begin(), deviations.end(), [](double a, double b) { return !(a >= b); });
  return {deviations[deviations.size() / 2], deviations.back()};
}

/// Every round trip through fields on all extents, and on one with many links.
class LinkCodec : public ::testing::TestWithParam<Dims> {
 protected:
  const Lattice lattice{GetParam()};
  static double unit(Precision p) { return rounding_unit(p); }
};

std::vector<Dims> extents() {
  std::vector<Dims> all = testing::test_extents;
  all.push_back({8, 8, 8, 8});
  return all;
}
INSTANTIATE_TEST_SUITE_P(Extents, LinkCodec, ::testing::ValuesIn(extents()));

TEST_P(LinkCodec, EighteenAndTwelveAreAccurateToTheFormat) {
  for (const HostLinks& links :
       {testing::hot_start(lattice, testing::next_seed()), testing::weak_start(lattice, testing::next_seed(), 1e-3),
        testing::weak_start(lattice, testing::next_seed(), 0.5), testing::cold_start(lattice)}) {
    for (Precision p : {Precision::Double, Precision::Single, Precision::Half}) {
      for (Reconstruct r : {Reconstruct::R18, Reconstruct::R12}) {
        const Deviations d = round_trip(links, lattice, p, r);
        EXPECT_LE(d.median, 4 * unit(p)) << to_string(p) << " " << to_string(r);
        EXPECT_LE(d.worst, 20 * unit(p)) << to_string(p) << " " << to_string(r);
      }
    }
  }
}

TEST_P(LinkCodec, EightOnRandomLinks) {
  const HostLinks links = testing::hot_start(lattice, testing::next_seed());
  for (Precision p : {Precision::Double, Precision::Single, Precision::Half}) {
    const Deviations d = round_trip(links, lattice, p, Reconstruct::R8);
    EXPECT_LE(d.median, 30 * unit(p)) << to_string(p);
    EXPECT_GE(d.median, 0.3 * unit(p)) << to_string(p);
    // Errors grow as 1/N and as the inverse of a small |v00| or |v20|; the probability of N < x is x^2.
    EXPECT_LE(d.worst, 10 * std::sqrt(unit(p))) << to_string(p);
  }
}

TEST_P(LinkCodec, EightNearTheUnitMatrixLosesHalfTheDigitsAtWorst) {
  // |v00| and |v20| are small differences there: sqrt of the format's rounding, the worst case of the design.
  for (double epsilon : {1e-2, 1e-4, 1e-8}) {
    const HostLinks links = testing::weak_start(lattice, testing::next_seed(), epsilon);
    for (Precision p : {Precision::Double, Precision::Single, Precision::Half}) {
      const Deviations d = round_trip(links, lattice, p, Reconstruct::R8);
      EXPECT_LE(d.worst, 5 * std::sqrt(unit(p))) << to_string(p) << " epsilon " << epsilon;
      EXPECT_LE(d.median, 2 * std::sqrt(unit(p))) << to_string(p) << " epsilon " << epsilon;
    }
  }
}

TEST_P(LinkCodec, EightKeepsTheUnitMatrixExactly) {
  for (Precision p : {Precision::Double, Precision::Single, Precision::Half}) {
    EXPECT_EQ(round_trip(testing::cold_start(lattice), lattice, p, Reconstruct::R8).worst, 0) << to_string(p);
  }
}

TEST_P(LinkCodec, SingularLinksDecodeToFiniteNumbers) {
  Matrix3 u;  // row 1 is (1, 0, 0): N = 0
  u(0, 1) = u(1, 0) = 1;
  u(2, 2) = -1;
  double stored[8];
  float stored_single[8];
  link_codec::encode_8(u, stored);
  link_codec::encode_8(u, stored_single);
  const Matrix3 back = link_codec::decode_8(stored), single = link_codec::decode_8(stored_single);
  for (std::size_t i = 0; i < 9; ++i) {
    EXPECT_TRUE(std::isfinite(std::abs(back[i])));
    EXPECT_TRUE(std::isfinite(std::abs(single[i])));
  }
}

}  // namespace
}  // namespace quadrille
