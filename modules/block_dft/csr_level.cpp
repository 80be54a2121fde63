#include "modules/block_dft/csr_level.h"

#include "core/system/team.h"

#include <algorithm>
#include <cmath>

namespace quadrille::block_dft {
namespace {

/// Products of a stack; enough to make its overhead small, few enough to stay in a cache (24 bytes each).
constexpr std::size_t stack_length = 4096;

/// What one thread keeps of the row of C that it works on.
struct RowSearch {
  explicit RowSearch(std::int32_t columns)
      : wanted(std::size_t(columns)), seen(std::size_t(columns)), skipped(std::size_t(columns)) {}
  std::vector<char> wanted, seen;
  std::vector<double> skipped;
  std::vector<std::int32_t> touched;

  void touch(std::int32_t j) {
    if (seen[std::size_t(j)]) return;
    seen[std::size_t(j)] = 1;
    touched.push_back(j);
  }
};

struct RowPattern {
  std::vector<std::int32_t> columns;
  std::int64_t products = 0, skipped = 0;
  double flops = 0, bound_squares = 0;
};

template <class T>
RowPattern search_row(const FilteredProduct<T>& product, const BlockMatrix<T>* old, bool retain, std::int32_t i,
                      RowSearch& row) {
  const auto& [a, b, a_norms, b_norms, skip_below, upper] = product;
  RowPattern out;
  if (old != nullptr) {
    for (std::int64_t slot = old->begin(i); slot < old->end(i); ++slot) {
      row.touch(old->column(slot));
      row.wanted[std::size_t(old->column(slot))] = 1;
    }
  }
  for (std::int64_t a_slot = a.begin(i); a_slot < a.end(i); ++a_slot) {
    const std::int32_t k = a.column(a_slot);
    const double work = 2.0 * a.rows().size(i) * a.columns().size(k);
    for (std::int64_t b_slot = b.begin(k); b_slot < b.end(k); ++b_slot) {
      const std::int32_t j = b.column(b_slot);
      if (upper && j < i) continue;
      const std::size_t at = std::size_t(j);
      if (retain && !row.wanted[at]) continue;
      row.touch(j);
      if (product.skips(i, a_slot, b_slot)) {
        row.skipped[at] += a_norms[std::size_t(a_slot)] * b_norms[std::size_t(b_slot)];
        ++out.skipped;
      } else {
        row.wanted[at] = 1;
        ++out.products;
        out.flops += work * b.columns().size(j);
      }
    }
  }
  std::sort(row.touched.begin(), row.touched.end());
  for (std::int32_t j : row.touched) {
    const std::size_t at = std::size_t(j);
    if (row.wanted[at]) out.columns.push_back(j);
    out.bound_squares += (upper && i != j ? 2 : 1) * row.skipped[at] * row.skipped[at];
    row.wanted[at] = row.seen[at] = 0;
    row.skipped[at] = 0;
  }
  row.touched.clear();
  return out;
}

}  // namespace

template <class T>
ProductPattern find_pattern(const FilteredProduct<T>& product, const BlockMatrix<T>* old, bool retain) {
  const std::int32_t rows = product.a.rows().count();
  std::vector<RowPattern> found(static_cast<std::size_t>(rows));
  team_for_with(
      rows, [&] { return RowSearch(product.b.columns().count()); },
      [&](RowSearch& row, std::int64_t i) {
        found[std::size_t(i)] = search_row(product, old, retain, std::int32_t(i), row);
      });
  ProductPattern out;
  double squares = 0;
  for (const RowPattern& row : found) {
    out.column.insert(out.column.end(), row.columns.begin(), row.columns.end());
    out.first.push_back(std::int64_t(out.column.size()));
    out.products += row.products;
    out.skipped += row.skipped;
    out.flops += row.flops;
    squares += row.bound_squares;
  }
  out.skipped_bound = std::sqrt(squares);
  return out;
}

template <class T>
CsrLevel<T>::CsrLevel(const FilteredProduct<T>& product, BlockMatrix<T>& c, Driver driver)
    : product_(product), c_(c), driver_(driver), target_of_(std::size_t(c.columns().count()), -1) {}

template <class T>
void CsrLevel<T>::multiply(const Cuboid& part) {
  find_rows_of_b(part);
  for (std::int32_t i = part.i0; i < part.i1; ++i) {
    const std::int64_t c_begin = c_.lower_slot(i, part.j0), c_end = c_.lower_slot(i, part.j1);
    if (c_begin == c_end) continue;
    collect_row(i, part, c_begin, c_end);
    push_runs(i, c_begin, c_end);
    if (stack_.factors.size() >= stack_length) flush();
  }
  flush();
}

template <class T>
void CsrLevel<T>::find_rows_of_b(const Cuboid& part) {
  const BlockMatrix<T>& b = product_.b;
  b_begin_.clear();
  b_end_.clear();
  for (std::int32_t k = part.k0; k < part.k1; ++k) {
    b_begin_.push_back(b.lower_slot(k, part.j0));
    b_end_.push_back(b.lower_slot(k, part.j1));
  }
}

template <class T>
void CsrLevel<T>::collect_row(std::int32_t i, const Cuboid& part, std::int64_t c_begin, std::int64_t c_end) {
  const BlockMatrix<T>&a = product_.a, &b = product_.b;
  entries_.clear();
  next_.assign(std::size_t(c_end - c_begin) + 1, 0);
  for (std::int64_t slot = c_begin; slot < c_end; ++slot) {
    target_of_[std::size_t(c_.column(slot))] = std::int32_t(slot - c_begin);
  }
  const std::int64_t a_end = a.lower_slot(i, part.k1);
  for (std::int64_t a_slot = a.lower_slot(i, part.k0); a_slot < a_end; ++a_slot) {
    const std::int32_t k = a.column(a_slot);
    const std::int64_t end = b_end_[std::size_t(k - part.k0)];
    for (std::int64_t b_slot = b_begin_[std::size_t(k - part.k0)]; b_slot < end; ++b_slot) {
      const std::int32_t target = target_of_[std::size_t(b.column(b_slot))];
      if (target < 0 || product_.skips(i, a_slot, b_slot)) continue;
      entries_.push_back({target, {a.block(a_slot), b.block(b_slot), a.columns().size(k)}});
      ++next_[std::size_t(target) + 1];
    }
  }
  for (std::int64_t slot = c_begin; slot < c_end; ++slot) target_of_[std::size_t(c_.column(slot))] = -1;
}

/// Sorts the entries by their block of C; within one they stay in ascending k.
template <class T>
void CsrLevel<T>::push_runs(std::int32_t i, std::int64_t c_begin, std::int64_t c_end) {
  const std::size_t base = stack_.factors.size();
  for (std::size_t target = 0; target < std::size_t(c_end - c_begin); ++target) {
    const std::int64_t count = next_[target + 1];
    next_[target + 1] += next_[target];
    if (count == 0) continue;
    const std::int64_t slot = c_begin + std::int64_t(target);
    stack_.runs.push_back({c_.block(slot), c_.rows().size(i), c_.columns().size(c_.column(slot)),
                           std::int64_t(base) + next_[target], count});
  }
  stack_.factors.resize(base + entries_.size());
  for (const Entry& entry : entries_)
    stack_.factors[base + std::size_t(next_[std::size_t(entry.target)]++)] = entry.factors;
}

template <class T>
void CsrLevel<T>::flush() {
  if (stack_.runs.empty()) return;
  stack_.factors.push_back(stack_.factors.back());  // what kernels may look at behind the last product
  multiply_stack(stack_, driver_);
  stack_.clear();
}

template ProductPattern find_pattern(const FilteredProduct<double>&, const BlockMatrix<double>*, bool);
template ProductPattern find_pattern(const FilteredProduct<float>&, const BlockMatrix<float>*, bool);
template class CsrLevel<double>;
template class CsrLevel<float>;

}  // namespace quadrille::block_dft
