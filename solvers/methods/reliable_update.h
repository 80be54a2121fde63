// Reliable updates: when to replace the iterated residual by the true one. Scalars only: the fields are the solver's.
//
// G. L. G. Sleijpen and H. A. van der Vorst, Computing 56 (1996) 141; for mixed precision on lattices
// M. A. Clark et al., Comput. Phys. Commun. 181 (2010) 1517, arXiv:0911.3191. With M the largest |r| since the last
// update, an update is due when |r| < delta M: what the rounding of r has done since then is of order epsilon M.
//
// Near a critical mass that is the smaller part. By the unit rounding u of the inner format the inner operator differs
// from the outer one, and d, what x has gained since the last update, from the sum of its steps. Both take the true
// residual away from the iterated one by the order of u |A| |d|, and |d| is up to |A^-1| times what r has lost. An
// update is therefore also due when this passes sqrt(u) |r|, the largest part that a Krylov method does not feel (H. A.
// van der Vorst and Q. Ye, SIAM J. Sci. Comput. 22 (2000) 835. They add up a bound for every iteration; rounding is
// random, and the sum stays near its last term).
#pragma once

#include <algorithm>
#include <cmath>

namespace quadrille {

/// |d|, the norm of what conjugate gradients have added to x since the last update, without reading a field.
///
/// The gradient z is orthogonal to all directions p that make up d, so with p = z + beta p and d = d + alpha p the
/// inner products follow from scalars of the iteration: A. R. Conn, N. I. M. Gould and Ph. L. Toint, Trust-Region
/// Methods (2000), section 7.5.1.
class SolutionGain {
 public:
  /// d = 0, p = z with |z|^2 = z2: a new search.
  void begin(double z2) {
    d2_ = dp_ = 0;
    p2_ = z2;
  }
  /// d = d + alpha p
  void step(double alpha) {
    d2_ += alpha * (2 * dp_ + alpha * p2_);
    dp_ += alpha * p2_;
  }
  /// p = z + beta p
  void new_direction(double z2, double beta) {
    dp_ *= beta;
    p2_ = z2 + beta * beta * p2_;
  }
  /// d = 0: x has taken it. p stays.
  void reset() { d2_ = dp_ = 0; }

  /// |d|
  double norm() const { return std::sqrt(d2_); }

 private:
  double p2_ = 0, dp_ = 0, d2_ = 0;  // |p|^2, <d, p>, |d|^2
};

class ReliableUpdate {
 public:
  /// delta in (0, 1); delta = 0 turns updates off. An update is also due whenever |r| reaches `target`, so that
  /// convergence is judged on the true residual. `unit`: the unit rounding of the inner format.
  ReliableUpdate(double delta, double target, double unit) : delta_(delta), target_(target), unit_(unit) {}

  bool enabled() const { return delta_ > 0; }

  /// The residual is a true one of norm `residual`: at the start, and after each update.
  void reset(double residual) {
    largest_ = residual;
    due_ = false;
  }

  /// No update is due after the next iteration whose |r| is larger, unless |A| |d| asks for it.
  double due_below() const { return std::max(delta_ * largest_, target_); }

  /// Whether the next iteration may well make one due, if it goes on like the last, which had these.
  bool near(double residual, double gain) const {
    constexpr double step = 1.5;  // of |r| or |d| in one iteration
    return enabled() && (residual < step * due_below() || step * deviation(gain) > std::sqrt(unit_) * residual);
  }

  /// The iterated |r| of one more iteration, and |A| |d| of the text above (0 where the method does not know it).
  void observe(double residual, double gain) {
    largest_ = std::max(largest_, residual);
    due_ = enabled() &&
           (residual < delta_ * largest_ || residual <= target_ || deviation(gain) > std::sqrt(unit_) * residual);
  }
  /// Whether an update is due after the last iteration observed.
  bool due() const { return due_; }

 private:
  // Measured in CG near a critical mass: 1.4 to 2.4 in half; more in single, where it matters less.
  static constexpr double deviation_factor = 2;
  double deviation(double gain) const { return deviation_factor * unit_ * gain; }  ///< 2 u |A| |d|

  double delta_, target_, unit_;
  double largest_ = 0;
  bool due_ = false;
};

}  // namespace quadrille
