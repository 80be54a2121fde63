// What a site of a field holds, as data: layouts, conversions and algebra take their counts from here.
#pragma once

#include "core/api.h"
#include "core/numbers/precision.h"

namespace quadrille {

/// `sections` times `section` real numbers a site. A section lies together in the grouped layout
/// (core/layout/grouped_layout.h), from a place that does not depend on the others.
struct SiteFormat {
  const char* name;  ///< in messages: "spinors"
  int sections, section;
  bool norms;  ///< in half precision numbers are relative to one float norm a site, and otherwise to 1

  constexpr int numbers() const { return sections * section; }
};
/// The same in everything, the name included.
QUADRILLE_API bool operator==(const SiteFormat& a, const SiteFormat& b);

/// No site holds more: as many as two chiralities of 64 complex numbers, and more than the links of all eight hops.
constexpr int most_site_numbers = 2 * 64 * 2;

namespace site_formats {

/// [spin 4][color 3][re, im]; a section is two spins.
constexpr SiteFormat spinor{"spinors", 2, 12, true};
/// [spin 2][color 3][re, im]: what a projector leaves of a spinor.
constexpr SiteFormat half_spinor{"half spinors", 1, 12, true};
/// A Hermitian 6 x 6 matrix for each chirality, + first: the diagonal, and then [re, im] of the rows below it.
constexpr SiteFormat chiral_blocks{"chiral blocks", 2, 36, true};
/// A 3 x 3 matrix, [row][column][re, im].
constexpr SiteFormat matrix{"matrices", 1, 18, false};
/// `count` links of a site.
constexpr SiteFormat links(int count, Reconstruct reconstruct) { return {"links", count, int(reconstruct), false}; }

}  // namespace site_formats

/// Real numbers of a spinor, and its spins and colors.
constexpr int spinor_numbers = site_formats::spinor.numbers(), spinor_components = spinor_numbers / 2;

}  // namespace quadrille
