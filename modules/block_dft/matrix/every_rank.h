// What the ranks of a grid do each by itself within a call that all of them make: what fails on one, most often for
// want of memory, ends the call on all of them. Between two exchanges everything that takes memory for blocks is in
// such a step; a rank that others wait for keeps its error (KeptError) until all come to the next one, which throws it.
#pragma once

#include "core/comm/agreement.h"
#include "core/kept_error.h"
#include "core/system/memory.h"
#include "modules/block_dft/matrix/matrix_grid.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace quadrille::block_dft {

/// Calls step(), which may not use the communicator, and gives what it gives, on every rank. Where it throws on one, it
/// ends on all as all_or_none() does. Collective.
template <class Step>
auto on_every_rank(const Communicator& ranks, Step&& step) {
  using Result = std::invoke_result_t<Step>;
  if constexpr (std::is_void_v<Result>) {
    all_or_none(ranks, std::forward<Step>(step));
  } else {
    std::optional<Result> made;
    all_or_none(ranks, [&] { made.emplace(step()); });
    return std::move(*made);
  }
}
/// The same on the ranks of a grid; null is one rank.
template <class Step>
auto on_every_rank(const std::shared_ptr<const MatrixGrid>& grid, Step&& step) {
  return grid ? on_every_rank(grid->ranks(), std::forward<Step>(step)) : step();
}

/// Calls step() on every rank as on_every_rank() does, but gives, on all of them, what the first rank without enough
/// memory says of it ("rank 2: ..."); empty where all had enough.
inline std::string shortage(const Communicator& ranks, const std::function<void()>& step) {
  std::string reason;
  on_every_rank(ranks, [&] {
    try {
      step();
    } catch (const NotEnoughMemory& error) {
      reason = error.what();
    }
  });
  return first_reason(ranks, reason);
}

}  // namespace quadrille::block_dft
