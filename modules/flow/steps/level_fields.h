// Fields of links that a step makes on its way to the next links, for each direction that they leave out.
#pragma once

#include "core/gauge/gauge_store.h"

#include <array>
#include <cstddef>
#include <memory>

namespace quadrille::flow {

/// Of two levels, each made when it is first written: `Links` are those of a backend (core/gauge/around/block_field.h,
/// grouped_field.h).
template <class Links>
class LevelFields {
 public:
  /// `like`: links on the same lattice.
  Links& to(int level, int excluded, const Field& like) {
    std::unique_ptr<Links>& field = fields_[number(level, excluded)];
    if (field == nullptr) field = std::make_unique<Links>(GaugeStore(like));
    return *field;
  }
  /// The four fields of a level by their excluded direction; `otherwise` in place of those that nobody has written.
  std::array<const Links*, 4> of(int level, const Links& otherwise) const {
    std::array<const Links*, 4> found{};
    for (int k = 0; k < 4; ++k) {
      const Links* const field = level > 0 ? fields_[number(level, k)].get() : nullptr;
      found[std::size_t(k)] = field != nullptr ? field : &otherwise;
    }
    return found;
  }

 private:
  static std::size_t number(int level, int excluded) { return std::size_t(4 * (level - 1) + excluded); }

  std::array<std::unique_ptr<Links>, 8> fields_;
};

/// The levels of the staples that rectangles are made of (rectangles.h).
constexpr int staples_ahead = 1, staples_behind = 2;

}  // namespace quadrille::flow
