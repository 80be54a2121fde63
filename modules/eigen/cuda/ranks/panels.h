// Panels of a matrix on their way to the GPUs of all ranks.
#pragma once

#include "modules/eigen/cuda/ranks/exchange.h"

#include <cstdint>
#include <utility>

namespace quadrille::eigen {

/// visit(j, panel) for j = first, first + step, ... in [0, end): while a panel is used the next one travels, sent by
/// send(j, panel), which gives its arrival. `here` and `other` take a panel each, which a visit may overwrite; no visit
/// changes what is still to be sent.
template <class T, class Send, class Visit>
void for_panels(std::int64_t first, std::int64_t step, std::int64_t end, T* here, T* other, Send&& send,
                Visit&& visit) {
  const auto has = [&](std::int64_t j) { return j >= 0 && j < end; };
  cuda::OwnedEvent arrived = has(first) ? send(first, here) : cuda::OwnedEvent();
  for (std::int64_t j = first; has(j); j += step) {
    const cuda::OwnedEvent current = std::exchange(arrived, has(j + step) ? send(j + step, other) : cuda::OwnedEvent());
    Exchange::wait_for(current);
    visit(j, here);
    std::swap(here, other);
  }
}

}  // namespace quadrille::eigen
