// How a lattice is divided over ranks: Cartesian grids of them, and the one with the least to exchange.
#pragma once

#include "core/api.h"
#include "core/dims.h"

#include <optional>
#include <string>
#include <vector>

namespace quadrille {

/// Every grid of `ranks` ranks that divides the lattice into equal parts of even extents, those with the fewest sites
/// on faces that are exchanged first; of equals the one that splits t, then z, y, x.
QUADRILLE_API std::vector<Dims> possible_grids(const Dims& global, int ranks);

/// Whether the lattice can be divided so.
QUADRILLE_API bool divides(const Dims& global, const Dims& grid);

/// The grid for `ranks` ranks: `wanted` when there is one, else the first of possible_grids(). Errors:
/// ErrorCode::invalid_input when the grid has another number of ranks or does not divide the lattice, with grids or
/// numbers of ranks that do.
QUADRILLE_API Dims choose_grid(const Dims& global, int ranks, const std::optional<Dims>& wanted);

/// "1 1 2 4".
QUADRILLE_API std::string grid_text(const Dims& grid);

}  // namespace quadrille
