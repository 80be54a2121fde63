// Real symmetric tridiagonal matrices on the device: eigenvectors by divide and conquer, eigenvalues alone by
// bisection.
#pragma once

#include "core/backend/cuda/device_array.h"
#include "core/comm/device_links.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace quadrille::eigen {

/// First and count of the vectors that are wanted, given all eigenvalues in rising order.
using WantedVectors = std::function<std::pair<std::int64_t, std::int64_t>(const std::vector<double>&)>;

struct TridiagonalVectors {
  std::vector<double> values;         ///< all, in rising order
  cuda::DeviceArray<double> vectors;  ///< n x count by columns
  std::int64_t first = 0, count = 0;
};

/// Cuppen's divide and conquer (Gu and Eisenstat, SIAM J. Matrix Anal. Appl. 16 (1995) 172). Each of several GPUs
/// solves subtrees of its own; then all take what the others have found, do the merges above again, and of the last one
/// each makes only the vectors that are wanted there. Takes 2 n^2 numbers and a little; the vectors stay in n^2 of
/// them. Errors: ErrorCode::numerical where an iteration does not end.
class DivideAndConquer {
 public:
  /// d: n, e: n - 1 numbers; their largest magnitude should be about 1. The GPU is number `rank` of `ranks`.
  DivideAndConquer(std::vector<double> d, std::vector<double> e, int rank, int ranks);
  ~DivideAndConquer();

  void solve_subtrees();
  /// What each GPU has found, in the memory of this one: the others' parts are to be put there before merge().
  std::vector<DevicePiece> found();
  TridiagonalVectors merge(const WantedVectors& wanted);

 private:
  class Division;
  std::unique_ptr<Division> division_;
};

/// All eigenvalues, in rising order, to a few units of rounding of the largest: bisection, a thread a value.
std::vector<double> tridiagonal_values(const std::vector<double>& d, const std::vector<double>& e);

}  // namespace quadrille::eigen
