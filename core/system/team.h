// The threads that kernels share their sites among: many short pieces of work, one after the other.
//
// OpenMP's threads wait by spinning for milliseconds (libgomp: 3 ms unless OMP_WAIT_POLICY says otherwise, which is
// read before any library can set it). Where another program has one of the cores, that is a time slice lost at every
// kernel. These threads spin for a bounded time that is longer than the gaps between kernels and much shorter than a
// time slice, and then sleep. Work that is done once, or rarely, stays with OpenMP.
#pragma once

#include "core/api.h"

#include <cstdint>
#include <type_traits>

namespace quadrille {

namespace team {

using Work = void (*)(void* body, int me, int threads);

/// Calls work(body, me, threads) with me = 0 .. threads - 1 on as many threads as OpenMP would use
/// (omp_get_max_threads()), on the cores that OpenMP binds its threads to (OMP_PROC_BIND); returns when all have
/// returned. Within itself, and within a parallel region of OpenMP, it calls work(body, 0, 1). A second thread that
/// comes while the team works is given threads of OpenMP. `work` must not throw.
QUADRILLE_API void run(Work work, void* body);

}  // namespace team

/// Calls body(me, threads) on every thread of the team.
template <class Body>
void in_team(Body&& body) {
  team::run([](void* to, int me, int threads) { (*static_cast<std::remove_reference_t<Body>*>(to))(me, threads); },
            const_cast<void*>(static_cast<const void*>(&body)));
}

/// Calls body(k) once for each k of [0, count): each thread has one contiguous share.
template <class Body>
void team_for(std::int64_t count, Body&& body) {
  if (count <= 1) {
    for (std::int64_t k = 0; k < count; ++k) body(k);
    return;
  }
  in_team([&](int me, int threads) {
    const std::int64_t end = count * (me + 1) / threads;
    for (std::int64_t k = count * me / threads; k < end; ++k) body(k);
  });
}

}  // namespace quadrille
