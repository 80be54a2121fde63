// Pure gauge updates on the GPU against those of the CPU, from the same links with the same random numbers.
#include "core/gauge/start.h"
#include "core/kernel_log.h"
#include "modules/quenched/pure_gauge.h"
#include "tests/backend_under_test.h"
#include "tests/random_seed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace quadrille::quenched {
namespace {

using testing::backend;
using testing::next_seed;

double distance(const HostLinks& a, const HostLinks& b) {
  double largest = 0;
  for (std::size_t n = 0; n < a.data.size(); ++n) largest = std::max(largest, std::abs(a.data[n] - b.data[n]));
  return largest;
}

/// Links of which a number differs by more than `tolerance`, or is none.
std::int64_t differing_links(const HostLinks& a, const HostLinks& b, double tolerance) {
  std::int64_t count = 0;
  for (std::size_t link = 0; link < a.data.size(); link += 9) {
    bool same = true;
    for (std::size_t n = link; n < link + 9; ++n) same = same && std::abs(a.data[n] - b.data[n]) <= tolerance;
    if (!same) ++count;
  }
  return count;
}

void expect_same_sums(const PureGauge& here, const PureGauge& there) {
  const std::array<double, 6> a = here.planes(), b = there.planes();
  for (std::size_t k = 0; k < 6; ++k) EXPECT_NEAR(a[k], b[k], 1e-13) << "plane " << k;
  EXPECT_LT(std::abs(here.polyakov_loop() - there.polyakov_loop()), 1e-13);
}

class CudaPureGauge : public ::testing::TestWithParam<Dims> {};
/// With full and partial blocks of threads, one and several partial sums.
INSTANTIATE_TEST_SUITE_P(Extents, CudaPureGauge,
                         ::testing::Values(Dims{4, 4, 4, 4}, Dims{2, 2, 2, 8}, Dims{4, 6, 8, 2}, Dims{12, 4, 2, 6},
                                           Dims{6, 10, 6, 4}, Dims{16, 8, 8, 12}));

TEST_P(CudaPureGauge, OverrelaxationIsThatOfTheCpu) {
  const Lattice lattice(GetParam());
  const WilsonGaugeAction action{6.1, 1.7};
  const HostLinks start = weak_start(lattice, next_seed(), 0.4);
  PureGauge here(lattice, start, action, 1), there(lattice, start, action, 1, backend());
  expect_same_sums(here, there);
  here.overrelax();
  there.overrelax();
  const HostLinks expected = here.links(), found = there.links();
  EXPECT_LT(distance(found, expected), 1e-12);
  EXPECT_GT(distance(expected, start), 0.1);
  expect_same_sums(here, there);
  const PureGauge same(lattice, found, action, 1);
  expect_same_sums(same, there);
}

// Where rounding turns an attempt that one backend accepts into one that the other does not, links part.
TEST_P(CudaPureGauge, HeatbathIsThatOfTheCpu) {
  const Lattice lattice(GetParam());
  for (const WilsonGaugeAction& action : {WilsonGaugeAction{5.9, 1.5}, WilsonGaugeAction{0.3, 1}}) {
    const HostLinks start = weak_start(lattice, next_seed(), 0.4);
    const std::uint64_t seed = next_seed();
    PureGauge here(lattice, start, action, seed), there(lattice, start, action, seed, backend());
    here.heatbath(123456789012);
    there.heatbath(123456789012);
    const std::int64_t differing = differing_links(there.links(), here.links(), 1e-10);
    EXPECT_LE(differing, 4 * lattice.volume() / 1000) << "beta " << action.beta;
    const HeatbathCounts a = here.counts(), b = there.counts();
    EXPECT_EQ(b.draws, 4 * 3 * lattice.volume());
    if (differing == 0) {
      EXPECT_EQ(b.attempts, a.attempts);
      EXPECT_EQ(b.creutz_attempts, a.creutz_attempts);
      EXPECT_EQ(b.creutz_draws, a.creutz_draws);
    }
    EXPECT_GT(distance(there.links(), start), 0.5);
  }
}

TEST_P(CudaPureGauge, ReunitarizationIsThatOfTheCpu) {
  const Lattice lattice(GetParam());
  HostLinks start = weak_start(lattice, next_seed(), 0.4);
  start.data[start.data.size() - 5] += 1e-4;
  PureGauge here(lattice, start, {6, 1}, 1), there(lattice, start, {6, 1}, 1, backend());
  const double change = there.reunitarize();
  EXPECT_NEAR(change, here.reunitarize(), 1e-14);
  EXPECT_GT(change, 1e-5);
  EXPECT_LT(distance(there.links(), here.links()), 1e-14);
  // The largest change is that of this call, not of an earlier one.
  EXPECT_LT(there.reunitarize(), 1e-14);
}

TEST(CudaPureGauge, KernelsAreLoggedAndMemoryComesBack) {
  const Lattice lattice({8, 4, 4, 4});
  const std::size_t before = backend().allocated_bytes();
  const auto earlier = kernel_records();
  {
    PureGauge gauge(lattice, cold_start(lattice), {6, 1}, next_seed(), backend());
    gauge.sweep(0, 2);
    const FieldDesc& desc = gauge.field().desc();
    EXPECT_EQ(desc.backend, &backend());
    int found = 0;
    for (const KernelRecord& record : kernel_records_since(earlier)) {
      const bool heatbath = record.name == "quenched_heatbath";
      if (!heatbath && record.name != "quenched_overrelaxation") continue;
      ++found;
      EXPECT_EQ(record.isa, backend().architecture(desc.layout, desc.precision));
      EXPECT_EQ(record.calls, heatbath ? 8 : 16);
      EXPECT_EQ(record.sites, record.calls * lattice.half_volume());
    }
    EXPECT_EQ(found, 2);
  }
  EXPECT_EQ(backend().allocated_bytes(), before);
}

}  // namespace
}  // namespace quadrille::quenched
