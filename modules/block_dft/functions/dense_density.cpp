// The dense path: the occupied eigenvectors, by the module eigen.
#include "core/comm/agreement.h"
#include "core/error.h"
#include "core/system/memory.h"
#include "modules/block_dft/functions/density.h"
#include "modules/block_dft/matrix/block_exchange.h"
#include "modules/eigen/solve.h"
#include "modules/mgemm/product/blas.h"

#include <fmt/format.h>

#include <memory>

namespace quadrille::block_dft {
namespace {

DenseDensity<BlockMatrix<double>> dense_on_one_rank(const BlockMatrix<double>& h, const BlockMatrix<double>& s,
                                                    const CountOccupied& occupied,
                                                    DenseFactor<BlockMatrix<double>>& kept) {
  const std::int64_t n = h.rows().total();
  if (!kept) kept = std::make_shared<const eigen::Factor<double>>(n, s.to_dense(), eigen::Triangle::lower, "S");
  std::vector<double> matrix = h.to_dense();
  const auto lowest = [&](const std::vector<double>& levels) { return eigen::IndexRange{0, occupied(levels)}; };
  const eigen::Pairs<double> pairs = eigen::solve(eigen::Problem<double>{
      n, matrix.data(), n, eigen::Triangle::lower, kept.get(), eigen::Fraction::chosen(lowest), {}});
  const DenseView<const double> c{pairs.vectors.data(), n, pairs.range.count, n, false};
  mgemm::shared_product(1.0, c, c.transposed(), 0.0, DenseView<double>{matrix.data(), n, n, n, false});
  return {pairs.spectrum, BlockMatrix<double>::from_dense(matrix, h.rows(), h.columns(), Symmetry::symmetric)};
}

}  // namespace

void require_dense_memory(std::int64_t orbitals, double besides) {
  // H, S, the factor of S, H as an array, what divide and conquer takes, and P.
  const double squares = 7;
  require_memory(squares * double(orbitals) * double(orbitals) * sizeof(double) + besides,
                 fmt::format("method dense, which computes eigenvectors of {} orbitals on one rank,", orbitals));
}

DenseDensity<BlockMatrix<double>> dense_density(const BlockMatrix<double>& h, const BlockMatrix<double>& s,
                                                const CountOccupied& occupied, DenseFactor<BlockMatrix<double>>& kept) {
  const std::int64_t n = h.rows().total();
  if (!h.grid()) {
    if (!kept) require_dense_memory(n);
    return dense_on_one_rank(h, s, occupied, kept);
  }
  double collected_bytes = double(h.bytes() + s.bytes());
  h.grid()->ranks().sum(&collected_bytes, 1);
  on_first_rank(h.grid()->ranks(), [&] {
    if (!kept) require_dense_memory(n, collected_bytes);
  });
  const BlockMatrix<double> whole_h = collected(h), whole_s = collected(s);
  DenseDensity<BlockMatrix<double>> out{std::vector<double>(std::size_t(n)), {}};
  out.p = made_on_first(h.rows(), Symmetry::symmetric, [&](const BlockSizes&) {
    DenseDensity<BlockMatrix<double>> dense = dense_on_one_rank(whole_h, whole_s, occupied, kept);
    out.eigenvalues = std::move(dense.eigenvalues);
    return std::move(dense.p);
  });
  h.grid()->ranks().broadcast(out.eigenvalues.data(), out.eigenvalues.size() * sizeof(double), 0);
  return out;
}

}  // namespace quadrille::block_dft
