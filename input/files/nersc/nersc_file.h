// NERSC archives of gauge fields: BEGIN_HEADER, lines KEY = VALUE, END_HEADER, then the links (plain_links.h).
//
// DATATYPE 4D_SU3_GAUGE stores the first two rows of each link, 4D_SU3_GAUGE_3x3 all three. FLOATING_POINT IEEE32 or
// IEEE64, with BIG or LITTLE; without, in the order in which the first row of links has the norm 1. CHECKSUM: the sum
// of the 32-bit words modulo 2^32. PLAQUETTE and LINK_TRACE: averages of Re tr / 3.
#pragma once

#include "input/files/file_headers.h"
#include "input/files/gauge_file.h"
#include "input/files/plain/link_slices.h"

namespace quadrille {

// Errors of both: ErrorCode::file for a header that has no end, lacks a key or has a value that is none of these, and
// for a file of another size than it says.

/// For `info`.
HeaderLines nersc_header(const InputFile& file);

/// For read_plain_links(). The plaquette and the link trace may differ from those of the header by link_tolerance()
/// and half a unit of the last digit there: programs compute them before links are rounded. Odd extents are errors.
GaugeFileInfo nersc_gauge(const InputFile& file);

/// Big-endian; of 64 bits and two rows where nothing else is said. The third row of two is lost: ErrorCode::numerical
/// for links that it would change by more than link_tolerance().
void write_nersc_gauge(const std::string& path, const GaugeStore& links, const GaugeExport& options);

}  // namespace quadrille
