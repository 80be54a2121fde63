// Products of block-sparse matrices in the layers of Schuett, Messmer, Hutter and VandeVondele, "GPU accelerated sparse
// matrix matrix multiplication for linear scaling density functional theory": multrec.h, csr_level.h, driver.h.
#pragma once

#include "modules/block_dft/matrix/block_matrix.h"
#include "modules/block_dft/product/driver.h"

namespace quadrille::block_dft {

enum class Transpose { no, yes };

struct MultiplyOptions {
  /// Of what is left out: products whose norms say that a block of C changes by less than eps in all of them (A of row
  /// i has n blocks: each product with |alpha| norm(A) norm(B) < eps / n), and then blocks of C with a norm below eps.
  /// 0: nothing.
  double eps = 0;
  /// C keeps its blocks and gets no others, whatever eps.
  bool retain_sparsity = false;
  /// Of matrices in double: a product whose rounding in single precision changes a block of C by less than its share of
  /// eps, eps / n by a bound from norms, is done in single precision; METHODS.md has the bound.
  bool mixed = false;
  Driver driver = Driver::automatic;
  double cache_bytes = 512 << 10;  ///< of A, B and C at the end of multrec
  /// Of ranks: for panels of other ranks; 0: what half of the free memory allows. On a GPU: for all that a part of the
  /// product needs (device.h); 0: what is free.
  double panel_bytes = 0;
};

/// What one or several products cost; sums of those of each.
struct ProductCosts {
  double flops = 0;         ///< 2 m n k of each product of blocks that was done
  double single_flops = 0;  ///< of those in single precision
  double device_flops = 0;  ///< of all, on a GPU
  /// The Frobenius norms of the differences from products without a filter are at most this, rounding of T aside.
  double bound = 0;
  double index_seconds = 0, product_seconds = 0;  ///< finding C's places; products alone

  ProductCosts& operator+=(const ProductCosts& more) {
    flops += more.flops;
    single_flops += more.single_flops;
    device_flops += more.device_flops;
    bound += more.bound;
    index_seconds += more.index_seconds;
    product_seconds += more.product_seconds;
    return *this;
  }
};

/// What a product did, on a grid all ranks together; seconds are this rank's.
struct MultiplyReport : ProductCosts {
  std::int64_t products = 0, skipped = 0;  ///< of blocks
  std::int64_t single_products = 0;        ///< of those that were done, in single precision
  std::int64_t filtered_blocks = 0;        ///< of C
  /// Parts of `bound`: for products that were skipped, for those in single precision, and the norm of the blocks of C
  /// that were taken out.
  double skipped_bound = 0, rounding_bound = 0, filtered_norm = 0;
  bool dense = false;  ///< by OpenBLAS on whole matrices, as that was cheaper: at the places of C nothing was skipped
  double seconds = 0, exchange_seconds = 0;   ///< of all; making and awaiting panels of ranks
  std::int64_t parts = 0;                     ///< of C, on a GPU: device.h
  double bytes_sent = 0, bytes_received = 0;  ///< of matrices in pinned memory: to and from the GPU
};

/// C = alpha op(A) op(B) + beta C; C's old blocks count with beta and retain_sparsity only. A and B may be the same
/// matrix, and C may be A or B. Products are added to a block of C in ascending k, so that neither threads nor the
/// order of the recursion change a bit.
///
/// A C with a symmetry gets its upper blocks only, and diagonal ones as (D +- D^T) / 2: that op(A) op(B) has that
/// symmetry is the caller's promise (powers and polynomials of one symmetric matrix have).
///
/// On a grid of ranks, which A, B and C share, the call is collective. Places, filter and bounds are those of one rank;
/// products are added panel by panel, in an order that the grid decides, and by ascending k within a panel: the same
/// grid gives the same bits, another one the same but for rounding.
///
/// Errors: ErrorCode::invalid_input for block sizes and grids that do not match and an eps that is negative or not
/// finite, ErrorCode::unsupported for memory that does not suffice.
template <class T>
MultiplyReport multiply(T alpha, Transpose op_a, const BlockMatrix<T>& a, Transpose op_b, const BlockMatrix<T>& b,
                        T beta, BlockMatrix<T>& c, const MultiplyOptions& options = {});

/// |alpha op(A) op(B) + beta C|, Frobenius, of the sum that multiply() would give.
template <class T>
double norm_of_product(T alpha, Transpose op_a, const BlockMatrix<T>& a, Transpose op_b, const BlockMatrix<T>& b,
                       T beta, const BlockMatrix<T>& c, const MultiplyOptions& options = {});

}  // namespace quadrille::block_dft
