// What the headers of other programs' files say, for people: `quadrille info`.
#pragma once

#include "input/files/input_file.h"

#include <string>
#include <utility>
#include <vector>

namespace quadrille {

/// Lines of a name and a text, in the order in which they are shown; nothing in them is checked against the data, but
/// the size of the file is.
using HeaderLines = std::vector<std::pair<std::string, std::string>>;

// Errors of all: ErrorCode::file for a header that is damaged or cut short, and for a file of another size than it
// says.

/// NERSC archive: BEGIN_HEADER, lines KEY = VALUE, END_HEADER.
HeaderLines nersc_header(const InputFile& file);
/// MILC version 5, binary: magic number, four extents, time stamp, order of sites, two checksums.
HeaderLines milc_header(const InputFile& file);
/// openQCD: extents t x y z and the plaquette.
HeaderLines openqcd_header(const InputFile& file);
/// ELSI CSC: a sparse matrix, real or complex.
HeaderLines elsi_header(const InputFile& file);

/// The bytes of such a file; 0 where the first words are not those of a header.
std::uint64_t openqcd_size(const unsigned char* start);
std::uint64_t elsi_size(const unsigned char* start);

}  // namespace quadrille
