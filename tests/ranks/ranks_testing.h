// What the tests on several ranks share. Each rank computes what it should have by itself, as a job of one process.
#pragma once

#include "core/comm/communicator.h"
#include "core/comm/process_grid.h"
#include "core/comm/ranks.h"
#include "tests/testing/backend_under_test.h"
#include "tests/testing/random_seed.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace quadrille::testing {

/// All ranks of this run (main.cpp).
Ranks& ranks();

/// Whether it gives the bits of one process what ranks compute apart from each other: on a CPU; on a GPU other kernels
/// work at edges.
inline bool has_bits_of_one_process() { return backend().host_memory(); }

#ifdef QUADRILLE_TEST_GPU
/// Whether NCCL would refuse these ranks (main.cpp).
bool ranks_share_gpus();
#endif

/// A communicator without regard to a lattice.
inline std::shared_ptr<const Communicator> all_ranks() { return ranks().communicator({1, 1, 1, ranks().size()}); }

/// A seed that all ranks have: rank 0's.
inline std::uint64_t shared_seed() {
  std::uint64_t seed = next_seed();
  all_ranks()->broadcast(&seed, sizeof seed, 0);
  return seed;
}

/// Unequal extents that 2, 3, 4, 6 and 8 ranks divide, in several ways.
inline const Dims divided_dims{8, 12, 4, 16};

/// Some of the grids that divide the lattice, others in every run.
inline std::vector<Dims> some_grids(std::size_t most = 4) {
  std::vector<Dims> grids = possible_grids(divided_dims, ranks().size());
  std::shuffle(grids.begin(), grids.end(), std::mt19937_64(shared_seed()));
  if (grids.size() > most) grids.resize(most);
  return grids;
}

/// Whether it holds on every rank: a test that ends early on one of them would leave the others waiting.
inline bool everywhere(const Communicator& communicator, bool holds) {
  double fails = holds ? 0 : 1;
  communicator.maximum(&fails, 1);
  return fails == 0;
}

/// For its life QUADRILLE_TRANSPORT has another value, or with null none.
class Forced {
 public:
  explicit Forced(const char* transport) {
    if (const char* now = std::getenv(name)) before_ = now;
    put(transport);
  }
  ~Forced() { put(before_ ? before_->c_str() : nullptr); }
  Forced(const Forced&) = delete;
  Forced& operator=(const Forced&) = delete;

 private:
  static constexpr const char* name = "QUADRILLE_TRANSPORT";
  static void put(const char* value) { value != nullptr ? ::setenv(name, value, 1) : ::unsetenv(name); }
  std::optional<std::string> before_;
};

/// What rank `from` sends to a direction in an exchange; `message` has a direction and a number of bytes.
template <class SomeMessage>
std::vector<std::uint8_t> random_text(int from, const SomeMessage& message, int exchange) {
  std::vector<std::uint64_t> words(message.bytes / 8 + 1);
  std::uint64_t word = std::uint64_t(from * 8 + message.direction + 1) * 0x9e3779b97f4a7c15u + std::uint64_t(exchange);
  for (std::uint64_t& w : words) w = word = word * 6364136223846793005u + 1442695040888963407u;
  std::vector<std::uint8_t> bytes(message.bytes);
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}

}  // namespace quadrille::testing
