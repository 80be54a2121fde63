#include "modules/block_dft/matrix/matrix_grid.h"

#include "core/error.h"
#include "core/random/random.h"

#include <fmt/format.h>

#include <cmath>
#include <numeric>
#include <utility>

namespace quadrille::block_dft {
namespace {

/// The factor of `ranks` that is nearest to its root from below.
int rows_of_square(int ranks) {
  int rows = int(std::sqrt(double(ranks)) + 0.5);
  while (ranks % rows != 0) --rows;
  return rows;
}

}  // namespace

MatrixGrid::MatrixGrid(const Communicator& ranks, int rows, int columns, std::uint64_t seed)
    : ranks_(ranks), rows_(rows), columns_(columns), places_(std::lcm(rows, columns)), seed_(seed) {}

std::shared_ptr<const MatrixGrid> MatrixGrid::over(const Communicator& ranks, int rows, int columns,
                                                   std::uint64_t seed) {
  const int count = ranks.size();
  if (rows == 0 && columns == 0) {
    rows = rows_of_square(count);
    columns = count / rows;
  }
  if (rows < 1 || columns < 1 || std::int64_t(rows) * columns != count) {
    const int best = rows_of_square(count);
    throw Error(ErrorCode::invalid_input,
                fmt::format("a grid of {} x {} has {} ranks, but there are {}: a grid of {} x {} has as many", rows,
                            columns, std::int64_t(rows) * columns, count, best, count / best));
  }
  if (count == 1) return nullptr;
  return std::shared_ptr<const MatrixGrid>(new MatrixGrid(ranks, rows, columns, seed));
}

std::vector<int> MatrixGrid::ranks_of_row() const {
  std::vector<int> out;
  for (int to = 0; to < columns_; ++to) out.push_back(rank_at(row(), to));
  return out;
}

std::vector<int> MatrixGrid::ranks_of_column() const {
  std::vector<int> out;
  for (int to = 0; to < rows_; ++to) out.push_back(rank_at(to, column()));
  return out;
}

std::vector<std::int32_t> MatrixGrid::deal(std::int32_t count) const {
  constexpr std::uint32_t of_places = 5;
  std::vector<std::int32_t> out, hand(static_cast<std::size_t>(places_));
  for (std::int32_t first = 0; first < count; first += places_) {
    SiteRandom random(seed_, RandomPurpose::RandomBlocks, first, of_places);
    std::iota(hand.begin(), hand.end(), 0);
    for (std::size_t k = hand.size(); k > 1; --k) std::swap(hand[k - 1], hand[random.integer() % k]);
    out.insert(out.end(), hand.begin(), hand.end());
  }
  out.resize(static_cast<std::size_t>(count));
  return out;
}

}  // namespace quadrille::block_dft
