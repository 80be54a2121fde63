// Adaptive multigrid as a preconditioner: its setup, and what it found.
//
// J. Brannick et al., Phys. Rev. Lett. 100 (2008) 041601; R. Babich et al., arXiv:1005.3043; A. Frommer et al., SIAM J.
// Sci. Comput. 36 (2014) A1581, arXiv:1303.1377. METHODS.md says what is done here.
#pragma once

#include "core/api.h"
#include "core/operator/operator.h"
#include "core/operator/scratch_fields.h"
#include "core/parameters/parameters.h"
#include "solvers/multigrid/cycle.h"

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace quadrille {

struct MultigridSettings {
  std::optional<int> levels;  ///< 2 ... 4; none: as many as the lattice gives
  int vectors = 16;
  Dims blocks{4, 4, 4, 4};  ///< of the finest level; others have 2 in each direction
  multigrid::CycleSettings cycle;
  int setup_iterations = 60;  ///< of BiCGstab for each test vector
  int setup_cycles = 1;       ///< rounds in which the vectors go through the cycle so far
  int restart_length = 16;    ///< of the outer GCR
  bool falls_back = true;     ///< to BiCGstab
};

/// The parameters of `type: multigrid`, and what they say. ErrorCode::invalid_input with the place.
std::vector<Parameter> multigrid_parameters();
MultigridSettings multigrid_settings(const Parameters& own);

/// What the setup of one level found.
struct MultigridLevel {
  Dims dims{}, blocks{};
  int vectors = 0;
  double bytes = 0, seconds = 0;
  double before = 0, after = 0;  ///< |M v| / |v|, mean over the vectors: random ones, and those that P is made of
};

struct MultigridReport {
  std::vector<MultigridLevel> levels;  ///< all but the coarsest, whose extents are the last level's by its blocks
  double seconds = 0;                  ///< of the setup
  double bytes_at_most = 0;            ///< what the setup may take
  double contraction = 0;              ///< of |r| by a cycle in the outer GCR
  double cycle_seconds = 0;            ///< of one, for one right-hand side
  std::array<double, multigrid::Cycle::parts> parts{};  ///< of these
  double coarse_iterations = 0;                         ///< of the coarse solve in a cycle
  /// Cycles that lower |r| by `factor`, at this pace.
  double cycles_for(double factor) const;
};

/// An approximate inverse of the reduced operator of a system, in single precision; on a GPU the finest level is
/// smoothed in half where that is asked for. Fields of the other precisions are converted.
class QUADRILLE_API Multigrid final : public LinearOperator {
 public:
  /// `system` as SystemSolver has it; its links are used in `form`, of single or half precision. Errors:
  /// ErrorCode::unsupported for several ranks, a symmetric reduced system, too little
  /// memory; numerical, with the level and what to change, where no cycle that contracts was found; invalid_input for
  /// blocks that do not fit.
  Multigrid(const LinearSystem& system, const OperatorForm& form, const MultigridSettings& settings);
  ~Multigrid() override;

  const FieldDesc& field_desc() const override;
  void apply(Field& y, const Field& x, Dagger dagger) const override { apply_each(only({&y, &x}), dagger); }
  void apply_each(OperandList list, Dagger dagger) const override;
  double flops() const override;
  /// What each further right-hand side of a list takes of the backend's memory, for calls with such fields.
  std::size_t bytes_of_one(const FieldDesc& of_calls) const;

  const MultigridReport& report() const { return report_; }
  /// The report in a few lines.
  std::vector<std::string> table() const;

 private:
  struct Level;

  /// S of the finest level, as the outer solver and the smoother have it.
  const LinearOperator& smoothed() const;
  /// Refuses what a GPU cannot do, or says that there is less of it.
  void heed_device();
  /// The levels and their blocks, if there is the memory for them.
  void plan(const FieldDesc& full);
  /// What the setup takes for the fields of the next level, with so many complex components, and for P.
  double bytes_of_level(const Lattice& lattice, int components, bool coarsest) const;
  /// Test vectors of a level: what incomplete solves of M e = M v leave of random v, low modes above all.
  void relax(std::size_t level);
  /// P of a level from its vectors, and the operator of the next.
  void coarsen(std::size_t level);
  /// All levels, and their cycles.
  void build();
  void make_cycles();
  /// The vectors of the finest level after a cycle each.
  void refine();
  void measure();
  double quality(std::size_t level) const;

  MultigridSettings settings_;
  std::vector<std::unique_ptr<Level>> levels_;
  std::unique_ptr<GaugeOperator> of_cycle_;  ///< S of the finest level, where its form is not that of the setup
  MultigridReport report_;
  std::size_t bytes_of_one_ = 0;
  mutable std::optional<ScratchFields> in_, out_;
};

}  // namespace quadrille
