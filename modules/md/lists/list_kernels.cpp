// The kernels of neighbour lists of one instruction set: compiled once for each, with QUADRILLE_ISA its name.
#include "modules/md/lists/list_kernels.h"

#include "modules/md/lists/list_block.h"

namespace quadrille::md {
inline namespace QUADRILLE_ISA {
namespace {

using namespace accumulators;

template <class Sum, int V, bool coulomb, bool typed, bool energy>
void pass(const ListProblem<typename Sum::Real>& problem, const GroupedLists& lists, const PairSums& out,
          std::int64_t begin, std::int64_t end) {
  for (std::int64_t group = begin; group < end; ++group) {
    ListBlock<Sum, V, coulomb, typed, energy> block;
    const std::int64_t first = group * V;
    block.begin(problem, first);
    const std::int32_t* const entries = lists.entries[group];
    const std::int32_t length = lists.length[group];
    for (std::int32_t from = 0; from < length; from += carry_interval) {
      const std::int32_t to = from + carry_interval < length ? from + carry_interval : length;
      for (std::int32_t n = from; n < to; ++n) {
        block.interact(problem, block.fetched(problem, entries + std::int64_t(n) * V));
      }
      block.carry(to - from);
    }
    block.add_listed(problem, first, std::int32_t(out.slots) - 1);
    block.store(out, first);
  }
}

template <class Sum, int V>
auto of_form(const ListForm& form) {
  if (form.coulomb) return form.energy ? &pass<Sum, V, true, true, true> : &pass<Sum, V, true, true, false>;
  if (form.energy) return &pass<Sum, V, false, true, true>;
  return form.typed ? &pass<Sum, V, false, true, false> : &pass<Sum, V, false, false, false>;
}

template <int V>
std::int32_t near_slots(const NearProblem& problem, std::int32_t i, const SlotRange* ranges, int count,
                        std::int32_t* out) {
  const auto difference = [](std::int32_t a, const std::int32_t* b, float unit) {
    using Word = Vec<std::uint32_t, V>;
    const auto words = (Slots<V>)((Word{} + std::uint32_t(a)) - (Word)load<std::int32_t, V>(b));
    return rounded::product(simd::to_float<V>(words), simd::broadcast<float, V>(unit));
  };
  const Vec<float, V> radius = simd::broadcast<float, V>(problem.radius_squared);
  std::int32_t found = 0;
  for (int r = 0; r < count; ++r) {
    for (std::int32_t j = ranges[r].begin; j < ranges[r].end; j += V) {
      const Vec<float, V> x = difference(problem.x[i], problem.x + j, problem.unit[0]),
                          y = difference(problem.y[i], problem.y + j, problem.unit[1]),
                          z = difference(problem.z[i], problem.z + j, problem.unit[2]);
      const Vec<float, V> squared =
          rounded::fused<float, V>(x, x, rounded::fused<float, V>(y, y, rounded::product(z, z)));
      std::uint32_t bits = simd::less_bits<V>(squared, radius);
      if (ranges[r].end - j < V) bits &= (1u << (ranges[r].end - j)) - 1;
      if (i >= j && i - j < V) bits &= ~(1u << (i - j));
      found += simd::store_lanes<V>(out + found, j, bits);
    }
  }
  return found;
}

}  // namespace
}  // namespace QUADRILLE_ISA

#define QUADRILLE_JOIN_(a, b) a##b
#define QUADRILLE_JOIN(a, b) QUADRILLE_JOIN_(a, b)

ListKernels QUADRILLE_JOIN(find_list_kernels_, QUADRILLE_ISA)(const ListForm& form) {
  constexpr int lanes = QUADRILLE_ISA_BYTES / int(sizeof(float)), wide = lanes / 2;
  constexpr NearKernel near = &near_slots<lanes>;
  switch (form.method) {
    case Method::single: return {of_form<PlainSum<float, lanes>, lanes>(form), nullptr, near, lanes};
    case Method::single_double: return {of_form<WideSum<lanes>, lanes>(form), nullptr, near, lanes};
    case Method::takahashi: return {of_form<NormalizedPairSum<lanes>, lanes>(form), nullptr, near, lanes};
    case Method::nitadori: return {of_form<GatheredPairSum<lanes, false>, lanes>(form), nullptr, near, lanes};
    case Method::nitadori_large: return {of_form<GatheredPairSum<lanes, true>, lanes>(form), nullptr, near, lanes};
    case Method::narumi: return {of_form<NarumiSum<lanes, Conversion::instruction>, lanes>(form), nullptr, near, lanes};
    case Method::narumi_constant:
      return {of_form<NarumiSum<lanes, Conversion::added_constant>, lanes>(form), nullptr, near, lanes};
    case Method::double_double: return {nullptr, of_form<PlainSum<double, wide>, wide>(form), near, wide};
    case Method::int64: return {of_form<LongFixedSum<lanes>, lanes>(form), nullptr, near, lanes};
    default: return {nullptr, nullptr, near, lanes};
  }
}

}  // namespace quadrille::md
