// Sums over ranks that fibers ask for at the same time, in one message.
#pragma once

#include "core/api.h"
#include "core/comm/communicator.h"
#include "core/system/fibers.h"

#include <cstddef>
#include <vector>

namespace quadrille {

/// While it lives, a fiber (core/system/fibers.h) that calls Communicator::sum() waits until serve() forms the sums of
/// all that do: with the bits that each has alone, as ranks are added in their order. Sums outside of fibers, and those
/// of one process, are formed at once. For the thread that makes it, the latest one counts.
class QUADRILLE_API FiberSums {
 public:
  explicit FiberSums(const Communicator& communicator);
  ~FiberSums();
  FiberSums(const FiberSums&) = delete;
  FiberSums& operator=(const FiberSums&) = delete;

  /// Outside of the fibers: forms the sums that are waited for, with one message, and releases those that wait for
  /// them. Whether there were any.
  bool serve(Fibers& fibers);

  /// For Communicator::sum(), of several ranks: false where the sum is to be formed at once.
  static bool wait_for(const Communicator& communicator, double* values, std::size_t count);

 private:
  struct Sum {
    int fiber;
    double* values;
    std::size_t count;
  };

  const Communicator& communicator_;
  FiberSums* const before_;
  std::vector<Sum> waiting_;
  std::vector<double> values_;  ///< of all that are served, kept
};

}  // namespace quadrille
