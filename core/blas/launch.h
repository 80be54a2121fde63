// Fused operations on fields: what is behind core/blas/blas.h, and the passes that solvers have of their own
// (solvers/steps.h). For host code alone.
#pragma once

#ifndef QUADRILLE_ISA
#define QUADRILLE_ISA dispatch  // the functors as plain data: no kernel is instantiated here
#endif

#include "core/backend/of_backend.h"
#include "core/blas/call.h"
#include "core/blas/resident_scalars.h"

#include <array>

namespace quadrille::blas {

template <class Op>
using FieldsOf = std::array<const Field*, Op::fields>;

/// Overwrites the sums with those over all ranks; those of an operation with resident scalars stay in their memory.
/// `spans`: room for 2 x fields. Only the fields that the operation writes are written.
QUADRILLE_API void launch(const Operation& op, const Field* const* fields, Span* spans, const Resident& resident,
                          double* sums);

/// The sums of operation `number` of a set.
template <class Op>
std::array<double, Op::sums> launch(const OpSet& set, int number, const Op& op, const FieldsOf<Op>& fields,
                                    const Resident& resident = {}) {
  std::array<double, Op::sums> sums{};
  Span spans[2 * Op::fields];
  launch({set, number, &op, Op::fields, Op::sums, Op::overwrites}, fields.data(), spans, resident, sums.data());
  return sums;
}

/// An operation whose scalars stay where its fields are; they stay with the host where it adds up the sums of devices
/// over ranks.
template <class Op, class Scalars>
void launch_resident(const OpSet& set, int number, Op op, const FieldsOf<Op>& fields, ResidentScalars<Scalars>& held) {
  const FieldDesc& desc = fields[0]->desc();
  const bool host_adds = desc.lattice->communicator().size() > 1 && held.joined() == nullptr;
  if (desc.backend->host_memory() || host_adds) {
    Scalars& now = *held.on_host();
    if (!begin(op, now)) return;
    [[maybe_unused]] const auto sums = launch(set, number, op, fields);
    if constexpr (Op::sums > 0) finish(op, now, sums.data());
  } else {
    launch(set, number, op, fields, {held.there(), held.on_host(), held.joined()});
  }
}

/// The set of a list. `on_cuda(0)` gives its function for GPUs; it is a generic lambda, `[](auto) { .. }`, as builds
/// without CUDA do not have that function.
template <class... Ops, class OnCuda>
OpSet make_set(OpList<Ops...> list, ChunkKernel (*find_kernel)(Isa, int, Precision, int), OnCuda on_cuda) {
  OpSet set{traits_of(list), int(sizeof...(Ops)), find_kernel, nullptr};
  if constexpr (is_built("cuda")) set.run_on_cuda = on_cuda(0);
  return set;
}

}  // namespace quadrille::blas
