// The hopping term over several ranks against one process: the same bits in double and single precision on a CPU, to
// rounding on a GPU; one more rounding of what crosses the faces in half.
#include "dirac/dslash.h"
#include "core/field/convert.h"
#include "tests/dirac/dirac_testing.h"
#include "tests/ranks/ranks_testing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <deque>
#include <vector>

namespace quadrille {
namespace {

using testing::divided_dims;
using testing::ranks;

constexpr HopScalars scalars{.boundary = {0.3, 1, -0.55, 0.125}, .spatial = 0.4, .chemical_potential = 0.3};

/// One parity of a spinor field in a form, and the result that is to come.
struct Fields {
  Field x, z, y;

  Fields(const Lattice& lattice, const HostSpinor& in, const HostSpinor& more, Precision precision)
      : x(desc(lattice, precision)), z(desc(lattice, precision)), y(desc(lattice, precision)) {
    import_spinor(x, in);
    import_spinor(z, more);
  }
  static FieldDesc desc(const Lattice& lattice, Precision precision) {
    return FieldDesc::spinor(lattice, Subset::Full, precision, testing::backend());
  }
  struct Parities {
    Parities(Fields& of, Parity p) : y(of.y.parity(p)), x(of.x.parity(opposite(p))), z(of.z.parity(p)) {}
    Field y, x, z;
  };
  /// y = L D x (+ R z) on both parities.
  HostSpinor apply(const Dslash& dslash, Dagger dagger, bool xpay) {
    for (const Parity p : {Parity::Even, Parity::Odd}) {
      Field result = y.parity(p);
      if (xpay) {
        dslash.apply(result, x.parity(opposite(p)), dagger, {-0.5, 0.2}, {4.1, -0.3}, z.parity(p));
      } else {
        dslash.apply(result, x.parity(opposite(p)), dagger, {-0.5});
      }
    }
    HostSpinor out(y.lattice().dims());
    export_spinor(out, y);
    return out;
  }
};

HostSpinor not_a_number(const Lattice& lattice) {
  HostSpinor out(lattice.dims());
  std::fill(out.data.begin(), out.data.end(), std::complex<double>(std::nan(""), 0));
  return out;
}

HostSpinor part_of(const HostSpinor& whole, const Lattice& lattice) {
  HostSpinor part(lattice.dims());
  for (std::int64_t site = 0; site < lattice.volume(); ++site) {
    const std::int64_t global = lattice.global_site(lattice.coordinates(site));
    std::copy_n(whole.data.begin() + global * 12, 12, part.data.begin() + site * 12);
  }
  return part;
}

/// The largest |difference| of two numbers of a site, relative to the largest of its numbers.
double largest_deviation(const HostSpinor& a, const HostSpinor& b) {
  double largest = 0;
  for (std::size_t site = 0; site < a.data.size() / 12; ++site) {
    double norm = 0, difference = 0;
    for (std::size_t n = site * 12; n < site * 12 + 12; ++n) {
      norm = std::max(norm, std::abs(b.data[n]));
      difference = std::max(difference, std::abs(a.data[n] - b.data[n]));
    }
    largest = std::max(largest, difference / norm);
  }
  return largest;
}

double most_deviation(Precision precision) {
  if (precision == Precision::Half) return 2e-3;
  if (testing::has_bits_of_one_process()) return 0;
  return precision == Precision::Double ? 1e-13 : 1e-5;
}

class RankDslash : public ::testing::TestWithParam<OperatorForm> {};

TEST_P(RankDslash, IsThatOfOneProcess) {
  const OperatorForm form = GetParam();
  const std::uint64_t seed = testing::shared_seed();
  const Lattice whole(divided_dims);
  const HostSpinor in = testing::random_spinor(divided_dims, seed),
                   more = testing::random_spinor(divided_dims, seed + 1);
  // Eight numbers per link are exact enough near no unit matrix only: a hot start.
  const GaugeStart start = GaugeStart::hot(seed);
  const Dslash one("wilson", std::make_shared<const GaugeStore>(whole, start, testing::backend()), scalars, form);
  Fields alone(whole, in, more, form.precision);
  for (const Dims& grid : testing::some_grids(3)) {
    const Lattice lattice(divided_dims, ranks().communicator(grid));
    const Dslash dslash("wilson", std::make_shared<const GaugeStore>(lattice, start, testing::backend()), scalars,
                        form);
    Fields mine(lattice, part_of(in, lattice), part_of(more, lattice), form.precision);
    for (const Dagger dagger : {Dagger::No, Dagger::Yes}) {
      for (const bool xpay : {false, true}) {
        const double deviation =
            largest_deviation(mine.apply(dslash, dagger, xpay), part_of(alone.apply(one, dagger, xpay), lattice));
        const std::string what = grid_text(grid) + (xpay ? ", xpay" : "") + (dagger == Dagger::Yes ? ", dagger" : "");
        EXPECT_LE(deviation, most_deviation(form.precision)) << what;
        if (form.precision == Precision::Half) {
          EXPECT_GT(deviation, 0) << what;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, RankDslash, ::testing::ValuesIn(testing::all_forms()),
                         [](const ::testing::TestParamInfo<OperatorForm>& info) {
                           return to_string(info.param.precision) + "_" + to_string(info.param.reconstruct) +
                                  (info.param.temporal_gauge ? "_temporal_gauge" : "");
                         });

/// Lists on ranks: one message a face for all calls of a list, or of a part of it.
TEST_P(RankDslash, OfListsHasTheBitsOfCallsAlone) {
  const OperatorForm form = GetParam();
  const std::uint64_t seed = testing::shared_seed();
  constexpr std::size_t most = 8;
  for (const Dims& grid : testing::some_grids(3)) {
    const Lattice lattice(divided_dims, ranks().communicator(grid));
    const Dslash dslash("wilson",
                        std::make_shared<const GaugeStore>(lattice, GaugeStart::hot(seed), testing::backend()), scalars,
                        form);
    const HostSpinor nothing = not_a_number(lattice);
    std::deque<Fields> fields;
    std::vector<HostSpinor> alone;
    for (std::size_t i = 0; i < most; ++i) {
      const HostSpinor in = testing::random_spinor(lattice.dims(), seed + i),
                       more = testing::random_spinor(lattice.dims(), seed + most + i);
      alone.push_back(fields.emplace_back(lattice, in, more, form.precision).apply(dslash, Dagger::Yes, true));
    }
    for (const std::size_t length : {2u, 5u, 8u, 2u}) {
      for (std::size_t i = 0; i < length; ++i) import_spinor(fields[i].y, nothing);
      for (const Parity p : {Parity::Even, Parity::Odd}) {
        std::deque<Fields::Parities> parities;
        std::vector<Operands> list;
        for (std::size_t i = 0; i < length; ++i) {
          Fields::Parities& of = parities.emplace_back(fields[i], p);
          list.push_back({&of.y, &of.x, &of.z});
        }
        dslash.apply_each(list, Dagger::Yes, {-0.5, 0.2}, {4.1, -0.3});
      }
      for (std::size_t i = 0; i < length; ++i) {
        HostSpinor out(lattice.dims());
        export_spinor(out, fields[i].y);
        EXPECT_EQ(out.data, alone[i].data) << grid_text(grid) << ", call " << i << " of " << length;
      }
    }
  }
}

/// Clover leaves reach over faces and the edges between them.
TEST(RankClover, IsThatOfOneProcess) {
  const std::uint64_t seed = testing::shared_seed();
  const Lattice whole(divided_dims);
  const HostSpinor in = testing::random_spinor(divided_dims, seed);
  const WilsonParameters parameters{.mass = 0.1, .csw_r = 1.1, .csw_t = 0.9, .xi0 = 1.3, .boundary = scalars.boundary};
  const auto links_of = [&](const Lattice& lattice) {
    return std::make_shared<const GaugeStore>(lattice, GaugeStart::hot(seed), testing::backend());
  };
  const auto applied = [&](const Lattice& lattice, const OperatorForm& form) {
    const WilsonOperator m(links_of(lattice), parameters, form);
    Fields fields(lattice, part_of(in, lattice), part_of(in, lattice), form.precision);
    m.apply(fields.y, fields.x, Dagger::No);
    HostSpinor out(lattice.dims());
    export_spinor(out, fields.y);
    return out;
  };
  for (const Dims& grid : testing::some_grids(3)) {
    const Lattice lattice(divided_dims, ranks().communicator(grid));
    for (const OperatorForm& form : {OperatorForm{Precision::Double, Reconstruct::R18, false},
                                     OperatorForm{Precision::Single, Reconstruct::R12, true},
                                     OperatorForm{Precision::Half, Reconstruct::R12, true}}) {
      EXPECT_LE(largest_deviation(applied(lattice, form), part_of(applied(whole, form), lattice)),
                most_deviation(form.precision))
          << grid_text(grid) << " " << to_string(form);
    }
    const auto log_det = [&](const Lattice& of) {
      return CloverBlocks(links_of(of), parameters.clover_term()).log_det();
    };
    const auto mine = log_det(lattice), alone = log_det(whole);
    for (const std::size_t p : {0u, 1u}) {
      EXPECT_LE(std::abs(mine[p] / alone[p] - 1), testing::has_bits_of_one_process() ? 0 : 1e-13);
    }
  }
}

/// Lattices whose parts are so small that a divided direction is cut into lanes, too.
TEST(RankDslashOfSmallParts, IsThatOfOneProcess) {
  const Dims dims{4, 4, 4, 4 * ranks().size()};
  const Lattice whole(dims);
  const GaugeStart start = GaugeStart::hot(testing::shared_seed());
  const HostSpinor in = testing::random_spinor(dims, testing::shared_seed());
  for (const Precision precision : {Precision::Double, Precision::Single}) {
    const OperatorForm form{precision, Reconstruct::R12, true};
    const Dslash one("wilson", std::make_shared<const GaugeStore>(whole, start, testing::backend()), scalars, form);
    const Lattice lattice(dims, ranks().communicator({1, 1, 1, ranks().size()}));
    const Dslash dslash("wilson", std::make_shared<const GaugeStore>(lattice, start, testing::backend()), scalars,
                        form);
    Fields alone(whole, in, in, precision), mine(lattice, part_of(in, lattice), part_of(in, lattice), precision);
    EXPECT_LE(
        largest_deviation(mine.apply(dslash, Dagger::No, false), part_of(alone.apply(one, Dagger::No, false), lattice)),
        most_deviation(precision));
  }
}

/// Lattices that are cut into more lanes than their parts: 8 or 16 and 4, 2 to 8 and 2, 1 to 4 and 1 in double.
TEST(RankDslashOfPartsWithFewerLanes, IsThatOfOneProcess) {
  const int last = 6 * ranks().size();
  for (const Dims& dims : {Dims{4, 4, 6, last}, Dims{6, 4, 6, last}, Dims{6, 6, 6, last}}) {
    const Lattice whole(dims), lattice(dims, ranks().communicator({1, 1, 1, ranks().size()}));
    const std::uint64_t seed = testing::shared_seed();
    const HostSpinor in = testing::random_spinor(dims, seed);
    const auto links_of = [&](const Lattice& one) {
      return std::make_shared<const GaugeStore>(one, GaugeStart::hot(seed), testing::backend());
    };
    for (const OperatorForm& form : testing::all_forms()) {
      if (form.precision == Precision::Half) continue;
      const Dslash one("wilson", links_of(whole), scalars, form), dslash("wilson", links_of(lattice), scalars, form);
      Fields alone(whole, in, in, form.precision);
      Fields mine(lattice, part_of(in, lattice), part_of(in, lattice), form.precision);
      EXPECT_LE(
          largest_deviation(mine.apply(dslash, Dagger::No, true), part_of(alone.apply(one, Dagger::No, true), lattice)),
          most_deviation(form.precision))
          << grid_text(dims) << ' ' << to_string(form);
    }
  }
}

}  // namespace
}  // namespace quadrille
