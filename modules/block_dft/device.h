// Block-sparse matrices in the memory of a GPU, and there what block_algebra.h, multiply.h and dense_density() do with
// BlockMatrix<double>. Builds without CUDA have none of it: callers go through with_cuda() (core/backend/of_backend.h).
#pragma once

#include "core/backend/of_backend.h"
#include "modules/block_dft/functions/density.h"
#include "modules/block_dft/matrix/block_algebra.h"
#include "modules/block_dft/product/multiply.h"

#include <cstdint>
#include <memory>

namespace quadrille::eigen {
template <class T>
class DeviceFactor;
}

namespace quadrille::block_dft {

/// A BlockMatrix<double> in the memory of the CUDA backend: the same rows of blocks, each block row by row, all blocks
/// one behind the other. It is made of a matrix of the host and comes back as one; products change it in between. On a
/// grid each rank has its own blocks, on its own device.
class QUADRILLE_API DeviceMatrix {
 public:
  struct Data;

  DeviceMatrix();
  /// Sends a matrix; on a grid collective, as fetch() is, but copies are not: copied() makes one that all ranks have,
  /// or none. Errors: ErrorCode::unsupported for memory that does not suffice and for 2^31 blocks or more.
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

/// A BlockMatrix<double> in pinned memory of the host, which a GPU reads and writes by itself while it multiplies: for
/// matrices that its own memory does not hold, or that stay on the host. Pinning memory takes longer than filling it:
/// keep these matrices, and use a C again that has been C before.
class QUADRILLE_API PinnedMatrix {
 public:
  struct Data;

  PinnedMatrix();
  /// A copy. Errors: NotEnoughMemory; ErrorCode::unsupported for a matrix on a grid.
  explicit PinnedMatrix(const BlockMatrix<double>& matrix);
  /// A matrix of zeros, without blocks. Errors as of BlockMatrix.
  PinnedMatrix(const BlockSizes& rows, const BlockSizes& columns, Symmetry symmetry = Symmetry::none);
  ~PinnedMatrix();
  PinnedMatrix(PinnedMatrix&&) noexcept;
  PinnedMatrix& operator=(PinnedMatrix&&) noexcept;

  BlockMatrix<double> copy() const;
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
/// are not those of the CPU. Where it is faster, and memory suffices (and with Driver::automatic), cuBLAS multiplies
/// the whole matrices, and the report says so. Done when it returns. Other drivers do not differ, and
/// `options.cache_bytes` does not count.
///
/// On a grid of ranks, whose devices share A, B and C, the call is collective, and what is said of it in multiply.h
/// holds: C is summed up panel by panel. Products are by blocks and in one part there; options.panel_bytes is for
/// panels of other ranks (0: what a quarter of a device's memory allows), and a rank without enough memory ends the
/// call on all.
///
/// In mixed precision products that may be rounded are done with A and B in TF32 (10 bits behind the leading one) and
/// sums in single precision.
///
/// What a product needs beside A, B and the filtered C - A and B packed, the list of steps, blocks of C before the
/// filter - is there for some rows of C at a time, and for some columns where B is large: in as few parts as the free
/// memory, or options.panel_bytes, allows. The bits are those of one part; whole matrices are multiplied in one only.
///
/// Errors: those of multiply(); ErrorCode::unsupported for a device below compute capability 9.0; NotEnoughMemory, with
/// what is needed, where one row or column of blocks is too much.
QUADRILLE_API MultiplyReport multiply(double alpha, Transpose op_a, const DeviceMatrix& a, Transpose op_b,
                                      const DeviceMatrix& b, double beta, DeviceMatrix& c,
                                      const MultiplyOptions& options = {});
/// The same of matrices in pinned memory: panels of rows of A, and of columns of B, are sent while others are
/// multiplied, and rows of C are fetched while the next are multiplied. B is on the GPU as a whole, packed; of A and C
/// there are a few panels. (A is there as a whole where it is transposed or stored by a half, and so is a C that is
/// added to.) The bits are those of matrices in the device's memory, by blocks.
///
/// Errors: as above, and NotEnoughMemory of the host for C.
QUADRILLE_API MultiplyReport multiply(double alpha, Transpose op_a, const PinnedMatrix& a, Transpose op_b,
                                      const PinnedMatrix& b, double beta, PinnedMatrix& c,
                                      const MultiplyOptions& options = {});

/// Gives back the device memory that products, and changes of symmetry, keep for blocks of other ranks of a grid until
/// the grid's end, because the next ones use it again. For the end of a task. Nothing without a grid. Collective.
QUADRILLE_API void release_windows(const std::shared_ptr<const MatrixGrid>& grid);

/// norm_of_product() of multiply.h; the sum is never there as a whole.
QUADRILLE_API double norm_of_product(double alpha, Transpose op_a, const DeviceMatrix& a, Transpose op_b,
                                     const DeviceMatrix& b, double beta, const DeviceMatrix& c,
                                     const MultiplyOptions& options = {});

// As in block_algebra.h, on grids of ranks, too; a repeated call gives the same bits, which are not those of the CPU.
QUADRILLE_API DeviceMatrix copied(const DeviceMatrix& a);
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

/// Bytes per second from pinned memory of the host to the device's and back, each alone; measured.
struct DeviceLinkRates {
  double up = 0, down = 0;
};
QUADRILLE_API DeviceLinkRates device_link_rates();

/// require_dense_memory() of density.h for this rank's GPU, which has `besides` bytes to hold, too.
QUADRILLE_API void require_dense_memory_on_device(std::int64_t orbitals, double besides = 0);

template <>
struct DenseFactorOf<DeviceMatrix> {
  using Type = eigen::DeviceFactor<double>;
};
/// On the GPU. Errors: further, those of eigen::require_device().
QUADRILLE_API DenseDensity<DeviceMatrix> dense_density(const DeviceMatrix& h, const DeviceMatrix& s,
                                                       const CountOccupied& occupied, DenseFactor<DeviceMatrix>& kept);

/// The matrices that the backends of this build work on: F(M) for each M.
using MatrixOn_cpu = BlockMatrix<double>;
using MatrixOn_cuda = DeviceMatrix;
#define QUADRILLE_FOR_MATRICES(F) QUADRILLE_BUILT_BACKENDS(QUADRILLE_FOR_MATRIX_ON, F)
#define QUADRILLE_FOR_MATRIX_ON(backend, F) F(MatrixOn_##backend)

}  // namespace quadrille::block_dft
