// One call of field algebra on its way from blas.cpp to the backend that owns the fields.
#pragma once

#include "core/blas/op_table.h"
#include "core/field/field.h"

namespace quadrille::blas {

struct Call {
  OpId id;
  const void* op;         ///< the functor of core/blas/ops.h
  int fields, sums;       ///< of the operation
  bool overwrites;        ///< it reads nothing of what it writes
  const FieldDesc* desc;  ///< of every field
  int parities;
  Span spans[2][max_fields];  ///< [parity][field]
  void* scalars;              ///< in the backend's memory, of an operation whose sums stay there; null for others
  void* snapshot;             ///< the host's copy, written by the last operation of an iteration
  JoinedSums* joined;         ///< what makes sums of scalars those of all ranks; null: they are those of this one
};

/// Runs a call on fields in this process' memory, in the vector layout, over the threads.
Sums run_on_cpu(const Call& call);

}  // namespace quadrille::blas
