#include "core/comm/fiber_sums.h"

#include <algorithm>
#include <utility>

namespace quadrille {
namespace {

thread_local FiberSums* latest = nullptr;

}  // namespace

FiberSums::FiberSums(const Communicator& communicator)
    : communicator_(communicator), before_(std::exchange(latest, this)) {}

FiberSums::~FiberSums() { latest = before_; }

bool FiberSums::wait_for(const Communicator& communicator, double* values, std::size_t count) {
  Fibers* const fibers = Fibers::current();
  if (latest == nullptr || fibers == nullptr || &latest->communicator_ != &communicator) return false;
  latest->waiting_.push_back({fibers->number(), values, count});
  fibers->wait();
  return true;
}

bool FiberSums::serve(Fibers& fibers) {
  if (waiting_.empty()) return false;
  const std::vector<Sum> sums = std::exchange(waiting_, {});
  values_.clear();
  for (const Sum& sum : sums) values_.insert(values_.end(), sum.values, sum.values + sum.count);
  communicator_.sum(values_.data(), values_.size());
  auto from = values_.cbegin();
  for (const Sum& sum : sums) {
    std::copy_n(from, sum.count, sum.values);
    from += std::ptrdiff_t(sum.count);
    fibers.release(sum.fiber);
  }
  return true;
}

}  // namespace quadrille
