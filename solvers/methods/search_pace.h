// Whether a Krylov space still earns its keep: when BiCGstab should begin a new one. Scalars only.
//
// Near a critical mass a space converges the faster the older it is, since it learns the modes that are slow, and a new
// one would have to learn them again. On a smooth field there are hardly any such modes; there rounding wears a space
// out (<r0, r> loses its digits), and a new one is at its full pace at once. What <r0, r> or its change at an update
// says cannot tell the two apart. The pace can: a space is left when it has slowed down, the rule by which a forager
// leaves a patch (E. L. Charnov, Theor. Popul. Biol. 9 (1976) 129).
#pragma once

#include <algorithm>
#include <cmath>

namespace quadrille {

class SearchPace {
 public:
  /// A new space begins at this |r|.
  void begin(double residual) {
    first_ = seen_ = largest_ = residual;
    iterations_ = seen_at_ = 0;
  }

  /// After the next iteration it cannot have slowed down, unless |r| is below this.
  double asks_below() const { return fall * largest_; }

  /// Takes the |r| after one more iteration, or `count`. True when |r| has fallen by another order of magnitude, more
  /// slowly than `slow` times the mean pace of this space, whose mean pace is that of a space with little to learn.
  bool slowed(double residual, int count = 1) {
    iterations_ += count;
    largest_ = std::max(largest_, residual);
    if (!(residual < fall * largest_)) return false;
    const double lately = std::log(seen_ / residual) / (iterations_ - seen_at_);
    const double mean = std::log(first_ / residual) / iterations_;
    seen_ = largest_ = residual;
    seen_at_ = iterations_;
    return mean > quick && lately < slow * mean;
  }

 private:
  static constexpr double fall = 0.1;  // an order of magnitude
  // Measured with BiCGstab in half and single, 8^3 x 16: smooth fields take 8 to 18 iterations for an order of
  // magnitude (0.13 to 0.28), quenched ones of beta 5.7 near their critical mass 25 to 60 (0.04 to 0.09) once the first
  // is done. With 0.9 instead of 0.75 they lose spaces that learn; with 0.6 smooth fields take a tenth more iterations.
  static constexpr double quick = 0.08, slow = 0.75;

  double first_ = 0, seen_ = 0, largest_ = 0;
  int iterations_ = 0, seen_at_ = 0;
};

}  // namespace quadrille
