// Loops over items on the host: threads share them, in the order of memory. `Loops` of core/gauge/work/link_work_of.h.
#pragma once

#include "core/gauge/max_loc.h"
#include "core/numbers/chunked_sum.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace quadrille {

struct HostLoops {
  /// Fields of the grouped layout are worked on too: what devices do with them is tested so.
  template <class View, class F>
  static void with_layout(const View& view, F&& f) {
    if (view.lanes > 0) {
      f(std::false_type{});
    } else {
      f(std::true_type{});
    }
  }
  template <class Body>
  static void run(std::int64_t count, const Body& body) {
#pragma omp parallel for schedule(static)
    for (std::int64_t item = 0; item < count; ++item) body(item);
  }
  template <int N, class Body>
  static std::array<double, N> sums(std::int64_t count, const Body& body) {
    return chunked_sum<N>(count, [&](std::int64_t item, std::array<double, N>& sum) { body(item, sum.data()); });
  }
  template <int N, class Body>
  static std::array<MaxLoc, N> worst(std::int64_t count, const Body& body) {
    std::array<MaxLoc, N> all{};
#pragma omp parallel
    {
      std::array<MaxLoc, N> mine{};
#pragma omp for schedule(static) nowait
      for (std::int64_t item = 0; item < count; ++item) body(item, mine.data());
#pragma omp critical(quadrille_max_loc)
      for (int n = 0; n < N; ++n) all[std::size_t(n)].reduce(mine[std::size_t(n)].value, mine[std::size_t(n)].item);
    }
    return all;
  }
};

}  // namespace quadrille
