// Particles and what acts between them, in the units of their source (AMBER: Angstrom, kcal/mol, elementary charges;
// generated systems: reduced Lennard-Jones units).
#pragma once

#include "core/api.h"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace quadrille::md {

/// u(r) = C12 / r^12 - C6 / r^6 for each pair of types.
struct LennardJonesTable {
  int types = 0;
  std::vector<double> c12, c6;  ///< [type][type], symmetric
};

enum class Mixing {
  lorentz_berthelot,  ///< sigma = (sigma_a + sigma_b) / 2, epsilon = sqrt(epsilon_a epsilon_b)
  geometric           ///< both geometric means
};

/// u = 4 epsilon [(sigma / r)^12 - (sigma / r)^6]; sigma and epsilon of each type, not negative.
QUADRILLE_API LennardJonesTable mixed_table(std::span<const double> sigma, std::span<const double> epsilon,
                                            Mixing mixing);

/// A pair of which the regular interaction is left out.
using Exclusion = std::pair<std::int32_t, std::int32_t>;

/// Parameters of its own for a pair that is excluded: scaled 1-4 interactions. Coulomb is plain, without a reaction
/// field and a cutoff.
struct ScaledPair {
  std::int32_t first, second;
  double c12, c6, charge_product;
};

// Bonded terms: k (r - r0)^2, k (theta - theta0)^2, k (1 + cos(n phi - phase)); angles in radians, n a whole number.
struct Bond {
  std::int32_t a, b;
  double k, length;
};
struct Angle {
  std::int32_t a, b, c;
  double k, angle;
};
struct Torsion {
  std::int32_t a, b, c, d;
  double k, periodicity, phase;
};

struct System {
  std::string name;
  std::vector<double> positions;    ///< [particle][x, y, z]
  std::vector<std::int32_t> types;  ///< from 0, below table.types
  std::vector<double> charges;      ///< [particle], or empty: none
  std::vector<double> masses;       ///< [particle], or empty
  std::vector<double> velocities;   ///< [particle][x, y, z], or empty: the source has none
  LennardJonesTable table;
  std::array<double, 3> box{};        ///< edges of an orthorhombic box; zeros: open space
  std::vector<Exclusion> exclusions;  ///< each pair once
  std::vector<ScaledPair> scaled_pairs;
  std::vector<Bond> bonds;
  std::vector<Angle> angles;
  std::vector<Torsion> torsions;
  std::int64_t solute = 0;  ///< the first particles, 0 where the source does not tell them from a solvent
  double coulomb_constant = 1;

  std::int64_t size() const { return std::int64_t(types.size()); }
};

/// Forces [particle][x, y, z] of bonds, angles and torsions, in double; energies by kind. Errors: a bond of length 0,
/// an angle or a torsion without a plane (ErrorCode::numerical, naming the particles); terms of particles that there
/// are not, a periodicity that is not a whole number (invalid_input).
struct BondedForces {
  std::vector<double> forces;
  double bonds = 0, angles = 0, torsions = 0;
};
QUADRILLE_API BondedForces bonded_forces(const System& system);

/// `count` particles of one type on a face-centred cubic lattice of this density in a periodic cube; sigma = epsilon =
/// 1. `count` must be 4 n^3 (ErrorCode::invalid_input, with the numbers nearby).
QUADRILLE_API System fcc_system(std::int64_t count, double density);
/// The edge of its box; the same errors.
QUADRILLE_API double fcc_edge(std::int64_t count, double density);

/// `count` particles of random types in a periodic cube: on a cubic lattice of the density, each moved at random by up
/// to `disorder` of the spacing along each axis; sigma in [0.8, 1.2], epsilon in [0.5, 1.5], mixed by
/// Lorentz-Berthelot. The same seed gives the same system on every machine.
QUADRILLE_API System random_system(std::int64_t count, int types, double density, double disorder, std::uint64_t seed);
/// The edge of its box.
QUADRILLE_API double random_edge(std::int64_t count, double density);

/// `count` particles in chains of `length`, which divides it, at this number of particles a volume.
struct Chains {
  std::int64_t count = 0, length = 0;
  double density = 0;
};
/// Zigzags like an alkane's carbon atoms, with bonds of 0.5 and angles of 112 degrees, along x and side by side in a
/// periodic box; each particle is moved at random by up to `disorder` of a bond along each axis. Types as of
/// random_system. Bonds and angles are harmonic, and their pairs, which are so near to each other that their
/// Lennard-Jones forces would be far above all others, are excluded. ErrorCode::invalid_input unless the chains are
/// whole.
QUADRILLE_API System chain_system(const Chains& chains, int types, double disorder, std::uint64_t seed);
/// The edges of its box; the same errors.
QUADRILLE_API std::array<double, 3> chain_box(const Chains& chains);

}  // namespace quadrille::md
