// Meson correlators of random propagators against naive loops.
#include "input/contractions/mesons.h"

#include "core/blas/random_fill.h"
#include "core/field/convert.h"
#include "core/simd/isa.h"
#include "tests/input/contractions/dense_gammas.h"
#include "tests/testing/random_seed.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <numbers>
#include <random>

namespace quadrille {
namespace {

using namespace testing;

/// One column after the other, in the DeGrand-Rossi basis.
using Columns = std::vector<HostSpinor>;

Propagator random_columns(const FieldDesc& desc, Propagator::Sink sink) {
  Propagator made = make_propagator(desc, sink);
  for (Field& column : made.columns) {
    Field numbers(FieldDesc::spinor(*desc.lattice, Subset::Full, Precision::Double));
    fill_gaussian(numbers, next_seed());
    convert(column, numbers);
  }
  return made;
}

/// export_spinor() turns spins; those of a DeGrand-Rossi propagator are turned before that.
Columns exported(const Propagator& propagator) {
  Columns all;
  for (const Field& column : propagator.columns) {
    const Lattice& lattice = column.lattice();
    Field here(FieldDesc::spinor(lattice, Subset::Full, Precision::Double));
    convert(here, column);
    all.emplace_back(lattice.dims());
    export_spinor(all.back(), here);
    if (propagator.sink == Propagator::Sink::ukqcd) continue;
    std::vector<Complex>& data = all.back().data;  // back to the numbers that are stored
    for (std::size_t site = 0; site < data.size(); site += 12) {
      Complex turned[12];
      spin_basis::from_degrand_rossi(turned, &data[site], 3);
      std::copy(turned, turned + 12, &data[site]);
    }
  }
  return all;
}

/// S(x)[sink spin a, color i; source spin b, color j].
Complex element(const Columns& s, std::size_t site, std::size_t a, std::size_t i, std::size_t b, std::size_t j) {
  return s[3 * b + j].data[12 * site + 3 * a + i];
}

/// tr[A S B g5 S'^+ g5] at one site.
Complex naive_trace(const Columns& s, const Columns& r, std::size_t site, const Dense& sink, const Dense& source) {
  const Dense five = dense_gamma("g5"), left = five * sink, right = source * five;
  Complex sum = 0;
  for (std::size_t a = 0; a < 4; ++a)
    for (std::size_t b = 0; b < 4; ++b)
      for (std::size_t c = 0; c < 4; ++c)
        for (std::size_t d = 0; d < 4; ++d) {
          if (left[c][a] == 0.0 || right[b][d] == 0.0) continue;
          for (std::size_t i = 0; i < 3; ++i)
            for (std::size_t j = 0; j < 3; ++j)
              sum += left[c][a] * element(s, site, a, i, b, j) * right[b][d] * std::conj(element(r, site, c, i, d, j));
        }
  return sum;
}

std::vector<Complex> naive(const Columns& s, const Columns& r, const Dims& dims, const Dense& sink, const Dense& source,
                           const Momentum& n, const Dims& x0) {
  std::vector<Complex> out(static_cast<std::size_t>(dims[3]));
  std::size_t site = 0;
  for (int t = 0; t < dims[3]; ++t)
    for (int z = 0; z < dims[2]; ++z)
      for (int y = 0; y < dims[1]; ++y)
        for (int x = 0; x < dims[0]; ++x, ++site) {
          const double angle = 2 * std::numbers::pi *
                               (double(n[0] * (x - x0[0])) / dims[0] + double(n[1] * (y - x0[1])) / dims[1] +
                                double(n[2] * (z - x0[2])) / dims[2]);
          out[std::size_t(t)] += std::polar(1.0, -angle) * naive_trace(s, r, site, sink, source);
        }
  return out;
}

/// Rounding of sums of `dims` sites of 144 products of numbers of order 1, generously.
double bound(const Dims& dims) { return 1e-13 * 144 * double(dims[0] * dims[1] * dims[2]); }

class Mesons : public ::testing::TestWithParam<Dims> {
 protected:
  Lattice lattice_{GetParam()};
  FieldDesc desc_ = FieldDesc::spinor(lattice_, Subset::Full, Precision::Double);
  std::mt19937_64 generator_{next_seed()};

