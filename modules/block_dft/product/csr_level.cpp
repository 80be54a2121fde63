#include "modules/block_dft/product/csr_level.h"

#include "core/system/team.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace quadrille::block_dft {
namespace {

/// Products of a stack; enough to make its overhead small, few enough to stay in a cache (24 bytes each).
constexpr std::size_t stack_length = 4096;

/// Of a pair of blocks that is not multiplied, and of one in single precision: its target is below.
constexpr std::int32_t left_out = -1, in_single = 1 << 30;

/// What one thread keeps of the row of C that it works on.
struct RowSearch {
  explicit RowSearch(std::int32_t columns)
      : wanted(std::size_t(columns)),
        seen(std::size_t(columns)),
        skipped(std::size_t(columns)),
        rounded(std::size_t(columns)) {}
  std::vector<char> wanted, seen;
  std::vector<double> skipped, rounded;
  std::vector<std::int32_t> touched;

  void touch(std::int32_t j) {
    if (seen[std::size_t(j)]) return;
    seen[std::size_t(j)] = 1;
    touched.push_back(j);
  }

  /// Sorts `touched`: many columns are found faster by looking at all.
  void sort_touched() {
    if (touched.size() * 16 < seen.size()) return std::sort(touched.begin(), touched.end());
    touched.clear();
    for (std::size_t j = 0; j < seen.size(); ++j) {
      if (seen[j]) touched.push_back(std::int32_t(j));
    }
  }
};

struct RowPattern {
  std::vector<std::int32_t> columns;
  WorkSums sums;
};

void search_products(const ProductFilter& product, bool retain, std::int32_t i, RowSearch& row, RowPattern& out) {
  const BlockPattern &a = product.a, &b = product.b;
  for (std::int64_t a_slot = a.begin(i); a_slot < a.end(i); ++a_slot) {
    const std::int32_t k = a.column(a_slot);
    const double work = 2.0 * a.rows().size(i) * a.columns().size(k);
    std::int64_t columns = 0, single_columns = 0;
    for (std::int64_t b_slot = b.begin(k); b_slot < b.end(k); ++b_slot) {
      const std::int32_t j = b.column(b_slot);
      if (product.upper && j < i) continue;
      const std::size_t at = std::size_t(j);
      if (retain && !row.wanted[at]) continue;
      row.touch(j);
      const Fate fate = product.fate(i, a_slot, b_slot);
      if (fate == Fate::skipped) {
        row.skipped[at] += product.size(a_slot, b_slot);
        ++out.sums.skipped;
        continue;
      }
      row.wanted[at] = 1;
      ++out.sums.products;
      columns += b.columns().size(j);
      if (fate == Fate::full) continue;
      row.rounded[at] += product.rounding[std::size_t(i)] * product.size(a_slot, b_slot);
      ++out.sums.single_products;
      single_columns += b.columns().size(j);
    }
    out.sums.flops += work * double(columns);
    out.sums.single_flops += work * double(single_columns);
  }
}

RowPattern search_row(const ProductFilter& product, const BlockPattern* old, bool retain, std::int32_t i,
                      RowSearch& row) {
  RowPattern out;
  if (old != nullptr) {
    for (std::int64_t slot = old->begin(i); slot < old->end(i); ++slot) {
      row.touch(old->column(slot));
      row.wanted[std::size_t(old->column(slot))] = 1;
    }
  }
  search_products(product, retain, i, row, out);
  row.sort_touched();
  for (std::int32_t j : row.touched) {
    const std::size_t at = std::size_t(j);
    const double weight = product.upper && i != j ? 2 : 1;
    if (row.wanted[at]) out.columns.push_back(j);
    out.sums.skipped_squares += weight * row.skipped[at] * row.skipped[at];
    out.sums.rounding_squares += weight * row.rounded[at] * row.rounded[at];
    row.wanted[at] = row.seen[at] = 0;
    row.skipped[at] = row.rounded[at] = 0;
  }
  row.touched.clear();
  return out;
}

}  // namespace

