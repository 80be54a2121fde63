// Quark propagators as they come from solves: twelve spinor fields in the memory of a backend.
#pragma once

#include "core/api.h"
#include "core/field/field.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace quadrille {

/// S(x)_{sink spin, source spin; sink color, source color}: column 3 * source_spin + source_color is a spinor field
/// on the full lattice in double over sink spin and color. Source spins are in the DeGrand-Rossi basis, sink spins in
/// the basis that is said. All columns have one description.
struct Propagator {
  static constexpr int size = spinor_components;

  /// UKQCD's, as all spinor fields: what was solved for. DeGrand-Rossi: what was read from a file, bit for bit.
  enum class Sink { ukqcd, degrand_rossi };

  std::vector<Field> columns;
  Sink sink = Sink::ukqcd;

  const FieldDesc& desc() const { return columns.front().desc(); }
  Backend& backend() const { return *desc().backend; }
  std::size_t bytes() const { return columns.size() * desc().bytes(); }
};

/// Sites [first, first + count) of a propagator, x fastest, and bits of a real number in the file (32 or 64).
struct PropagatorPiece {
  const Propagator* propagator;
  std::int64_t first, count;
  int precision;
};

/// Fresh columns of this description.
QUADRILLE_API Propagator make_propagator(const FieldDesc& desc, Propagator::Sink sink);

/// Fills `bytes`, memory of the propagator's backend, with sites in QIO's order, as they stand in files:
/// [site][sink spin][source spin][sink color][source color][re, im], big-endian, all spins DeGrand-Rossi.
QUADRILLE_API void pack_sites(void* bytes, const PropagatorPiece& piece);
/// The other way round; the sites of the columns are overwritten. `sink` must be degrand_rossi.
QUADRILLE_API void unpack_sites(const PropagatorPiece& piece, const void* bytes);

/// For each time slice of the whole lattice the sum over space, spins and colors of |S|^2. The same bits for any
/// number of threads and for either sink basis of one propagator.
QUADRILLE_API std::vector<double> slice_norms(const Propagator& propagator);

/// Moves the columns, one after the other, into this process' memory, in the layout that they have; nothing happens to
/// those that are there.
QUADRILLE_API void move_to_host(Propagator& propagator);

/// Turns the sink spins of a column from the UKQCD into the DeGrand-Rossi basis, with the bits that a file in double
/// would have; by way of the host.
QUADRILLE_API void to_degrand_rossi(Field& column);
/// The other way round.
QUADRILLE_API void from_degrand_rossi(Field& column);

/// What the CPU's backend does for these, for fields in this process' memory, in any layout: slice norms of this rank's
/// sites, by local time.
namespace host {
QUADRILLE_API void pack_sites(void* bytes, const PropagatorPiece& piece);
QUADRILLE_API void unpack_sites(const PropagatorPiece& piece, const void* bytes);
QUADRILLE_API std::vector<double> slice_norms(const Propagator& propagator);
}  // namespace host

}  // namespace quadrille
