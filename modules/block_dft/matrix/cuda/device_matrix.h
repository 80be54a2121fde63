// What a DeviceMatrix holds, and small steps that the parts of a product on the device share.
#pragma once

#include "core/backend/cuda/device_array.h"
#include "modules/block_dft/device.h"
#include "modules/block_dft/matrix/cuda/matrix_view.h"

namespace quadrille::block_dft {

constexpr const char* device_what = "a block-sparse product";
constexpr const char* device_advice = "fewer blocks, or a larger eps, would need less";

template <class T>
using DeviceArray = cuda::DeviceArray<T>;

template <class T>
DeviceArray<T> device_array(std::int64_t count) {
  return {count, device_what, device_advice};
}

struct DeviceMatrix::Data {
  BlockSizes rows, columns;
  Symmetry symmetry = Symmetry::none;
  std::int64_t blocks = 0, numbers = 0;
  DeviceArray<std::int64_t> first;   ///< [row + 1]
  DeviceArray<std::int32_t> column;  ///< [slot]
  DeviceArray<std::int64_t> at;      ///< [slot + 1]
  DeviceArray<double> numbers_there;

  /// The blocks of this rank, from the host and back to it.
  void send(const BlockMatrix<double>& matrix);
  BlockMatrix<double> fetch() const;
  MatrixView view() const { return {first.get(), column.get(), at.get(), numbers_there.get(), rows.count(), blocks}; }
};

/// A few bytes of the device, written by a kernel: a copy would wait for large ones that are on their way to the host.
void read_bytes(const void* there, void* here, int count);

/// The last element of an array, on the host; waits for it.
template <class T>
T last_of(const DeviceArray<T>& array) {
  T last;
  read_bytes(array.get() + array.count() - 1, &last, int(sizeof(T)));
  return last;
}

/// Zeros.
DeviceArray<std::int64_t> zeroed(std::int64_t count);

/// Where blocks begin, in elements: [block + 1].
DeviceArray<std::int64_t> offsets_on_device(const BlockSizes& sizes);

/// On the host; waits for it. Repeated calls give the same bits.
double sum_of(const DeviceArray<double>& terms);

/// Counts become the sums of those before them; the last element, which must be there, the sum of all others.
void sum_before(DeviceArray<std::int64_t>& counts);

/// The Frobenius norm of each block, by slot.
DeviceArray<double> norms_on_device(const MatrixView& matrix);

/// Below what norm(A) norm(B) a product of a row with so many blocks is skipped: eps / (|alpha| blocks), 0 for alpha =
/// 0.
DeviceArray<double> row_limits(const DeviceArray<std::int32_t>& blocks, double eps, double alpha);

/// For rows of so many elements, below what norm(A) norm(B) a product changes a block of C by no more than a skipped
/// one might when it is rounded to single precision, and the share `rounding` of it that it is changed by at most.
struct SingleLimits {
  DeviceArray<double> below, rounding;
};
SingleLimits single_limits(const DeviceArray<std::int32_t>& elements, const DeviceArray<double>& skip_below);

/// Takes out the blocks that do not stay: stays[slot] is 1 or 0, numbers[slot] what stays of a block's numbers; the
/// last element of both is 0, and both are overwritten. Gives how many went.
std::int64_t keep_marked(DeviceMatrix::Data& matrix, DeviceArray<std::int64_t>& stays,
                         DeviceArray<std::int64_t>& numbers);

/// Diagonal blocks become (D +- D^T) / 2.
void symmetrise_on_device(DeviceMatrix::Data& matrix);

}  // namespace quadrille::block_dft
