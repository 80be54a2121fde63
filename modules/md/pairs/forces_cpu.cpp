// Pair forces on the CPU: threads share the groups of particles, and kernels.cpp does them.
#include "core/error.h"
#include "core/simd/isa.h"
#include "core/simd/of_isa.h"
#include "modules/md/pairs/kernels.h"
#include "modules/md/pairs/pair_engine.h"
#include "modules/md/pairs/rank_shares.h"

#include <chrono>

namespace quadrille::md {
namespace {

PairKernels find_kernels(const PairForm& form) { return QUADRILLE_OF_ISA(active_isa(), find_pair_kernels)(form); }

template <class T>
void run_groups(PairKernel<T> kernel, const PairProblem<T>& problem, GroupRange mine, const PairSums& out) {
#pragma omp parallel for schedule(dynamic)
  for (std::int64_t group = mine.begin; group < mine.end; ++group) kernel(problem, out, group, group + 1);
}

class CpuEngine final : public PairEngine {
 public:
  CpuEngine(const PairOrder& order, const ListedPairs& pairs, const Communicator* ranks)
      : order_(order), pairs_(pairs), shares_(ranks, cpu_backend()) {}

  double run(const PairForm& form, const PairTables<float>& single, const PairTables<double>& wide, bool,
             const PairSums& out) override {
    const PairKernels kernels = find_kernels(form);
    const std::int64_t groups = out.slots / chunk_size;
    const GroupRange mine = shares_.mine(groups);
    const auto began = std::chrono::steady_clock::now();
    if (kernels.single != nullptr) {
      run_groups(kernels.single, single.problem(order_, pairs_), mine, out);
    } else if (kernels.wide != nullptr) {
      run_groups(kernels.wide, wide.problem(order_, pairs_), mine, out);
    } else {
      throw Error(ErrorCode::internal, "no pair kernel for method " + letter_of(form.method));
    }
    shares_.gather(out, groups, is_fixed(form.method), form.energy);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  }

 private:
  const PairOrder& order_;
  const ListedPairs& pairs_;
  RankShares shares_;
};

}  // namespace

std::unique_ptr<PairEngine> make_cpu_engine(const PairOrder& order, const ListedPairs& pairs,
                                            const Communicator* ranks) {
  return std::make_unique<CpuEngine>(order, pairs, ranks);
}

}  // namespace quadrille::md
