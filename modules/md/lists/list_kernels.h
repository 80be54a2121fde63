// How the dispatcher (list_engine_cpu.cpp) reaches the kernels of neighbour lists of each instruction set: plain data
// only.
#pragma once

#include "core/simd/of_isa.h"
#include "modules/md/lists/list_problem.h"

namespace quadrille::md {

/// Overwrites the sums of the groups [begin, end) of V slots.
template <class T>
using ListKernel = void (*)(const ListProblem<T>&, const GroupedLists&, const PairSums&, std::int64_t begin,
                            std::int64_t end);

/// Writes the slots of `ranges` that are within the radius of slot i, but for i, and returns how many; room for all and
/// 16 more is needed.
using NearKernel = std::int32_t (*)(const NearProblem&, std::int32_t i, const SlotRange* ranges, int count,
                                    std::int32_t* out);

/// `single` for all methods but Method::double_double, which has `wide`; null: no list kernel.
struct ListKernels {
  ListKernel<float> single;
  ListKernel<double> wide;
  NearKernel near;
  int lanes;  ///< V of the kernel
};

QUADRILLE_DECLARE_FOR_ISAS(ListKernels, find_list_kernels, (const ListForm& form))

}  // namespace quadrille::md
