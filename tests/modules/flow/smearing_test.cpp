// Smeared links against naive ones, and what makes them those that are wanted.
#include "modules/flow/smearing.h"

#include "core/random/random.h"
#include "core/simd/isa.h"
#include "tests/dirac/dirac_testing.h"
#include "tests/modules/flow/naive_flow.h"
#include "tests/testing/gauge_testing.h"
#include "tests/testing/host_starts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace quadrille::flow {
namespace {

using testing::backend;
using testing::ForcedIsa;
using testing::next_seed;
using namespace naive;

/// The sum of the staples beside a link, from x to x + mu, in planes of some directions.
Matrix3 staples_beside(const Lattice& lattice, const HostLinks& links, const Dims& x, int mu, unsigned directions) {
  Matrix3 sum;
  for (int nu = 0; nu < 4; ++nu) {
    if (nu == mu || (directions >> nu & 1u) == 0) continue;
    sum = sum + along(lattice, links, x, {nu, mu, nu - 4}) + along(lattice, links, x, {nu - 4, mu, nu});
  }
  return sum;
}

/// Calls move(link, sum of staples) for the links that move; gives the links with what it returns.
template <class Move>
HostLinks moved(const Lattice& lattice, const HostLinks& links, unsigned directions, const Move& move) {
  HostLinks out = links;
  for (std::int64_t site = 0; site < lattice.volume(); ++site) {
    for (int mu = 0; mu < 4; ++mu) {
      if ((directions >> mu & 1u) == 0) continue;
      const Matrix3 sum = staples_beside(lattice, links, lattice.coordinates(site), mu, directions);
      move(Matrix3::read(links.link(site, mu)), sum).write(out.link(site, mu));
    }
  }
  return out;
}

class SmearingOn : public ::testing::TestWithParam<Dims> {
 protected:
  template <class Smearing>
  HostLinks smeared_links(const HostLinks& links, const Smearing& smearing) const {
    return smeared(GaugeStore(lattice, links, backend()), smearing).host_links();
  }
  const Lattice lattice{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Extents, SmearingOn,
                         ::testing::Values(Dims{4, 4, 4, 4}, Dims{4, 6, 8, 2}, Dims{2, 2, 2, 8}, Dims{12, 4, 2, 6}));

TEST_P(SmearingOn, StoutLinksAreThoseOfTheDefinition) {
  const std::vector<Isa> isas = backend().host_memory() ? available_isas() : std::vector<Isa>{available_isas().front()};
  for (const unsigned directions : {all_directions, spatial_directions}) {
    const HostLinks start = testing::hot_start(lattice, next_seed());
    HostLinks expected = start;
    for (int step = 0; step < 3; ++step) {
      expected = moved(lattice, expected, directions, [](const Matrix3& u, const Matrix3& sum) {
        return exp_i(Complex(0, -0.11) * in_algebra(sum * adjoint(u))) * u;
      });
    }
    for (const Isa isa : isas) {
      const ForcedIsa forced(isa);
      EXPECT_LT(distance(smeared_links(start, StoutSmearing{0.11, 3, directions}), expected), 1e-13) << to_string(isa);
    }
  }
}

TEST_P(SmearingOn, ApeLinksHaveTheLargestTrace) {
  constexpr double alpha = 0.6;
  for (const unsigned directions : {all_directions, spatial_directions}) {
    const HostLinks start = testing::weak_start(lattice, next_seed(), 0.6);
    const HostLinks found = smeared_links(start, ApeSmearing{alpha, 1, directions});
    const int staples = directions == all_directions ? 6 : 4;
    for (std::int64_t site = 0; site < lattice.volume(); ++site) {
      SiteRandom random(next_seed(), RandomPurpose::Test, std::uint64_t(site));
      for (int mu = 0; mu < 4; ++mu) {
        const Matrix3 u = Matrix3::read(start.link(site, mu)), w = Matrix3::read(found.link(site, mu));
        if ((directions >> mu & 1u) == 0) {
          EXPECT_EQ(std::memcmp(&u, &w, sizeof u), 0) << "a link that stays";
          continue;
        }
        const Matrix3 sum = staples_beside(lattice, start, lattice.coordinates(site), mu, directions);
        const Matrix3 v = Complex(1 - alpha) * u + Complex(alpha / staples) * sum;
        ASSERT_LT(unitarity_defect(w), 1e-14);
        ASSERT_LT(std::abs(determinant(w) - 1.0), 1e-14);
        // No small turn raises the trace, nor does a random one.
        const Matrix3 force = in_algebra(w * adjoint(v));
        ASSERT_LT(std::sqrt(real_trace_adjoint(force, force)), 1e-13);
        ASSERT_GE(real_trace_adjoint(w, v), real_trace_adjoint(random_su3(random) * w, v));
        ASSERT_GE(real_trace_adjoint(w, v), real_trace_adjoint(u, v) - 1e-14);
      }
    }
  }
}

/// The SU(3) matrix with the largest Re tr(w v^+), uphill from u.
Matrix3 projected(const Matrix3& u, const Matrix3& v) {
  Matrix3 w = u;
  for (int step = 0; step < 200; ++step) {
    const Matrix3 force = in_algebra(w * adjoint(v));
    if (real_trace_adjoint(force, force) < 1e-30) break;
    w = exp_i(Complex(0, 1) * force) * w;
  }
  return w;
}

/// Links that are smeared within their hypercubes.
struct Hypercubes {
  const Lattice& lattice;
  const HostLinks& thin;

