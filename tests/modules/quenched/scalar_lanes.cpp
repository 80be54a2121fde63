#define QUADRILLE_SCALAR_LANES
#define QUADRILLE_ISA scalar_test
#include "tests/modules/quenched/scalar_lanes.h"

#include "modules/quenched/updates/site_update.h"

namespace quadrille::quenched::scalar {

namespace {

template <class T>
void add(HeatbathCounts& counts, const DrawCounts<T, 1>& mine) {
  counts.attempts += mine.attempts;
  counts.draws += mine.draws;
  counts.creutz_attempts += mine.creutz_attempts;
  counts.creutz_draws += mine.creutz_draws;
}

/// The last site first: no order may matter.
template <class T, int numbers, class Update>
void update_sites(const GroupedLinks& links, const SweepPart& part, const Update& update) {
  const T weight = T(part.spatial_weight);
  for (int site = links.own.sites - 1; site >= 0; --site) {
    switch (part.direction) {
      case 0: update_site<T, numbers, 0>(links, part.parity, site, weight, update); break;
      case 1: update_site<T, numbers, 1>(links, part.parity, site, weight, update); break;
      case 2: update_site<T, numbers, 2>(links, part.parity, site, weight, update); break;
      default: update_site<T, numbers, 3>(links, part.parity, site, weight, update);
    }
  }
}

}  // namespace

template <class T>
std::array<T, 2> uniforms(std::uint64_t seed, std::uint32_t stream, std::int64_t site, std::uint32_t block) {
  std::array<T, 2> u;
  simd::LaneRandom<T, 1>(seed, stream, &site).uniforms(block, u[0], u[1]);
  return u;
}

template <class T>
std::array<T, 2> complements(std::uint64_t seed, std::uint32_t stream, std::int64_t site, std::uint32_t block) {
  std::array<T, 2> u;
  simd::LaneRandom<T, 1>(seed, stream, &site).complements(block, u[0], u[1]);
  return u;
}

template <class T>
Draw draw_su2(T alpha, std::uint64_t seed, std::uint32_t stream, std::int64_t site) {
  DrawCounts<T, 1> mine;
  const Quaternion<T, 1> q = quenched::draw_su2<T, 1>(alpha, simd::LaneRandom<T, 1>(seed, stream, &site), mine);
  Draw draw{{q.a[0], q.a[1], q.a[2], q.a[3]}, {}};
  add(draw.counts, mine);
  return draw;
}

template <class T>
void heatbath(T* u, const T* staples, const SweepPart& part, std::int64_t site, HeatbathCounts& counts) {
  DrawCounts<T, 1> mine;
  update_link<T, 1>(u, staples, Heatbath<T, 1>{T(part.scale), part.seed, part.stream, &mine}, &site);
  add(counts, mine);
}

template <class T>
void overrelax(T* u, const T* staples) {
  update_link<T, 1>(u, staples, Overrelaxation<T, 1>{}, nullptr);
}

template <class T>
double reunitarize(T* u) {
  T largest = 0;
  reunitarize_link<T, 1>(u, largest);
  return largest;
}

#define QUADRILLE_OF(T)                                                                                \
  template std::array<T, 2> uniforms<T>(std::uint64_t, std::uint32_t, std::int64_t, std::uint32_t);    \
  template std::array<T, 2> complements<T>(std::uint64_t, std::uint32_t, std::int64_t, std::uint32_t); \
  template Draw draw_su2<T>(T, std::uint64_t, std::uint32_t, std::int64_t);                            \
  template void heatbath<T>(T*, const T*, const SweepPart&, std::int64_t, HeatbathCounts&);            \
  template void overrelax<T>(T*, const T*);                                                            \
  template double reunitarize<T>(T*);
QUADRILLE_OF(double)
QUADRILLE_OF(float)
#undef QUADRILLE_OF

void heatbath(const GroupedLinks& links, const SweepPart& part, HeatbathCounts& counts) {
  with_numbers(links, [&](auto number, auto numbers) {
    using T = decltype(number);
    DrawCounts<T, 1> mine;
    update_sites<T, numbers()>(links, part, Heatbath<T, 1>{T(part.scale), part.seed, part.stream, &mine});
    add(counts, mine);
  });
}

void overrelax(const GroupedLinks& links, const SweepPart& part) {
  with_numbers(links, [&](auto number, auto numbers) {
    using T = decltype(number);
    update_sites<T, numbers()>(links, part, Overrelaxation<T, 1>{});
  });
}

std::array<double, 6> plane_sums(const GroupedLinks& links) {
  std::array<double, 6> sums{};
  with_numbers(links, [&](auto number, auto numbers) {
    for (int parity : {0, 1}) {
      for (int site = 0; site < links.own.sites; ++site) {
        add_planes<decltype(number), numbers()>(links, parity, site, sums.data());
      }
    }
  });
  return sums;
}

std::array<double, 2> loop_sum(const GroupedLinks& links) {
  std::array<double, 2> sums{};
  with_numbers(links, [&](auto number, auto numbers) {
    for (int place = 0; place < links.own.x * links.own.y * links.own.z; ++place) {
      add_loop<decltype(number), numbers()>(links, place, sums.data());
    }
  });
  return sums;
}

double reunitarize(const GroupedLinks& links) {
  double largest = 0;
  with_numbers(links, [&](auto number, auto numbers) {
    for (int parity : {0, 1}) {
      for (int site = 0; site < links.own.sites; ++site) {
        reunitarize_site<decltype(number), numbers()>(links, parity, site, largest);
      }
    }
  });
  return largest;
}

}  // namespace quadrille::quenched::scalar
