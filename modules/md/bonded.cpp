#include "core/error.h"
#include "modules/md/system.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace quadrille::md {
namespace {

using Vector = std::array<double, 3>;

Vector operator+(const Vector& a, const Vector& b) { return {a[0] + b[0], a[1] + b[1], a[2] + b[2]}; }
Vector operator-(const Vector& a, const Vector& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2]}; }
Vector operator*(double s, const Vector& a) { return {s * a[0], s * a[1], s * a[2]}; }
double dot(const Vector& a, const Vector& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
Vector cross(const Vector& a, const Vector& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

class Forces {
 public:
  Forces(const System& system, std::vector<double>& forces) : system_(system), forces_(forces) {}

  Vector at(std::int32_t i) const {
    const double* x = system_.positions.data() + 3 * std::size_t(i);
    return {x[0], x[1], x[2]};
  }
  void add(std::int32_t i, const Vector& force) {
    for (std::size_t k = 0; k < 3; ++k) forces_[3 * std::size_t(i) + k] += force[k];
  }

  double bond(const Bond& bond) {
    const Vector d = at(bond.a) - at(bond.b);
    const double r = std::sqrt(dot(d, d)), stretch = r - bond.length;
    if (!(r > 0))
      fail(fmt::format("the bond of particles {} and {} has length {}: it must be above 0", bond.a + 1, bond.b + 1, r));
    const Vector force = (-2 * bond.k * stretch / r) * d;
    add(bond.a, force);
    add(bond.b, -1.0 * force);
    return bond.k * stretch * stretch;
  }

  // The gradient of the angle: perpendicular to each arm, 1 / its length.
  double angle(const Angle& angle) {
    const Vector u = at(angle.a) - at(angle.b), v = at(angle.c) - at(angle.b), n = cross(u, v);
    const double uu = dot(u, u), vv = dot(v, v), sine = std::sqrt(dot(n, n));
    if (!(sine > 0)) {
      fail(fmt::format("the angle of particles {}, {} and {} has no plane: they must not lie on a line", angle.a + 1,
                       angle.b + 1, angle.c + 1));
    }
    const double bend = std::atan2(sine, dot(u, v)) - angle.angle, slope = -2 * angle.k * bend;
    const Vector of_a = (slope / (uu * sine)) * cross(u, n), of_c = (slope / (vv * sine)) * cross(n, v);
    add(angle.a, of_a);
    add(angle.c, of_c);
    add(angle.b, -1.0 * (of_a + of_c));
    return angle.k * bend * bend;
  }

  // Blondel and Karplus, J. Comput. Chem. 17 (1996) 1132: no singularity but where there is no plane.
  double torsion(const Torsion& torsion) {
    const Vector f = at(torsion.a) - at(torsion.b), g = at(torsion.b) - at(torsion.c),
                 h = at(torsion.d) - at(torsion.c);
    const Vector a = cross(f, g), b = cross(h, g);
    const double aa = dot(a, a), bb = dot(b, b), length = std::sqrt(dot(g, g));
    if (!(aa > 0 && bb > 0)) {
      fail(fmt::format("the torsion of particles {}, {}, {} and {} has no plane: no three in a row may lie on a line",
                       torsion.a + 1, torsion.b + 1, torsion.c + 1, torsion.d + 1));
    }
    const double phi = std::atan2(dot(cross(b, a), g) / length, dot(a, b));
    const double argument = torsion.periodicity * phi - torsion.phase;
    const double slope = -torsion.k * torsion.periodicity * std::sin(argument);  // dU / dphi
    const Vector of_a = (-length / aa) * a, of_d = (length / bb) * b;
    const Vector shared = (dot(f, g) / (aa * length)) * a - (dot(h, g) / (bb * length)) * b;
    add(torsion.a, -slope * of_a);
    add(torsion.b, -slope * (shared - of_a));
    add(torsion.c, slope * (shared + of_d));
    add(torsion.d, -slope * of_d);
    return torsion.k * (1 + std::cos(argument));
  }

 private:
  [[noreturn]] static void fail(const std::string& what) { throw Error(ErrorCode::numerical, what); }

  const System& system_;
  std::vector<double>& forces_;
};

}  // namespace

BondedForces bonded_forces(const System& system) {
  BondedForces out;
  out.forces.assign(system.positions.size(), 0);
  Forces forces(system, out.forces);
  for (const Bond& bond : system.bonds) out.bonds += forces.bond(bond);
  for (const Angle& angle : system.angles) out.angles += forces.angle(angle);
  for (const Torsion& torsion : system.torsions) out.torsions += forces.torsion(torsion);
  return out;
}

}  // namespace quadrille::md
