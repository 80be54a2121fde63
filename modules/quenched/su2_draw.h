// SU(2) matrices a = a0 + i sum_k a_k sigma_k drawn with density exp(alpha a0) on the group: V independent ones at
// once.
//
// The density of a0 is sqrt(1 - a0^2) exp(alpha a0), and (a1, a2, a3) is uniform on the sphere of radius
// sqrt(1 - a0^2). With delta = 1 - a0:
// - Kennedy and Pendleton, Phys. Lett. B 156 (1985) 393: delta = -(log u2 + cos^2(2 pi u3) log u1) / alpha has density
//   sqrt(delta) exp(-alpha delta) and is accepted with probability sqrt(1 - delta/2). Poor for small alpha, where much
//   of that density lies at delta > 2.
// - Creutz, Phys. Rev. D 21 (1980) 2308: delta with density exp(-alpha delta) on [0, 2], accepted with probability
//   sqrt(delta (2 - delta)). Poor for large alpha.
// The second is taken below creutz_below, where it accepts more.
//
// Numbers of one site's stream: the first two uniforms are for the direction, then four for each attempt (of which
// Creutz's method uses two). For files that are compiled once per instruction set, or for one lane (core/lanes.h).
#pragma once

#include "core/simd_random.h"

namespace quadrille::quenched::inline QUADRILLE_ISA {

template <int V>
using Real = simd::Vec<double, V>;
template <int V>
using Mask = simd::Mask<V>;

/// Lanes of attempts and draws so far, by method.
template <int V>
struct DrawCounts {
  simd::Vec<std::int64_t, V> attempts{}, creutz_attempts{}, creutz_draws{}, draws{};
};

enum class DrawMethod { automatic, kennedy_pendleton, creutz };

/// Where both methods accept 71 in 100.
inline constexpr double creutz_below = 1.68;

/// Components a0..a3.
template <int V>
struct Quaternion {
  Real<V> a[4];
};

/// One attempt of Creutz's method on a lane.
struct CreutzAttempt {
  double delta;
  bool accepted;
};
QUADRILLE_INLINE CreutzAttempt creutz_attempt(double alpha, double u1, double u2) {
  const double delta = alpha > 1e-150 ? -simd::log1p_of(simd::expm1_of(-2 * alpha) * u1) / alpha : 2 * u1;
  return {delta, u2 * u2 <= delta * (2 - delta)};
}

/// delta = 1 - a0 of each lane; not-a-number where alpha is not finite, so that a broken field ends the loop too.
template <int V, DrawMethod method = DrawMethod::automatic>
QUADRILLE_INLINE Real<V> draw_delta(Real<V> alpha, const simd::LaneRandom<V>& random, DrawCounts<V>& counts) {
  Mask<V> pending = (alpha >= 0.0) & (alpha < __builtin_inf());
  const Mask<V> creutz =
      method == DrawMethod::automatic ? Mask<V>(alpha < creutz_below) : simd::mask<V>(method == DrawMethod::creutz);
  simd::count<V>(counts.draws, pending);
  simd::count<V>(counts.creutz_draws, pending & creutz);
  Real<V> result = simd::broadcast<double, V>(__builtin_nan(""));
  for (std::uint32_t block = 1; simd::any<V>(pending); block += 2) {
    Real<V> u1, u2, u3, u4, sine, cosine;
    random.uniforms(block, u1, u2);
    random.uniforms(block + 1, u3, u4);
    simd::sincospi<double, V>(2.0 * u3 - 1.0, sine, cosine);
    Real<V> delta = (simd::log<V>(1.0 - u1) * cosine * cosine + simd::log<V>(1.0 - u2)) / -alpha;
    Mask<V> accepted = u4 * u4 <= 1.0 - 0.5 * delta;
    if (simd::any<V>(pending & creutz)) {
      for (int lane = 0; lane < V; ++lane) {
        if (!simd::is_set<V>(creutz, lane)) continue;
        const CreutzAttempt attempt =
            creutz_attempt(simd::lane_of<double, V>(alpha, lane), simd::lane_of<double, V>(u1, lane),
                           simd::lane_of<double, V>(u2, lane));
        simd::set_lane<double, V>(delta, lane, attempt.delta);
        simd::set_lane<V>(accepted, lane, attempt.accepted);
      }
    }
    simd::count<V>(counts.attempts, pending);
    simd::count<V>(counts.creutz_attempts, pending & creutz);
    accepted &= pending;
    result = accepted ? delta : result;
    pending ^= accepted;
  }
  return result;
}

template <int V, DrawMethod method = DrawMethod::automatic>
QUADRILLE_INLINE Quaternion<V> draw_su2(Real<V> alpha, const simd::LaneRandom<V>& random, DrawCounts<V>& counts) {
  const Real<V> delta = draw_delta<V, method>(alpha, random, counts);
  Real<V> u1, u2, sine, cosine;
  random.uniforms(0, u1, u2);
  simd::sincospi<double, V>(2.0 * u2 - 1.0, sine, cosine);
  const Real<V> length = simd::sqrt_positive<double, V>(delta * (2.0 - delta));
  const Real<V> z = 2.0 * u1 - 1.0, across = length * simd::sqrt_positive<double, V>(1.0 - z * z);
  return {{1.0 - delta, across * cosine, across * sine, length * z}};
}

}  // namespace quadrille::quenched::inline QUADRILLE_ISA
