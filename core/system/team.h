// The threads that kernels share their sites among: many short loops, one after the other.
//
// OpenMP's threads wait by spinning for milliseconds (libgomp: 3 ms unless OMP_WAIT_POLICY says otherwise, which is
// read before any library can set it). Where another program has one of the cores, that is a time slice lost at every
// kernel. These threads spin for a bounded time that is longer than the gaps between kernels and much shorter than a
// time slice, and then sleep. And nobody waits for a thread that has no core: a loop is cut into pieces, each thread
// begins with its own, always the same ones and in order, and whoever is done takes those that nobody has begun. A
// thread that loses its core holds up one piece. Work that is done once, or rarely, stays with OpenMP.
#pragma once

#include "core/api.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

namespace quadrille {

namespace team {

/// Does the items begin .. end - 1; `thread` is unlike that of any other call at the same time.
using Work = void (*)(void* body, int thread, std::int64_t begin, std::int64_t end);

constexpr std::int64_t one_each = INT64_MAX;  ///< pieces: as many as there are items

/// How many threads run() uses at most: as many as OpenMP would (omp_get_max_threads()); 1 within run() and within a
/// parallel region of OpenMP. Values of `thread` are below.
QUADRILLE_API int threads();

/// Calls `work` for pieces that together are [0, count), about `pieces_per_thread` for each thread, on threads that
/// have the cores that OpenMP binds its threads to (OMP_PROC_BIND); returns when all calls have returned. Throws the
/// first exception of `work` then; pieces that nobody has begun by that time are left out. A second thread that comes
/// while the team works is given threads of OpenMP.
QUADRILLE_API void run(std::int64_t count, std::int64_t pieces_per_thread, Work work, void* body);

/// Calls body(thread, begin, end) as `run` says.
template <class Body>
void share(std::int64_t count, std::int64_t pieces_per_thread, Body&& body) {
  run(
      count, pieces_per_thread,
      [](void* to, int thread, std::int64_t begin, std::int64_t end) {
        (*static_cast<std::remove_reference_t<Body>*>(to))(thread, begin, end);
      },
      const_cast<void*>(static_cast<const void*>(&body)));
}

/// Of even work: a piece costs little beside the sites in it, and is little of a time slice.
constexpr std::int64_t few_pieces = 16;

}  // namespace team

/// Calls body(begin, end) for ranges that together are [0, count).
template <class Body>
void team_ranges(std::int64_t count, Body&& body) {
  team::share(count, team::few_pieces, [&](int, std::int64_t begin, std::int64_t end) { body(begin, end); });
}

/// Calls body(k) once for each k of [0, count), which all take about as long.
template <class Body>
void team_for(std::int64_t count, Body&& body) {
  team_ranges(count, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) body(k);
  });
}

/// Calls body(k) once for each k of [0, count), some of which may take much longer than others.
template <class Body>
void team_for_uneven(std::int64_t count, Body&& body) {
  team::share(count, team::one_each, [&](int, std::int64_t begin, std::int64_t end) {
    for (std::int64_t k = begin; k < end; ++k) body(k);
  });
}

/// Calls body(scratch, k) once for each k of [0, count), uneven as well; a thread that takes part has its own
/// make_scratch().
template <class MakeScratch, class Body>
void team_for_with(std::int64_t count, MakeScratch&& make_scratch, Body&& body) {
  using Scratch = std::decay_t<decltype(make_scratch())>;
  std::vector<std::unique_ptr<Scratch>> scratch(static_cast<std::size_t>(team::threads()));
  team::share(count, team::one_each, [&](int thread, std::int64_t begin, std::int64_t end) {
    std::unique_ptr<Scratch>& mine = scratch[static_cast<std::size_t>(thread)];
    if (!mine) mine.reset(new Scratch(make_scratch()));
    for (std::int64_t k = begin; k < end; ++k) body(*mine, k);
  });
}

/// As std::memcpy.
QUADRILLE_API void team_copy(void* to, const void* from, std::size_t bytes);

}  // namespace quadrille
