// One call of field algebra on its way from launch.cpp to the backend that owns the fields.
#pragma once

#include "core/blas/op_list.h"
#include "core/field/field.h"

namespace quadrille::blas {

/// A functor (core/blas/op.h) and what is known of it without its code.
struct Operation {
  const OpSet& set;
  int number;  ///< in the set
  const void* functor;
  int fields, sums;
  bool overwrites;  ///< it reads nothing of what it writes
};

/// Scalars of an operation in the backend's memory, where its sums stay; null for others.
struct Resident {
  void* scalars = nullptr;
  void* snapshot = nullptr;      ///< the host's copy, written by an operation that shows them
  JoinedSums* joined = nullptr;  ///< what makes sums those of all ranks; null: they are those of this one
};

struct Call {
  const Operation& op;
  const FieldDesc* desc;  ///< of every field
  int parities;
  const Span* spans[2];  ///< [parity][field]
  Resident resident;
};

/// Runs a call on fields in this process' memory, in the vector layout, over the threads. Overwrites the sums of the
/// operation.
void run_on_cpu(const Call& call, double* sums);

}  // namespace quadrille::blas
