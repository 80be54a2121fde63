// Grids of a host's ranks, and matrices in the columns that they have: c_api.h.
#include "core/comm/agreement.h"
#include "core/error.h"
#include "modules/block_dft/capi/c_objects.h"
#include "modules/block_dft/files/element_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace quadrille::block_dft {
namespace {

using c_calls::demand;
using c_calls::refuse;

const Communicator& ranks_of(const HostGrid* home) { return home == nullptr ? *single_process() : *home->all; }

/// Columns of a whole matrix on ranks.
struct Columns {
  std::int32_t base;
  std::int64_t count;
  const std::int32_t* which;  ///< null: successive ones

  void check() const {
    if (base != 0 && base != 1) refuse(fmt::format("base = {}: it must be 0 or 1", base));
    if (count < 0) refuse(fmt::format("count = {}: it must not be negative", count));
    if (count > std::numeric_limits<std::int32_t>::max()) {
      refuse(fmt::format("count = {}: a matrix has fewer columns", count));
    }
  }

  /// Which rows or columns there are, counted as the caller does.
  std::string range(const char* what, std::int64_t n) const {
    return fmt::format("with base {} {} are {} to {}", base, what, base, n - 1 + base);
  }

  /// Of this rank, from 0, in a matrix of n. Collective.
  std::vector<std::int32_t> mine(const Communicator& ranks, std::int64_t n) const {
    std::vector<std::int64_t> counts(std::size_t(ranks.size()));
    ranks.gather(&count, sizeof count, counts.data());
    std::vector<std::int32_t> out;
    all_or_none(ranks, [&] {
      if (const std::int64_t all = std::accumulate(counts.begin(), counts.end(), std::int64_t(0)); all > n) {
        refuse(fmt::format("the ranks have {} columns, but the matrix has {}", all, n));
      }
      out.resize(std::size_t(count));
      const auto first = std::accumulate(counts.begin(), counts.begin() + ranks.rank(), std::int64_t(0));
      std::iota(out.begin(), out.end(), std::int32_t(first));
      for (std::size_t k = 0; which != nullptr && k < out.size(); ++k) {
        const std::int64_t column = std::int64_t(which[k]) - base;
        if (column < 0 || column >= n) refuse(fmt::format("columns[{}] = {}: {}", k, which[k], range("columns", n)));
        out[k] = std::int32_t(column);
      }
    });
    return out;
  }
};

constexpr std::int32_t nobody = -1;

/// The rank that has each column, or nobody. Collective.
std::vector<std::int32_t> owners(const Communicator& ranks, const std::vector<std::int32_t>& mine, std::int64_t n,
                                 std::int32_t base) {
  std::vector<std::int32_t> owner(std::size_t(n), nobody), theirs;
  std::string twice;
  for (int rank = 0; rank < ranks.size(); ++rank) {
    theirs = mine;
    std::uint64_t count = mine.size();
    ranks.broadcast(&count, sizeof count, rank);
    theirs.resize(count);
    ranks.broadcast(theirs.data(), count * sizeof(std::int32_t), rank);
    for (const std::int32_t column : theirs) {
      std::int32_t& of = owner[std::size_t(column)];
      if (of != nobody) twice = fmt::format("column {} is given twice, by ranks {} and {}", column + base, of, rank);
      of = rank;
    }
  }
  if (!twice.empty()) refuse(twice);
  return owner;
}

/// Those in a host's arrays.
class ColumnElements final : public ElementSource {
 public:
  ColumnElements(std::int64_t n, const Columns& given, const std::vector<std::int32_t>& columns,
                 const std::int64_t* starts, const std::int32_t* rows, const double* values)
      : n_(n), given_(given), columns_(columns), starts_(starts), rows_(rows), values_(values) {}

  std::int64_t size() override { return n_; }
  std::optional<std::int64_t> size_in_head() const override { return n_; }
  int base() const override { return given_.base; }

  void next(std::size_t most, std::vector<Element>& piece) override {
    piece.clear();
    for (; column_ < columns_.size(); ++column_, at_ = 0) {
      const std::int64_t count = starts_[column_ + 1] - starts_[column_];
      for (; at_ < count; ++at_) {
        if (piece.size() == most) return;
        piece.push_back(checked(starts_[column_] - base() + at_));
      }
    }
    if (piece.empty()) column_ = 0;
  }