  Dims random_site() {
    Dims site{};
    for (std::size_t mu = 0; mu < 4; ++mu) site[mu] = int(generator_() % std::uint64_t(GetParam()[mu]));
    return site;
  }
  const std::string& random_gamma() { return gamma_names()[generator_() % 16]; }

  void compare(const Propagator& s, const Propagator& r, int channels) {
    std::vector<std::pair<std::string, std::string>> names;
    std::vector<MesonChannel> gammas;
    for (int k = 0; k < channels; ++k) {
      names.emplace_back(random_gamma(), random_gamma());
      gammas.push_back({gamma_named(names.back().first), gamma_named(names.back().second)});
    }
    const std::vector<Momentum> momenta = momenta_up_to(2);
    const Dims x0 = random_site();
    const ReadablePropagator quark(s), antiquark(r);
    const SpaceSums sums = meson_correlators(quark, &s == &r ? quark : antiquark, gammas, momenta, x0);
    const Columns s_columns = exported(s), r_columns = exported(r);
    for (std::size_t k = 0; k < names.size(); ++k) {
      for (const std::size_t p : {std::size_t(0), generator_() % momenta.size()}) {
        const auto wanted = naive(s_columns, r_columns, GetParam(), dense_gamma(names[k].first),
                                  dense_gamma(names[k].second), momenta[p], x0);
        for (std::size_t t = 0; t < wanted.size(); ++t)
          EXPECT_LT(std::abs(sums.of(k, p)[t] - wanted[t]), bound(GetParam()))
              << names[k].first << " " << names[k].second << " t " << t;
      }
    }
  }
};

TEST_P(Mesons, OfOnePropagator) {
  const Propagator s = random_columns(desc_, Propagator::Sink::ukqcd);
  compare(s, s, 4);
}

TEST_P(Mesons, OfTwoPropagatorsInAnyBasis) {
  const Propagator s = random_columns(desc_, Propagator::Sink::ukqcd);
  const Propagator r = random_columns(desc_, Propagator::Sink::degrand_rossi);
  compare(s, r, 3);
  compare(r, s, 3);
}

TEST_P(Mesons, OfPropagatorsInTheLayoutOfADevice) {
  FieldDesc grouped = desc_;
  grouped.layout = Layout{.width = 2};
  const Propagator s = random_columns(grouped, Propagator::Sink::ukqcd);
  compare(s, random_columns(desc_, Propagator::Sink::ukqcd), 3);
}

TEST_P(Mesons, ThePionAtRestIsTheNormOfTheSlices) {
  const Propagator s = random_columns(desc_, Propagator::Sink::ukqcd);
  const ReadablePropagator quark(s);
  const SpaceSums sums = meson_correlators(quark, quark, {{gamma5(), gamma5()}}, {{0, 0, 0}}, {});
  const std::vector<double> norms = slice_norms(s);
  for (std::size_t t = 0; t < norms.size(); ++t) {
    EXPECT_NEAR(sums.of(0, 0)[t].real(), norms[t], 1e-13 * norms[t]);
    EXPECT_NEAR(sums.of(0, 0)[t].imag(), 0, 1e-13 * norms[t]);
  }
}

// C_AB(p)^* = s_A s_B C_AB(-p) for S' = S, and C'_AB(p)^* = s_A s_B C_AB(-p) with quark and antiquark exchanged.
TEST_P(Mesons, ReversalGivesTheComplexConjugate) {
  const Propagator s = random_columns(desc_, Propagator::Sink::ukqcd),
                   r = random_columns(desc_, Propagator::Sink::ukqcd);
  const ReadablePropagator quark(s), antiquark(r);
  std::vector<MesonChannel> all;
  for (const std::string& a : gamma_names())
    for (const std::string& b : gamma_names()) all.push_back({gamma_named(a), gamma_named(b)});
  const std::vector<Momentum> momenta = {{0, 0, 0}, {1, 0, -1}, {-1, 0, 1}};
  const Dims x0 = random_site();
  const SpaceSums forward = meson_correlators(quark, antiquark, all, momenta, x0);
  const SpaceSums back = meson_correlators(antiquark, quark, all, momenta, x0);
  const SpaceSums same = meson_correlators(quark, quark, all, momenta, x0);
  for (std::size_t k = 0; k < all.size(); ++k) {
    const double sign = reversal_sign(all[k].sink) * reversal_sign(all[k].source);
    EXPECT_EQ(real_at_rest(all[k]), sign == 1);
    for (std::size_t t = 0; t < forward.times(); ++t) {
      EXPECT_LT(std::abs(std::conj(forward.of(k, 1)[t]) - sign * back.of(k, 2)[t]), bound(GetParam()));
      const Complex at_rest = same.of(k, 0)[t];
      EXPECT_LT(std::abs(sign == 1 ? at_rest.imag() : at_rest.real()), bound(GetParam()));
    }
  }
}

TEST_P(Mesons, HaveTheSameBitsForAnyNumberOfThreads) {
  const Propagator s = random_columns(desc_, Propagator::Sink::ukqcd);
  const ReadablePropagator quark(s);
  const std::vector<MesonChannel> channels = {{gamma_named("gx"), gamma_named("gxgt")}, {gamma5(), gamma5()}};
  const int threads = omp_get_max_threads();
  omp_set_num_threads(1);
  SpaceSums one = meson_correlators(quark, quark, channels, momenta_up_to(1), {1, 0, 1, 0});
  omp_set_num_threads(3);
  SpaceSums three = meson_correlators(quark, quark, channels, momenta_up_to(1), {1, 0, 1, 0});
  omp_set_num_threads(threads);
  EXPECT_EQ(one.values(), three.values());
}

INSTANTIATE_TEST_SUITE_P(Extents, Mesons,
                         ::testing::Values(Dims{2, 2, 2, 2}, Dims{4, 2, 6, 2}, Dims{6, 4, 2, 10}, Dims{4, 4, 8, 6}));

TEST(Momenta, AreAllUpToASquareInItsOrder) {
  EXPECT_EQ(momenta_up_to(0), (std::vector<Momentum>{{0, 0, 0}}));
  const std::size_t counts[] = {1, 7, 19, 27, 33, 57};  // the sums of three squares
  for (int most = 0; most < 6; ++most) {
    const auto all = momenta_up_to(most);
    EXPECT_EQ(all.size(), counts[most]);
    const auto square = [](const Momentum& n) { return n[0] * n[0] + n[1] * n[1] + n[2] * n[2]; };
    for (std::size_t k = 1; k < all.size(); ++k) {
      EXPECT_LE(square(all[k - 1]), square(all[k]));
      EXPECT_NE(all[k - 1], all[k]);
    }
  }
}

TEST(Momenta, PhasesAreThoseOfTheAngle) {
  std::mt19937_64 generator{next_seed()};
  for (int trial = 0; trial < 1000; ++trial) {
    const int extent = 1 + int(generator() % 64), n = int(generator() % 21) - 10, x = int(generator() % 200) - 100;
    const Complex wanted = std::polar(1.0, -2 * std::numbers::pi * n * x / extent);
    EXPECT_LT(std::abs(momentum_phase(n, x, extent) - wanted), 2e-12) << n << " " << x << " " << extent;
  }
  EXPECT_EQ(momentum_phase(1, 2, 8), Complex(0, -1));
}

}  // namespace
}  // namespace quadrille