ProductPattern find_pattern(const ProductFilter& product, const BlockPattern* old, bool retain) {
  const std::int32_t rows = product.a.rows().count();
  std::vector<RowPattern> found(static_cast<std::size_t>(rows));
  team_for_with(
      rows, [&] { return RowSearch(product.b.columns().count()); },
      [&](RowSearch& row, std::int64_t i) {
        found[std::size_t(i)] = search_row(product, old, retain, std::int32_t(i), row);
      });
  ProductPattern out;
  for (const RowPattern& row : found) {
    out.column.insert(out.column.end(), row.columns.begin(), row.columns.end());
    out.first.push_back(std::int64_t(out.column.size()));
    out.sums += row.sums;
  }
  return out;
}

template <class T>
void Beginning<T>::set(std::int32_t i, std::int32_t j, std::int64_t numbers, T* block, std::int64_t& slot) const {
  if (c != nullptr) {
    while (slot < c->end(i) && c->column(slot) < j) ++slot;
    if (slot < c->end(i) && c->column(slot) == j) {
      const T* from = c->block(slot);
      for (std::int64_t k = 0; k < numbers; ++k) block[k] = beta * from[k];
      return;
    }
  }
  std::fill_n(block, numbers, T(0));
}

template <class T>
CsrLevel<T>::CsrLevel(const FilteredProduct<T>& product, const Beginning<T>& beginning, BlockMatrix<T>& c,
                      Driver driver)
    : product_(product),
      beginning_(beginning),
      c_(c),
      driver_(driver),
      target_of_(std::size_t(c.columns().count()), left_out) {}

template <class T>
void CsrLevel<T>::multiply(const Cuboid& part) {
  find_rows_of_b(part);
  for (std::int32_t i = part.i0; i < part.i1; ++i) {
    const bool whole = part.j0 == 0 && part.j1 == c_.columns().count();
    const std::int64_t c_begin = whole ? c_.begin(i) : c_.lower_slot(i, part.j0);
    const std::int64_t c_end = whole ? c_.end(i) : c_.lower_slot(i, part.j1);
    if (c_begin == c_end) continue;
    if (part.k0 == 0 && beginning_.sets) begin_row(i, c_begin, c_end);
    list_targets_of_row(i, part, c_begin, c_end);
    push_runs(i, c_begin, c_end, next_, stack_);
    if (product_.filter.mixes()) push_runs(i, c_begin, c_end, next_single_, single_stack_);
    push_factors(i, part);
    if (stack_.factors.size() + single_stack_.factors.size() >= stack_length) flush();
  }
  flush();
}

template <class T>
void CsrLevel<T>::find_rows_of_b(const Cuboid& part) {
  const BlockMatrix<T>& b = product_.b;
  const bool whole = part.j0 == 0 && part.j1 == b.columns().count();
  b_begin_.clear();
  b_end_.clear();
  for (std::int32_t k = part.k0; k < part.k1; ++k) {
    b_begin_.push_back(whole ? b.begin(k) : b.lower_slot(k, part.j0));
    b_end_.push_back(whole ? b.end(k) : b.lower_slot(k, part.j1));
  }
}

template <class T>
void CsrLevel<T>::begin_row(std::int32_t i, std::int64_t c_begin, std::int64_t c_end) {
  std::int64_t old = beginning_.c != nullptr ? beginning_.c->lower_slot(i, c_.column(c_begin)) : 0;
  for (std::int64_t slot = c_begin; slot < c_end; ++slot) {
    const std::int64_t numbers = std::int64_t(c_.rows().size(i)) * c_.columns().size(c_.column(slot));
    beginning_.set(i, c_.column(slot), numbers, c_.block(slot), old);
  }
}

/// Writes the targets of all pairs of blocks of row i, blocks of C's row counted from c_begin, and counts them for each
/// target.
template <class T>
void CsrLevel<T>::list_targets_of_row(std::int32_t i, const Cuboid& part, std::int64_t c_begin, std::int64_t c_end) {
  const BlockMatrix<T>&a = product_.a, &b = product_.b;
  targets_.clear();
  next_.assign(std::size_t(c_end - c_begin) + 1, 0);
  if (product_.filter.mixes()) next_single_.assign(std::size_t(c_end - c_begin) + 1, 0);
  for (std::int64_t slot = c_begin; slot < c_end; ++slot) {
    target_of_[std::size_t(c_.column(slot))] = std::int32_t(slot - c_begin);
  }
  const std::int64_t a_end = a.lower_slot(i, part.k1);
  for (std::int64_t a_slot = a.lower_slot(i, part.k0); a_slot < a_end; ++a_slot) {
    const std::size_t k = std::size_t(a.column(a_slot) - part.k0);
    for (std::int64_t b_slot = b_begin_[k]; b_slot < b_end_[k]; ++b_slot) {
      std::int32_t target = target_of_[std::size_t(b.column(b_slot))];
      const Fate fate = target < 0 ? Fate::skipped : product_.filter.fate(i, a_slot, b_slot);
      if (fate == Fate::full) ++next_[std::size_t(target) + 1];
      if (fate == Fate::single) ++next_single_[std::size_t(target) + 1];
      if (fate == Fate::skipped) target = left_out;
      if (fate == Fate::single) target += in_single;
      targets_.push_back(target);
    }
  }
  for (std::int64_t slot = c_begin; slot < c_end; ++slot) target_of_[std::size_t(c_.column(slot))] = left_out;
}

