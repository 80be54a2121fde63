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
// Creutz's method uses two). Numbers are double or float (T); in float the same uniforms are rounded, and logarithms
// see them by their distance from 1, so that the tail of delta is that of 32 bits, not of float's 24 (simd_random.h).
// For files that are compiled once per instruction set, or for one lane (core/simd/lanes.h).
#pragma once

#include "core/gauge/su2_lanes.h"
#include "core/random/simd_random.h"

namespace quadrille::quenched::inline QUADRILLE_ISA {

template <class T, int V>
using Real = simd::Vec<T, V>;
template <class T, int V>
using Mask = simd::Mask<T, V>;
using link_lanes::Quaternion;

/// Lanes of attempts and draws so far, by method.
template <class T, int V>
struct DrawCounts {
  simd::Vec<simd::IntOf<T>, V> attempts{}, creutz_attempts{}, creutz_draws{}, draws{};
};

enum class DrawMethod { automatic, kennedy_pendleton, creutz };

/// Where both methods accept 71 in 100.
inline constexpr double creutz_below = 1.68;

/// One attempt of Creutz's method on a lane.
template <class T>
struct CreutzAttempt {
  T delta;
  bool accepted;
};
template <class T>
QUADRILLE_INLINE CreutzAttempt<T> creutz_attempt(T alpha, T u1, T u2) {
  constexpr T negligible = sizeof(T) == 8 ? T(1e-150) : T(1e-30);
  const T delta = alpha > negligible ? -simd::log1p_of(simd::expm1_of(-2 * alpha) * u1) / alpha : 2 * u1;
  return {delta, u2 * u2 <= delta * (2 - delta)};
}

/// delta = 1 - a0 of each lane; not-a-number where alpha is not finite, so that a broken field ends the loop too.
template <class T, int V, DrawMethod method = DrawMethod::automatic>
QUADRILLE_INLINE Real<T, V> draw_delta(Real<T, V> alpha, const simd::LaneRandom<T, V>& random,
                                       DrawCounts<T, V>& counts) {
  Mask<T, V> pending = (alpha >= T(0)) & (alpha < T(__builtin_inf()));
  const Mask<T, V> creutz = method == DrawMethod::automatic ? Mask<T, V>(alpha < T(creutz_below))
                                                            : simd::mask<T, V>(method == DrawMethod::creutz);
  simd::count<T, V>(counts.draws, pending);
  simd::count<T, V>(counts.creutz_draws, pending & creutz);
  Real<T, V> result = simd::broadcast<T, V>(T(__builtin_nan("")));
  for (std::uint32_t block = 1; simd::any<T, V>(pending); block += 2) {
    Real<T, V> v1, v2, u3, u4, sine, cosine;  // v1 = 1 - u1, v2 = 1 - u2
    random.complements(block, v1, v2);
    random.uniforms(block + 1, u3, u4);
    simd::sincospi<T, V>(T(2) * u3 - T(1), sine, cosine);
    Real<T, V> delta = simd::quotient<T, V>(simd::log<T, V>(v1) * cosine * cosine + simd::log<T, V>(v2), -alpha);
    Mask<T, V> accepted = u4 * u4 <= T(1) - T(0.5) * delta;
    if (simd::any<T, V>(pending & creutz)) {
      for (int lane = 0; lane < V; ++lane) {
        if (!simd::is_set<T, V>(creutz, lane)) continue;
        const CreutzAttempt<T> attempt =
            creutz_attempt<T>(simd::lane_of<T, V>(alpha, lane), T(1) - simd::lane_of<T, V>(v1, lane),
                              T(1) - simd::lane_of<T, V>(v2, lane));
        simd::set_lane<T, V>(delta, lane, attempt.delta);
        simd::set_mask<T, V>(accepted, lane, attempt.accepted);
      }
    }
    simd::count<T, V>(counts.attempts, pending);
    simd::count<T, V>(counts.creutz_attempts, pending & creutz);
    accepted &= pending;
    result = accepted ? delta : result;
    pending ^= accepted;
  }
  return result;
}

template <class T, int V, DrawMethod method = DrawMethod::automatic>
QUADRILLE_INLINE Quaternion<T, V> draw_su2(Real<T, V> alpha, const simd::LaneRandom<T, V>& random,
                                           DrawCounts<T, V>& counts) {
  const Real<T, V> delta = draw_delta<T, V, method>(alpha, random, counts);
  Real<T, V> u1, u2, sine, cosine;
  random.uniforms(0, u1, u2);
  simd::sincospi<T, V>(T(2) * u2 - T(1), sine, cosine);
  const Real<T, V> length = simd::sqrt_positive<T, V>(delta * (T(2) - delta));
  const Real<T, V> z = T(2) * u1 - T(1), across = length * simd::sqrt_positive<T, V>(T(1) - z * z);
  return {{T(1) - delta, across * cosine, across * sine, length * z}};
}

}  // namespace quadrille::quenched::inline QUADRILLE_ISA
