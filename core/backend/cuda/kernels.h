// The entry points of the device code of this backend (*.cu), as the host's code calls them.
#pragma once

#include "core/backend/cuda/channels/rank_boxes.h"
#include "core/blas/op_table.h"
#include "core/field/foreign_spinors.h"
#include "core/field/site_format.h"
#include "core/numbers/precision.h"

#include <cstdint>
#include <vector>

namespace quadrille::cuda {

/// One parity of a spinor field in the grouped layout.
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

/// One operation of field algebra on the parities of its fields. ErrorCode::unsupported for a site that the kernels are
/// not compiled for.
struct AlgebraCall {
  blas::OpId id;
  const void* op;
  SiteFormat site;
  Precision precision;
  int parities;
  blas::Span spans[2][blas::max_fields];
  std::int64_t sites;        ///< of a parity
  void *scalars, *snapshot;  ///< of an operation whose sums stay on the device, which gives none: core/blas/call.h
  RankBoxes boxes;           ///< of all ranks, for those sums
};
blas::Sums run(const AlgebraCall& call);

}  // namespace quadrille::cuda
