// How the dispatcher (forces_cpu.cpp) reaches the pair kernels of each instruction set: plain data only.
#pragma once

#include "core/simd/of_isa.h"
#include "modules/md/pairs/pair_problem.h"

namespace quadrille::md {

/// Overwrites the sums of the groups [begin, end) of chunk_size particles.
template <class T>
using PairKernel = void (*)(const PairProblem<T>&, const PairSums&, std::int64_t begin, std::int64_t end);

/// The kernels of a form; the one in double for Method::double_double, the one in single for all others, else null.
struct PairKernels {
  PairKernel<float> single;
  PairKernel<double> wide;
};

QUADRILLE_DECLARE_FOR_ISAS(PairKernels, find_pair_kernels, (const PairForm& form))

}  // namespace quadrille::md
