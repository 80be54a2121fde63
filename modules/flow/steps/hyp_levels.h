// The levels of HYP smearing (A. Hasenfratz and F. Knechtli, Phys. Rev. D 64 (2001) 034504, hep-lat/0103029), which all
// backends share.
//
// Level 1 makes for each direction k the links of the other directions with staples in direction k alone. Level 2 makes
// for each k the links of the others from staples in the two directions that are neither k nor theirs, each of links of
// level 1 that were smeared in the last of the four. Level 3 makes all links, a staple in direction nu of links mu and
// nu of level 2 that are smeared neither in nu nor in mu. A link and its staples never leave the hypercubes at the
// link. In space alone there are two levels: the second is the one without time.
#pragma once

#include "core/gauge/gauge_store.h"
#include "modules/flow/steps/kernels.h"

#include <array>
#include <cstddef>
#include <memory>

namespace quadrille::flow {

/// A step of HYP smearing; in space alpha1 plays no part.
struct HypStep {
  double alpha1, alpha2, alpha3;
  unsigned directions = all_directions;
};

/// Calls make(level, last) for each level of each field, in an order in which all that it reads is there; `last`: the
/// smeared links themselves.
template <class Make>
void over_hyp_levels(const HypStep& step, const Make& make) {
  const bool spatial = step.directions == spatial_directions;
  const auto level = [&](int number, int excluded, double alpha, int staples) {
    const unsigned others = excluded < 4 ? ~(1u << excluded) : ~0u;
    return HypLevel{number, excluded, 1 - alpha, alpha / staples, step.directions & others};
  };
  for (int k = 0; k < (spatial ? 3 : 4); ++k) make(level(1, k, step.alpha3, 2), false);
  if (spatial) return make(level(2, 3, step.alpha2, 4), true);
  for (int k = 0; k < 4; ++k) make(level(2, k, step.alpha2, 4), false);
  make(level(3, 4, step.alpha1, 6), true);
}

/// The fields of links of levels 1 and 2, made when they are first written: `Links` are those of a backend
/// (core/gauge/around/block_field.h, grouped_field.h).
template <class Links>
class HypFields {
 public:
  /// `like`: links on the same lattice.
  Links& to(const HypLevel& level, const Field& like) {
    std::unique_ptr<Links>& field = fields_[number(level.level, level.excluded)];
    if (field == nullptr) field = std::make_unique<Links>(GaugeStore(like));
    return *field;
  }
  /// The four fields that a level reads, by their excluded direction; `thin`, the links that are smeared, on level 1
  /// and for what it does not read.
  std::array<const Links*, 4> before(const HypLevel& level, const Links& thin) const {
    std::array<const Links*, 4> found{&thin, &thin, &thin, &thin};
    for (int k = 0; k < 4 && level.level > 1; ++k) {
      if (const auto& field = fields_[number(level.level - 1, k)]) found[std::size_t(k)] = field.get();
    }
    return found;
  }

 private:
  static std::size_t number(int level, int excluded) { return std::size_t(4 * (level - 1) + excluded); }

  std::array<std::unique_ptr<Links>, 8> fields_;
};

}  // namespace quadrille::flow
