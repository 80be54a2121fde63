// Gauge fields of openQCD (export_cnfg): little-endian, without a magic number.
//
// Extents t, x, y, z in 32 bits, the average of Re tr of the plaquettes in 64; then, for the odd points in the order t,
// x, y, z with z fastest, the eight links U(p, mu) and U(p - mu, mu) for mu = t, x, y, z, by rows, in 64 bits.
#pragma once

#include "input/files/file_headers.h"
#include "input/files/gauge_file.h"
#include "input/files/plain/link_slices.h"

namespace quadrille {

/// The bytes of such a file; 0 where the first words are not those of a header.
std::uint64_t openqcd_size(const unsigned char* start);

/// For `info`. Errors: ErrorCode::file for a file of another size than its header says.
HeaderLines openqcd_header(const InputFile& file);

/// Errors: those of openqcd_header(), odd extents; where links are read also a plaquette that is not the header's.
GaugeFileInfo locate_openqcd_gauge(const std::string& path);
GaugeFile read_openqcd_gauge(const std::string& path, const GaugeReadOptions& options);

/// In 64 bits with three rows.
void write_openqcd_gauge(const std::string& path, const GaugeStore& links, const GaugeExport& options);

}  // namespace quadrille
