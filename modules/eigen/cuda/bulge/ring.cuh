// Blocks of memory that pass through a ring of places in shared memory, read by all warps of a block, which need not be
// at the same one.
#pragma once

#include "modules/eigen/cuda/numbers.h"

#include <cuda/atomic>

#include <cstdint>

namespace quadrille::eigen {

__device__ inline unsigned shared_address(const void* at) { return unsigned(__cvta_generic_to_shared(at)); }

/// Copies a number into shared memory; zero unless `inside`. Waited for by cp.async.wait_all.
__device__ inline void copy_async(double* to, const double* from, bool inside) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(shared_address(to)), "l"(from),
               "r"(inside ? 8 : 0));
}
__device__ inline void copy_async(double* to, const Complex* from, bool inside) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to)), "l"(from),
               "r"(inside ? 16 : 0));
}

constexpr int most_places = 4;

/// What a warp knows of the ring. All warps of the block make the same calls in the same order. Block is a multiple of
/// 16 bytes; Sequence has next(), the address of the next block in the device's memory, null after the last.
template <class Block, class Sequence>
class Ring {
 public:
  /// In shared memory: of each place whether its block has arrived, and how many warps are done with it.
  struct State {
    std::uint64_t arrived[most_places];
    int done[most_places];
    alignas(Sequence) char coming[sizeof(Sequence)];  ///< used by the warp that asks
  };

  /// By all threads of the block.
  __device__ Ring(State& state, Block* places, int depth) : state_(state), places_(places), depth_(depth) {
    if (threadIdx.x != 0) return;
    for (int k = 0; k < depth; ++k) {
      asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(&state.arrived[k])), "r"(arrivals));
      state.done[k] = 0;
    }
#if __CUDA_ARCH__ >= 900
    asm volatile("fence.proxy.async.shared::cta;");
#endif
  }
  /// Asks for the first blocks of a sequence. By all threads of the block, when what the last sequence had is read.
  __device__ void begin(const Sequence& sequence) {
    __syncthreads();
    if (threadIdx.x >= 32) return;
    if (threadIdx.x == 0) coming() = sequence;
    for (int k = 0, place = place_; k < depth_; ++k, place = place + 1 == depth_ ? 0 : place + 1) ask(place);
  }
  /// Until the front one is there.
  __device__ void wait() const {
    const unsigned at = shared_address(&state_.arrived[place_]);
    unsigned there = 0;
    while (there == 0) {
      asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                   : "=r"(there)
                   : "r"(at), "r"(parity_)
                   : "memory");
    }
  }
  __device__ const Block& front() const { return places_[place_]; }
  /// The warp is done with the front one. The last warp that is asks for the next one in its place: in the order of the
  /// blocks, since no warp is done with one before those in front of it.
  __device__ void release() {
    __syncwarp();
    int last = 0;
    if (threadIdx.x % 32 == 0) {
      ::cuda::atomic_ref<int, ::cuda::thread_scope_block> done(state_.done[place_]);
      last = done.fetch_add(1, ::cuda::memory_order_acq_rel) == int(blockDim.x) / 32 - 1;
      if (last) done.store(0, ::cuda::memory_order_relaxed);
    }
    if (__shfl_sync(0xffffffffu, last, 0)) ask(place_);
    if (++place_ == depth_) {
      place_ = 0;
      parity_ ^= 1;
    }
  }

 private:
  __device__ Sequence& coming() const { return *reinterpret_cast<Sequence*>(state_.coming); }

#if __CUDA_ARCH__ >= 900
  static constexpr unsigned arrivals = 1;
  __device__ void ask(int place) const {  // by a warp
    if (threadIdx.x % 32 != 0) return;
    const Block* const block = coming().next();
    if (block == nullptr) return;
    const unsigned to = shared_address(&places_[place]), arrived = shared_address(&state_.arrived[place]);
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(arrived), "r"(unsigned(sizeof(Block)))
                 : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(block), "r"(unsigned(sizeof(Block))), "r"(arrived)
                 : "memory");
  }
#else
  static constexpr unsigned arrivals = 32;
  __device__ void ask(int place) const {  // by a warp
    const int lane = threadIdx.x % 32;
    const Block* const first = lane == 0 ? coming().next() : nullptr;
    const auto from = __shfl_sync(0xffffffffu, reinterpret_cast<unsigned long long>(first), 0);
    if (from == 0) return;
    const unsigned to = shared_address(&places_[place]), arrived = shared_address(&state_.arrived[place]);
    for (unsigned k = unsigned(lane) * 16; k < sizeof(Block); k += 32 * 16) {
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to + k), "l"(from + k));
    }
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(arrived) : "memory");
  }
#endif

  State& state_;
  Block* places_;
  int depth_, place_ = 0;
  unsigned parity_ = 0;
};

}  // namespace quadrille::eigen
