// What a CUDA hopping kernel is given. Plain data.
#pragma once

#include "core/layout/grouped_layout.h"

namespace quadrille {
struct HopSetup;
struct HopCall;
struct HopScalars;
}  // namespace quadrille

namespace quadrille::dirac {

/// The scalars of a call in the arithmetic of the kernel: converting them there would cost more than the rest of them.
template <class T>
struct CudaHopScalars {
  T a;
  /// All that the hop in a direction is multiplied by, inside the lattice and across its edge: b, nu / xi0 in space,
  /// the projector's 2 in time, and a boundary factor that is real.
  T factors[8][2];
  T phases[8][2];  ///< real and imaginary part of a boundary factor that is not
};

/// out = b D in (+ a z) on one parity of fields in the grouped layout; `in` lies on the other parity. out must not
/// overlap in, and may be z. The links are those of the output's sites.
struct CudaHopArgs {
  // The sections of the upper and the lower spins; for the dagger the lower ones come first.
  void* out[2];
  const void* in[2];
  const void* z[2];           ///< z[0] null: no xpay term
  const void* spatial_links;  ///< directions hops::spatial
  const void* time_links;     ///< directions hops::time
  float* out_norms;           ///< half precision only, as the other norms
  const float* in_norms;
  const float* z_norms;
  GroupedGeometry geometry;
  bool twisted[8];  ///< the boundary factor of a direction is not real
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

/// A kernel as the host finds it: one of the four of a body.
struct CudaHopKernel {
  const void* function;
  bool walks;  ///< takes fewer columns than there are tiles along t
};

/// What does not change from call to call, and the rest of one call; the geometry is the launch's.
CudaHopArgs unbound_args(const HopSetup& setup);
/// Whether a boundary factor is not real, so that the kernel must be a twisted one.
bool is_twisted(const HopScalars& scalars);
CudaHopArgs bound(CudaHopArgs args, const HopSetup& setup, const HopCall& call);

}  // namespace quadrille::dirac
