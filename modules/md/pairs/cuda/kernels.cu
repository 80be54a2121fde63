// Pair forces on the device: a block has a group of particles i, and passes over all chunks of particles j.
#define QUADRILLE_ISA device
#include "core/backend/cuda/runtime.h"
#include "core/error.h"
#include "modules/md/pairs/cuda/kernels.h"
#include "modules/md/pairs/pair_block.h"

namespace quadrille::md {
namespace {

using namespace accumulators;

/// A particle j in shared memory, read whole by all threads at once.
template <class T>
struct alignas(4 * sizeof(T)) Particle {
  T x, y, z, charge;
};

template <class Sum, bool coulomb, bool periodic, bool energy, int per_thread>
struct GroupThread {
  using T = typename Sum::Real;
  Block<Sum, 1, coulomb, periodic, energy> blocks[per_thread];

  template <bool masked>
  __device__ __forceinline__ void interact(const PairProblem<T>& problem, const Particle<T>& j,
                                           const Parameters<T, 1>& of, const std::uint64_t (&rows)[per_thread],
                                           int number) {
    const T other[3] = {j.x, j.y, j.z};
#pragma unroll
    for (int b = 0; b < per_thread; ++b) {
      blocks[b].template interact<masked>(problem, other, j.charge, of, masked && (rows[b] >> number & 1) != 0);
    }
  }
};

template <class Sum, bool coulomb, bool periodic, bool energy, int per_thread>
__global__ void __launch_bounds__(chunk_size / per_thread)
    pair_pass(const __grid_constant__ PairProblem<typename Sum::Real> problem, const __grid_constant__ PairSums out,
              int first_group) {
  using T = typename Sum::Real;
  constexpr int threads = chunk_size / per_thread;
  __shared__ Particle<T> tile[2][chunk_size];
  const int group = first_group + int(blockIdx.x), thread = int(threadIdx.x), type = problem.chunk_type[group];
  const std::int64_t first = std::int64_t(group) * chunk_size + thread;
  GroupThread<Sum, coulomb, periodic, energy, per_thread> mine;
#pragma unroll
  for (int b = 0; b < per_thread; ++b) mine.blocks[b].begin(problem, first + b * threads);
  const auto fetched = [&](int chunk, int b) {
    const std::int64_t slot = std::int64_t(chunk) * chunk_size + thread + b * threads;
    return Particle<T>{problem.x[slot], problem.y[slot], problem.z[slot], coulomb ? problem.charge[slot] : T(0)};
  };
#pragma unroll
  for (int b = 0; b < per_thread; ++b) tile[0][thread + b * threads] = fetched(0, b);
  std::int64_t masked = problem.masked_begin[group];
  const std::int64_t masked_end = problem.masked_begin[group + 1];
  for (int chunk = 0; chunk < problem.chunks; ++chunk) {
    __syncthreads();
    // The next chunk is on its way while this one is met.
    const bool more = chunk + 1 < problem.chunks;
    Particle<T> next[per_thread];
#pragma unroll
    for (int b = 0; b < per_thread; ++b) next[b] = fetched(more ? chunk + 1 : chunk, b);
    const Particle<T>* const particles = tile[chunk % 2];
    const int at = type * problem.types + problem.chunk_type[chunk], count = problem.chunk_count[chunk];
    const Parameters<T, 1> of{problem.force12[at], problem.force6[at], energy ? problem.energy12[at] : T(0),
                              energy ? problem.energy6[at] : T(0)};
    std::uint64_t rows[per_thread] = {};
    if (masked < masked_end && problem.masked_chunks[masked] == chunk) {
#pragma unroll
      for (int b = 0; b < per_thread; ++b) rows[b] = problem.mask[masked * chunk_size + thread + b * threads];
      ++masked;
      for (int j = 0; j < count; ++j) mine.template interact<true>(problem, particles[j], of, rows, j);
    } else if (count == chunk_size) {
#pragma unroll 16
      for (int j = 0; j < chunk_size; ++j) mine.template interact<false>(problem, particles[j], of, rows, j);
    } else {
      for (int j = 0; j < count; ++j) mine.template interact<false>(problem, particles[j], of, rows, j);
    }
#pragma unroll
    for (int b = 0; b < per_thread; ++b) {
      mine.blocks[b].carry(count);
      tile[(chunk + 1) % 2][thread + b * threads] = next[b];
    }
  }
#pragma unroll
  for (int b = 0; b < per_thread; ++b) {
    mine.blocks[b].add_listed(problem, first + b * threads, type);
    mine.blocks[b].store(out, first + b * threads);
  }
}

template <class Sum, bool coulomb, bool periodic>
void launch_of(bool energy, const PairProblem<typename Sum::Real>& problem, const PairSums& out, GroupRange mine,
               int shape) {
  if (mine.end == mine.begin) return;
  const auto groups = unsigned(mine.end - mine.begin);
  const auto first = int(mine.begin);
  if (energy) {
    pair_pass<Sum, coulomb, periodic, true, 1><<<groups, chunk_size, 0, cuda::stream()>>>(problem, out, first);
  } else if (shape == 0) {
    pair_pass<Sum, coulomb, periodic, false, 1><<<groups, chunk_size, 0, cuda::stream()>>>(problem, out, first);
  } else {
    pair_pass<Sum, coulomb, periodic, false, 2><<<groups, chunk_size / 2, 0, cuda::stream()>>>(problem, out, first);
  }
  cuda::check(cudaGetLastError(), "the launch of pair forces");
}

template <class Sum>
void launch(const PairForm& form, const PairProblem<typename Sum::Real>& problem, const PairSums& out, GroupRange mine,
            int shape) {
  if (form.periodic) {
    return form.coulomb ? launch_of<Sum, true, true>(form.energy, problem, out, mine, shape)
                        : launch_of<Sum, false, true>(form.energy, problem, out, mine, shape);
  }
  return form.coulomb ? launch_of<Sum, true, false>(form.energy, problem, out, mine, shape)
                      : launch_of<Sum, false, false>(form.energy, problem, out, mine, shape);
}

}  // namespace

void launch_pairs(const PairForm& form, const PairProblem<float>& problem, const PairSums& out, GroupRange mine,
                  int shape) {
  switch (form.method) {
    case Method::single: return launch<PlainSum<float, 1>>(form, problem, out, mine, shape);
    case Method::single_double: return launch<WideSum<1>>(form, problem, out, mine, shape);
    case Method::takahashi: return launch<NormalizedPairSum<1>>(form, problem, out, mine, shape);
    case Method::nitadori: return launch<GatheredPairSum<1, false>>(form, problem, out, mine, shape);
    case Method::nitadori_large: return launch<GatheredPairSum<1, true>>(form, problem, out, mine, shape);
    case Method::narumi: return launch<NarumiSum<1, Conversion::instruction>>(form, problem, out, mine, shape);
    case Method::narumi_constant:
      return launch<NarumiSum<1, Conversion::added_constant>>(form, problem, out, mine, shape);
    case Method::int64: return launch<LongFixedSum<1>>(form, problem, out, mine, shape);
    default: throw Error(ErrorCode::unsupported, "this method of summing pair forces runs on the CPU only");
  }
}

void launch_pairs(const PairForm& form, const PairProblem<double>& problem, const PairSums& out, GroupRange mine,
                  int shape) {
  if (form.method != Method::double_double) throw Error(ErrorCode::internal, "only method G computes in double");
  launch<PlainSum<double, 1>>(form, problem, out, mine, shape);
}

}  // namespace quadrille::md
