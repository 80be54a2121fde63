// Gaussian smearing against naive loops over host arrays.
#include "input/contractions/gaussian_smearing.h"

#include "core/blas/random_fill.h"
#include "core/field/convert.h"
#include "tests/testing/random_seed.h"

#include <gtest/gtest.h>

#include <cmath>

namespace quadrille {
namespace {

using testing::next_seed;

/// psi + factor D^2 psi at all sites.
HostSpinor naive_step(const HostSpinor& psi, HostLinks& links, const Lattice& lattice, double factor) {
  HostSpinor out = psi;
  const auto add = [&](std::int64_t to, std::int64_t from, const Complex* link, bool adjoint) {
    for (std::int64_t spin = 0; spin < 4; ++spin)
      for (std::int64_t i = 0; i < 3; ++i) {
        Complex sum = -psi.data[std::size_t(12 * to + 3 * spin + i)];
        for (std::int64_t j = 0; j < 3; ++j)
          sum += (adjoint ? std::conj(link[3 * j + i]) : link[3 * i + j]) *
                 psi.data[std::size_t(12 * from + 3 * spin + j)];
        out.data[std::size_t(12 * to + 3 * spin + i)] += factor * sum;
      }
  };
  for (std::int64_t site = 0; site < lattice.volume(); ++site) {
    for (int mu = 0; mu < 3; ++mu) {
      const auto at = std::size_t(mu);
      const Dims x = lattice.coordinates(site);
      Dims ahead = x, behind = x;
      ahead[at] = (x[at] + 1) % lattice.dims()[at];
      behind[at] = (x[at] + lattice.dims()[at] - 1) % lattice.dims()[at];
      add(site, lattice.site(ahead), links.link(site, mu), false);
      add(site, lattice.site(behind), links.link(lattice.site(behind), mu), true);
    }
  }
  return out;
}

class Smearing : public ::testing::TestWithParam<Dims> {
 protected:
  static constexpr int steps = 5;
  static constexpr double sigma = 1.6;

  Lattice lattice_{GetParam()};
  GaugeStore links_{lattice_, GaugeStart::hot(next_seed())};

  Field random_spinor() {
    Field x(FieldDesc::spinor(lattice_, Subset::Full, Precision::Double));
    fill_gaussian(x, next_seed());
    return x;
  }
  HostSpinor exported(const Field& x) {
    HostSpinor out(lattice_.dims());
    export_spinor(out, x);
    return out;
  }
  HostSpinor naive(HostSpinor psi) {
    HostLinks links = links_.host_links();
    for (int step = 0; step < steps; ++step) psi = naive_step(psi, links, lattice_, sigma * sigma / (4 * steps));
    return psi;
  }
  static double difference(const HostSpinor& a, const HostSpinor& b) {
    double largest = 0;
    for (std::size_t n = 0; n < a.data.size(); ++n) largest = std::max(largest, std::abs(a.data[n] - b.data[n]));
    return largest;
  }
};

TEST_P(Smearing, IsThatOfNaiveLoops) {
  std::vector<Field> fields;
  std::vector<HostSpinor> wanted;
  for (int k = 0; k < 3; ++k) {
    fields.push_back(random_spinor());
    wanted.push_back(naive(exported(fields.back())));
  }
  GaussianSmearing(links_, sigma, steps).apply_each(fields);
  for (std::size_t k = 0; k < fields.size(); ++k) EXPECT_LT(difference(exported(fields[k]), wanted[k]), 1e-12);
}

TEST_P(Smearing, OfASliceLeavesTheOthers) {
  Field x = random_spinor();
  const HostSpinor before = exported(x);
  const int time = int(next_seed() % std::uint64_t(GetParam()[3]));
  HostSpinor wanted = naive(before);
  const auto slice = std::ptrdiff_t(before.data.size()) / GetParam()[3];
  for (std::ptrdiff_t n = 0; n < std::ptrdiff_t(before.data.size()); ++n)
    if (n / slice != time) wanted.data[std::size_t(n)] = before.data[std::size_t(n)];
  SliceSmearing(links_, sigma, steps, time).apply(x);
  EXPECT_LT(difference(exported(x), wanted), 1e-12) << "time " << time;
}

INSTANTIATE_TEST_SUITE_P(Extents, Smearing, ::testing::Values(Dims{4, 2, 6, 4}, Dims{2, 2, 2, 2}, Dims{4, 8, 4, 6}));

}  // namespace
}  // namespace quadrille
