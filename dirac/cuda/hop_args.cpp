#include "dirac/cuda/hop_args.h"

#include "dirac/hop_kernel.h"

namespace quadrille::dirac {
namespace {

template <class T>
void fill(CudaHopScalars<T>& scalars, const HopScalars& from) {
  scalars.spatial = T(from.spatial);
  for (int d = 0; d < 8; ++d) {
    const std::complex<double> factor = boundary_factor(from, d);
    scalars.phases[d][0] = T(factor.real());
    scalars.phases[d][1] = T(factor.imag());
  }
}

}  // namespace

CudaHopArgs unbound_args(const HopSetup& setup) {
  CudaHopArgs args{};
  args.stride = setup.spinor.layout.stride;
  fill(args.in_double, setup.scalars);
  fill(args.in_float, setup.scalars);
  for (int d = 0; d < 8; ++d) args.twisted[d] = boundary_factor(setup.scalars, d) != 1.0;
  return args;
}

CudaHopArgs bound(CudaHopArgs args, const HopSetup& setup, const HopCall& call) {
  const Parity p = call.parity;
  args.out = call.y->numbers(p);
  args.out_norms = call.y->norms(p);
  args.in = call.x->numbers(opposite(p));
  args.in_norms = call.x->norms(opposite(p));
  if (call.z != nullptr) {
    args.z = call.z->numbers(p);
    args.z_norms = call.z->norms(p);
  }
  args.spatial_links = setup.spatial_links->numbers(p);
  args.time_links = setup.time_links->numbers(p);
  const int half_groups = 12 / setup.spinor.layout.width;
  args.upper = call.dagger == Dagger::Yes ? half_groups : 0;
  args.lower = half_groups - args.upper;
  args.in_double.a = call.a;
  args.in_double.b = call.b;
  args.in_float.a = float(call.a);
  args.in_float.b = float(call.b);
  return args;
}

}  // namespace quadrille::dirac
