#include "modules/block_dft/matrix/cuda/device_matrix.h"

#include "core/error.h"
#include "modules/block_dft/matrix/every_rank.h"

#include <fmt/format.h>

#include <limits>

namespace quadrille::block_dft {
namespace {

template <class T>
DeviceArray<T> copy_of(const DeviceArray<T>& from) {
  auto out = device_array<T>(from.count());
  QUADRILLE_CUDA_CHECK(cudaMemcpyAsync(out.get(), from.get(), std::size_t(from.count()) * sizeof(T),
                                       cudaMemcpyDeviceToDevice, cuda::stream()));
  return out;
}

}  // namespace

DeviceArray<std::int64_t> offsets_on_device(const BlockSizes& sizes) {
  std::vector<std::int64_t> offsets;
  for (std::int32_t block = 0; block <= sizes.count(); ++block) offsets.push_back(sizes.offset(block));
  return cuda::sent(offsets, device_what, device_advice);
}

DeviceMatrix::DeviceMatrix() : data_(std::make_unique<Data>()) {}
DeviceMatrix::DeviceMatrix(const BlockSizes& rows, const BlockSizes& columns, Symmetry symmetry)
    : DeviceMatrix(BlockMatrix<double>(rows, columns, symmetry)) {}
DeviceMatrix::DeviceMatrix(const DeviceMatrix& other) : DeviceMatrix() {
  const Data& from = other.data();
  Data& there = *data_;
  there.rows = from.rows;
  there.columns = from.columns;
  there.symmetry = from.symmetry;
  there.blocks = from.blocks;
  there.numbers = from.numbers;
  there.first = copy_of(from.first);
  there.column = copy_of(from.column);
  there.at = copy_of(from.at);
  there.numbers_there = copy_of(from.numbers_there);
}
DeviceMatrix& DeviceMatrix::operator=(const DeviceMatrix& other) { return *this = DeviceMatrix(other); }
DeviceMatrix::~DeviceMatrix() = default;
DeviceMatrix::DeviceMatrix(DeviceMatrix&&) noexcept = default;
DeviceMatrix& DeviceMatrix::operator=(DeviceMatrix&&) noexcept = default;

DeviceMatrix copied(const DeviceMatrix& a) {
  return on_every_rank(a.rows().grid(), [&] { return a; });
}

DeviceMatrix::DeviceMatrix(const BlockMatrix<double>& matrix) : DeviceMatrix() {
  on_every_rank(matrix.grid(), [&] { data_->send(matrix); });
}

/// The blocks of this rank.
void DeviceMatrix::Data::send(const BlockMatrix<double>& matrix) {
  if (matrix.block_count() > std::numeric_limits<std::int32_t>::max()) {
    throw Error(ErrorCode::unsupported,
                fmt::format("a GPU takes matrices of up to 2^31 - 1 blocks, not {}", matrix.block_count()));
  }
  rows = matrix.rows();
  columns = matrix.columns();
  symmetry = matrix.symmetry();
  blocks = matrix.block_count();
  numbers = matrix.stored();
  std::vector<std::int64_t> begins{0}, places;
  std::vector<std::int32_t> column_of;
  for (std::int32_t i = 0; i < rows.count(); ++i) begins.push_back(matrix.end(i));
  bool in_order = true;  // put() adds blocks behind all others
  std::int64_t next = 0;
  matrix.for_each([&](std::int32_t i, std::int32_t j, std::int64_t slot) {
    column_of.push_back(j);
    places.push_back(next);
    in_order = in_order && matrix.offset(slot) == next;
    next += std::int64_t(rows.size(i)) * columns.size(j);
  });
  places.push_back(next);
  first = cuda::sent(begins, device_what, device_advice);
  column = cuda::sent(column_of, device_what, device_advice);
  at = cuda::sent(places, device_what, device_advice);
  numbers_there = device_array<double>(numbers);
  std::vector<double> ordered;
  for (std::size_t slot = 0; slot < column_of.size() && !in_order; ++slot) {
    const double* block = matrix.block(std::int64_t(slot));
    ordered.insert(ordered.end(), block, block + places[slot + 1] - places[slot]);
  }
  const double* const from = in_order ? matrix.data().data() : ordered.data();
  cuda_backend().copy_in(numbers_there.get(), from, std::size_t(numbers) * sizeof(double));
}

BlockMatrix<double> DeviceMatrix::fetch() const {
  return on_every_rank(data_->rows.grid(), [&] { return data_->fetch(); });
}

BlockMatrix<double> DeviceMatrix::Data::fetch() const {
  std::vector<std::int64_t> begins{0};
  if (first.count() > 0) begins = cuda::fetched(first.get(), first.count());
  auto out = BlockMatrix<double>::with_unset_pattern(rows, columns, symmetry, std::move(begins),
                                                     cuda::fetched(column.get(), blocks));
  if (numbers > 0) cuda_backend().copy_out(out.block(0), numbers_there.get(), std::size_t(numbers) * sizeof(double));
  return out;
}

const BlockSizes& DeviceMatrix::rows() const { return data_->rows; }
const BlockSizes& DeviceMatrix::columns() const { return data_->columns; }
Symmetry DeviceMatrix::symmetry() const { return data_->symmetry; }
std::int64_t DeviceMatrix::block_count() const { return data_->blocks; }
std::int64_t DeviceMatrix::stored() const { return data_->numbers; }
std::int64_t DeviceMatrix::bytes() const {
  const Data& there = *data_;
  return std::int64_t(there.numbers * sizeof(double) + std::size_t(there.first.count()) * sizeof(std::int64_t) +
                      std::size_t(there.blocks) * (sizeof(std::int32_t) + sizeof(std::int64_t)));
}

}  // namespace quadrille::block_dft
