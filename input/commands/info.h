// The command `quadrille info FILE`.
#pragma once

#include <iosfwd>
#include <string>

namespace quadrille {

/// Prints what a file is: format, every LIME record, extents, precision, checksum verdict, plaquettes, link trace and
/// distance from SU(3) of a gauge field, or the header facts of a propagator; of gauge fields in other formats also
/// what the header says; of matrices (HDF5, ELSI CSC) the tasks
/// that read them. Errors, after all that was found has been printed: a file that is missing, damaged or none of these;
/// a checksum that does not match; a plaquette or link trace that is not the header's; links that are not in SU(3).
void info(const std::string& path, std::ostream& out);

}  // namespace quadrille
