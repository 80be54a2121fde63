// Low modes of an operator, as deflation keeps them, in LIME files of our own.
//
// A record `quadrille-low-modes` says in JSON what they are; then come messages of a record `quadrille-low-modes-data`
// and its scidac-checksum. Each holds twelve modes in the order of a propagator's record, the number of the mode in
// place of source spin and color (propagator_file.h), but sink spins in the UKQCD basis, the bits of the fields. Modes
// live on one parity: the other sites, and those of a last message that are too many, are zeros.
#pragma once

#include "core/field/field.h"
#include "input/files/lime/lime.h"

#include <nlohmann/json.hpp>

#include <functional>
#include <span>
#include <string>

namespace quadrille {

/// What a file says of its modes.
struct LowModesHeader {
  int count = 0;
  int precision = 0;  ///< bits of a number: 32 or 64
  Dims dims{};
  Subset subset = Subset::Even;   ///< on which they live
  nlohmann::ordered_json origin;  ///< what they are the low modes of
};

/// Modes are fields of one parity, of one description, in single or double precision. A failed write leaves no file
/// (and an older one as it was). Collective on ranks. Errors: those of AtomicFile; ErrorCode::numerical naming site and
/// mode of a number that is not finite.
void write_low_modes_file(const std::string& path, std::span<const Field* const> modes,
                          const nlohmann::ordered_json& origin);

/// Whether the file has a record that says what its modes are.
bool has_low_modes(const LimeInput& file);
/// Errors: ErrorCode::file where that record is not what it should be, or the records of data are not those of `count`
/// modes.
LowModesHeader locate_low_modes(const LimeInput& file);

/// Calls use() with the first `most` modes of the file, one after the other, as fields like `desc`. Collective on
/// ranks. Errors: those of locate_low_modes(); ErrorCode::file for other extents or another parity, or where a checksum
/// is wrong; ErrorCode::numerical for a number that is not finite.
void read_low_modes(const LimeInput& file, const FieldDesc& desc, int most,
                    const std::function<void(const Field&)>& use);

}  // namespace quadrille
