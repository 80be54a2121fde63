// The update kernels of one instruction set: compiled once for each, with QUADRILLE_ISA its name.
#include "modules/quenched/kernels.h"

#include "modules/quenched/link_update.h"
#include "modules/quenched/staples.h"

namespace quadrille::quenched {
inline namespace QUADRILLE_ISA {
namespace {

/// Finds links around one block.
template <int V>
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
  QUADRILLE_INLINE const Real<V>* here(int nu) const { return link(parity_, block_, nu); }
  QUADRILLE_INLINE const Real<V>* here(int nu, Real<V>*) const { return here(nu); }

  /// The same after a shift by one site in direction d: in place, or in `buffer` where lanes rotate.
  QUADRILLE_INLINE const Real<V>* shifted(int d, int nu, Real<V>* buffer) const {
    const Real<V>* from = link(1 - parity_, sites_.neighbours[parity_][block_ * 8 + d], nu);
    return wraps(parity_, block_, d) ? rotated(from, sites_.rotations[d], buffer) : from;
  }

  /// The same after shifts in the directions d and e.
  QUADRILLE_INLINE const Real<V>* shifted(int d, int e, int nu, Real<V>* buffer) const {
    const std::int64_t middle = sites_.neighbours[parity_][block_ * 8 + d];
    const Real<V>* from = link(parity_, sites_.neighbours[1 - parity_][middle * 8 + e], nu);
    const bool first = wraps(parity_, block_, d), second = wraps(1 - parity_, middle, e);
    if (!first && !second) return from;
    return rotated(from, first && second ? sites_.turns[d][e] : sites_.rotations[first ? d : e], buffer);
  }

 private:
  QUADRILLE_INLINE const Real<V>* link(int parity, std::int64_t block, int nu) const {
    return reinterpret_cast<const Real<V>*>(sites_.links[parity] + (block * 72 + nu * 18) * V);
  }
  static QUADRILLE_INLINE void touch(const Real<V>* link) {
    const char* bytes = reinterpret_cast<const char*>(link);
    for (std::size_t line = 0; line < 18 * sizeof(Real<V>); line += 64) __builtin_prefetch(bytes + line);
  }
  QUADRILLE_INLINE bool wraps(int parity, std::int64_t block, int d) const {
    return (sites_.wraps[parity][block] >> d & 1u) != 0;
  }
  static QUADRILLE_INLINE const Real<V>* rotated(const Real<V>* from, const std::int64_t* lanes, Real<V>* buffer) {
    simd::Vec<std::int64_t, V> mask;
    __builtin_memcpy(&mask, lanes, sizeof(mask));
    for (int n = 0; n < 18; ++n) buffer[n] = simd::permute<double, V>(from[n], mask);
    return buffer;
  }

  const LinkSites& sites_;
  int parity_;
  std::int64_t block_;
};

template <int V, class Update>
QUADRILLE_INLINE void sweep(const LinkSites& sites, const SweepPart& part, std::int64_t begin, std::int64_t end,
                            const Update& update) {
  for (std::int64_t block = begin; block < end; ++block) {
    Real<V> sum[18], u[18];
    if (block + 1 < end) Surroundings<V>(sites, part.parity, block + 1).prefetch(part.direction);
    staples<V>(sum, Surroundings<V>(sites, part.parity, block), part.direction, part.spatial_weight);
    auto* link = reinterpret_cast<Real<V>*>(sites.links[part.parity] + (block * 72 + part.direction * 18) * V);
    for (int n = 0; n < 18; ++n) u[n] = link[n];
    update_link<V>(u, sum, update, sites.global_sites[part.parity] + block * V);
    for (int n = 0; n < 18; ++n) link[n] = u[n];
  }
}

template <int V>
std::int64_t total(simd::Vec<std::int64_t, V> lanes) {
  std::int64_t sum = 0;
  for (int i = 0; i < V; ++i) sum += lanes[i];
  return sum;
}

template <int V>
void heatbath(const LinkSites& sites, const SweepPart& part, std::int64_t begin, std::int64_t end,
              HeatbathCounts& counts) {
  DrawCounts<V> mine;
  sweep<V>(sites, part, begin, end, Heatbath<V>{part.scale, part.seed, part.stream, &mine});
  counts.attempts += total<V>(mine.attempts);
  counts.draws += total<V>(mine.draws);
  counts.creutz_attempts += total<V>(mine.creutz_attempts);
  counts.creutz_draws += total<V>(mine.creutz_draws);
}

template <int V>
void overrelax(const LinkSites& sites, const SweepPart& part, std::int64_t begin, std::int64_t end) {
  sweep<V>(sites, part, begin, end, Overrelaxation<V>{});
}

template <int V>
void planes(const LinkSites& sites, int parity, std::int64_t begin, std::int64_t end, double* sums) {
  Real<V> lanes[6] = {};
  for (std::int64_t block = begin; block < end; ++block) {
    const Surroundings<V> around(sites, parity, block);
    int plane = 0;
    for (int mu = 0; mu < 4; ++mu) {
      for (int nu = mu + 1; nu < 4; ++nu, ++plane) lanes[plane] += plane_trace<V>(around, mu, nu);
    }
  }
  for (int plane = 0; plane < 6; ++plane) {
    double lane[V];
    for (int i = 0; i < V; ++i) lane[i] = lanes[plane][i];
    for (int width = V / 2; width > 0; width /= 2) {
      for (int i = 0; i < width; ++i) lane[i] += lane[i + width];
    }
    sums[plane] = lane[0];
  }
}

template <int V>
double reunitarize(const LinkSites& sites, int parity, std::int64_t begin, std::int64_t end) {
  Real<V> lanes{};
  for (std::int64_t link = begin * 4; link < end * 4; ++link) {
    reunitarize_link<V>(reinterpret_cast<Real<V>*>(sites.links[parity] + link * 18 * V), lanes);
  }
  double largest = 0;
  for (int i = 0; i < V; ++i) largest = lanes[i] > largest ? lanes[i] : largest;
  return largest;
}

template <int V>
const UpdateKernels* of_width() {
  static constexpr UpdateKernels kernels{&heatbath<V>, &overrelax<V>, &planes<V>, &reunitarize<V>};
  return &kernels;
}

}  // namespace
}  // namespace QUADRILLE_ISA

#define QUADRILLE_JOIN_(a, b) a##b
#define QUADRILLE_JOIN(a, b) QUADRILLE_JOIN_(a, b)

const UpdateKernels* QUADRILLE_JOIN(find_kernels_, QUADRILLE_ISA)(int lanes) {
  constexpr int native = QUADRILLE_ISA_BYTES / int(sizeof(double));
  if (lanes == native) return of_width<native>();
#if QUADRILLE_ISA_BYTES == 16
  if (lanes == 1) return of_width<1>();  // lattices that cannot be cut
#endif
  return nullptr;
}

}  // namespace quadrille::quenched
