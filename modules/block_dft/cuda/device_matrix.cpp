#include "modules/block_dft/cuda/device_matrix.h"

#include "core/error.h"

#include <fmt/format.h>

#include <limits>

namespace quadrille::block_dft {
namespace {

template <class T>
DeviceArray<T> copied(const DeviceArray<T>& from) {
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
  there.first = copied(from.first);
  there.column = copied(from.column);
  there.at = copied(from.at);
  there.numbers_there = copied(from.numbers_there);
}
DeviceMatrix& DeviceMatrix::operator=(const DeviceMatrix& other) { return *this = DeviceMatrix(other); }
DeviceMatrix::~DeviceMatrix() = default;
DeviceMatrix::DeviceMatrix(DeviceMatrix&&) noexcept = default;
DeviceMatrix& DeviceMatrix::operator=(DeviceMatrix&&) noexcept = default;

DeviceMatrix::DeviceMatrix(const BlockMatrix<double>& matrix) : DeviceMatrix() {
  if (matrix.block_count() > std::numeric_limits<std::int32_t>::max()) {
    throw Error(ErrorCode::unsupported,
                fmt::format("a GPU takes matrices of up to 2^31 - 1 blocks, not {}", matrix.block_count()));
  }
  Data& there = *data_;
  there.rows = matrix.rows();
  there.columns = matrix.columns();
  there.symmetry = matrix.symmetry();
  there.blocks = matrix.block_count();
  there.numbers = matrix.stored();
  std::vector<std::int64_t> first{0}, at;
  std::vector<std::int32_t> column;
  for (std::int32_t i = 0; i < matrix.rows().count(); ++i) first.push_back(matrix.end(i));
  bool in_order = true;  // put() adds blocks behind all others
  std::int64_t numbers = 0;
  matrix.for_each([&](std::int32_t i, std::int32_t j, std::int64_t slot) {
    column.push_back(j);
    at.push_back(numbers);
    in_order = in_order && matrix.offset(slot) == numbers;
    numbers += std::int64_t(matrix.rows().size(i)) * matrix.columns().size(j);
  });
  at.push_back(numbers);
  there.first = cuda::sent(first, device_what, device_advice);
  there.column = cuda::sent(column, device_what, device_advice);
  there.at = cuda::sent(at, device_what, device_advice);
  there.numbers_there = device_array<double>(numbers);
  if (in_order) {
    cuda_backend().copy_in(there.numbers_there.get(), matrix.data().data(), std::size_t(numbers) * sizeof(double));
    return;
  }
  std::vector<double> ordered;
  for (std::size_t slot = 0; slot < column.size(); ++slot) {
    const double* block = matrix.block(std::int64_t(slot));
    ordered.insert(ordered.end(), block, block + at[slot + 1] - at[slot]);
  }
  cuda_backend().copy_in(there.numbers_there.get(), ordered.data(), ordered.size() * sizeof(double));
}

BlockMatrix<double> DeviceMatrix::fetch() const {
  const Data& there = *data_;
  std::vector<std::int64_t> first{0};
  if (there.first.count() > 0) first = cuda::fetched(there.first.get(), there.first.count());
  BlockMatrix<double> out = BlockMatrix<double>::with_unset_pattern(
      there.rows, there.columns, there.symmetry, std::move(first), cuda::fetched(there.column.get(), there.blocks));
  if (there.numbers > 0) {
    cuda_backend().copy_out(out.block(0), there.numbers_there.get(), std::size_t(there.numbers) * sizeof(double));
  }
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
