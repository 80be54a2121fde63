// The device's form of the update code (one lane, core/simd/simd_scalar.h) compiled for the host, behind plain
// functions: the tests' own code sees the vector form.
#pragma once

#include "core/gauge/around/grouped_links.h"
#include "modules/quenched/updates/kernels.h"

#include <array>
#include <cstdint>

namespace quadrille::quenched::scalar {

struct Draw {
  std::array<double, 4> a;
  HeatbathCounts counts;
};

template <class T>
std::array<T, 2> uniforms(std::uint64_t seed, std::uint32_t stream, std::int64_t site, std::uint32_t block);
template <class T>
std::array<T, 2> complements(std::uint64_t seed, std::uint32_t stream, std::int64_t site, std::uint32_t block);
template <class T>
Draw draw_su2(T alpha, std::uint64_t seed, std::uint32_t stream, std::int64_t site);

/// One link of 18 numbers in the surroundings `staples`. T is double or float in all of these.
template <class T>
void heatbath(T* u, const T* staples, const SweepPart& part, std::int64_t site, HeatbathCounts& counts);
template <class T>
void overrelax(T* u, const T* staples);
template <class T>
double reunitarize(T* u);

/// All sites of a direction and parity, as a device's threads would take them.
void heatbath(const GroupedLinks& links, const SweepPart& part, HeatbathCounts& counts);
void overrelax(const GroupedLinks& links, const SweepPart& part);

/// Over all sites.
std::array<double, 6> plane_sums(const GroupedLinks& links);
std::array<double, 2> loop_sum(const GroupedLinks& links);
double reunitarize(const GroupedLinks& links);

}  // namespace quadrille::quenched::scalar
