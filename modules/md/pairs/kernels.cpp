// The pair kernels of one instruction set: compiled once for each, with QUADRILLE_ISA its name.
#include "modules/md/pairs/kernels.h"

#include "modules/md/pairs/exact_sum.h"
#include "modules/md/pairs/pair_block.h"

namespace quadrille::md {
inline namespace QUADRILLE_ISA {
namespace {

using namespace accumulators;

/// `width` blocks of V particles of a group against all chunks. What is broadcast of a particle j serves all of them.
template <class Sum, int V, int width, bool coulomb, bool periodic, bool energy>
class GroupPass {
  using T = typename Sum::Real;
  using Particles = Block<Sum, V, coulomb, periodic, energy>;

 public:
  QUADRILLE_INLINE GroupPass(const PairProblem<T>& problem, std::int64_t first) : problem_(problem), first_(first) {
    for (int b = 0; b < width; ++b) blocks_[b].begin(problem, first + b * V);
  }

  QUADRILLE_INLINE void run(const PairSums& out) {
    const std::int64_t group = first_ / chunk_size;
    const int type = problem_.chunk_type[group];
    std::int64_t masked = problem_.masked_begin[group];
    const std::int64_t masked_end = problem_.masked_begin[group + 1];
    for (std::int32_t chunk = 0; chunk < problem_.chunks; ++chunk) {
      const Parameters<T, V> of = parameters(type * problem_.types + problem_.chunk_type[chunk]);
      if (masked < masked_end && problem_.masked_chunks[masked] == chunk) {
        add_masked(chunk, masked++, of);
      } else {
        interact(chunk, of);
      }
      for (Particles& block : blocks_) block.carry(problem_.chunk_count[chunk]);
    }
    for (int b = 0; b < width; ++b) {
      blocks_[b].add_listed(problem_, first_ + b * V, type);
      blocks_[b].store(out, first_ + b * V);
    }
  }

 private:
  QUADRILLE_INLINE Parameters<T, V> parameters(int at) const {
    return {simd::broadcast<T, V>(problem_.force12[at]), simd::broadcast<T, V>(problem_.force6[at]),
            simd::broadcast<T, V>(problem_.energy12[at]), simd::broadcast<T, V>(problem_.energy6[at])};
  }

  template <bool masked>
  QUADRILLE_INLINE void add_one(std::int64_t j, const Parameters<T, V>& of, const simd::Mask<T, V>* skip) {
    const Vec<T, V> other[3] = {simd::broadcast<T, V>(problem_.x[j]), simd::broadcast<T, V>(problem_.y[j]),
                                simd::broadcast<T, V>(problem_.z[j])};
    const Vec<T, V> charge = simd::broadcast<T, V>(coulomb ? problem_.charge[j] : T(0));
    for (int b = 0; b < width; ++b) blocks_[b].template interact<masked>(problem_, other, charge, of, skip[b]);
  }

  QUADRILLE_INLINE void interact(std::int32_t chunk, const Parameters<T, V>& of) {
    const simd::Mask<T, V> none[width] = {};
    const std::int64_t begin = std::int64_t(chunk) * chunk_size, end = begin + problem_.chunk_count[chunk];
    for (std::int64_t j = begin; j < end; ++j) add_one<false>(j, of, none);
  }

  QUADRILLE_INLINE void add_masked(std::int32_t chunk, std::int64_t entry, const Parameters<T, V>& of) {
    const std::uint64_t* rows = problem_.mask + entry * chunk_size + first_ % chunk_size;
    const std::int64_t begin = std::int64_t(chunk) * chunk_size;
    for (int j = 0; j < problem_.chunk_count[chunk]; ++j) {
      simd::Mask<T, V> skip[width];
      for (int b = 0; b < width; ++b) {
        Lanes<simd::IntOf<T>, V> bits;
        QUADRILLE_ROLLED
        for (int lane = 0; lane < V; ++lane) bits.at[lane] = -simd::IntOf<T>(rows[b * V + lane] >> j & 1);
        skip[b] = bits.vector();
      }
      add_one<true>(begin + j, of, skip);
    }
  }

  const PairProblem<T>& problem_;
  const std::int64_t first_;
  Particles blocks_[width];
};

template <class Sum, int V, int width, bool coulomb, bool periodic, bool energy>
void pass(const PairProblem<typename Sum::Real>& problem, const PairSums& out, std::int64_t begin, std::int64_t end) {
  for (std::int64_t group = begin; group < end; ++group) {
    for (int first = 0; first < chunk_size; first += V * width) {
      GroupPass<Sum, V, width, coulomb, periodic, energy>(problem, group * chunk_size + first).run(out);
    }
  }
}

template <class Sum, int V, int width, bool coulomb, bool periodic>
auto of_energy(bool energy) {
  return energy ? &pass<Sum, V, 1, coulomb, periodic, true> : &pass<Sum, V, width, coulomb, periodic, false>;
}
/// Sums that others are compared with: forces alone.
template <class Sum, int V>
PairKernel<float> without_energy(const PairForm& form) {
  if (form.energy) return nullptr;
  if (form.periodic) return form.coulomb ? &pass<Sum, V, 1, true, true, false> : &pass<Sum, V, 1, false, true, false>;
  return form.coulomb ? &pass<Sum, V, 1, true, false, false> : &pass<Sum, V, 1, false, false, false>;
}

template <class Sum, int V, int width>
auto of_form(const PairForm& form) {
  if (form.periodic) {
    return form.coulomb ? of_energy<Sum, V, width, true, true>(form.energy)
                        : of_energy<Sum, V, width, false, true>(form.energy);
  }
  return form.coulomb ? of_energy<Sum, V, width, true, false>(form.energy)
                      : of_energy<Sum, V, width, false, false>(form.energy);
}

}  // namespace
}  // namespace QUADRILLE_ISA

#define QUADRILLE_JOIN_(a, b) a##b
#define QUADRILLE_JOIN(a, b) QUADRILLE_JOIN_(a, b)

PairKernels QUADRILLE_JOIN(find_pair_kernels_, QUADRILLE_ISA)(const PairForm& form) {
  constexpr int lanes = QUADRILLE_ISA_BYTES / int(sizeof(float)), wide_lanes = lanes / 2;
  constexpr int width = QUADRILLE_ISA_BYTES == 64 ? 2 : 1;
  switch (form.method) {
    case Method::single: return {of_form<PlainSum<float, lanes>, lanes, width>(form), nullptr};
    case Method::single_double: return {of_form<WideSum<lanes>, lanes, width>(form), nullptr};
    case Method::takahashi: return {of_form<NormalizedPairSum<lanes>, lanes, width>(form), nullptr};
    case Method::nitadori: return {of_form<GatheredPairSum<lanes, false>, lanes, width>(form), nullptr};
    case Method::nitadori_large: return {of_form<GatheredPairSum<lanes, true>, lanes, width>(form), nullptr};
    case Method::narumi: return {of_form<NarumiSum<lanes, Conversion::instruction>, lanes, width>(form), nullptr};
    case Method::narumi_constant:
      return {of_form<NarumiSum<lanes, Conversion::added_constant>, lanes, width>(form), nullptr};
    case Method::double_double: return {nullptr, of_form<PlainSum<double, wide_lanes>, wide_lanes, width>(form)};
    case Method::int64: return {of_form<LongFixedSum<lanes>, lanes, width>(form), nullptr};
    case Method::exact: return {without_energy<ExactSum<lanes>, lanes>(form), nullptr};
    case Method::magnitudes: return {without_energy<MagnitudeSum<lanes>, lanes>(form), nullptr};
  }
  return {nullptr, nullptr};
}

}  // namespace quadrille::md
