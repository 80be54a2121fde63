// The update kernels of one instruction set: compiled once for each, with QUADRILLE_ISA its name.
#include "modules/quenched/updates/kernels.h"

#include "core/gauge/staples.h"
#include "modules/quenched/updates/link_update.h"

namespace quadrille::quenched {
inline namespace QUADRILLE_ISA {
namespace {

/// Finds links around one block.
template <class T, int V, int numbers>
class Surroundings {
 public:
  QUADRILLE_INLINE Surroundings(const LinkSites& sites, int parity, std::int64_t block)
      : sites_(sites), parity_(parity), block_(block) {}

  /// Asks for the links that staples() and the update of direction mu will read.
  QUADRILLE_INLINE void prefetch(int mu) const {
    const std::int32_t* next = sites_.neighbours[parity_] + block_ * 8;
    const std::int32_t* beyond = sites_.neighbours[1 - parity_];
    touch(here(mu));
    for (int nu = 0; nu < 4; ++nu) {
      if (nu == mu) continue;
      touch(here(nu));
      touch(link(1 - parity_, next[nu], mu));
      touch(link(1 - parity_, next[mu], nu));
      touch(link(1 - parity_, next[nu + 4], mu));
      touch(link(1 - parity_, next[nu + 4], nu));
      touch(link(parity_, beyond[std::int64_t(next[mu]) * 8 + nu + 4], nu));
    }
  }

  /// The link of direction nu at the sites of the block.
  QUADRILLE_INLINE const Real<T, V>* here(int nu) const { return link(parity_, block_, nu); }
  QUADRILLE_INLINE const Real<T, V>* here(int nu, Real<T, V>*) const { return here(nu); }

  /// The same after a shift by one site in direction d: in place, or in `buffer` where lanes rotate.
  QUADRILLE_INLINE const Real<T, V>* shifted(int d, int nu, Real<T, V>* buffer) const {
    const Real<T, V>* from = link(1 - parity_, sites_.neighbours[parity_][block_ * 8 + d], nu);
    return wraps(parity_, block_, d) ? rotated(from, sites_.rotations[d], buffer) : from;
  }

  /// The same after shifts in the directions d and e.
  QUADRILLE_INLINE const Real<T, V>* shifted(int d, int e, int nu, Real<T, V>* buffer) const {
    const std::int64_t middle = sites_.neighbours[parity_][block_ * 8 + d];
    const Real<T, V>* from = link(parity_, sites_.neighbours[1 - parity_][middle * 8 + e], nu);
    const bool first = wraps(parity_, block_, d), second = wraps(1 - parity_, middle, e);
    if (!first && !second) return from;
    return rotated(from, first && second ? sites_.turns[d][e] : sites_.rotations[first ? d : e], buffer);
  }

 private:
  QUADRILLE_INLINE const Real<T, V>* link(int parity, std::int64_t block, int nu) const {
    const bool here = block < sites_.blocks;
    const T* const from = static_cast<const T*>(here ? sites_.links[parity] : sites_.ghosts[parity]);
    const std::int64_t number = here ? block * 4 + nu : nu * sites_.ghost_count + block - sites_.blocks;
    return reinterpret_cast<const Real<T, V>*>(from + number * numbers * V);
  }
  static QUADRILLE_INLINE void touch(const Real<T, V>* link) {
    const char* bytes = reinterpret_cast<const char*>(link);
    for (std::size_t line = 0; line < numbers * sizeof(Real<T, V>); line += 64) __builtin_prefetch(bytes + line);
  }
  QUADRILLE_INLINE bool wraps(int parity, std::int64_t block, int d) const {
    return (sites_.wraps[parity][block] >> d & 1u) != 0;
  }
  static QUADRILLE_INLINE const Real<T, V>* rotated(const Real<T, V>* from, const std::int64_t* lanes,
                                                    Real<T, V>* buffer) {
    simd::Vec<simd::IntOf<T>, V> mask;
    for (int i = 0; i < V; ++i) mask[i] = simd::IntOf<T>(lanes[i]);
    for (int n = 0; n < numbers; ++n) buffer[n] = simd::permute<T, V>(from[n], mask);
    return buffer;
  }

  const LinkSites& sites_;
  int parity_;
  std::int64_t block_;
};

template <class T, int V, int numbers, class Update>
QUADRILLE_INLINE void sweep(const LinkSites& sites, const SweepPart& part, const Blocks& blocks, const Update& update) {
  const auto number = [&](std::int64_t k) { return blocks.list != nullptr ? blocks.list[k] : k; };
  for (std::int64_t k = blocks.begin; k < blocks.end; ++k) {
    const std::int64_t block = number(k);
    Real<T, V> sum[18], u[18];
    const Surroundings<T, V, numbers> around(sites, part.parity, block);
    if (k + 1 < blocks.end) Surroundings<T, V, numbers>(sites, part.parity, number(k + 1)).prefetch(part.direction);
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
void heatbath(const LinkSites& sites, const SweepPart& part, const Blocks& blocks, HeatbathCounts& counts) {
  DrawCounts<T, V> mine;
  sweep<T, V, numbers>(sites, part, blocks, Heatbath<T, V>{T(part.scale), part.seed, part.stream, &mine});
  counts.attempts += total<T, V>(mine.attempts);
  counts.draws += total<T, V>(mine.draws);
  counts.creutz_attempts += total<T, V>(mine.creutz_attempts);
  counts.creutz_draws += total<T, V>(mine.creutz_draws);
}

template <class T, int V, int numbers>
void overrelax(const LinkSites& sites, const SweepPart& part, const Blocks& blocks) {
  sweep<T, V, numbers>(sites, part, blocks, Overrelaxation<T, V>{});
}

// A trace is computed as the updates compute; sums are in double.
template <class T, int V, int numbers>
void planes(const LinkSites& sites, int parity, std::int64_t begin, std::int64_t end, double* sums) {
  using Wide = simd::Widened<double, T, V>;
  simd::Vec<double, Wide::width> lanes[6][Wide::parts] = {};
  for (std::int64_t block = begin; block < end; ++block) {
    const Surroundings<T, V, numbers> around(sites, parity, block);
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
double reunitarize(const LinkSites& sites, int parity, std::int64_t begin, std::int64_t end) {
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
