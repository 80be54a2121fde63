// What the headers of other programs' files say, for people (`quadrille info`), and what those that read such headers
// share.
#pragma once

#include "input/files/input_file.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace quadrille {

/// Lines of a name and a text, in the order in which they are shown; nothing in them is checked against the data, but
/// the size of the file is.
using HeaderLines = std::vector<std::pair<std::string, std::string>>;

// Errors of all: ErrorCode::file for a header that is damaged or cut short, and for a file of another size than it
// says.

/// ELSI CSC: a sparse matrix, real or complex.
HeaderLines elsi_header(const InputFile& file);

/// The bytes of such a file; 0 where the first words are not those of a header.
std::uint64_t elsi_size(const unsigned char* start);

// ---- for headers of gauge fields, here and in their folders ----

using HeaderExtents = std::array<std::uint64_t, 4>;
constexpr std::uint64_t largest_extent = 100000;

[[noreturn]] void fail_in_header(const InputFile& file, const std::string& message, std::int64_t byte = 0);
/// The first bytes of a file that has so many at least.
std::vector<unsigned char> start_of(const InputFile& file, std::size_t bytes);
/// "4 4 4 8 (x y z t)".
std::string extents_line(const HeaderExtents& dims);
/// Demands extents of 1 to largest_extent.
void check_header_extents(const InputFile& file, const HeaderExtents& dims);
/// The links of a lattice, in bytes of `reals` numbers for each of them. Extents are at most largest_extent.
unsigned __int128 links_bytes(const HeaderExtents& dims, int reals, int bits);
/// Demands that nothing but four links a site, of `reals` numbers each, follows `header` bytes. Extents are checked.
void check_links_size(const InputFile& file, std::uint64_t header, const HeaderExtents& dims, int reals, int bits);

/// A number of the machine's byte order, or of the other one.
template <class T>
T header_word(const unsigned char* bytes, bool swapped = false) {
  std::array<unsigned char, sizeof(T)> word;
  std::copy_n(bytes, sizeof(T), word.begin());
  if (swapped) std::reverse(word.begin(), word.end());
  T out;
  std::memcpy(&out, word.data(), sizeof out);
  return out;
}

}  // namespace quadrille
