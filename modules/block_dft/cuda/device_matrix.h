// What a DeviceMatrix holds, and small steps that the parts of a product on the device share.
#pragma once

#include "core/backend/cuda/device_array.h"
#include "modules/block_dft/device.h"

namespace quadrille::block_dft {

constexpr const char* device_what = "a block-sparse product";
constexpr const char* device_advice = "fewer blocks, or a larger eps, would need less";

template <class T>
using DeviceArray = cuda::DeviceArray<T>;

template <class T>
DeviceArray<T> device_array(std::int64_t count) {
  return {count, device_what, device_advice};
}

/// Of a matrix, for kernels.
struct MatrixView {
  const std::int64_t* first;   ///< [row + 1]: of slots
  const std::int32_t* column;  ///< [slot], ascending in a row
  const std::int64_t* at;      ///< [slot]: of data
  const double* data;
  std::int32_t rows;
  std::int64_t blocks;
};

struct DeviceMatrix::Data {
  BlockSizes rows, columns;
  Symmetry symmetry = Symmetry::none;
  std::int64_t blocks = 0, numbers = 0;
  DeviceArray<std::int64_t> first;   ///< [row + 1]
  DeviceArray<std::int32_t> column;  ///< [slot]
  DeviceArray<std::int64_t> at;      ///< [slot + 1]
  DeviceArray<double> numbers_there;

  MatrixView view() const { return {first.get(), column.get(), at.get(), numbers_there.get(), rows.count(), blocks}; }
};

/// The last element of an array, on the host; waits for it.
template <class T>
T last_of(const DeviceArray<T>& array) {
  return cuda::fetched(array.get() + array.count() - 1, 1).front();
}

/// Counts become the sums of those before them; the last element, which must be there, the sum of all others.
void sum_before(DeviceArray<std::int64_t>& counts);

/// The Frobenius norm of each block, by slot.
DeviceArray<double> norms_on_device(const MatrixView& matrix);

/// Below what norm(A) norm(B) a product of a row with so many blocks is skipped: eps / (|alpha| blocks), 0 for alpha =
/// 0.
DeviceArray<double> row_limits(const DeviceArray<std::int32_t>& blocks, double eps, double alpha);

/// Diagonal blocks become (D +- D^T) / 2.
void symmetrise_on_device(DeviceMatrix::Data& matrix);

/// Takes out blocks with norms below eps; what is given back is as filter() of block_algebra.h says.
struct DeviceFiltered {
  double norm = 0;
  std::int64_t blocks = 0;
};
DeviceFiltered filter_on_device(DeviceMatrix::Data& matrix, double eps);

}  // namespace quadrille::block_dft
