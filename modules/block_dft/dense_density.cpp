// The dense path: all eigenvectors by LAPACK, a part of OpenBLAS.
#include "core/comm/agreement.h"
#include "core/error.h"
#include "core/system/memory.h"
#include "modules/block_dft/block_exchange.h"
#include "modules/block_dft/density.h"
#include "modules/mgemm/blas.h"

#include <fmt/format.h>

#include <cmath>

extern "C" void dsygvd_(const int* itype, const char* jobz, const char* uplo, const int* n, double* a, const int* lda,
                        double* b, const int* ldb, double* w, double* work, const int* lwork, int* iwork,
                        const int* liwork, int* info);

namespace quadrille::block_dft {
namespace {

DenseDensity<BlockMatrix<double>> dense_on_one_rank(const BlockMatrix<double>& h, const BlockMatrix<double>& s,
                                                    const CountOccupied& occupied) {
  const int n = int(h.rows().total());
  DenseDensity<BlockMatrix<double>> out{std::vector<double>(std::size_t(n)), {}};
  std::vector<double> vectors = h.to_dense(), metric = s.to_dense(), work(1);
  std::vector<int> integers(1);
  int kind = 1, info = 0, size = -1, integer_size = -1;
  const mgemm::AllBlasThreads all;
  for (int pass = 0; pass < 2 && n > 0; ++pass) {  // the first asks for sizes
    dsygvd_(&kind, "V", "L", &n, vectors.data(), &n, metric.data(), &n, out.eigenvalues.data(), work.data(), &size,
            integers.data(), &integer_size, &info);
    if (info > n) {
      throw Error(ErrorCode::numerical,
                  fmt::format("S is not positive definite: its leading {} x {} submatrix is not", info - n, info - n));
    }
    if (info != 0) throw Error(ErrorCode::numerical, fmt::format("dsygvd of LAPACK failed with info = {}", info));
    if (pass == 1) break;
    size = int(work[0]);
    integer_size = integers[0];
    work.resize(std::size_t(size));
    integers.resize(std::size_t(integer_size));
  }
  const std::int64_t count = occupied(out.eigenvalues);
  // Eigenvectors are columns of a matrix by columns; P is symmetric, so its order does not matter.
  const DenseView<const double> c{vectors.data(), n, count, n, false};
  metric.assign(metric.size(), 0.0);
  mgemm::shared_product(1.0, c, c.transposed(), 0.0, DenseView<double>{metric.data(), n, n, n, false});
  out.p = BlockMatrix<double>::from_dense(metric, h.rows(), h.columns(), Symmetry::symmetric);
  return out;
}

}  // namespace

void require_dense_memory(std::int64_t orbitals, double besides) {
  // H, S, dsygvd's two more of that size, P, and what is left for products.
  const double squares = 6;
  require_memory(squares * double(orbitals) * double(orbitals) * sizeof(double) + besides,
                 fmt::format("method dense, which computes all eigenvectors of {} orbitals on one rank,", orbitals));
}

DenseDensity<BlockMatrix<double>> dense_density(const BlockMatrix<double>& h, const BlockMatrix<double>& s,
                                                const CountOccupied& occupied) {
  const std::int64_t n = h.rows().total();
  if (!h.grid()) {
    require_dense_memory(n);
    return dense_on_one_rank(h, s, occupied);
  }
  double collected_bytes = double(h.bytes() + s.bytes());
  h.grid()->ranks().sum(&collected_bytes, 1);
  on_first_rank(h.grid()->ranks(), [&] { require_dense_memory(n, collected_bytes); });
  const BlockMatrix<double> whole_h = collected(h), whole_s = collected(s);
  DenseDensity<BlockMatrix<double>> out{std::vector<double>(std::size_t(n)), {}};
  out.p = made_on_first(h.rows(), Symmetry::symmetric, [&](const BlockSizes&) {
    DenseDensity<BlockMatrix<double>> dense = dense_on_one_rank(whole_h, whole_s, occupied);
    out.eigenvalues = std::move(dense.eigenvalues);
    return std::move(dense.p);
  });
  h.grid()->ranks().broadcast(out.eigenvalues.data(), out.eigenvalues.size() * sizeof(double), 0);
  return out;
}

}  // namespace quadrille::block_dft
