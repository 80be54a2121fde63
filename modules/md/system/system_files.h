// Systems in files of other programs. Every error is an Error with the file, the line and what would be right; what the
// file asks for and is not supported is refused by its name (ErrorCode::unsupported).
#pragma once

#include "modules/md/system/system.h"

#include <string>

namespace quadrille::md {

/// AMBER's charges are in units in which the Coulomb constant is 1: those of the file over 18.2223 are elementary
/// charges, and this, in kcal Angstrom / mol, is the constant that makes the same energies of them.
constexpr double amber_charge = 18.2223, amber_coulomb_constant = amber_charge * amber_charge;

/// Topology (prmtop) and coordinates (inpcrd, or restrt with velocities) of AMBER: Angstrom, kcal/mol, elementary
/// charges; velocities in Angstrom sqrt(kcal/mol / u), which is Angstrom per 1/20.455 ps. 1-4 pairs come from the
/// torsions, scaled by SCEE and SCNB, 1.2 and 2.0 where the file has none. Refused: CHAMBER, 10-12 and 12-6-4 terms,
/// virtual sites (extra points), boxes that are not orthorhombic (IFBOX 2, angles other than 90 degrees).
QUADRILLE_API System read_amber(const std::string& topology, const std::string& coordinates);

/// A data file of LAMMPS with the sections Atoms (style atomic or charge, as its comment says), Masses and Pair Coeffs
/// or PairIJ Coeffs of lj/cut (epsilon, sigma), and Velocities; other sections are refused, as are triclinic boxes.
/// Types without PairIJ Coeffs mix geometrically, as LAMMPS does unless told otherwise.
QUADRILLE_API System read_lammps(const std::string& data, Mixing mixing = Mixing::geometric);

}  // namespace quadrille::md
