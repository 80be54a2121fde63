// Which particles a task is about, and what acts between them: parameters that the tasks of this module share.
#pragma once

#include "modules/md/pairs/forces.h"
#include "modules/shared/plugin/parameters.h"
#include "modules/shared/plugin/task.h"

namespace quadrille::md {

namespace choices {
inline constexpr const char* sources[] = {"amber", "lammps", "random", "fcc", "chains", nullptr};
inline constexpr const char* mixings[] = {"lorentz_berthelot", "geometric", nullptr};
inline constexpr const char* coulombs[] = {"none", "plain", "reaction_field", nullptr};
}  // namespace choices

inline constexpr quadrille_parameter system_members[] = {
    parameter::choice(
        "source",
        "amber: files `topology` and `coordinates`; lammps: file `data`; random, fcc, chains: generated from the rest",
        "random", choices::sources),
    parameter::file_in("topology", "AMBER prmtop file"),
    parameter::file_in("coordinates", "AMBER inpcrd or restart file (text)"),
    parameter::file_in("data", "LAMMPS data file, atom style atomic or charge"),
    parameter::choice("mixing", "mixing rule for the Pair Coeffs of different types in a LAMMPS file", "geometric",
                      choices::mixings),
    parameter::integer("particles", "number of particles; for fcc 4 n^3, for chains a multiple of `length`", "65536",
                       parameter::within(1, 1 << 30)),
    parameter::integer("length", "for chains: particles of one, each bonded to the next", "20",
                       parameter::within(1, 1 << 30)),
    parameter::integer("types", "number of types, for random and chains", "16", parameter::within(1, 4096)),
    parameter::real("density", "in units of sigma^-3", "0.8442", parameter::above(0)),
    parameter::real("disorder",
                    "largest displacement along each axis; for random from a cubic lattice, in units of its spacing; "
                    "for chains from a zigzag, in units of a bond",
                    "0.08", parameter::within(0, 0.45)),
    parameter::integer("seed", "of the random numbers, for random and chains", "1", parameter::within(0, 9e15))};

inline constexpr quadrille_parameter coulomb_parameter =
    parameter::choice("coulomb", "Coulomb interaction, in addition to Lennard-Jones", "none", choices::coulombs);
inline constexpr quadrille_parameter coulomb_constant_parameter = parameter::real(
    "coulomb_constant", "K in K q q / r; default: 18.2223^2 kcal Angstrom / mol for AMBER files, otherwise 1", nullptr,
    parameter::above(0));
inline constexpr quadrille_parameter dielectric_parameter =
    parameter::real("dielectric", "dielectric constant of the reaction field", "78.3", parameter::at_least(1));

/// That the source has its files, a reaction field its cutoff, and generated particles what is asked of them: 4 n^3 of
/// them for fcc, whole chains, charges, a box of at least twice the cutoff.
void check_system_parameters(const TaskContext& context);
/// The particles of `system`, with `coulomb_constant`, and without scaled pairs unless `scaled_pairs`.
System system_of(const TaskContext& context);
/// Fails on all ranks unless all have the same particles at the same places with the same velocities: each has read its
/// own files. Collective.
void require_one_system(const Communicator& ranks, const System& system, std::span<const double> velocities);
/// `coulomb`, `cutoff` and `dielectric`.
ForceOptions force_options_of(const TaskContext& context);

}  // namespace quadrille::md