 private:
  Element checked(std::int64_t k) const {
    const std::int64_t row = std::int64_t(rows_[k]) - base();
    const std::int32_t column = columns_[column_] + base();
    if (row < 0 || row >= n_) {
      refuse(fmt::format("element {} in column {} is in row {}: {}", k + base(), column, rows_[k],
                         given_.range("rows", n_)));
    }
    if (!std::isfinite(values_[k])) {
      throw Error(ErrorCode::numerical,
                  fmt::format("element ({}, {}) is {}: it must be finite", rows_[k], column, values_[k]));
    }
    return {std::int32_t(row), columns_[column_], values_[k]};
  }

  std::int64_t n_;
  const Columns& given_;
  const std::vector<std::int32_t>& columns_;
  const std::int64_t* starts_;
  const std::int32_t* rows_;
  const double* values_;
  std::size_t column_ = 0;
  std::int64_t at_ = 0;
};

void check_starts(const Columns& columns, const std::int64_t* starts, const std::int32_t* rows, const double* values) {
  demand(starts, "starts");
  if (starts[0] != columns.base)
    refuse(fmt::format("starts[0] = {}: it must be equal to base, {}", starts[0], columns.base));
  for (std::int64_t k = 0; k < columns.count; ++k) {
    if (starts[k + 1] < starts[k])
      refuse(fmt::format("starts[{}] = {} is below starts[{}] = {}", k + 1, starts[k + 1], k, starts[k]));
  }
  if (starts[columns.count] == columns.base) return;
  demand(rows, "rows");
  demand(values, "values");
}

quadrille_block_grid* new_grid(std::shared_ptr<const HostGrid> home) {
  return c_calls::handle_of<quadrille_block_grid>(std::make_shared<GridObject>(GridObject{std::move(home)}));
}

std::shared_ptr<const HostGrid> grid_over(const HostCommunicator& communicator, std::int32_t rows, std::int32_t columns,
                                          const void* handle) {
  auto home = std::make_shared<HostGrid>();
  home->ranks = quadrille::ranks_of(communicator);
  home->all = home->ranks->communicator({1, 1, 1, home->ranks->size()});
  together(home.get(), fmt::format("quadrille_block_grid_create with {} rows and {} columns", rows, columns),
           [&] { demand(handle, "grid"); });
  home->grid = MatrixGrid::over(*home->all, rows, columns);
  return home;
}

/// Where the elements of this rank's columns begin. Collective.
void count_elements(const BlockMatrix<double>& a, const std::vector<std::int32_t>& owner,
                    const std::vector<std::int64_t>& place, int me, std::int32_t base, std::int64_t count,
                    std::int64_t* starts) {
  std::fill_n(starts, count + 1, base);
  for_each_row_counts(a, [&](std::int64_t row, const std::vector<std::int64_t>& counts) {
    for (const std::int64_t elements : counts) {
      const auto at = std::size_t(row++);
      if (owner[at] == me) starts[place[at] + 1] = elements;
    }
  });
  std::partial_sum(starts, starts + count + 1, starts);
}

void columns_of(const MatrixObject& matrix, const Columns& columns, std::int64_t* starts, std::int64_t capacity,
                std::int32_t* rows, double* values) {
  const Communicator& ranks = ranks_of(matrix.home.get());
  const BlockMatrix<double>& a = matrix.matrix;
  const std::vector<std::int32_t> mine = columns.mine(ranks, a.rows().total());
  const std::vector<std::int32_t> owner = owners(ranks, mine, a.rows().total(), columns.base);
  std::vector<std::int64_t> place(owner.size());
  for (std::size_t k = 0; k < mine.size(); ++k) place[std::size_t(mine[k])] = std::int64_t(k);
  count_elements(a, owner, place, ranks.rank(), columns.base, columns.count, starts);
  double wanted = rows != nullptr ? 1 : 0;
  ranks.maximum(&wanted, 1);
  if (wanted == 0) return;
  all_or_none(ranks, [&] {
    const std::int64_t needed = starts[columns.count] - columns.base;
    if (needed > 0) demand(rows, "rows");
    if (needed > 0) demand(values, "values");
    if (capacity < needed) {
      refuse(fmt::format("capacity = {}: it must be at least {}, the number of elements", capacity, needed));
    }
  });
  StreamBuffer buffer;
  for_each_rows(
      a, a.rows().total(), [&](std::int64_t row) { return owner[std::size_t(row)]; }, buffer,
      [&](const ElementRows& part) {
        std::int32_t row = nobody;
        std::int64_t at = 0;
        for (const Element& e : part.elements) {  // all of a row are in one part
          if (e.row != row) at = starts[place[std::size_t(e.row)]] - columns.base;
          row = e.row;
          rows[at] = e.column + columns.base;
          values[at++] = e.value;
        }
      });
}

}  // namespace
}  // namespace quadrille::block_dft

