// The command `quadrille info FILE`.
#pragma once

#include <iosfwd>
#include <string>

namespace quadrille {

/// Prints what a file is: format, every LIME record, extents, precision, checksum verdict, plaquettes, link trace and
/// distance from SU(3) of a gauge field, or the header facts of a propagator. A checksum that does not match is
/// reported, not thrown. A recognised format that cannot be read (NERSC, MILC, openQCD, HDF5) is named and is no error.
/// Errors: a file that is missing, damaged or none of these; what was found before the damage is printed first.
void info(const std::string& path, std::ostream& out);

}  // namespace quadrille
