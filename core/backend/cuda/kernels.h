// The entry points of the device code of this backend (*.cu), as the host's code calls them.
#pragma once

#include "core/backend/cuda/channels/rank_boxes.h"
#include "core/blas/op_list.h"
#include "core/field/foreign_spinors.h"
#include "core/field/site_format.h"
#include "core/numbers/precision.h"

#include <cstdint>
#include <vector>

namespace quadrille::cuda {

/// One parity of a field, of spinors where nothing else is said, in the grouped layout.
struct Spinor {
  void* numbers;
  float* norms;  ///< half precision only
  Precision precision;
};

/// dst = src over `sites` sites. dst may be src.
void convert(const Spinor& dst, const Spinor& src, std::int64_t sites);
/// dst = g src or g^+ src; g: 18 numbers per site in double, in the grouped layout.
void rotate(const Spinor& dst, const Spinor& src, const double* g, bool adjoint, std::int64_t sites);

/// The 24 numbers of one site of a parity.
void put_site(const Spinor& dst, std::int64_t site, const double* numbers);

/// One parity in double from and to a spinor array on the device, over `sites` sites.
void read_spinors(const Spinor& dst, const ForeignSpinors& src, int parity, std::int64_t sites);
void write_spinors(const ForeignSpinors& dst, const Spinor& src, int parity, std::int64_t sites);

/// The columns of a propagator in double: [parity][column]; whether their sink spins are in the UKQCD basis.
struct PropagatorColumns {
  double* numbers[2][spinor_components];
  int extents[4];
  bool rotate;
};
/// What core/field/propagator.h says of these.
void pack_sites(void* bytes, const PropagatorColumns& columns, std::int64_t first, std::int64_t count, int precision);
void unpack_sites(const PropagatorColumns& columns, const void* bytes, std::int64_t first, std::int64_t count,
                  int precision);
std::vector<double> slice_norms(const PropagatorColumns& columns);

/// dst = src over `sites` sites of any format in the grouped layout, between two precisions; norms are null where the
/// format has none.
void convert_sites(const Spinor& dst, const Spinor& src, const SiteFormat& format, std::int64_t sites);

/// One operation of field algebra on the parities of its fields.
struct AlgebraCall {
  const void* functor;
  int number;  ///< of the operation in its set
  SiteFormat site;
  Precision precision;
  bool grouped;  ///< else the numbers of a site lie together, in one lane
  int parities;
  const blas::Span* spans[2];  ///< [parity][field]
  std::int64_t sites;          ///< of a parity
  void *scalars, *snapshot;    ///< of an operation whose sums stay on the device, which gives none: core/blas/call.h
  RankBoxes boxes;             ///< of all ranks, for those sums
};

}  // namespace quadrille::cuda
