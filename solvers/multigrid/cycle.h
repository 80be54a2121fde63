// A cycle between two levels: a coarse correction and smoothing after it.
#pragma once

#include "core/operator/operator.h"
#include "core/operator/scratch_fields.h"
#include "solvers/multigrid/level_system.h"
#include "solvers/multigrid/short_gcr.h"
#include "solvers/multigrid/transfer.h"
#include "solvers/preconditioners/mr.h"

#include <array>
#include <memory>
#include <optional>

namespace quadrille::multigrid {

/// How the cycle of a level is made.
struct CycleSettings {
  int smoothing_steps = 4;  ///< of MR, after the correction
  double omega = 0.85;
  int coarse_directions = 24;  ///< of GCR on the coarse level, at most
  double coarse_tolerance = 0.2;
};

/// y of an application is an approximate S^-1 x, S the reduced operator of a level:
///
///   y = P A_c^-1 P^+ x;  y += MR steps on S e = x - S y
///
/// (steps of GCR on coarse levels of a GPU, whose passes serve all right-hand sides), with A_c^-1 by a few directions
/// of GCR on its reduced system, which take the cycle of the coarse level as their preconditioner where it has one (a
/// K-cycle: Y. Notay and P. S. Vassilevski, Numer. Linear Algebra Appl. 15 (2008) 473). Not a linear map: the outer
/// solver is a flexible one.
class Cycle final : public LinearOperator {
 public:
  /// All outlive it; `coarse_cycle` may be null. `s` may be in another precision than the fields of `transfer`.
  Cycle(const LinearOperator& s, const Transfer& transfer, const LevelSystem& coarse,
        const LinearOperator* coarse_cycle, const CycleSettings& settings);

  const FieldDesc& field_desc() const override { return s_.field_desc(); }
  void apply(Field& y, const Field& x, Dagger dagger) const override { apply_each(only({&y, &x}), dagger); }
  void apply_each(OperandList list, Dagger dagger) const override;
  double flops() const override { return (settings_.smoothing_steps + 1) * s_.flops(); }

  enum Part { transfers, coarse, smoothing, parts };
  /// From now on parts are timed, which waits for a device after each.
  void set_timed(bool timed) const { timed_ = timed; }
  /// In each part, of all timed applications so far.
  const std::array<double, parts>& seconds() const { return seconds_; }
  const InnerSolver& coarse_solver() const { return *coarse_solver_; }

 private:
  /// body(), which is timed where that is asked for.
  template <class Body>
  void in_part(Part part, Body&& body) const;
  /// Correction by the coarse level: y = P A_c^-1 P^+ x, in the precision of P.
  void correct(OperandList list) const;

  const LinearOperator& s_;
  const Transfer& transfer_;
  const LevelSystem& coarse_;
  CycleSettings settings_;
  std::unique_ptr<InnerSolver> coarse_solver_;
  std::unique_ptr<MinimalResidual> relaxation_;                 // null: smoother_
  std::unique_ptr<InnerSolver> smoother_;                       // of coarse levels on a GPU
  mutable std::optional<ScratchFields> residual_, correction_;  // reduced, for smoother_
  mutable std::optional<ScratchFields> x_, y_;                  // reduced, in the precision of P where it is another
  mutable ScratchFields coarse_b_, coarse_x_;                   // full
  mutable ScratchFields coarse_rhs_, coarse_reduced_;           // reduced
  mutable std::array<double, parts> seconds_{};
  mutable bool timed_ = false;
};

}  // namespace quadrille::multigrid
