// The update kernels of one instruction set: compiled once for each, with QUADRILLE_ISA its name.
#include "modules/quenched/updates/kernels.h"

#include "core/gauge/around/block_surroundings.h"
#include "core/gauge/around/staples.h"
#include "modules/quenched/updates/link_update.h"

namespace quadrille::quenched {
inline namespace QUADRILLE_ISA {
namespace {

template <class T, int V, int numbers, class Update>
QUADRILLE_INLINE void sweep(const LinkBlocks& sites, const SweepPart& part, const Blocks& blocks,
                            const Update& update) {
  const auto number = [&](std::int64_t k) { return blocks.list != nullptr ? blocks.list[k] : k; };
  for (std::int64_t k = blocks.begin; k < blocks.end; ++k) {
    const std::int64_t block = number(k);
    Real<T, V> sum[18], u[18];
    const BlockSurroundings<T, V, numbers> around(sites, part.parity, block);
    if (k + 1 < blocks.end)
      BlockSurroundings<T, V, numbers>(sites, part.parity, number(k + 1)).prefetch(part.direction);
    staples<T, V, numbers>(sum, around, part.direction, T(part.spatial_weight));
    auto* link = reinterpret_cast<Real<T, V>*>(static_cast<T*>(sites.links[part.parity]) +
                                               (block * 4 + part.direction) * numbers * V);
    for (int n = 0; n < numbers; ++n) u[n] = link[n];
    if constexpr (numbers == 12) add_unit_third_row<T, V>(u);
    update_link<T, V>(u, sum, update, sites.global_sites[part.parity] + block * V);
    for (int n = 0; n < numbers; ++n) link[n] = u[n];
  }
}

template <class T, int V>
std::int64_t total(simd::Vec<simd::IntOf<T>, V> lanes) {
  std::int64_t sum = 0;
  for (int i = 0; i < V; ++i) sum += lanes[i];
  return sum;
}

template <class T, int V, int numbers>
void heatbath(const LinkBlocks& sites, const SweepPart& part, const Blocks& blocks, HeatbathCounts& counts) {
  DrawCounts<T, V> mine;
  sweep<T, V, numbers>(sites, part, blocks, Heatbath<T, V>{T(part.scale), part.seed, part.stream, &mine});
  counts.attempts += total<T, V>(mine.attempts);
  counts.draws += total<T, V>(mine.draws);
  counts.creutz_attempts += total<T, V>(mine.creutz_attempts);
  counts.creutz_draws += total<T, V>(mine.creutz_draws);
}

template <class T, int V, int numbers>
void overrelax(const LinkBlocks& sites, const SweepPart& part, const Blocks& blocks) {
  sweep<T, V, numbers>(sites, part, blocks, Overrelaxation<T, V>{});
}

// A trace is computed as the updates compute; sums are in double.
template <class T, int V, int numbers>
void planes(const LinkBlocks& sites, int parity, std::int64_t begin, std::int64_t end, double* sums) {
  using Wide = simd::Widened<double, T, V>;
  simd::Vec<double, Wide::width> lanes[6][Wide::parts] = {};
  for (std::int64_t block = begin; block < end; ++block) {
    const BlockSurroundings<T, V, numbers> around(sites, parity, block);
    int plane = 0;
    for (int mu = 0; mu < 4; ++mu) {
      for (int nu = mu + 1; nu < 4; ++nu, ++plane) {
        const Wide trace = simd::widened<double, T, V>(plane_trace<T, V, numbers>(around, mu, nu));
        for (int part = 0; part < Wide::parts; ++part) lanes[plane][part] += trace.part[part];
      }
    }
  }
  for (int plane = 0; plane < 6; ++plane) {
    double lane[V];
    for (int i = 0; i < V; ++i) lane[i] = lanes[plane][i / Wide::width][i % Wide::width];
    for (int width = V / 2; width > 0; width /= 2) {
      for (int i = 0; i < width; ++i) lane[i] += lane[i + width];
    }
    sums[plane] = lane[0];
  }
}

template <class T, int V, int numbers>
double reunitarize(const LinkBlocks& sites, int parity, std::int64_t begin, std::int64_t end) {
  Real<T, V> lanes{};
  for (std::int64_t number = begin * 4; number < end * 4; ++number) {
    auto* link = reinterpret_cast<Real<T, V>*>(static_cast<T*>(sites.links[parity]) + number * numbers * V);
    Real<T, V> u[18];
    for (int n = 0; n < numbers; ++n) u[n] = link[n];
    if constexpr (numbers == 12) third_row<T, V>(u + 12, u);
    reunitarize_link<T, V>(u, lanes);
    for (int n = 0; n < numbers; ++n) link[n] = u[n];
  }
  double largest = 0;
  for (int i = 0; i < V; ++i) largest = lanes[i] > largest ? lanes[i] : largest;
  return largest;
}

template <class T, int V, int numbers>
constexpr UpdateKernels kernels{&heatbath<T, V, numbers>, &overrelax<T, V, numbers>, &planes<T, V, numbers>,
                                &reunitarize<T, V, numbers>};

/// Of full registers, and of the fewer lanes that smaller or uneven parts of a lattice can be cut into: these round as
/// those do.
template <class T, int numbers, int V = QUADRILLE_ISA_BYTES / int(sizeof(T))>
const UpdateKernels* of_lanes(int lanes) {
  if (lanes == V) return &kernels<T, V, numbers>;
  if constexpr (V > 1) return of_lanes<T, numbers, (V * sizeof(T) > 16 ? V / 2 : 1)>(lanes);
  return nullptr;
}

template <class T>
const UpdateKernels* of_numbers(int numbers, int lanes) {
  return numbers == 18 ? of_lanes<T, 18>(lanes) : numbers == 12 ? of_lanes<T, 12>(lanes) : nullptr;
}

}  // namespace
}  // namespace QUADRILLE_ISA

#define QUADRILLE_JOIN_(a, b) a##b
#define QUADRILLE_JOIN(a, b) QUADRILLE_JOIN_(a, b)

const UpdateKernels* QUADRILLE_JOIN(find_kernels_, QUADRILLE_ISA)(const LinkNumbers& of, int lanes) {
  return of.bytes == 8   ? of_numbers<double>(of.numbers, lanes)
         : of.bytes == 4 ? of_numbers<float>(of.numbers, lanes)
                         : nullptr;
}

}  // namespace quadrille::quenched
