// Block-sparse matrices in the memory of a GPU, and there what block_algebra.h, multiply.h and dense_density() do with
// BlockMatrix<double>. In a build without CUDA every call throws ErrorCode::unsupported.
#pragma once

#include "modules/block_dft/block_algebra.h"
#include "modules/block_dft/density.h"
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
  /// A matrix of zeros, without blocks. Errors as of BlockMatrix.
  DeviceMatrix(const BlockSizes& rows, const BlockSizes& columns, Symmetry symmetry = Symmetry::none);
  ~DeviceMatrix();
  DeviceMatrix(const DeviceMatrix& other);
  DeviceMatrix& operator=(const DeviceMatrix& other);
  DeviceMatrix(DeviceMatrix&&) noexcept;
  DeviceMatrix& operator=(DeviceMatrix&&) noexcept;

  BlockMatrix<double> fetch() const;
  const BlockSizes& rows() const;
  const BlockSizes& columns() const;
  Symmetry symmetry() const;
  std::int64_t block_count() const;
  std::int64_t stored() const;  ///< numbers
  double occupation() const;    ///< their share of those that could be
  /// Of numbers and index.
  std::int64_t bytes() const;

  Data& data() { return *data_; }
  const Data& data() const { return *data_; }

 private:
  std::unique_ptr<Data> data_;
};

/// multiply() of multiply.h: the same places, filter, bounds and report. Sums of a block of C run in
/// ascending k in an order that is fixed by the sizes of the blocks, so that repeated calls give the same bits; these
/// are not those of the CPU. Where it is faster (and with Driver::automatic) cuBLAS multiplies the whole matrices, and
/// the report says so. Done when it returns. Other drivers do not differ, and `options.cache_bytes` does not count.
///
/// In mixed precision products that may be rounded are done with A and B in TF32 (10 bits behind the leading one) and
/// sums in single precision.
///
/// Errors: those of multiply(); ErrorCode::unsupported for a device below compute capability 9.0, and for memory that
/// does not suffice: A and B are there twice while the product runs, two and a half times in mixed precision.
QUADRILLE_API MultiplyReport multiply(double alpha, Transpose op_a, const DeviceMatrix& a, Transpose op_b,
                                      const DeviceMatrix& b, double beta, DeviceMatrix& c,
                                      const MultiplyOptions& options = {});

// As in block_algebra.h; a repeated call gives the same bits, which are not those of the CPU.
QUADRILLE_API void scale(DeviceMatrix& a, double alpha);
QUADRILLE_API void add(double alpha, DeviceMatrix& a, double beta, const DeviceMatrix& b);
QUADRILLE_API void add_identity(DeviceMatrix& a, double alpha);
QUADRILLE_API DeviceMatrix transposed(const DeviceMatrix& a);
QUADRILLE_API DeviceMatrix without_symmetry(const DeviceMatrix& a);
QUADRILLE_API DeviceMatrix with_symmetry(const DeviceMatrix& a, Symmetry symmetry);
QUADRILLE_API double trace(const DeviceMatrix& a);
QUADRILLE_API double dot(const DeviceMatrix& a, const DeviceMatrix& b);
QUADRILLE_API std::vector<double> row_dots(const DeviceMatrix& a, const DeviceMatrix& b);
QUADRILLE_API void scale_by_means(DeviceMatrix& a, const std::vector<double>& factor);
QUADRILLE_API double frobenius_norm(const DeviceMatrix& a);
QUADRILLE_API Interval gershgorin(const DeviceMatrix& a);
QUADRILLE_API double row_sum_norm(const DeviceMatrix& a);
QUADRILLE_API Filtered filter(DeviceMatrix& a, double eps);
QUADRILLE_API void require_finite(const DeviceMatrix& a, const std::string& name);

/// Bytes per second that all multiprocessors together read from the device's memory, and again and again from the
/// second-level cache; measured.
struct DeviceMemoryRates {
  double device = 0, cache = 0;
};
QUADRILLE_API DeviceMemoryRates device_memory_rates();

/// By cuSOLVER (dsygvd). Errors: further, ErrorCode::unsupported where its library is not found.
QUADRILLE_API DenseDensity<DeviceMatrix> dense_density(const DeviceMatrix& h, const DeviceMatrix& s,
                                                       const CountOccupied& occupied);

}  // namespace quadrille::block_dft
