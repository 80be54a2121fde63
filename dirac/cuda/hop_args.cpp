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

/// Pointers to the first `count` group arrays of a parity; rotated by `first`.
template <class Pointer>
void point(Pointer* to, const Field& field, Parity p, int count, int first = 0) {
  const Layout& layout = field.desc().layout;
  const std::size_t bytes =
      std::size_t(layout.stride) * std::size_t(layout.width) * number_bytes(field.desc().precision);
  for (int g = 0; g < count; ++g) {
    const char* start = static_cast<const char*>(field.numbers(p)) + std::size_t((g + first) % count) * bytes;
    to[g] = const_cast<char*>(start);
  }
}

int link_groups(const Field& links) {
  return links.desc().layout.stored(links.desc().components()) / links.desc().layout.width;
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
  args.stride = setup.spinor.layout.stride;
  fill(args.in_double, setup.scalars);
  fill(args.in_float, setup.scalars);
  for (int d = 0; d < 8; ++d) args.twisted[d] = !is_real(boundary_factor(setup.scalars, d));
  return args;
}

CudaHopArgs bound(CudaHopArgs args, const HopSetup& setup, const HopCall& call) {
  const Parity p = call.parity;
  const int groups = 24 / setup.spinor.layout.width;
  const int first = call.dagger == Dagger::Yes ? groups / 2 : 0;
  point(args.out, *call.y, p, groups, first);
  point(args.in, *call.x, opposite(p), groups, first);
  args.out_norms = call.y->norms(p);
  args.in_norms = call.x->norms(opposite(p));
  if (call.z != nullptr) {
    point(args.z, *call.z, p, groups, first);
    args.z_norms = call.z->norms(p);
  }
  point(args.spatial_links, *setup.spatial_links, p, link_groups(*setup.spatial_links));
  point(args.time_links, *setup.time_links, p, link_groups(*setup.time_links));
  scale(args.in_double, call.b);
  scale(args.in_float, call.b);
  args.in_double.a = call.a;
  args.in_float.a = float(call.a);
  return args;
}

}  // namespace quadrille::dirac
