// Loops that the threads of core/system/team.h share: whoever is free takes the next piece.
#pragma once

#include "core/system/team.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>

namespace quadrille::block_dft {

/// Calls body(scratch, n) once for each n of [0, count), in any order; each thread has its own make_scratch(). Throws
/// the first exception of a body when all threads are done; the pieces that are left then are not begun.
template <class MakeScratch, class Body>
void share_with(std::int64_t count, MakeScratch&& make_scratch, Body&& body) {
  std::atomic<std::int64_t> next{0};
  std::exception_ptr failure;
  std::mutex failing;
  const auto work = [&] {
    try {
      auto scratch = make_scratch();
      for (std::int64_t n = next++; n < count; n = next++) body(scratch, n);
    } catch (...) {
      const std::lock_guard lock(failing);
      if (!failure) failure = std::current_exception();
      next = count;
    }
  };
  if (count > 1) {
    in_team([&](int, int) { work(); });
  } else if (count == 1) {
    work();
  }
  if (failure) std::rethrow_exception(failure);
}

/// Calls body(n) once for each n of [0, count), in pieces of 8.
template <class Body>
void share(std::int64_t count, Body&& body) {
  constexpr std::int64_t piece = 8;
  share_with((count + piece - 1) / piece, [] { return 0; },
             [&](int, std::int64_t part) {
               for (std::int64_t n = part * piece; n < std::min(count, (part + 1) * piece); ++n) body(std::int32_t(n));
             });
}

}  // namespace quadrille::block_dft
