// What is done with block-sparse matrices short of multiplying them. Sums are in double and by rows of blocks in
// ascending order: the same bits for any number of threads. On a grid of ranks all calls but scale(), block_norms() and
// the changes of precision are collective, and what they give is that of the whole matrix: ranks' sums are added in the
// order of ranks, the same bits in every run on a grid. Where one rank has not the memory that it needs, collective
// calls end on all (every_rank.h).
#pragma once

#include "modules/block_dft/matrix/block_matrix.h"

namespace quadrille::block_dft {

/// A itself, with memory of its own: a copy that all ranks have made, or none.
template <class T>
BlockMatrix<T> copied(const BlockMatrix<T>& a);

/// A *= alpha.
template <class T>
void scale(BlockMatrix<T>& a, T alpha);

/// A = alpha A + beta B; A gets the blocks of both. A with a symmetry takes a B of the same one, any other A takes any
/// B. Errors: ErrorCode::invalid_input.
template <class T>
void add(T alpha, BlockMatrix<T>& a, T beta, const BlockMatrix<T>& b);

/// A += alpha I; all diagonal blocks are there afterwards. A must be square, and not antisymmetric.
template <class T>
void add_identity(BlockMatrix<T>& a, T alpha);

/// A^T with A's symmetry.
template <class T>
BlockMatrix<T> transposed(const BlockMatrix<T>& a);

/// The same matrix with every block stored.
template <class T>
BlockMatrix<T> without_symmetry(const BlockMatrix<T>& a);

/// (A +- A^T) / 2 with that symmetry.
template <class T>
BlockMatrix<T> with_symmetry(const BlockMatrix<T>& a, Symmetry symmetry);

/// The same in another precision: the nearest numbers.
BlockMatrix<float> to_single(const BlockMatrix<double>& a);
BlockMatrix<double> to_double(const BlockMatrix<float>& a);

/// I, in blocks of these sizes.
template <class T>
BlockMatrix<T> identity(const BlockSizes& sizes);

template <class T>
double trace(const BlockMatrix<T>& a);

/// sum_pq A_pq B_pq, which is tr(A B^T).
template <class T>
double dot(const BlockMatrix<T>& a, const BlockMatrix<T>& b);

/// For each block row i the sum over its blocks of A_pq B_pq, mirror images included. Square, both of one symmetry.
template <class T>
std::vector<double> row_dots(const BlockMatrix<T>& a, const BlockMatrix<T>& b);

/// Block (i, j) of a square A *= (factor[i] + factor[j]) / 2.
template <class T>
void scale_by_means(BlockMatrix<T>& a, const std::vector<double>& factor);

template <class T>
double frobenius_norm(const BlockMatrix<T>& a);

/// The largest |A_pq|; not-a-number where there is one.
template <class T>
double max_norm(const BlockMatrix<T>& a);

/// The Frobenius norm of each block that is stored here, by slot.
template <class T>
std::vector<double> block_norms(const BlockMatrix<T>& a);

/// An interval that holds all eigenvalues of a symmetric matrix (Gershgorin).
struct Interval {
  double low = 0, high = 0;
};
/// Of a square matrix; of one that is not symmetric real parts of eigenvalues are inside.
template <class T>
Interval gershgorin(const BlockMatrix<T>& a);

/// The largest sum of |A_pq| over a row, |A|_inf: no eigenvalue is larger in magnitude.
template <class T>
double row_sum_norm(const BlockMatrix<T>& a);

/// What was taken out of a matrix: the Frobenius norm of all of it, and how many blocks.
struct Filtered {
  double norm = 0;
  std::int64_t blocks = 0;
};
/// Takes out the blocks whose Frobenius norm is below `eps`; a block with not-a-number stays.
template <class T>
Filtered filter(BlockMatrix<T>& a, double eps);

/// Throws ErrorCode::numerical naming the first element that is not finite. `name` is what the message calls A.
template <class T>
void require_finite(const BlockMatrix<T>& a, const std::string& name);

}  // namespace quadrille::block_dft
