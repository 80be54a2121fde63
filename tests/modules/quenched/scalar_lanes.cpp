#define QUADRILLE_SCALAR_LANES
#define QUADRILLE_ISA scalar_test
#include "tests/modules/quenched/scalar_lanes.h"

#include "modules/quenched/site_update.h"

namespace quadrille::quenched::scalar {

namespace {

void add(HeatbathCounts& counts, const DrawCounts<1>& mine) {
  counts.attempts += mine.attempts;
  counts.draws += mine.draws;
  counts.creutz_attempts += mine.creutz_attempts;
  counts.creutz_draws += mine.creutz_draws;
}

/// The last site first: no order may matter.
template <class Update>
void update_sites(const GroupedLinks& links, const SweepPart& part, const Update& update) {
  for (int site = links.sites - 1; site >= 0; --site) {
    switch (part.direction) {
      case 0: update_site<0>(links, part.parity, site, part.spatial_weight, update); break;
      case 1: update_site<1>(links, part.parity, site, part.spatial_weight, update); break;
      case 2: update_site<2>(links, part.parity, site, part.spatial_weight, update); break;
      default: update_site<3>(links, part.parity, site, part.spatial_weight, update);
    }
  }
}

}  // namespace

std::array<double, 2> uniforms(std::uint64_t seed, std::uint32_t stream, std::int64_t site, std::uint32_t block) {
  std::array<double, 2> u;
  simd::LaneRandom<1>(seed, stream, &site).uniforms(block, u[0], u[1]);
  return u;
}

Draw draw_su2(double alpha, std::uint64_t seed, std::uint32_t stream, std::int64_t site) {
  DrawCounts<1> mine;
  const Quaternion<1> q = quenched::draw_su2<1>(alpha, simd::LaneRandom<1>(seed, stream, &site), mine);
  Draw draw{{q.a[0], q.a[1], q.a[2], q.a[3]}, {}};
  add(draw.counts, mine);
  return draw;
}

void heatbath(double* u, const double* staples, const SweepPart& part, std::int64_t site, HeatbathCounts& counts) {
  DrawCounts<1> mine;
  update_link<1>(u, staples, Heatbath<1>{part.scale, part.seed, part.stream, &mine}, &site);
  add(counts, mine);
}

void overrelax(double* u, const double* staples) { update_link<1>(u, staples, Overrelaxation<1>{}, nullptr); }

double reunitarize(double* u) {
  double largest = 0;
  reunitarize_link<1>(u, largest);
  return largest;
}

void heatbath(const GroupedLinks& links, const SweepPart& part, HeatbathCounts& counts) {
  DrawCounts<1> mine;
  update_sites(links, part, Heatbath<1>{part.scale, part.seed, part.stream, &mine});
  add(counts, mine);
}

void overrelax(const GroupedLinks& links, const SweepPart& part) { update_sites(links, part, Overrelaxation<1>{}); }

std::array<double, 6> plane_sums(const GroupedLinks& links) {
  std::array<double, 6> sums{};
  for (int parity : {0, 1}) {
    for (int site = 0; site < links.sites; ++site) add_planes(links, parity, site, sums.data());
  }
  return sums;
}

std::array<double, 2> loop_sum(const GroupedLinks& links) {
  std::array<double, 2> sums{};
  for (int place = 0; place < links.x * links.y * links.z; ++place) add_loop(links, place, sums.data());
  return sums;
}

double reunitarize(const GroupedLinks& links) {
  double largest = 0;
  for (int parity : {0, 1}) {
    for (int site = 0; site < links.sites; ++site) reunitarize_site(links, parity, site, largest);
  }
  return largest;
}

}  // namespace quadrille::quenched::scalar
