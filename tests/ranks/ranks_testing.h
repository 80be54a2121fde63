// What the tests on several ranks share. Each rank computes what it should have by itself, as a job of one process.
#pragma once

#include "core/comm/communicator.h"
#include "core/comm/process_grid.h"
#include "core/comm/ranks.h"
#include "tests/backend_under_test.h"
#include "tests/random_seed.h"

#include <algorithm>
#include <memory>
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

}  // namespace quadrille::testing
