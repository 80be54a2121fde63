// How a loop ends whose rounds each solve for what remains of a system and add it to x: the restarts of SystemSolver,
// the cycles of defect correction. Scalars only.
#pragma once

#include "solvers/solver.h"

#include <string>

namespace quadrille {

class Refinement {
 public:
  struct Rules {
    double gain = 0.5;       ///< a round that leaves more than this part of the residual has not gained
    std::string round;       ///< its name in messages: "restart", "cycle"
    std::string too_little;  ///< "less than a factor of 2"
    std::string target;      ///< what the target is called: "target", "tolerance"
  };

  explicit Refinement(Rules rules) : rules_(std::move(rules)) {}

  /// Before the first round.
  void begin() { rounds_ = idle_ = 0; }
  /// After a round whose solve told `last`, which has left `residual` of `before`; stopping in the same units. Sets the
  /// reason and the message of `report` when no round may follow: the target is met, iterations are spent, something is
  /// not finite, the solver stagnated, or broke down without gain, or two rounds in a row gained too little.
  bool ended(SolveReport& report, const SolveReport& last, double residual, double before, const Stopping& stopping);

 private:
  Rules rules_;
  int rounds_ = 0, idle_ = 0;
};

}  // namespace quadrille
