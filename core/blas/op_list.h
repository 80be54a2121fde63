// A set of fused operations that are compiled together, for all instruction sets and devices: the list of their
// functors, and what the host's code knows of them. Those of core/blas/ops.h are one; solvers have theirs
// (solvers/steps.h).
#pragma once

#include "core/numbers/precision.h"

#include <cstdint>
#include <type_traits>

namespace quadrille {

enum class Isa;

namespace cuda {
struct AlgebraCall;
}

namespace blas {

/// The functors of a set. The number of an operation is its place.
template <class... Ops>
struct OpList {
  static constexpr int size = sizeof...(Ops);
  template <class Op>
  static constexpr int number_of() {
    static_assert((std::is_same_v<Op, Ops> || ...), "the operation is not in this list");
    int number = 0;
    const bool found = ((std::is_same_v<Op, Ops> || (++number, false)) || ...);
    return found ? number : -1;
  }
};

template <class... A, class... B>
OpList<A..., B...> joined(OpList<A...>, OpList<B...>);
/// The operations of several lists.
template <class First, class... More>
struct JoinedOf {
  using List = decltype(joined(First{}, typename JoinedOf<More...>::List{}));
};
template <class Last>
struct JoinedOf<Last> {
  using List = Last;
};
template <class... Lists>
using Joined = typename JoinedOf<Lists...>::List;

/// One parity of one field.
struct Span {
  void* numbers;
  float* norms;
};

/// Runs an operation over the blocks [begin, end) of fields with `count` numbers a site, which is even and at most
/// most_site_numbers, and overwrites sums[0..Op::sums). `stream`: what is overwritten goes past the caches.
using ChunkKernel = void (*)(const void* op, const Span* fields, int count, std::int64_t begin, std::int64_t end,
                             bool stream, double* sums);

/// Sums of one operation.
constexpr int most_sums = 16;

struct OpTraits {
  const char* name;        ///< in the kernel log: "axpy_norm2"
  unsigned reads, writes;  ///< bit masks over its fields
};

struct OpSet {
  const OpTraits* ops;
  int size;
  /// The kernel of an operation for a precision and a width, or null when this instruction set has none.
  ChunkKernel (*find_kernel)(Isa isa, int op, Precision precision, int lanes);
  /// One operation on a GPU; null in builds without CUDA.
  void (*run_on_cuda)(const cuda::AlgebraCall& call, double* sums);
};

/// OpSet::ops of a list.
template <class... Ops>
const OpTraits* traits_of(OpList<Ops...>) {
  static_assert(((Ops::sums <= most_sums) && ...));
  static constexpr OpTraits traits[] = {{Ops::name, Ops::reads, Ops::writes}...};
  return traits;
}

}  // namespace blas
}  // namespace quadrille
