// What a file is by its first bytes.
#pragma once

#include "core/error.h"

#include <string>

namespace quadrille {

enum class FileKind { lime, nersc, milc, openqcd, hdf5, other };

/// Looks at the first bytes only. Errors: those of InputFile.
FileKind file_kind(const std::string& path);
/// "NERSC archive", "MILC v5", ... for messages.
std::string to_string(FileKind kind);

/// The error for a file that should be LIME and is not: says what it is where that is known.
Error not_lime_error(const std::string& path);

}  // namespace quadrille
