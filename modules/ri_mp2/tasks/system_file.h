// Systems in HDF5 files: ia_P [occupied, virtual, auxiliary] = (ia|P), P_Q = (P|Q), eps_occ and eps_vir.
#pragma once

#include "modules/ri_mp2/ri_mp2.h"
#include "modules/shared/hdf5/hdf5_file.h"

namespace quadrille::ri_mp2 {

/// Errors, naming file and dataset: those of Hdf5Reader; ErrorCode::file for extents that do not fit together; those of
/// check_orbital_energies.
System read_system(const Hdf5Reader& file);

/// The same without (ia|P), which System::read_ia_p reads when it is asked for: the file must stay open until then.
System open_system(const Hdf5Reader& file);

/// The same without reading the integrals.
void check_system(const Hdf5Reader& file);

}  // namespace quadrille::ri_mp2
