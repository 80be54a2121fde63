// Gauge fields that stand in a file as plain numbers after a header (NERSC, MILC): all of them but the header's words.
//
// Sites run x fastest, then y, z, t; at each the links of x, y, z, t, matrices by rows, as in ILDG. Numbers are IEEE of
// 32 or 64 bits in either byte order. Links go to the backend in 64 bits, so that a third row that is missing is made,
// and stays, in double.
#pragma once

#include "input/files/file_headers.h"
#include "input/files/gauge_file.h"
#include "input/files/input_file.h"
#include "input/files/lattice_data.h"

namespace quadrille {

/// `info`: what the header says, its numbers and sums as stated. All in read_gauge_file for a file of the right size.
/// Errors: ErrorCode::file for contradiction(); ErrorCode::numerical naming site and direction for a number that is not
/// finite. Collective.
GaugeFile read_plain_links(const InputFile& file, GaugeFileInfo info, const GaugeReadOptions& options);

/// The same from whoever puts sites into ILDG's form in 64 bits, for a format whose links stand in another order.
/// Errors: also those of the reader.
GaugeFile read_links(const SiteReader& reader, GaugeFileInfo info, const GaugeReadOptions& options);

/// The reader of a format, by what understands its header.
template <GaugeFileInfo (*header)(const InputFile& file)>
constexpr GaugeReader after_header = {[](const std::string& path) { return header(InputFile(path)); },
                                      [](const std::string& path, const GaugeReadOptions& options) {
                                        const InputFile file(path);
                                        return read_plain_links(file, header(file), options);
                                      }};

/// The extents of a header, checked to be even, besides.
Dims even_dims(const InputFile& file, const HeaderExtents& extents);

}  // namespace quadrille
