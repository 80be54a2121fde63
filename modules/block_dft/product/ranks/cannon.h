// The Cannon layer: the panels of A and B that the ranks of a grid multiply (Cannon; Borstnik et al., Parallel Comput.
// 40, 47, on virtual grids).
//
// On R x C ranks A and B have P = lcm(R, C) panels along k, by the places of matrix_grid.h: rank (r,
// c) takes in step t the panels of place k = (r + c + t) mod P, A's from rank (r, k mod C) and B's from (k mod R, c).
// In every step each rank so sends one panel of A and one of B to one rank each and receives as much: Cannon's
// schedule, but that panels come from their owners rather than from neighbours who have used them before, so that
// nothing has to be aligned first and no grid need be a square. The panels of the next step are on their way while
// those of this one are multiplied; each is there twice. Panels that are too large for the memory are cut into pieces
// along k.
//
// What products may lead to is known before: indices (places and norms, 16 bytes a block) go to the whole row and
// column of the grid, so that a rank has the index of its rows of A and its columns of B, all k.
#pragma once

#include "modules/block_dft/matrix/block_matrix.h"
#include "modules/block_dft/matrix/every_rank.h"
#include "modules/block_dft/product/ranks/cannon_schedule.h"

#include <functional>
#include <memory>

namespace quadrille::block_dft {

/// The places of blocks, and their Frobenius norms by slot.
struct BlockIndex {
  BlockPattern places;
  std::vector<double> norms;
};

template <class T>
class Cannon {
 public:
  /// A and B without symmetry, on one grid; both outlive it. `most_bytes` for all panels of a rank; 0: half of what is
  /// free, shared by all ranks. Collective. Errors: NotEnoughMemory (core/system/memory.h), on all ranks, where panels
  /// of a single block along k need more.
  Cannon(const BlockMatrix<T>& a, const BlockMatrix<T>& b, double most_bytes);

  /// This rank's rows of A with all columns; its columns of B with all rows.
  const BlockIndex& a() const { return a_index_; }
  const BlockIndex& b() const { return b_index_; }
  int steps() const { return schedule_.steps(); }

  /// Calls multiply(A, B, push) for the panels of each step; the sum of these products is this rank's part of A B.
  /// push() may be called by this thread at any time within, and helps the next panels on their way. Returns the
  /// seconds that were spent on exchanges, as products do not hide them. Collective; what multiply() throws on a rank
  /// ends it on all.
  using Multiply =
      std::function<void(const BlockMatrix<T>& a, const BlockMatrix<T>& b, const std::function<void()>& push)>;
  double for_each_step(const Multiply& multiply) const;

 private:
  struct Step;
  int pieces(double most_bytes) const;
  std::unique_ptr<Step> panels(int step) const;
  std::unique_ptr<Step> started(int step, KeptError& error) const;

  const BlockMatrix<T>&a_, &b_;
  const MatrixGrid& grid_;
  BlockIndex a_index_, b_index_;
  CannonSchedule schedule_;
  std::vector<int> step_of_;  ///< [k]
};

}  // namespace quadrille::block_dft
