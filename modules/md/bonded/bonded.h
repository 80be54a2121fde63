// The bonded terms of a system: prepared once, forces found for many positions; on the CPU, and for a device.
#pragma once

#include "modules/md/bonded/bonded_terms.h"
#include "modules/md/system/system.h"

namespace quadrille::md {

struct BondedTables {
  /// Errors (ErrorCode::invalid_input): particles that there are not, a periodicity that is not a whole number of
  /// [0, 100].
  explicit BondedTables(const System& system);

  std::vector<BondTerm> bonds;
  std::vector<AngleTerm> angles;
  std::vector<TorsionTerm> torsions;
  std::vector<std::int32_t> begin;  ///< [particle + 1]

  std::int64_t terms() const { return std::int64_t(bonds.size() + angles.size() + torsions.size()); }
};

class BondedSums {
 public:
  explicit BondedSums(const System& system);

  bool empty() const { return tables_.terms() == 0; }
  /// For positions [particle][x, y, z]. Errors as those of bonded_forces().
  void find(std::span<const double> positions);

  // Of what was found last; on any number of threads with the same bits.
  /// forces[3 particle + k] += that on the particle.
  void add_to(std::span<double> forces) const;
  /// Of bonds, angles and torsions.
  std::array<double, 3> energies() const;
  /// The sum of force times position, of the positions that were given.
  double virial(std::span<const double> positions) const;

 private:
  BondedProblem problem();
  Triple on(std::int64_t particle) const { return bonded_force(tables_.begin.data(), on_particles_.data(), particle); }

  BondedTables tables_;
  std::vector<Triple> on_particles_;
  std::vector<double> energies_;
};

/// Why a term is not defined where the particles are.
[[noreturn]] void explain_undefined(const BondedTables& tables, std::int64_t term, std::span<const double> positions);

}  // namespace quadrille::md
