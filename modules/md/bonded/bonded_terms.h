// Bonds, angles and torsions as plain data, and the forces of one: one source for the CPU and the device. It takes
// sums, products, quotients and roots alone, each rounded once (both are compiled without contraction), so that both
// have the same bits: no arc tangent, no sine and no cosine of a library.
#pragma once

#include "core/host_device.h"

#include <cmath>
#include <cstdint>

namespace quadrille::md {

struct Triple {
  double x, y, z;
};
QUADRILLE_HOST_DEVICE Triple operator+(const Triple& a, const Triple& b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
QUADRILLE_HOST_DEVICE Triple operator-(const Triple& a, const Triple& b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
QUADRILLE_HOST_DEVICE Triple operator-(const Triple& a) { return {-a.x, -a.y, -a.z}; }
QUADRILLE_HOST_DEVICE Triple operator*(double s, const Triple& a) { return {s * a.x, s * a.y, s * a.z}; }
QUADRILLE_HOST_DEVICE double dot(const Triple& a, const Triple& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
QUADRILLE_HOST_DEVICE Triple cross(const Triple& a, const Triple& b) {
  return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

/// The angle of the point (cosine, sine), which need not be on the unit circle; sine >= 0, hence in [0, pi]. Four
/// halvings, tan(a / 2) = tan a / (1 + sqrt(1 + tan^2 a)), and the series of the arc tangent up to t^15 where t <
/// 0.099.
QUADRILLE_HOST_DEVICE double arc(double cosine, double sine) {
  const double size = cosine < 0 ? -cosine : cosine;
  double t = sine / (size + std::sqrt(size * size + sine * sine));
  for (int halving = 0; halving < 3; ++halving) t = t / (1 + std::sqrt(1 + t * t));
  const double square = t * t;
  double series = 0;
  for (int n = 15; n > 0; n -= 2) series = 1.0 / n - square * series;
  const double angle = 16 * (t * series);
  constexpr double pi = 3.14159265358979323846;
  return cosine < 0 ? pi - angle : angle;
}

// Terms: their particles, and for the force on each the place among those on all particles (BondedProblem).
struct BondTerm {
  static constexpr int size = 2;
  std::int32_t particle[size], place[size];
  double k, length;
};
struct AngleTerm {
  static constexpr int size = 3;
  std::int32_t particle[size], place[size];
  double k, angle;
};
struct TorsionTerm {
  static constexpr int size = 4;
  std::int32_t particle[size], place[size], periodicity;
  double k, cosine, sine;  ///< of the phase
};

/// Forces on the particles of a term. `defined`: it has a direction, a plane.
template <class Term>
struct TermForces {
  Triple on[Term::size];
  double energy;
  bool defined;
};

QUADRILLE_HOST_DEVICE TermForces<BondTerm> forces_of(const BondTerm& bond, const Triple (&x)[2]) {
  const Triple d = x[0] - x[1];
  const double r = std::sqrt(dot(d, d)), stretch = r - bond.length;
  const Triple force = (-2 * bond.k * stretch / r) * d;
  return {{force, -force}, bond.k * stretch * stretch, r > 0};
}

// The gradient of the angle: perpendicular to each arm, 1 / its length.
QUADRILLE_HOST_DEVICE TermForces<AngleTerm> forces_of(const AngleTerm& angle, const Triple (&x)[3]) {
  const Triple u = x[0] - x[1], v = x[2] - x[1], n = cross(u, v);
  const double uu = dot(u, u), vv = dot(v, v), sine = std::sqrt(dot(n, n));
  const double bend = arc(dot(u, v), sine) - angle.angle, slope = -2 * angle.k * bend;
  const Triple first = (slope / (uu * sine)) * cross(u, n), last = (slope / (vv * sine)) * cross(n, v);
  return {{first, -(first + last), last}, angle.k * bend * bend, sine > 0};
}

// Blondel and Karplus, J. Comput. Chem. 17 (1996) 1132: no singularity but where there is no plane.
QUADRILLE_HOST_DEVICE TermForces<TorsionTerm> forces_of(const TorsionTerm& torsion, const Triple (&x)[4]) {
  const Triple f = x[0] - x[1], g = x[1] - x[2], h = x[3] - x[2], a = cross(f, g), b = cross(h, g);
  const double aa = dot(a, a), bb = dot(b, b), length = std::sqrt(dot(g, g));
  // Cosine and sine of n phi - phase: the n-th power of a number on the unit circle, turned back by the phase.
  const double along = dot(a, b), across = dot(cross(b, a), g) / length;
  const double size = std::sqrt(along * along + across * across);
  const double c = along / size, s = across / size;
  double cosine = torsion.cosine, sine = -torsion.sine;
  for (int n = 0; n < torsion.periodicity; ++n) {
    const double turned = cosine * c - sine * s;
    sine = cosine * s + sine * c;
    cosine = turned;
  }
  const double slope = torsion.k * torsion.periodicity * sine;  // -dU / dphi
  const Triple first = (-length / aa) * a, last = (length / bb) * b;
  const Triple shared = (dot(f, g) / (aa * length)) * a - (dot(h, g) / (bb * length)) * b;
  return {{slope * first, slope * (shared - first), -slope * (shared + last), slope * last},
          torsion.k * (1 + cosine),
          aa > 0 && bb > 0};
}

/// All terms of a system: bonds, angles and torsions, numbered one after the other. Pointers are the host's or the
/// device's.
struct BondedProblem {
  std::int64_t bond_count, angle_count, torsion_count;
  const BondTerm* bonds;
  const AngleTerm* angles;
  const TorsionTerm* torsions;
  /// The forces on a particle are on_particles[begin[particle] ... begin[particle + 1]), of its bonds, its angles, its
  /// torsions, each in their order.
  const std::int32_t* begin;
  Triple* on_particles;
  double* energies;  ///< [term]

  QUADRILLE_HOST_DEVICE std::int64_t terms() const { return bond_count + angle_count + torsion_count; }
};

template <class Term, class At>
QUADRILLE_HOST_DEVICE bool find_term(const Term& term, const At& at, Triple* on_particles, double& energy) {
  Triple x[Term::size];
  QUADRILLE_UNROLL
  for (int m = 0; m < Term::size; ++m) x[m] = at(term.particle[m]);
  const TermForces<Term> found = forces_of(term, x);
  QUADRILLE_UNROLL
  for (int m = 0; m < Term::size; ++m) on_particles[term.place[m]] = found.on[m];
  energy = found.energy;
  return found.defined;
}

/// Writes forces and energy of a term, for particles `at(particle)`. Whether it is defined.
template <class At>
QUADRILLE_HOST_DEVICE bool find_term(const BondedProblem& all, std::int64_t term, const At& at) {
  double& energy = all.energies[term];
  if (term < all.bond_count) return find_term(all.bonds[term], at, all.on_particles, energy);
  term -= all.bond_count;
  if (term < all.angle_count) return find_term(all.angles[term], at, all.on_particles, energy);
  return find_term(all.torsions[term - all.angle_count], at, all.on_particles, energy);
}

QUADRILLE_HOST_DEVICE Triple bonded_force(const std::int32_t* begin, const Triple* on_particles,
                                          std::int64_t particle) {
  Triple sum{};
  for (std::int32_t n = begin[particle]; n < begin[particle + 1]; ++n) sum = sum + on_particles[n];
  return sum;
}

}  // namespace quadrille::md
