// Conversions between every precision, reconstruction and layout, and to and from the host's arrays.
#pragma once

#include "core/api.h"
#include "core/field/field.h"
#include "core/field/foreign_spinors.h"
#include "core/field/host_field.h"

#include <array>
#include <cstdint>

namespace quadrille {

/// dst = src for fields of one format of sites, any but links, and of the same lattice and subset, in any two
/// precisions and layouts and on any two backends. dst is overwritten. Errors: ErrorCode::internal for other fields.
QUADRILLE_API void convert(Field& dst, const Field& src);

/// What the CPU's backend does for convert() (above) and for TemporalGauge::transform(): fields in this process'
/// memory, in any layout.
namespace host {
QUADRILLE_API void convert(Field& dst, const Field& src);
QUADRILLE_API void rotate(Field& dst, const Field& src, const Field& g, bool adjoint);
QUADRILLE_API void put_site(Field& dst, Parity p, std::int64_t site, const double* numbers);
QUADRILLE_API void read_spinors(Field& dst, const ForeignSpinors& src);
QUADRILLE_API void write_spinors(const ForeignSpinors& dst, const Field& src);
}  // namespace host

/// Between a spinor field (full or one parity) and a host array, which changes from and to the DeGrand-Rossi basis.
/// Sites of a parity that the field does not hold are ignored on import and left alone on export.
QUADRILLE_API void import_spinor(Field& dst, const HostSpinor& src);
QUADRILLE_API void export_spinor(HostSpinor& dst, const Field& src);

/// The 12 numbers (spin, color; DeGrand-Rossi) of the site at local coordinates x of a spinor field, on its backend;
/// the other sites stay as they are. ErrorCode::internal when the field does not hold the site's parity.
QUADRILLE_API void put_spinor(Field& dst, const Dims& x, const std::array<Complex, spinor_components>& numbers);

/// Between links and a host array. A link that belongs to two hops of the field's directions is stored for each of
/// them; export reads the forward ones, and leaves alone the links of directions that are not among them.
QUADRILLE_API void import_links(Field& dst, const HostLinks& src);
QUADRILLE_API void export_links(HostLinks& dst, const Field& src);

}  // namespace quadrille
