// What a file is by its first bytes.
#pragma once

#include "core/error.h"
#include "input/files/file_headers.h"
#include "input/files/gauge_file.h"
#include "input/files/plain/link_slices.h"

#include <string>
#include <vector>

namespace quadrille {

enum class FileKind { lime, nersc, milc, openqcd, hdf5, elsi_csc, other };

/// Looks at the first bytes and the size only. Errors: those of InputFile.
FileKind file_kind(const std::string& path);
/// "NERSC archive", "MILC v5", ... for messages; of data of modules the name that the help of their parameters has:
/// "HDF5", "ELSI CSC".
std::string to_string(FileKind kind);
/// Whether it is the format of a gauge field.
bool is_gauge_format(FileKind kind);
/// Who reads the gauge fields of a format; null where there is nobody here.
const GaugeReader* gauge_reader(FileKind kind);
/// The formats that gauge fields can be written in, by the names of `quadrille convert --format`.
std::vector<std::string> written_formats();
/// What one of them holds, in a line; ErrorCode::internal for another name.
std::string format_help(const std::string& format);
/// Who writes one; ErrorCode::internal for another name.
GaugeWriter gauge_writer(const std::string& format);
/// What the header of a file says; nothing for LIME and HDF5. Errors: those of file_headers.h.
HeaderLines header_of(const std::string& path, FileKind kind);

/// The error for a file that should be LIME and is not: says what it is where that is known.
Error not_lime_error(const std::string& path);

}  // namespace quadrille
