// The CSR layer: which blocks have to be multiplied, filtered on the fly by their norms.
#pragma once

#include "modules/block_dft/block_matrix.h"
#include "modules/block_dft/driver.h"
#include "modules/block_dft/multrec.h"

#include <vector>

namespace quadrille::block_dft {

/// A product without transposes and symmetries. Norms are by slot; a product of row i is skipped when
/// norm(A) norm(B) < skip_below[i].
template <class T>
struct FilteredProduct {
  const BlockMatrix<T>& a;
  const BlockMatrix<T>& b;
  std::vector<double> a_norms, b_norms, skip_below;
  bool upper;  ///< only blocks of C on and above the diagonal

  bool skips(std::int32_t i, std::int64_t a_slot, std::int64_t b_slot) const {
    return a_norms[std::size_t(a_slot)] * b_norms[std::size_t(b_slot)] < skip_below[std::size_t(i)];
  }
};

/// The places of C that products lead to, and what is skipped on the way.
struct ProductPattern {
  std::vector<std::int64_t> first{0};  ///< [row + 1]
  std::vector<std::int32_t> column;
  std::int64_t products = 0, skipped = 0;
  double flops = 0;
  /// The Frobenius norm of all that is skipped is at most this: the root of the sum over blocks of C of (the sum of
  /// norm(A) norm(B) of their skipped products)^2.
  double skipped_bound = 0;
};

/// `old`: places that C has beside those of products. With `retain` it has no others, and products that lead elsewhere
/// count neither as done nor as skipped.
template <class T>
ProductPattern find_pattern(const FilteredProduct<T>& product, const BlockMatrix<T>* old, bool retain);

/// Makes stacks of the products of a part, for one thread.
template <class T>
class CsrLevel {
 public:
  /// `c` has the blocks of the pattern. Products that lead to other places are left out.
  CsrLevel(const FilteredProduct<T>& product, BlockMatrix<T>& c, Driver driver);

  /// Adds the products of `part` to C, stack by stack.
  void multiply(const Cuboid& part);

 private:
  struct Entry {
    std::int32_t target;  ///< a block of C's row, counted from the first inside of the part
    Factors<T> factors;
  };
  void find_rows_of_b(const Cuboid& part);
  void collect_row(std::int32_t i, const Cuboid& part, std::int64_t c_begin, std::int64_t c_end);
  void push_runs(std::int32_t i, std::int64_t c_begin, std::int64_t c_end);
  void flush();

  const FilteredProduct<T>& product_;
  BlockMatrix<T>& c_;
  const Driver driver_;
  std::vector<std::int64_t> b_begin_, b_end_;  // [k - k0]: slots of B inside of the part
  std::vector<std::int32_t> target_of_;        // [column of C], -1 where row i has no block
  std::vector<Entry> entries_;
  std::vector<std::int64_t> next_;  // [target]
  ProductStack<T> stack_;
};

}  // namespace quadrille::block_dft
