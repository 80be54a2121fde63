// The command `quadrille info FILE`.
#pragma once

#include <iosfwd>
#include <string>

namespace quadrille {

/// Prints what a file is: format, every LIME record, extents, precision, checksum verdict, plaquettes, link trace and
/// distance from SU(3) of a gauge field, or the header facts of a propagator. Gives false when
/// the checksum does not match or links are not in SU(3), which is reported, not thrown. A recognized format that is
/// not shown (NERSC, MILC, openQCD, HDF5) is named and is no error.
/// Errors: a file that is missing, damaged or none of these; what was found before the damage is printed first.
bool info(const std::string& path, std::ostream& out);

}  // namespace quadrille
