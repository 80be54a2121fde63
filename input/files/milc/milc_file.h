// Gauge fields in MILC's binary format, version 5: a header of 96 bytes, then the links (plain_links.h) in 32 bits.
//
// The header, in either byte order, which is that of the links: magic number 20103, extents x y z t, 64 characters of
// time stamp, order of sites (0: natural), sum29 and sum31: of the words k, from 0, rotl32(word, k mod 29) and
// rotl32(word, k mod 31), XORed.
#pragma once

#include "input/files/file_headers.h"
#include "input/files/gauge_file.h"
#include "input/files/plain/link_slices.h"

namespace quadrille {

// Errors of both: ErrorCode::file for a header that is damaged or cut short, and for a file of another size than it
// says.

/// For `info`.
HeaderLines milc_header(const InputFile& file);

/// For read_plain_links(). Errors besides: ErrorCode::unsupported for sites in the order of a list; odd extents.
GaugeFileInfo milc_gauge(const InputFile& file);

/// In 32 bits with three rows, in the byte order of this machine.
void write_milc_gauge(const std::string& path, const GaugeStore& links, const GaugeExport& options);

}  // namespace quadrille
