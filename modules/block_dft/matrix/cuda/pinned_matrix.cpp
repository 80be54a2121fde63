#include "modules/block_dft/matrix/cuda/pinned_matrix.h"

#include "core/error.h"
#include "core/system/memory.h"

#include <algorithm>

namespace quadrille::block_dft {

void PinnedMatrix::Data::make_room(std::int64_t wanted, std::int64_t kept) {
  constexpr const char* what = "a block-sparse matrix in pinned memory";
  if (wanted <= room) return;
  require_memory(double(wanted) * sizeof(double), what);
  cuda::PinnedMemory larger = cuda::make_pinned(std::size_t(wanted) * sizeof(double), cudaHostAllocDefault, what);
  if (kept > 0) std::copy_n(numbers(), kept, reinterpret_cast<double*>(larger.get()));
  memory = std::move(larger);
  room = wanted;
}

void PinnedMatrix::Data::find_places() {
  at.resize(column.size() + 1);
  std::int64_t numbers = 0;
  for (std::int32_t i = 0; i < rows.count(); ++i) {
    for (std::int64_t slot = first[std::size_t(i)]; slot < first[std::size_t(i) + 1]; ++slot) {
      at[std::size_t(slot)] = numbers;
      numbers += std::int64_t(rows.size(i)) * columns.size(column[std::size_t(slot)]);
    }
  }
  at.back() = numbers;
}

PinnedMatrix::PinnedMatrix() : data_(std::make_unique<Data>()) {}
PinnedMatrix::PinnedMatrix(const BlockSizes& rows, const BlockSizes& columns, Symmetry symmetry)
    : PinnedMatrix(BlockMatrix<double>(rows, columns, symmetry)) {}
PinnedMatrix::~PinnedMatrix() = default;
PinnedMatrix::PinnedMatrix(PinnedMatrix&&) noexcept = default;
PinnedMatrix& PinnedMatrix::operator=(PinnedMatrix&&) noexcept = default;

PinnedMatrix::PinnedMatrix(const BlockMatrix<double>& matrix) : PinnedMatrix() {
  if (matrix.grid()) throw Error(ErrorCode::unsupported, "a matrix in pinned memory is on one rank, not on a grid");
  Data& there = *data_;
  there.rows = matrix.rows();
  there.columns = matrix.columns();
  there.symmetry = matrix.symmetry();
  for (std::int32_t i = 0; i < matrix.rows().count(); ++i) there.first.push_back(matrix.end(i));
  for (std::int64_t slot = 0; slot < matrix.block_count(); ++slot) there.column.push_back(matrix.column(slot));
  there.find_places();
  there.make_room(matrix.stored(), 0);
#pragma omp parallel for schedule(static)
  for (std::int64_t slot = 0; slot < matrix.block_count(); ++slot) {
    const std::int64_t begin = there.at[std::size_t(slot)], end = there.at[std::size_t(slot) + 1];
    std::copy_n(matrix.block(slot), end - begin, there.numbers() + begin);
  }
}

BlockMatrix<double> PinnedMatrix::copy() const {
  const Data& there = *data_;
  auto out =
      BlockMatrix<double>::with_unset_pattern(there.rows, there.columns, there.symmetry, there.first, there.column);
  if (stored() > 0) std::copy_n(there.numbers(), stored(), out.block(0));
  return out;
}

const BlockSizes& PinnedMatrix::rows() const { return data_->rows; }
const BlockSizes& PinnedMatrix::columns() const { return data_->columns; }
Symmetry PinnedMatrix::symmetry() const { return data_->symmetry; }
std::int64_t PinnedMatrix::block_count() const { return std::int64_t(data_->column.size()); }
std::int64_t PinnedMatrix::stored() const { return data_->at.back(); }
std::int64_t PinnedMatrix::bytes() const {
  const Data& there = *data_;
  return std::int64_t(std::size_t(stored()) * sizeof(double) + there.first.size() * sizeof(std::int64_t) +
                      there.column.size() * (sizeof(std::int32_t) + sizeof(std::int64_t)));
}

double PinnedMatrix::occupation() const {
  const Data& there = *data_;
  double numbers = double(stored());
  for (std::int32_t i = 0; i < there.rows.count() && there.symmetry != Symmetry::none; ++i) {
    const auto begin = there.column.begin() + there.first[std::size_t(i)];
    const auto end = there.column.begin() + there.first[std::size_t(i) + 1];
    for (auto slot = begin; slot != end; ++slot) {
      if (*slot != i) numbers += double(there.rows.size(i)) * there.columns.size(*slot);  // what it stands for
    }
  }
  const double all = double(there.rows.total()) * double(there.columns.total());
  return all > 0 ? numbers / all : 0;
}

}  // namespace quadrille::block_dft
