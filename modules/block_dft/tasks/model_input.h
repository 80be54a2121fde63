// What tasks with generated matrices have in common: the parameters of a model insulator (scf/model_system.h).
#pragma once

#include "modules/block_dft/scf/model_system.h"
#include "modules/shared/plugin/parameters.h"
#include "modules/shared/plugin/task.h"

namespace quadrille::block_dft {

/// Members of a group `model`.
namespace model_input {
inline constexpr quadrille_parameter kind = parameter::integer("size", nullptr, nullptr, parameter::within(1, 4096));
constexpr quadrille_parameter atoms = parameter::required(parameter::integer(
    "atoms", "number of atoms, on a periodic cubic lattice of spacing 1", nullptr, parameter::within(2, 1e6)));
constexpr quadrille_parameter block_sizes =
    parameter::list("block_sizes", "numbers of orbitals of the atoms, each drawn at random from these", "[4]", kind);
constexpr quadrille_parameter decay =
    parameter::real("decay", "elements between atoms at a distance d are random numbers times exp(-decay d)", "1.5",
                    parameter::at_least(0));
constexpr quadrille_parameter cutoff =
    parameter::real("cutoff", "no elements beyond this distance", "4", parameter::above(0));
constexpr quadrille_parameter coupling = parameter::real(
    "coupling", "largest sum, over a row of H, of the magnitudes of elements between atoms; up to 0.9 a gap is certain",
    "0.5", parameter::at_least(0));
constexpr quadrille_parameter seed =
    parameter::integer("seed", "of block sizes, levels and elements", "1", parameter::within(0, 9e15));
}  // namespace model_input

BlockSizes model_sizes(const TaskContext& context);

/// The members above, the sizes on grid_of(). Not while the task is checked.
ModelOptions model_options(const TaskContext& context);

}  // namespace quadrille::block_dft
