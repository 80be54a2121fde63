// What a CUDA hopping kernel is given. Plain data.
#pragma once

#include "core/layout/grouped_layout.h"

#include <cstdint>

namespace quadrille {
struct HopSetup;
struct HopCall;
}  // namespace quadrille

namespace quadrille::dirac {

/// The scalars of a call in the arithmetic of the kernel: converting them there would cost more than the rest of them.
template <class T>
struct CudaHopScalars {
  T a, b;
  T spatial;       ///< factor of the spatial hops: nu / xi0
  T phases[8][2];  ///< boundary factor of each direction: real and imaginary part
};

/// out = b D in (+ a z) on one parity of fields in the grouped layout; `in` lies on the other parity. out must not
/// overlap in, and may be z. The links are those of the output's sites.
struct CudaHopArgs {
  void* out;
  float* out_norms;  ///< half precision only, as the other norms
  const void* in;
  const float* in_norms;
  const void* z;  ///< null: no xpay term
  const float* z_norms;
  const void* spatial_links;  ///< directions hops::spatial
  const void* time_links;     ///< directions hops::time
  std::int64_t stride;        ///< of every field
  GroupedGeometry geometry;
  int upper, lower;  ///< first group of spins 0, 1 and of 2, 3; exchanged for the dagger
  bool twisted[8];   ///< the boundary factor of a direction is not 1
  CudaHopScalars<double> in_double;
  CudaHopScalars<float> in_float;

  template <class T>
  QUADRILLE_HOST_DEVICE const CudaHopScalars<T>& scalars() const {
    if constexpr (sizeof(T) == 8) {
      return in_double;
    } else {
      return in_float;
    }
  }
};

/// What does not change from call to call, and the rest of one call; the geometry is the launch's.
CudaHopArgs unbound_args(const HopSetup& setup);
CudaHopArgs bound(CudaHopArgs args, const HopSetup& setup, const HopCall& call);

}  // namespace quadrille::dirac
