// A ring of batches in shared memory, which the copy engine fills.
#pragma once

#include "modules/block_dft/matrix/cuda/launch.cuh"

#include <cstdint>

namespace quadrille::block_dft {

constexpr int batch_steps = 32;
constexpr int most_stages = 8;

/// A step in shared memory; offsets in 16 bytes from the ring's beginning.
struct Slot {
  std::uint32_t mask;
  std::uint16_t a[6], b[6], k;
};

struct Batch {
  enum { no_task = -1 };
  Slot slots[batch_steps];
  int task;  ///< no_task: nothing follows
  int count;
  bool last;                         ///< of its task
  std::uint8_t rows[6], columns[6];  ///< sizes of the task's pieces
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
__device__ __forceinline__ unsigned shared_address(const void* p) { return unsigned(__cvta_generic_to_shared(p)); }

__device__ __forceinline__ void begin_barrier(std::uint64_t* barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals));
}
__device__ __forceinline__ void arrive(std::uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}
__device__ __forceinline__ void arrive_with(std::uint64_t* barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
               : "memory");
}
__device__ __forceinline__ void wait(std::uint64_t* barrier, unsigned phase) {
  asm volatile(
      "{\n.reg .pred done;\nagain:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;\n}" ::"r"(shared_address(barrier)),
      "r"(phase)
      : "memory");
}
__device__ __forceinline__ void bring(void* to, const void* from, unsigned bytes, std::uint64_t* barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(to)),
               "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(shared_address(barrier))
               : "memory");
}

/// Until a count in the device's memory is that high.
__device__ __forceinline__ void await(const unsigned long long* count, std::uint64_t wanted) {
  unsigned long long found = 0;
  do {
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(found) : "l"(count) : "memory");
  } while (found < wanted);
}

/// Whose turn it is of the stages, and in which round of its barriers.
struct Turn {
  int stage = 0;
  unsigned phase = 0;
  __device__ void advance(int stages) {
    if (++stage < stages) return;
    stage = 0;
    phase ^= 1;
  }
};

/// What the warp that brings knows of the ring. The pieces of a batch lie one behind the other, those of successive
/// batches too, until one does not fit before the end: it begins at 0 again. Lengths and places in 16 bytes.
struct Room {
  int end = 0, begin = 0;  ///< of the latest batch; in lane s, of the batch of stage s
  int batches = 0;         ///< that may not have been multiplied yet
  Turn oldest{};           ///< of them

  /// Makes room for the batch of stage `next`; gives its place.
  __device__ int take(int length, int ring, int stages, int next, std::uint64_t* done) {
    int at = place_for(length, ring, stages);
    for (; at < 0; at = place_for(length, ring, stages)) free_oldest(stages, done);
    if (lane_number() == next) begin = at;
    end = at + length;
    ++batches;
    return at;
  }
  /// Waits for a batch, after which its stage is free.
  __device__ void free_oldest(int stages, std::uint64_t* done) {
    wait(done + oldest.stage, oldest.phase);
    oldest.advance(stages);
    --batches;
  }

 private:
  /// -1: there is none.
  __device__ int place_for(int length, int ring, int stages) const {
    if (batches == 0) return 0;
    if (batches == stages) return -1;
    const int taken = __shfl_sync(all_lanes, begin, oldest.stage);
    if (taken >= end) return end + length <= taken ? end : -1;
    if (end + length <= ring) return end;
    return length <= taken ? 0 : -1;
  }
};

#endif

}  // namespace quadrille::block_dft