using namespace quadrille::block_dft;
using quadrille::Communicator;
using quadrille::c_calls::demand;
using quadrille::c_calls::refuse;

extern "C" {

quadrille_status quadrille_block_grid_create(const void* communicator, int32_t rows, int32_t columns,
                                             quadrille_block_grid** grid) {
  return guarded("quadrille_block_grid_create", [&] {
    demand(communicator, "communicator");
    auto home = grid_over({.address = communicator}, rows, columns, grid);
    *grid = new_grid(std::move(home));
  });
}

quadrille_status quadrille_block_grid_create_fortran(int communicator, int32_t rows, int32_t columns,
                                                     quadrille_block_grid** grid) {
  return guarded("quadrille_block_grid_create_fortran", [&] {
    auto home = grid_over({.fortran = communicator}, rows, columns, grid);
    *grid = new_grid(std::move(home));
  });
}

void quadrille_block_grid_destroy(quadrille_block_grid* grid) {
  quadrille::c_calls::destroy_if_valid<GridObject>(grid);
}

quadrille_status quadrille_block_matrix_from_columns(const quadrille_block_grid* grid, int32_t blocks,
                                                     const int32_t* sizes, int32_t base, int64_t count,
                                                     const int32_t* columns, const int64_t* starts, const int32_t* rows,
                                                     const double* values, quadrille_block_matrix** matrix) {
  return guarded("quadrille_block_matrix_from_columns", [&] {
    const auto home = home_of_grid(grid);
    const Columns given{base, count, columns};
    together(home.get(),
             fmt::format("quadrille_block_matrix_from_columns with {} and base {}", sizes_text(blocks, sizes), base),
             [&] {
               demand(matrix, "matrix");
               sizes_of(blocks, sizes, "sizes");
               given.check();
               check_starts(given, starts, rows, values);
             });
    const BlockSizes all = sizes_of(blocks, sizes, "sizes").on(home == nullptr ? nullptr : home->grid);
    const Communicator& ranks = ranks_of(home.get());
    const std::vector<std::int32_t> mine = given.mine(ranks, all.total());
    const std::vector<std::int32_t> owner = owners(ranks, mine, all.total(), base);
    const auto missing = std::find(owner.begin(), owner.end(), nobody) - owner.begin();
    if (missing < all.total()) refuse(fmt::format("no rank gives column {}", missing + base));
    ColumnElements source(all.total(), given, mine, starts, rows, values);
    StreamBuffer buffer;
    *matrix = new_matrix(home, symmetric_of_elements(&source, all, "", buffer));
  });
}

quadrille_status quadrille_block_matrix_to_columns(const quadrille_block_matrix* handle, int32_t base, int64_t count,
                                                   const int32_t* columns, int64_t* starts, int64_t capacity,
                                                   int32_t* rows, double* values) {
  return guarded("quadrille_block_matrix_to_columns", [&] {
    const auto matrix = quadrille::c_calls::find<MatrixObject>(handle, "matrix");
    const Columns wanted{base, count, columns};
    together(matrix->home.get(),
             fmt::format("quadrille_block_matrix_to_columns of {}, base {}", matrix_text(matrix.get()), base), [&] {
               wanted.check();
               demand(starts, "starts");
               if (matrix->matrix.symmetry() != Symmetry::symmetric) refuse("the matrix must have symmetric storage");
             });
    columns_of(*matrix, wanted, starts, capacity, rows, values);
  });
}

}  // extern "C"
