// The Cannon layer on GPUs, one for each rank: the steps of cannon.h, whose panels come from device to device.
//
// As on the CPU, indices go first (places and norms, 16 bytes a block): a rank so has the index of its rows of A and
// its columns of B, all k. It sorts k by the steps in which its panels come, and makes the symbolic phase of its whole
// part of C once: then a panel's products are the steps of one part of the inner side (packed_factor.h), and C is
// summed up panel by panel, in an order that the grid decides. Factors are packed by their owners, once, and panels
// travel packed: ranks in a row of the grid have the same rows, cut into the same pieces, so that packed panels of A
// are alike for all of them, and those of B in a column.
#pragma once

#include "modules/block_dft/matrix/cuda/device_exchange.h"
#include "modules/block_dft/product/cuda/panels/panel_kernel.h"
#include "modules/block_dft/product/ranks/cannon_schedule.h"

namespace quadrille::block_dft {

/// The index of a rank's rows of A with all columns, or of its columns of B with all rows: a matrix without numbers.
struct DeviceIndex {
  DeviceMatrix::Data places;
  DeviceArray<double> norms;         ///< [slot]
  DeviceArray<std::uint32_t> order;  ///< [slot]: which entry it was
};

/// Panels of A and B: this rank's own, packed, and, in the window, those of others. Collective.
class PanelFlow {
 public:
  /// `a`, `b`: own panels; `whole_a`, `whole_b`: where all would lie. All outlive it. Errors: as of
  /// DeviceExchange::reserve().
  PanelFlow(const MatrixGrid& grid, const CannonSchedule& schedule, const PackedFactor& a, const PackedFactor& b,
            const PackedFactor& whole_a, const PackedFactor& whole_b);

  /// Brings the panels of a step, where they are others', and sends what others need of it. Nothing may use those of
  /// two steps before.
  void bring(int step);
  /// As of DeviceExchange.
  void rethrow() { exchange_.rethrow(); }
  /// Where the panels of a step are, in a format (double or float).
  template <class T>
  const void* a(int step) const {
    return place<T>(own_a_, whole_a_, schedule_.has_a(step), 0, step);
  }
  template <class T>
  const void* b(int step) const {
    return place<T>(own_b_, whole_b_, schedule_.has_b(step), 2, step);
  }

 private:
  /// Byte of the window where a side's panels of even or odd steps begin.
  struct Slots {
    std::int64_t begin[4];
  };
  void lay_out();
  std::int64_t slot(int side, int step) const { return mine_.begin[side + step % 2]; }
  template <class T>
  const void* place(const PackedFactor& own, const PackedFactor& whole, bool has, int side, int step) const;
  template <class T>
  void add_pieces(int step, std::vector<SentPiece>& sent, std::vector<ReceivedPiece>& received) const;

  const MatrixGrid& grid_;
  const CannonSchedule& schedule_;
  const PackedFactor &own_a_, &own_b_, &whole_a_, &whole_b_;
  DeviceExchange& exchange_;
  Slots mine_{};
  std::vector<Slots> slots_;  ///< [rank]
};

/// Of this rank's blocks; norms are 0 without `with_norms`.
DeviceArray<IndexEntry> index_entries(const DeviceMatrix& matrix, bool with_norms);
/// The matrix without numbers that has these entries of the device, in any order.
DeviceIndex index_of(const BlockSizes& rows, const BlockSizes& columns, const IndexEntry* entries, std::int64_t count);
/// That of the entries of all `peers`, a row or a column of the grid. Collective.
DeviceIndex gathered_index(const MatrixGrid& grid, const BlockSizes& rows, const BlockSizes& columns,
                           const DeviceArray<IndexEntry>& mine, const std::vector<int>& peers);
/// Numbers of the largest of this rank's panels along a side of the matrix.
double largest_panel(const DeviceMatrix& matrix, bool along_columns);

/// The steps of one inner part: where those of each task begin, and how many there are.
struct PartSteps {
  DeviceArray<std::int64_t> first, count;

  explicit PartSteps(std::int64_t tasks);
  void find(const Tasks& tasks, const StepList& steps, int part);
};

}  // namespace quadrille::block_dft
