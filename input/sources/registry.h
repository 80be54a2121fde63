// Sources: what stands on the right-hand side of M S = source. One entry each in an explicit table.
#pragma once

#include "core/field/field.h"
#include "core/parameters/parameters.h"

#include <string>
#include <vector>

namespace quadrille {

/// One kind of source. `source: {type: NAME, ...}` in a task; the other keys are `table`.
struct SourceEntry {
  std::string name;
  ParameterTable table;
  /// Throws (invalid_input, with the place in the job) when the source does not fit a lattice of `dims`.
  void (*check)(const Parameters& source, const Dims& dims);
  /// Makes b, a spinor field on the full lattice, the source of one spin (0..3, DeGrand-Rossi) and color (0..2).
  void (*make)(const Parameters& source, Field& b, int spin, int color);
  /// The site from which correlators of this source are counted: all of it is on the time slice of this site, which is
  /// 0 in the directions in which the source has no place.
  Dims (*position)(const Parameters& source);
};

const std::vector<SourceEntry>& source_registry();

/// The entry that a resolved `source` block names.
const SourceEntry& source_entry(const Parameters& source);

}  // namespace quadrille
