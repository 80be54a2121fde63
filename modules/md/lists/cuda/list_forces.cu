// Passes over neighbour lists on the device: a thread has a slot and meets the entries of its list.
#define QUADRILLE_ISA device
#include "core/backend/cuda/runtime.h"
#include "core/error.h"
#include "modules/md/lists/cuda/list_kernels.h"
#include "modules/md/lists/list_block.h"

namespace quadrille::md {
namespace {

using namespace accumulators;

constexpr int block = 128;
static_assert(carry_interval % list_stride == 0);

template <class Sum>
__device__ bool misfit(const BlockSums<Sum, 1, false>& sums, float safe_ratio) {
  bool bad = false;
#pragma unroll
  for (const Sum& sum : sums.sums) {
    if constexpr (Sum::fixed) {
      bad |= sum.strayed(0);
    } else {
      bad |= !isfinite(sum.value(0));
    }
  }
  return bad || (Sum::fixed && !(sums.worst_ratio <= safe_ratio));
}

template <class Sum, bool coulomb, bool typed, bool energy, bool may_shift>
__global__ void __launch_bounds__(block)
    list_pass(const __grid_constant__ ListProblem<typename Sum::Real> problem,
              const __grid_constant__ DeviceLists lists, const __grid_constant__ PairSums out,
              const __grid_constant__ ListPassOf pass) {
  if (closed(pass.gate)) return;
  const std::int64_t slot = pass.first + std::int64_t(blockIdx.x) * block + threadIdx.x, group = slot / list_lanes;
  if (slot >= pass.end) return;
  using Block = ListBlock<Sum, 1, coulomb, typed, energy, may_shift>;
  Block mine;
  mine.begin(problem, slot);
  const ListQuad* quad = lists.quads + group * (lists.capacity / list_stride) * list_lanes + slot % list_lanes;
  std::int32_t left = lists.length[group] / list_stride;
  ListQuad next = *quad;  // of an empty list any, which is not met
  while (left > 0) {
    const std::int32_t count = min(carry_interval / list_stride, left);
    left -= count;
    for (std::int32_t n = 0; n < count; ++n) {
      // A quad is on its way while the one before it is met, and all its particles at once.
      const ListQuad now = next;
      if (n + 1 < count || left > 0) quad += list_lanes;
      next = *quad;
      typename Block::Others others[list_stride];
#pragma unroll
      for (int m = 0; m < list_stride; ++m) others[m] = Block::fetched(problem, now.slot + m);
#pragma unroll
      for (int m = 0; m < list_stride; ++m) mine.interact(problem, others[m]);
    }
    mine.carry(count * list_stride);
  }
  mine.add_listed(problem, slot, std::int32_t(out.slots) - 1);
  mine.store(out, slot);
  if constexpr (!energy) {
    if (pass.gate.halt != nullptr && misfit<Sum>(mine, pass.safe_ratio)) stop(pass.gate, sums_misfit);
  }
}

template <class Sum>
void launch(const ListForm& form, const ListProblem<typename Sum::Real>& problem, const DeviceLists& lists,
            const PairSums& out, const ListPassOf& pass) {
  if (pass.end == pass.first) return;
  const auto blocks = unsigned((pass.end - pass.first + block - 1) / block);
  const auto start = [&](auto kernel) {
    kernel<<<blocks, block, 0, cuda::stream()>>>(problem, lists, out, pass);
    cuda::check(cudaGetLastError(), "the launch of forces from neighbour lists");
  };
  const bool shift = problem.shifted_force;
  if (form.coulomb) {
    if (form.energy) return start(list_pass<Sum, true, true, true, true>);
    return shift ? start(list_pass<Sum, true, true, false, true>) : start(list_pass<Sum, true, true, false, false>);
  }
  if (form.energy) return start(list_pass<Sum, false, true, true, true>);
  if (form.typed) {
    return shift ? start(list_pass<Sum, false, true, false, true>) : start(list_pass<Sum, false, true, false, false>);
  }
  shift ? start(list_pass<Sum, false, false, false, true>) : start(list_pass<Sum, false, false, false, false>);
}

__global__ void watch_pass(const __grid_constant__ PairSums sums, std::int64_t size, bool fixed, bool energy,
                           DeviceWatch* watch) {
  for (std::int64_t slot = std::int64_t(blockIdx.x) * blockDim.x + threadIdx.x; slot < size;
       slot += std::int64_t(gridDim.x) * blockDim.x) {
    bool finite = true;
    if (fixed) {
      const float ratio = sums.worst_ratio[slot], most = sums.worst_energy[slot];
      finite = isfinite(ratio) && isfinite(most);
      // Most of the time no thread has more than what is there.
      if (__float_as_uint(ratio) > watch->ratio) atomicMax(&watch->ratio, __float_as_uint(ratio));
      if (__float_as_uint(most) > watch->energy) atomicMax(&watch->energy, __float_as_uint(most));
      if (sums.strayed[slot] != 0) {
        atomicOr(&watch->strayed, unsigned(sums.strayed[slot]));
        atomicMax(&watch->last_strayed, std::int32_t(slot));
      }
    } else {
      for (int sum = 0; sum < (energy ? all_sums : force_sums); ++sum) {
        finite = finite && isfinite(sums.values[sum * sums.slots + slot]);
      }
    }
    if (!finite) atomicMin(&watch->first_infinite, std::int32_t(slot));
  }
}

__global__ void begin_watch(DeviceWatch* watch) { *watch = {0, 0, 0, -1, INT32_MAX}; }

}  // namespace

void launch_list_pass(const ListForm& form, const ListProblem<float>& problem, const DeviceLists& lists,
                      const PairSums& out, const ListPassOf& pass) {
  const auto go = [&]<class Sum>() { launch<Sum>(form, problem, lists, out, pass); };
  switch (form.method) {
    case Method::single: return go.template operator()<PlainSum<float, 1>>();
    case Method::single_double: return go.template operator()<WideSum<1>>();
    case Method::takahashi: return go.template operator()<NormalizedPairSum<1>>();
    case Method::nitadori: return go.template operator()<GatheredPairSum<1, false>>();
    case Method::nitadori_large: return go.template operator()<GatheredPairSum<1, true>>();
    case Method::narumi: return go.template operator()<NarumiSum<1, Conversion::instruction>>();
    case Method::narumi_constant: return go.template operator()<NarumiSum<1, Conversion::added_constant>>();
    case Method::int64: return go.template operator()<LongFixedSum<1>>();
    default: throw Error(ErrorCode::unsupported, "neighbour lists cannot use this method on a device");
  }
}

void launch_list_pass(const ListForm& form, const ListProblem<double>& problem, const DeviceLists& lists,
                      const PairSums& out, const ListPassOf& pass) {
  if (form.method != Method::double_double) throw Error(ErrorCode::internal, "only method G computes in double");
  launch<PlainSum<double, 1>>(form, problem, lists, out, pass);
}

void launch_watch(const PairSums& sums, std::int64_t size, bool fixed, bool energy, DeviceWatch* watch) {
  begin_watch<<<1, 1, 0, cuda::stream()>>>(watch);
  watch_pass<<<256, 256, 0, cuda::stream()>>>(sums, size, fixed, energy, watch);
  cuda::check(cudaGetLastError(), "the launch that watches sums");
}

}  // namespace quadrille::md
