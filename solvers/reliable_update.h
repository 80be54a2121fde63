// Reliable updates: when to replace the iterated residual by the true one.
//
// G. L. G. Sleijpen and H. A. van der Vorst, Computing 56 (1996) 141; for mixed precision on lattices
// M. A. Clark et al., Comput. Phys. Commun. 181 (2010) 1517, arXiv:0911.3191. With M the largest |r| since the last
// update, an update is due when |r| < delta M: what rounding has done to r since then is of order epsilon M, so the
// iterated residual never loses touch with the true one. Scalars only: the fields are the solver's.
#pragma once

#include <algorithm>

namespace quadrille {

class ReliableUpdate {
 public:
  /// delta in (0, 1); delta = 0 turns updates off. An update is also due whenever |r| reaches `target`, so that
  /// convergence is judged on the true residual.
  ReliableUpdate(double delta, double target) : delta_(delta), target_(target) {}

  bool enabled() const { return delta_ > 0; }

  /// The residual is a true one of norm `residual`: at the start, and after each update.
  void reset(double residual) { largest_ = residual; }

  /// Takes the iterated |r| of one more iteration, and says whether an update is due.
  bool due(double residual) {
    largest_ = std::max(largest_, residual);
    return enabled() && (residual < delta_ * largest_ || residual <= target_);
  }

 private:
  double delta_, target_;
  double largest_ = 0;
};

}  // namespace quadrille
