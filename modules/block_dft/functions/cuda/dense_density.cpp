// The dense path on a GPU: the occupied eigenvectors, by the module eigen.
#include "core/comm/agreement.h"
#include "core/error.h"
#include "core/system/memory.h"
#include "modules/block_dft/matrix/block_exchange.h"
#include "modules/block_dft/product/cuda/dense_product.h"
#include "modules/eigen/device.h"
#include "modules/shared/dense/cuda/cublas.h"

#include <fmt/format.h>

#include <limits>
#include <memory>

namespace quadrille::block_dft {
namespace {

/// Zeros at all places on and above the diagonal.
BlockMatrix<double> full_pattern(const BlockSizes& sizes) {
  std::vector<std::int64_t> first{0};
  std::vector<std::int32_t> column;
  for (std::int32_t i = 0; i < sizes.count(); ++i) {
    for (std::int32_t j = i; j < sizes.count(); ++j) column.push_back(j);
    first.push_back(std::int64_t(column.size()));
  }
  return BlockMatrix<double>::with_pattern(sizes, sizes, Symmetry::symmetric, std::move(first), std::move(column));
}

DenseDensity<DeviceMatrix> dense_on_one_rank(const DeviceMatrix& h, const DeviceMatrix& s,
                                             const CountOccupied& occupied, DenseFactor<DeviceMatrix>& kept) {
  const std::int64_t n = h.rows().total();
  if (!kept) {
    require_dense_memory_on_device(n);
    const DeviceArray<double> metric = spread(Transpose::no, s.data());
    kept = std::make_shared<const eigen::DeviceFactor<double>>(n, metric.get(), n, eigen::Triangle::lower, "S");
  }
  eigen::PairsThere<double> pairs;
  {
    const DeviceArray<double> matrix = spread(Transpose::no, h.data());
    const auto lowest = [&](const std::vector<double>& levels) { return eigen::IndexRange{0, occupied(levels)}; };
    pairs = eigen::solve_and_stay(eigen::DeviceProblem<double>{
        n, matrix.get(), n, eigen::Triangle::lower, kept.get(), eigen::Fraction::chosen(lowest), {}});
  }
  DenseDensity<DeviceMatrix> out{std::move(pairs.found.spectrum), DeviceMatrix(full_pattern(h.rows()))};
  // Eigenvectors are columns of a matrix by columns; P is symmetric, so its order does not matter.
  const auto p = device_array<double>(n * n);
  const double one = 1, zero = 0, *const vectors = pairs.vectors.get();
  QUADRILLE_CUBLAS_CHECK(cublasDgemm_64(cuda::cublas(), CUBLAS_OP_N, CUBLAS_OP_T, n, n, pairs.found.range.count, &one,
                                        vectors, n, vectors, n, &zero, p.get(), n));
  gather({p.get(), n, 1, 0, nullptr}, out.p.data());
  symmetrise_on_device(out.p.data());
  filter(out.p, std::numeric_limits<double>::min());
  return out;
}

}  // namespace

void require_dense_memory_on_device(std::int64_t orbitals, double besides) {
  // H as an array, beside what the eigenproblem takes.
  const double square = sizeof(double) * double(orbitals) * double(orbitals), free = double(cuda::available_bytes());
  const double need = eigen::device_bytes<double>(orbitals, eigen::Fraction::all(), true) + square + besides;
  if (need <= free) return;
  throw NotEnoughMemory(fmt::format(
      "not enough memory: method dense, which computes eigenvectors of {} orbitals on one GPU, needs {}, {} "
      "are free there; use another method, or --backend cpu",
      orbitals, bytes_text(need), bytes_text(free)));
}

DenseDensity<DeviceMatrix> dense_density(const DeviceMatrix& h, const DeviceMatrix& s, const CountOccupied& occupied,
                                         DenseFactor<DeviceMatrix>& kept) {
  const std::shared_ptr<const MatrixGrid> grid = h.rows().grid();
  if (!grid) return dense_on_one_rank(h, s, occupied, kept);
  release_windows(grid);
  double collected_bytes = double(h.bytes() + s.bytes());
  grid->ranks().sum(&collected_bytes, 1);
  on_first_rank(grid->ranks(), [&] {
    if (!kept) require_dense_memory_on_device(h.rows().total(), collected_bytes);
  });
  const BlockMatrix<double> whole_h = collected(h.fetch()), whole_s = collected(s.fetch());
  std::vector<double> levels(std::size_t(h.rows().total()));
  const BlockMatrix<double> p = made_on_first(h.rows(), Symmetry::symmetric, [&](const BlockSizes&) {
    DenseDensity<DeviceMatrix> dense = dense_on_one_rank(DeviceMatrix(whole_h), DeviceMatrix(whole_s), occupied, kept);
    levels = std::move(dense.eigenvalues);
    return dense.p.fetch();
  });
  grid->ranks().broadcast(levels.data(), levels.size() * sizeof(double), 0);
  return {std::move(levels), DeviceMatrix(p)};
}

}  // namespace quadrille::block_dft
