#include "dirac/cuda/hop_args.h"

#include "dirac/bound_terms.h"
#include "dirac/hop_kernel.h"

namespace quadrille::dirac {
namespace {

bool is_real(std::complex<double> factor) { return factor.imag() == 0; }

/// The kernels project to the two spins that hops in time leave, and owe them a factor of 2.
constexpr double projector_scale(int mu) { return mu == 3 ? 2 : 1; }

/// What a hop in direction d across the edge of this rank's part is multiplied by besides.
std::complex<double> edge_factor(const HopSetup& setup, int d) {
  return setup.spinor.lattice->communicator().at_edge(d) ? boundary_factor(setup.scalars, d) : 1;
}

/// The scalars for b = 1 and hops' coefficients of 1.
template <class T>
void fill(CudaHopScalars<T>& scalars, const HopSetup& setup) {
  for (int d = 0; d < 8; ++d) {
    const std::complex<double> boundary = edge_factor(setup, d);
    const double inside = projector_scale(d % 4);
    scalars.factors[d][0] = T(inside);
    scalars.factors[d][1] = T(is_real(boundary) ? inside * boundary.real() : inside);
    scalars.phases[d][0] = T(boundary.real());
    scalars.phases[d][1] = T(boundary.imag());
  }
}

template <class T>
void set_terms(CudaHopScalars<T>& scalars, const HopSetup& setup, const HopCall& call) {
  for (int d = 0; d < 8; ++d) {
    const double coefficient = call.on_sum.number * hop_coefficient(setup.scalars, d, call.dagger);
    for (T& factor : scalars.factors[d]) factor = T(coefficient * factor);
  }
  scalars.a = T(call.on_z.number);
}

CudaEdges edges_of(const HopSetup& setup) {
  const Communicator& communicator = setup.spinor.lattice->communicator();
  CudaEdges edges{};
  for (int d = 0; d < 8; ++d) {
    edges.of_lattice[d] = communicator.at_edge(d);
    edges.phased[d] = !is_real(edge_factor(setup, d));
    const int special = edges.phased[d] || communicator.splits(d % 4) ? 1 : 0;
    if (special != 0) edges.special = true;
    if (d < 4) {
      edges.last[d] = setup.spinor.lattice->dims()[std::size_t(d)] - 1 - special;
    } else {
      edges.first[d - 4] = special;
    }
  }
  return edges;
}

}  // namespace

void point_to_halves(void* (&to)[2], const Field& field, Parity p, Dagger dagger) {
  const int upper = dagger == Dagger::Yes ? 1 : 0;
  to[upper] = const_cast<void*>(field.section(p, 0));
  to[1 - upper] = const_cast<void*>(field.section(p, 1));
}

CudaHopListArgs unbound_args(const HopSetup& setup) {
  CudaHopListArgs args{};
  fill(args.in_double, setup);
  fill(args.in_float, setup);
  args.edges = edges_of(setup);
  args.temporal_gauge = setup.form.temporal_gauge;
  return args;
}

CudaHopListArgs bound(CudaHopListArgs args, const HopSetup& setup, const HopCall& call) {
  const Parity p = call.parity;
  args.count = 0;
  for (const Operands& operands : call.list) {
    CudaHopFields& fields = args.calls[args.count++];
    point_to_halves(fields.out, *operands.y, p, call.dagger);
    fields.out_norms = operands.y->norms(p);
    if (operands.x != nullptr) {
      point_to_halves(fields.in, *operands.x, opposite(p), call.dagger);
      fields.in_norms = operands.x->norms(opposite(p));
    }
    if (operands.z != nullptr) {
      point_to_halves(fields.z, *operands.z, p, call.dagger);
      fields.z_norms = operands.z->norms(p);
    }
  }
  args.spatial_links = setup.spatial_links->numbers(p);
  args.time_links = setup.time_links->numbers(p);
  args.terms = bound_terms(setup.op, call, setup.scalars);
  set_terms(args.in_double, setup, call);
  set_terms(args.in_float, setup, call);
  return args;
}

}  // namespace quadrille::dirac
