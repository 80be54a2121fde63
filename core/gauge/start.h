// Starting gauge configurations.
#pragma once

#include "core/su3/random_link.h"

#include <cstdint>

namespace quadrille {

/// What a start makes of the random numbers of a site, link after link.
struct GaugeStart {
  enum class Kind { cold, hot, weak } kind = Kind::cold;
  std::uint64_t seed = 0;
  double epsilon = 0;  ///< of a weak start

  /// All links the unit matrix.
  static GaugeStart cold() { return {}; }
  /// Links independent and uniform in SU(3).
  static GaugeStart hot(std::uint64_t seed) { return {Kind::hot, seed, 0}; }
  /// Links exp(i epsilon H) with random H (random_weak_su3).
  static GaugeStart weak(std::uint64_t seed, double epsilon) { return {Kind::weak, seed, epsilon}; }

  QUADRILLE_HOST_DEVICE RandomPurpose purpose() const {
    return kind == Kind::hot ? RandomPurpose::HotLinks : RandomPurpose::WeakLinks;
  }
  QUADRILLE_HOST_DEVICE Matrix3 link(SiteRandom& random) const {
    if (kind == Kind::hot) return random_su3(random);
    if (kind == Kind::weak) return random_weak_su3(random, epsilon);
    return Matrix3::identity();
  }
};

}  // namespace quadrille
