// The CSR layer: which blocks have to be multiplied, and in which precision, decided on the fly by their norms.
#pragma once

#include "modules/block_dft/matrix/block_matrix.h"
#include "modules/block_dft/product/driver.h"
#include "modules/block_dft/product/multrec.h"
#include "modules/block_dft/product/work_sums.h"

#include <vector>

namespace quadrille::block_dft {

/// What becomes of a product of two blocks.
enum class Fate { skipped, single, full };

/// Which products of a product without transposes and symmetries are done. Norms are by slot; a product of row i is
/// skipped when norm(A) norm(B) < skip_below[i], and done in single precision when it is below single_below[i]. Without
/// norms nothing is either.
struct ProductFilter {
  const BlockPattern& a;
  const BlockPattern& b;
  bool upper;                                        ///< only blocks of C on and above the diagonal
  std::vector<double> a_norms{}, b_norms{};          ///< empty: all products are full
  std::vector<double> skip_below{}, single_below{};  ///< [row]; the latter empty: none in single precision
  std::vector<double> rounding{};                    ///< [row]: of norm(A) norm(B), what single precision may lose

  bool filters() const { return !a_norms.empty(); }
  bool mixes() const { return !single_below.empty(); }
  double size(std::int64_t a_slot, std::int64_t b_slot) const {
    return a_norms[std::size_t(a_slot)] * b_norms[std::size_t(b_slot)];
  }
  Fate fate(std::int32_t i, std::int64_t a_slot, std::int64_t b_slot) const {
    if (!filters()) return Fate::full;
    const double norms = size(a_slot, b_slot);
    if (norms < skip_below[std::size_t(i)]) return Fate::skipped;
    return mixes() && norms < single_below[std::size_t(i)] && fits_single(a_slot, b_slot) ? Fate::single : Fate::full;
  }

 private:
  /// Neither infinite in single precision, nor so large that what underflows in the other factor counts.
  bool fits_single(std::int64_t a_slot, std::int64_t b_slot) const {
    constexpr double largest = 1e15;
    return a_norms[std::size_t(a_slot)] < largest && b_norms[std::size_t(b_slot)] < largest;
  }
};

/// The factors, whose places are those of the filter.
template <class T>
struct FilteredProduct {
  const BlockMatrix<T>& a;
  const BlockMatrix<T>& b;
  const ProductFilter& filter;
  BlockMatrix<float> a_single{}, b_single{};  ///< the same in single precision, where the filter mixes
};

/// The places of C that products lead to, and what is done and skipped on the way.
struct ProductPattern {
  std::vector<std::int64_t> first{0};  ///< [row + 1]
  std::vector<std::int32_t> column;
  WorkSums sums;
};

/// `old`: places that C has beside those of products. With `retain` it has no others, and products that lead elsewhere
/// count neither as done nor as skipped.
ProductPattern find_pattern(const ProductFilter& product, const BlockPattern* old, bool retain);

/// What blocks of C begin with.
template <class T>
struct Beginning {
  bool sets = true;  ///< false: what they have already
  T beta = 0;
  const BlockMatrix<T>* c = nullptr;  ///< beta times its blocks; null: zero

  /// Sets a block of row i; `slot` of the old C is the first that may be it, and moves on.
  void set(std::int32_t i, std::int32_t j, std::int64_t numbers, T* block, std::int64_t& slot) const;
};

/// Makes stacks of the products of a part, for one thread.
template <class T>
class CsrLevel {
 public:
  /// `c` has the blocks of the pattern, whose numbers are set when the part with k0 = 0 comes. Products that lead to
  /// other places are left out.
  CsrLevel(const FilteredProduct<T>& product, const Beginning<T>& beginning, BlockMatrix<T>& c, Driver driver);

  /// Adds the products of `part` to C, stack by stack.
  void multiply(const Cuboid& part);

 private:
  void find_rows_of_b(const Cuboid& part);
  void begin_row(std::int32_t i, std::int64_t c_begin, std::int64_t c_end);
  void list_targets_of_row(std::int32_t i, const Cuboid& part, std::int64_t c_begin, std::int64_t c_end);
  template <class U>
  void push_runs(std::int32_t i, std::int64_t c_begin, std::int64_t c_end, std::vector<std::int64_t>& next,
                 ProductStack<U>& stack);
  void push_factors(std::int32_t i, const Cuboid& part);
  void flush();
  void flush_single();

  const FilteredProduct<T>& product_;
  const Beginning<T>& beginning_;
  BlockMatrix<T>& c_;
  const Driver driver_;
  std::vector<std::int64_t> b_begin_, b_end_;     // [k - k0]: slots of B inside of the part
  std::vector<std::int32_t> target_of_;           // [column of C], -1 where row i has no block
  std::vector<std::int32_t> targets_;             // of each pair of blocks: see list_targets_of_row
  std::vector<std::int64_t> next_, next_single_;  // [target]: where its next factors go
  ProductStack<T> stack_;
  ProductStack<float> single_stack_;  // its runs go to sums_, and from there to single_targets_
  std::vector<float> sums_;
  std::vector<T*> single_targets_;  // [run]
};

}  // namespace quadrille::block_dft
