#include "dirac/cuda/hop_args.h"

#include "dirac/hop_kernel.h"

namespace quadrille::dirac {
namespace {

bool is_real(std::complex<double> factor) { return factor.imag() == 0; }

/// The kernels project to the two spins that hops in time leave, and owe them a factor of 2.
constexpr double projector_scale(int mu) { return mu == 3 ? 2 : 1; }

/// The scalars for b = 1.
template <class T>
void fill(CudaHopScalars<T>& scalars, const HopScalars& from) {
  for (int d = 0; d < 8; ++d) {
    const std::complex<double> boundary = boundary_factor(from, d);
    const double inside = projector_scale(d % 4) * (d % 4 < 3 ? from.spatial : 1);
    scalars.factors[d][0] = T(inside);
    scalars.factors[d][1] = T(is_real(boundary) ? inside * boundary.real() : inside);
    scalars.phases[d][0] = T(boundary.real());
    scalars.phases[d][1] = T(boundary.imag());
  }
}

template <class T>
void scale(CudaHopScalars<T>& scalars, double b) {
  for (auto& factors : scalars.factors) {
    for (T& factor : factors) factor = T(b * factor);
  }
}

/// The sections of the two halves of the spinors of a parity.
template <class Pointer>
void point(Pointer (&to)[2], const Field& field, Parity p, Dagger dagger) {
  const FieldDesc& desc = field.desc();
  const std::size_t section_bytes = std::size_t(desc.section()) * Layout::block * number_bytes(desc.precision);
  char* const first = static_cast<char*>(const_cast<void*>(field.numbers(p)));
  const int upper = dagger == Dagger::Yes ? 1 : 0;
  to[upper] = first;
  to[1 - upper] = first + section_bytes;
}

}  // namespace

bool is_twisted(const HopScalars& scalars) {
  for (int d = 0; d < 8; ++d) {
    if (!is_real(boundary_factor(scalars, d))) return true;
  }
  return false;
}

CudaHopArgs unbound_args(const HopSetup& setup) {
  CudaHopArgs args{};
  fill(args.in_double, setup.scalars);
  fill(args.in_float, setup.scalars);
  for (int d = 0; d < 8; ++d) args.twisted[d] = !is_real(boundary_factor(setup.scalars, d));
  return args;
}

CudaHopArgs bound(CudaHopArgs args, const HopSetup& setup, const HopCall& call) {
  const Parity p = call.parity;
  point(args.out, *call.y, p, call.dagger);
  point(args.in, *call.x, opposite(p), call.dagger);
  args.out_norms = call.y->norms(p);
  args.in_norms = call.x->norms(opposite(p));
  if (call.z != nullptr) {
    point(args.z, *call.z, p, call.dagger);
    args.z_norms = call.z->norms(p);
  }
  args.spatial_links = setup.spatial_links->numbers(p);
  args.time_links = setup.time_links->numbers(p);
  scale(args.in_double, call.b);
  scale(args.in_float, call.b);
  args.in_double.a = call.a;
  args.in_float.a = float(call.a);
  return args;
}

}  // namespace quadrille::dirac
