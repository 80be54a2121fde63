// Kernels that are queued ahead of time, and what makes those after one of them do nothing until the host has
// looked.
//
// Each such kernel has a tick, one more than that before it. One that finds that the work cannot go on sets the halt to
// its own tick, and finishes; all with a later tick return at once, so that everything stays as that kernel left it.
// The host sees how far the stream is in a word of its own memory, without waiting for it.
#pragma once

#include <cstdint>

namespace quadrille::md {

/// Why: bits.
enum HaltReason : unsigned {
  lists_stale = 1,      ///< a particle has moved by half the skin
  moved_too_far = 2,    ///< in one step
  lost = 4,             ///< beyond where positions have a meaning
  sums_misfit = 8,      ///< not finite, or beyond what scales were made for
  lists_full = 16,      ///< a list needs more room
  terms_undefined = 32  ///< a bonded term has no direction or no plane
};

/// On the device.
struct Halt {
  unsigned long long tick;  ///< of the kernel that found a reason
  unsigned reasons;
  std::int32_t particle;  ///< the first that has moved too far or is lost
  std::int32_t longest;   ///< of the lists that had no room
  std::int32_t term;      ///< the first bonded term that is not defined
};
constexpr unsigned long long no_halt = ~0ull;

/// What a kernel knows of it; without `halt` it always runs.
struct Gate {
  Halt* halt = nullptr;
  volatile unsigned long long* seen = nullptr;  ///< the host's word, see below; may be null
  unsigned long long tick = 0;
};

/// The host's word: tick and reasons of a halt, or the tick of a kernel that runs.
struct Sighting {
  unsigned long long tick;
  unsigned reasons;  ///< 0: it runs
};
constexpr unsigned long long word_of(Sighting sighting) { return sighting.tick << 8 | sighting.reasons; }
constexpr Sighting sighting_of(unsigned long long word) { return {word >> 8, unsigned(word & 0xff)}; }

#ifdef __CUDACC__

/// Whether this kernel must do nothing; all threads ask first of all.
__device__ __forceinline__ bool closed(const Gate& gate) {
  if (gate.halt == nullptr) return false;
  const volatile Halt* const halt = gate.halt;
  const unsigned long long at = halt->tick;
  const bool shut = at < gate.tick;
  if (gate.seen != nullptr && blockIdx.x == 0 && threadIdx.x == 0) {
    *gate.seen = shut ? at << 8 | halt->reasons : gate.tick << 8;
  }
  return shut;
}

__device__ __forceinline__ void stop(const Gate& gate, unsigned reason) {
  if (gate.halt == nullptr) return;
  atomicMin(&gate.halt->tick, gate.tick);
  atomicOr(&gate.halt->reasons, reason);
}

#endif

}  // namespace quadrille::md