/// A run for each target that has products; counts become places in the stack.
template <class T>
template <class U>
void CsrLevel<T>::push_runs(std::int32_t i, std::int64_t c_begin, std::int64_t c_end, std::vector<std::int64_t>& next,
                            ProductStack<U>& stack) {
  next[0] = std::int64_t(stack.factors.size());
  for (std::size_t target = 0; target < std::size_t(c_end - c_begin); ++target) {
    const std::int64_t count = next[target + 1];
    next[target + 1] += next[target];
    if (count == 0) continue;
    const std::int64_t slot = c_begin + std::int64_t(target);
    Run<U> run{nullptr, c_.rows().size(i), c_.columns().size(c_.column(slot)), next[target], count};
    if constexpr (std::is_same_v<T, U>) {
      run.c = c_.block(slot);
    } else {
      single_targets_.push_back(c_.block(slot));
    }
    stack.runs.push_back(run);
  }
  stack.factors.resize(std::size_t(next[std::size_t(c_end - c_begin)]));
}

/// Factors sorted by their block of C; those of one block stay in ascending k.
template <class T>
void CsrLevel<T>::push_factors(std::int32_t i, const Cuboid& part) {
  const BlockMatrix<T>&a = product_.a, &b = product_.b;
  const std::int32_t* target = targets_.data();
  const std::int64_t a_end = a.lower_slot(i, part.k1);
  for (std::int64_t a_slot = a.lower_slot(i, part.k0); a_slot < a_end; ++a_slot) {
    const std::int32_t size = a.columns().size(a.column(a_slot));
    const std::size_t k = std::size_t(a.column(a_slot) - part.k0);
    for (std::int64_t b_slot = b_begin_[k]; b_slot < b_end_[k]; ++b_slot, ++target) {
      if (*target == left_out) continue;
      if (*target < in_single) {
        stack_.factors[std::size_t(next_[std::size_t(*target)]++)] = {a.block(a_slot), b.block(b_slot), size};
      } else {
        single_stack_.factors[std::size_t(next_single_[std::size_t(*target - in_single)]++)] = {
            product_.a_single.block(a_slot), product_.b_single.block(b_slot), size};
      }
    }
  }
}

template <class T>
void CsrLevel<T>::flush() {
  if (!stack_.runs.empty()) {
    stack_.factors.push_back(stack_.factors.back());  // what kernels may look at behind the last product
    multiply_stack(stack_, driver_);
    stack_.clear();
  }
  if (!single_stack_.runs.empty()) flush_single();
}

template <class T>
void CsrLevel<T>::flush_single() {
  std::int64_t numbers = 0;
  for (const Run<float>& run : single_stack_.runs) numbers += std::int64_t(run.m) * run.n;
  sums_.assign(std::size_t(numbers), 0.0f);
  float* next = sums_.data();
  for (Run<float>& run : single_stack_.runs) {
    run.c = next;
    next += std::int64_t(run.m) * run.n;
  }
  single_stack_.factors.push_back(single_stack_.factors.back());
  multiply_stack(single_stack_, driver_);
  for (std::size_t n = 0; n < single_stack_.runs.size(); ++n) {
    const Run<float>& run = single_stack_.runs[n];
    for (std::int64_t k = 0; k < std::int64_t(run.m) * run.n; ++k) single_targets_[n][k] += T(run.c[k]);
  }
  single_stack_.clear();
  single_targets_.clear();
}

template struct Beginning<double>;
template struct Beginning<float>;
template class CsrLevel<double>;
template class CsrLevel<float>;

}  // namespace quadrille::block_dft
