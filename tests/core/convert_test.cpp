// Conversions between host arrays and fields, and between fields of every precision and layout.
#include "core/field/convert.h"

#include "core/blas/random_fill.h"
#include "core/error.h"
#include "core/field/site_access.h"
#include "core/field/spin_basis.h"
#include "core/layout/grouped_layout.h"
#include "core/layout/vector_layout.h"
#include "core/simd/isa.h"
#include "tests/reference/wilson.h"
#include "tests/testing/backend_under_test.h"
#include "tests/testing/extents.h"
#include "tests/testing/random_seed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

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

/// Sites of formats that nothing in the library knows: a format is data.
constexpr SiteFormat other_formats[] = {{"su(3) elements", 1, 8, true},
                                        {"color vectors", 1, 6, true},
                                        {"clover blocks", 2, 36, false},
                                        {"coarse vectors", 2, 16, true}};

/// All numbers of a field in double on the host, by even-odd index.
std::vector<double> numbers_of(const Field& field) {
  const std::size_t count = std::size_t(field.desc().components());
  std::vector<double> all;
  for (Parity p : {Parity::Even, Parity::Odd}) {
    const SiteAccess<double> access(field, p);
    for (std::int64_t site = 0; site < field.lattice().half_volume(); ++site) {
      all.resize(all.size() + count);
      access.load(site, all.data() + all.size() - count);
    }
  }
  return all;
}

TEST(Convert, SitesOfEveryFormat) {
  const Lattice lattice({4, 4, 6, 8});
  for (const SiteFormat& format : other_formats) {
    const std::size_t count = std::size_t(format.numbers());
    Field original(FieldDesc::of(format, lattice, Subset::Full, Precision::Double));
    fill_gaussian(original, testing::next_seed(), 0.1);  // without norms numbers must be below 1
    const std::vector<double> expected = numbers_of(original);
    for (Precision precision : precisions) {
      for (int lanes : {grouped, 1, 4}) {
        FieldDesc desc = FieldDesc::of(format, lattice, Subset::Full, precision, testing::backend());
        desc.layout = lanes == grouped || !testing::backend().host_memory() ? grouped_layout(precision) : Layout{lanes};
        const std::size_t sites = std::size_t(desc.layout.sites(lattice.half_volume()));
        const bool norms = format.norms && precision == Precision::Half;
        EXPECT_EQ(desc.parity_bytes(), sites * (count * number_bytes(precision) + (norms ? sizeof(float) : 0)));
        Field there(desc), back(original.desc());
        convert(there, original);
        convert(back, there);
        const std::vector<double> found = numbers_of(back);
        if (!testing::backend().host_memory()) {  // from double to this precision and back where the field is
          Field on_device(FieldDesc::of(format, lattice, Subset::Full, Precision::Double, testing::backend()));
          Field again(there.desc()), home(original.desc());
          convert(on_device, original);
          convert(again, on_device);
          convert(on_device, again);
          convert(home, on_device);
          EXPECT_EQ(numbers_of(home), found) << format.name << ", " << to_string(precision);
        }
        for (std::size_t n = 0; n < expected.size(); ++n) {
          const auto site = expected.begin() + std::ptrdiff_t(n / count * count);
          double norm = norms ? 0 : 1;
          for (auto x = site; norms && x != site + std::ptrdiff_t(count); ++x) norm = std::max(norm, std::abs(*x));
          // Half a quantum, and four roundings of numbers in single on the way to it: x, 1 / norm, their product and
          // back.
          const double rounding = precision == Precision::Double   ? 0
                                  : precision == Precision::Single ? std::abs(expected[n]) * 0x1p-24
                                                                   : norm * (0.5 / 32767 + 4 * 0x1p-24);
          ASSERT_LE(std::abs(found[n] - expected[n]), rounding)
              << format.name << ", " << to_string(precision) << ", " << n;
        }
      }
    }
  }
}

/// What comes back of `original` by way of half precision on the backend under test, from the host's memory or from the
/// backend's.
std::vector<double> through_half(const Field& original, bool from_backend) {
  const auto like = [&](Precision precision, Backend& backend) {
    return FieldDesc::of(original.desc().site, original.lattice(), Subset::Full, precision, backend);
  };
  Field there(like(Precision::Double, testing::backend())), half(like(Precision::Half, testing::backend()));
  Field back(original.desc());
  convert(there, original);
  convert(half, from_backend ? there : original);
  convert(back, half);
  return numbers_of(back);
}

// Without a norm a number in half precision is at most 1, and what is not finite becomes 0; a norm becomes NaN.
TEST(Convert, NumbersThatAreNotFiniteInHalfPrecision) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double special[] = {std::nan(""), infinity, -infinity, 1e300, 2.5, -2.5};
  const Lattice lattice({4, 4, 2, 2});
  for (const SiteFormat& format : {other_formats[2], other_formats[3]}) {
    const std::size_t count = std::size_t(format.numbers());
    Field original(FieldDesc::of(format, lattice, Subset::Full, Precision::Double));
    fill_gaussian(original, testing::next_seed(), 0.1);
    for (std::int64_t site = 0; site < std::ssize(special); ++site) {
      std::vector<double> numbers(count);
      const SiteAccess<double> access(original, Parity::Even);
      access.load(site, numbers.data());
      numbers[testing::next_seed() % count] = special[site];
      access.store(site, numbers.data());
    }
    const std::vector<double> given = numbers_of(original);
    for (const bool from_backend : {false, true}) {
      const std::vector<double> found = through_half(original, from_backend);
      for (std::size_t n = 0; n < given.size(); ++n) {
        const double x = given[n], bounded = std::isfinite(float(x)) ? std::clamp(x, -1.0, 1.0) : 0;
        const auto first = given.begin() + std::ptrdiff_t(n / count * count), last = first + std::ptrdiff_t(count);
        const bool finite = std::all_of(first, last, [](double y) { return std::isfinite(float(y)); });
        if (!format.norms) {
          EXPECT_NEAR(found[n], bounded, 1e-4) << format.name << ", " << x;
        } else if (finite) {
          EXPECT_NEAR(found[n], x, 1e-4) << format.name;
        } else {
          EXPECT_TRUE(std::isnan(found[n])) << format.name << ", " << found[n];
        }
      }
    }
  }
}

TEST(Convert, FormatsThatDoNotFitAreRefused) {
  const Lattice lattice({4, 4, 2, 2});
  const auto field = [&](const SiteFormat& format) {
    return Field(FieldDesc::of(format, lattice, Subset::Full, Precision::Double, testing::backend()));
  };
  Field links(FieldDesc::links(lattice, Precision::Double, Reconstruct::R18, testing::backend()));
  Field elements = field(other_formats[0]), vectors = field(other_formats[1]), spinors = field(site_formats::spinor);
  EXPECT_THROW(convert(elements, vectors), Error);
  EXPECT_THROW(convert(spinors, elements), Error);
  EXPECT_THROW(convert(links, links), Error);
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
