// Block-sparse matrices in the memory of a GPU, and their products there. In a build without CUDA every call throws
// ErrorCode::unsupported.
#pragma once

#include "modules/block_dft/multiply.h"

#include <cstdint>
#include <memory>

namespace quadrille::block_dft {

/// A BlockMatrix<double> in the memory of the CUDA backend: the same rows of blocks, each block row by row, all blocks
/// one behind the other. It is made of a matrix of the host and comes back as one; products change it in between.
class QUADRILLE_API DeviceMatrix {
 public:
  struct Data;

  DeviceMatrix();
  /// Sends a matrix. Errors: ErrorCode::unsupported for memory that does not suffice and for 2^31 blocks or more.
  explicit DeviceMatrix(const BlockMatrix<double>& matrix);
  ~DeviceMatrix();
  DeviceMatrix(DeviceMatrix&&) noexcept;
  DeviceMatrix& operator=(DeviceMatrix&&) noexcept;

  BlockMatrix<double> fetch() const;
  const BlockSizes& rows() const;
  const BlockSizes& columns() const;
  Symmetry symmetry() const;
  std::int64_t block_count() const;
  std::int64_t stored() const;  ///< numbers
  /// Of numbers and index.
  std::int64_t bytes() const;

  Data& data() { return *data_; }
  const Data& data() const { return *data_; }

 private:
  std::unique_ptr<Data> data_;
};

/// multiply() with matrices on the device: the same places, filter, bounds and report. Sums of a block of C run in
/// ascending k in an order that is fixed by the sizes of the blocks, so that repeated calls give the same bits; these
/// are not those of the CPU. Where it is faster (and with Driver::automatic) cuBLAS multiplies the whole matrices, and
/// the report says so. Done when it returns. Other drivers do not differ, and `options.cache_bytes` does not count.
///
/// Errors: those of multiply(); ErrorCode::unsupported for mixed precision, for a device below compute capability 9.0,
/// and for memory that does not suffice: A and B are there twice while the product runs.
QUADRILLE_API MultiplyReport multiply_on_device(double alpha, Transpose op_a, const DeviceMatrix& a, Transpose op_b,
                                                const DeviceMatrix& b, double beta, DeviceMatrix& c,
                                                const MultiplyOptions& options = {});

}  // namespace quadrille::block_dft
