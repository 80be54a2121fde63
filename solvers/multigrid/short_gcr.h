// A few directions of GCR for many right-hand sides at once: the inner solves of a multigrid cycle.
#pragma once

#include "core/operator/operator.h"
#include "core/operator/scratch_fields.h"
#include "solvers/methods/workspace.h"

#include <deque>
#include <memory>
#include <vector>

namespace quadrille::multigrid {

/// y of an application is an approximate A^-1 x. Each right-hand side of a list has numbers of its own.
class InnerSolver : public LinearOperator {
 public:
  /// `a` and the preconditioner `k` (null: none) outlive it.
  InnerSolver(const LinearOperator& a, const LinearOperator* k, int directions, double tolerance)
      : a_(a), k_(k), directions_(directions), tolerance_(tolerance) {}

  const FieldDesc& field_desc() const override { return a_.field_desc(); }
  /// ErrorCode::internal with the dagger.
  void apply(Field& y, const Field& x, Dagger dagger) const override { apply_each(only({&y, &x}), dagger); }
  void apply_each(OperandList list, Dagger dagger) const override;
  double flops() const override { return directions_ * a_.flops(); }
  /// Directions of all applications so far, by right-hand sides served.
  double mean_directions() const { return served_ > 0 ? taken_ / served_ : 0; }

 protected:
  virtual void solve_each(OperandList list) const = 0;
  void count_directions(double taken, std::size_t right_hand_sides) const {
    taken_ += taken;
    served_ += double(right_hand_sides);
  }

  const LinearOperator& a_;
  const LinearOperator* k_;
  int directions_;
  double tolerance_;

 private:
  mutable double taken_ = 0, served_ = 0;
};

/// The one for the fields of `a`: passes of their own for coarse fields on a GPU, elsewhere ShortGcr.
std::unique_ptr<InnerSolver> make_inner_solver(const LinearOperator& a, const LinearOperator* k, int directions,
                                               double tolerance);

/// y of an application is an approximate A^-1 x: preconditioned flexible GCR from 0 without restarts, for each
/// right-hand side until |x - A y| <= tolerance |x|, or for so many directions. Each has its own numbers, and leaves
/// the others when it is done. References as in solvers/methods/gcr.cpp.
class ShortGcr final : public InnerSolver {
 public:
  using InnerSolver::InnerSolver;

  /// The mean factor by which a direction has lowered |r| in the last application, the worst of its right-hand sides: 1
  /// where no direction or no number was usable, 0 for a right-hand side of 0.
  double contraction() const { return contraction_; }

 private:
  struct Solve {
    Solve(const FieldDesc& desc, std::size_t directions)
        : p(desc, directions), q(desc, directions), r(desc), q2(directions) {}
    Workspace p, q;
    Field r;
    std::vector<double> q2;
    double first2 = 0, r2 = 0;
    int steps = 0;
  };

  void solve_each(OperandList list) const override;
  static double contraction_of(const Solve& solve);
  /// Takes direction number `k` of one solve into y. False when the solve is over.
  bool step(Solve& solve, Field& y, std::size_t k) const;

  mutable std::deque<Solve> solves_;
  mutable double contraction_ = 1;
};

}  // namespace quadrille::multigrid
