#include "core/layout/lattice.h"

#include "core/error.h"
#include "core/layout/vector_layout.h"

#include <fmt/format.h>

#include <utility>

namespace quadrille {

Lattice::Lattice(const Dims& global, std::shared_ptr<const Communicator> communicator)
    : global_(global), communicator_(std::move(communicator)) {
  static const char* const names[] = {"x", "y", "z", "t"};
  for (int mu = 0; mu < 4; ++mu) {
    const int ranks = communicator_->grid()[mu];
    if (global[mu] < 2 || global[mu] % (2 * ranks) != 0) {
      throw Error(ErrorCode::invalid_input,
                  fmt::format("lattice {} {} {} {}: the extent in {} is {}, but it must be a positive even number{}",
                              global[0], global[1], global[2], global[3], names[mu], global[mu],
                              ranks > 1 ? fmt::format(" on each of {} ranks", ranks) : ""));
    }
    local_[mu] = global[mu] / ranks;
    origin_[mu] = local_[mu] * communicator_->coordinates()[mu];
  }
}

Lattice::~Lattice() = default;

Dims Lattice::coordinates(std::int64_t site) const {
  Dims x;
  for (int mu = 0; mu < 4; ++mu) {
    x[mu] = int(site % local_[mu]);
    site /= local_[mu];
  }
  return x;
}

std::int64_t Lattice::global_site(const Dims& x) const {
  std::int64_t index = 0;
  for (int mu = 3; mu >= 0; --mu) index = index * global_[mu] + origin_[mu] + x[mu];
  return index;
}

Dims Lattice::coordinates(Parity p, std::int64_t index) const {
  Dims x = coordinates(2 * index);  // x is even here; the parity decides whether the site is this or its neighbour
  x[0] += (parity(x) != int(p)) ? 1 : 0;
  return x;
}

const VectorLayout& Lattice::vector_layout(int lanes) const {
  const std::lock_guard lock(layouts_mutex_);
  auto& layout = layouts_[lanes];
  if (!layout) layout = std::make_unique<const VectorLayout>(*this, lanes);
  return *layout;
}

}  // namespace quadrille
