// One pass over all pairs on a backend.
#pragma once

#include "modules/md/pairs/pair_tables.h"

#include <memory>

namespace quadrille::md {

class PairEngine {
 public:
  virtual ~PairEngine() = default;
  /// Fills `out`, memory of the host, for the numbers of `tables`, of the precision that the form needs. The order and
  /// the lists are always those the engine was made for; `rescaled` says that coefficients differ from the last call's.
  /// Returns the seconds of the pass itself.
  virtual double run(const PairForm& form, const PairTables<float>& single, const PairTables<double>& wide,
                     bool rescaled, const PairSums& out) = 0;
};

/// `ranks` as in ForceOptions.
std::unique_ptr<PairEngine> make_cpu_engine(const PairOrder& order, const ListedPairs& pairs,
                                            const Communicator* ranks);
/// In builds with CUDA alone (core/backend/of_backend.h).
std::unique_ptr<PairEngine> make_cuda_engine(const PairOrder& order, const ListedPairs& pairs,
                                             const Communicator* ranks);

}  // namespace quadrille::md
