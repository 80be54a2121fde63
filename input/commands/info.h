// The command `quadrille info FILE`.
#pragma once

#include <iosfwd>
#include <string>

namespace quadrille {

/// Prints what a file is: format, every LIME record, extents, precision, checksum verdict, plaquettes, link trace and
/// distance from SU(3) of a gauge field, or the header facts of a propagator; before those of NERSC and MILC files
/// what the header says, and of openQCD's, which are not read, that alone; of matrices (HDF5, ELSI CSC) the tasks that read them. Errors,
/// after all that was found has been printed: a file that is missing, damaged or none of these; a checksum that does
/// not match, a plaquette that is not the one that the header states; links that are not in SU(3); a gauge field whose links are not read.
void info(const std::string& path, std::ostream& out);

}  // namespace quadrille