  /// U_mu(x) decorated in the directions `free`, with the weights of as many levels: the definition, by recursion.
  Matrix3 decorated(const Dims& x, int mu, unsigned free, const std::vector<double>& alphas) const {
    const Matrix3 own = Matrix3::read(thin.link(lattice.site(x), mu));
    if (alphas.empty()) return own;
    const std::vector<double> inner(alphas.begin() + 1, alphas.end());
    Matrix3 sum;
    int staples = 0;
    for (int nu = 0; nu < 4; ++nu) {
      if ((free >> nu & 1u) == 0) continue;
      const unsigned rest = free & ~(1u << nu);
      const Dims below = shifted(x, nu, -1), above = shifted(x, nu, 1), ahead = shifted(x, mu, 1);
      const auto along_mu = [&](const Dims& from) { return decorated(from, mu, rest, inner); };
      const auto side = [&](const Dims& from) { return decorated(from, nu, rest, inner); };
      sum = sum + side(x) * along_mu(above) * adjoint(side(ahead));
      sum = sum + adjoint(side(below)) * along_mu(below) * side(shifted(below, mu, 1));
      staples += 2;
    }
    return projected(own, Complex(1 - alphas[0]) * own + Complex(alphas[0] / staples) * sum);
  }

 private:
  Dims shifted(Dims x, int mu, int by) const {
    const int extent = lattice.dims()[std::size_t(mu)];
    x[std::size_t(mu)] = (x[std::size_t(mu)] + by + extent) % extent;
    return x;
  }
};

TEST_P(SmearingOn, HypLinksAreThoseOfTheDefinition) {
  const std::vector<Isa> isas = backend().host_memory() ? available_isas() : std::vector<Isa>{available_isas().front()};
  const HypSmearing all{0.7, 0.55, 0.25, 1, all_directions}, spatial{0.7, 0.55, 0.25, 1, spatial_directions};
  for (const HypSmearing& smearing : {all, spatial}) {
    const HostLinks start = testing::weak_start(lattice, next_seed(), 0.4);
    const Hypercubes cubes{lattice, start};
    for (const Isa isa : isas) {
      const ForcedIsa forced(isa);
      const HostLinks found = smeared_links(start, smearing);
      for (int sample = 0; sample < 3; ++sample) {
        const std::int64_t site = std::int64_t(next_seed() % std::uint64_t(lattice.volume()));
        for (int mu = 0; mu < 4; ++mu) {
          const Dims x = lattice.coordinates(site);
          const Matrix3 seen = Matrix3::read(found.link(site, mu));
          const unsigned free = smearing.directions & ~(1u << mu);
          const Matrix3 expected = smearing.directions == all_directions
                                       ? cubes.decorated(x, mu, free, {0.7, 0.55, 0.25})
                                   : mu < 3 ? cubes.decorated(x, mu, free, {0.55, 0.25})
                                            : Matrix3::read(start.link(site, mu));
          for (std::size_t k = 0; k < 9; ++k) EXPECT_LT(std::abs(seen.e[k] - expected.e[k]), 1e-12) << to_string(isa);
        }
      }
    }
  }
}

TEST_P(SmearingOn, IsGaugeCovariant) {
  const HostLinks start = testing::weak_start(lattice, next_seed(), 0.5);
  const std::vector<Complex> g = testing::random_transformation(lattice, next_seed());
  const HostLinks other = testing::gauge_transformed(lattice, start, g);
  const StoutSmearing stout{0.1, 4};
  const ApeSmearing ape{0.5, 4};
  const HypSmearing hyp{0.75, 0.6, 0.3, 2};
  EXPECT_LT(distance(smeared_links(other, stout), testing::gauge_transformed(lattice, smeared_links(start, stout), g)),
            1e-13);
  EXPECT_LT(distance(smeared_links(other, ape), testing::gauge_transformed(lattice, smeared_links(start, ape), g)),
            1e-11);
  EXPECT_LT(distance(smeared_links(other, hyp), testing::gauge_transformed(lattice, smeared_links(start, hyp), g)),
            1e-11);
}

TEST(Smearing, RaisesThePlaquette) {
  const Lattice lattice({4, 4, 6, 8});
  const HostLinks start = testing::weak_start(lattice, next_seed(), 0.8);
  const GaugeStore links(lattice, start, backend());
  const double before = links.observables().plaquette;
  EXPECT_GT(smeared(links, StoutSmearing{0.1, 3}).observables().plaquette, before + 0.1);
  EXPECT_GT(smeared(links, ApeSmearing{0.5, 3}).observables().plaquette, before + 0.1);
  EXPECT_GT(smeared(links, HypSmearing{}).observables().plaquette, before + 0.1);
}

}  // namespace
}  // namespace quadrille::flow
