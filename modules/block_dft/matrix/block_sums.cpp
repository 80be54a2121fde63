#include "core/system/team.h"
#include "modules/block_dft/matrix/block_algebra.h"
#include "modules/block_dft/matrix/block_terms.h"
#include "modules/block_dft/matrix/every_rank.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace quadrille::block_dft {
namespace {

/// The sum of term(i, j, slot) over stored blocks: rows in parallel, added in order, then ranks.
template <class T, class Term>
double sum_over_blocks(const BlockMatrix<T>& a, Term term) {
  double total = on_every_rank(a.grid(), [&] {
    std::vector<double> of_row(std::size_t(a.rows().count()));
    team_for_uneven(a.rows().count(), [&](std::int32_t i) {
      double sum = 0;
      for (std::int64_t slot = a.begin(i); slot < a.end(i); ++slot) sum += term(i, a.column(slot), slot);
      of_row[std::size_t(i)] = sum;
    });
    return std::accumulate(of_row.begin(), of_row.end(), 0.0);
  });
  sum_over_ranks(a, &total, 1);
  return total;
}

template <class T>
double sum_of_squares(const T* block, std::int64_t count) {
  double sums[8] = {};
  std::int64_t k = 0;
  for (; k + 8 <= count; k += 8) {
    for (int lane = 0; lane < 8; ++lane) sums[lane] += double(block[k + lane]) * double(block[k + lane]);
  }
  for (; k < count; ++k) sums[0] += double(block[k]) * double(block[k]);
  return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

/// Of A's block (i, j) in `slot` and B's.
template <class T>
double dot_of_blocks(const BlockMatrix<T>& a, std::int64_t slot, const BlockMatrix<T>& b, std::int32_t i,
                     std::int32_t j) {
  const std::int64_t other = b.find(i, j);
  if (other < 0) return 0;
  double sum = 0;
  for (std::int64_t k = 0; k < numbers(a, i, j); ++k) sum += double(a.block(slot)[k]) * double(b.block(other)[k]);
  return sum;
}

/// body(p, q, number) for each element of stored blocks and of their mirror images.
template <class T, class Body>
void for_each_element(const BlockMatrix<T>& a, Body body) {
  a.for_each([&](std::int32_t i, std::int32_t j, std::int64_t slot) {
    const T* number = a.block(slot);
    const bool mirrored = a.symmetry() != Symmetry::none && i != j;
    for (std::int64_t p = a.rows().offset(i); p < a.rows().offset(i + 1); ++p) {
      for (std::int64_t q = a.columns().offset(j); q < a.columns().offset(j + 1); ++q, ++number) {
        body(p, q, double(*number));
        if (mirrored) body(q, p, mirror_sign(a.symmetry()) * double(*number));
      }
    }
  });
}

}  // namespace

template <class T>
double trace(const BlockMatrix<T>& a) {
  require_square(a);
  double sum = 0;
  for (std::int32_t i = 0; i < a.rows().count(); ++i) {
    const std::int64_t slot = a.find(i, i);
    if (slot < 0) continue;
    for (std::int64_t p = 0; p < a.rows().size(i); ++p) sum += double(a.block(slot)[p * (a.rows().size(i) + 1)]);
  }
  sum_over_ranks(a, &sum, 1);
  return sum;
}

template <class T>
double dot(const BlockMatrix<T>& a, const BlockMatrix<T>& b) {
  require_same(a.rows(), b.rows(), "rows of both factors of a dot product");
  require_same(a.columns(), b.columns(), "columns of both factors of a dot product");
  if (a.symmetry() != b.symmetry()) return dot(without_symmetry(a), without_symmetry(b));
  return sum_over_blocks(a, [&](std::int32_t i, std::int32_t j, std::int64_t slot) {
    return weight(a, i, j) * dot_of_blocks(a, slot, b, i, j);
  });
}

template <class T>
std::vector<double> row_dots(const BlockMatrix<T>& a, const BlockMatrix<T>& b) {
  require_square(a);
  require_same(a.rows(), b.rows(), "rows of both factors of a dot product");
  std::vector<double> out = on_every_rank(a.grid(), [&] {
    std::vector<double> of_row(std::size_t(a.rows().count())), shared(std::size_t(a.block_count()));
    team_for_uneven(a.rows().count(), [&](std::int32_t i) {
      for (std::int64_t slot = a.begin(i); slot < a.end(i); ++slot) {
        shared[std::size_t(slot)] = dot_of_blocks(a, slot, b, i, a.column(slot));
      }
    });
    a.for_each([&](std::int32_t i, std::int32_t j, std::int64_t slot) {
      of_row[std::size_t(i)] += shared[std::size_t(slot)];
      if (a.symmetry() != Symmetry::none && i != j) of_row[std::size_t(j)] += shared[std::size_t(slot)];
    });
    return of_row;
  });
  sum_over_ranks(a, out.data(), out.size());
  return out;
}

template <class T>
double frobenius_norm(const BlockMatrix<T>& a) {
  return std::sqrt(sum_over_blocks(a, [&](std::int32_t i, std::int32_t j, std::int64_t slot) {
    return weight(a, i, j) * sum_of_squares(a.block(slot), numbers(a, i, j));
  }));
}

template <class T>
double max_norm(const BlockMatrix<T>& a) {
  double largest = 0;
  for (T number : a.data()) {
    if (!(std::abs(double(number)) <= largest)) largest = std::abs(double(number));
    if (std::isnan(largest)) break;
  }
  if (a.grid()) a.grid()->ranks().maximum(&largest, 1);
  return largest;
}

template <class T>
std::vector<double> block_norms(const BlockMatrix<T>& a) {
  std::vector<double> norms(std::size_t(a.block_count()));
  team_for_uneven(a.rows().count(), [&](std::int32_t i) {
    for (std::int64_t slot = a.begin(i); slot < a.end(i); ++slot) {
      norms[std::size_t(slot)] = std::sqrt(sum_of_squares(a.block(slot), numbers(a, i, a.column(slot))));
    }
  });
  return norms;
}

template <class T>
Interval gershgorin(const BlockMatrix<T>& a) {
  require_square(a);
  const std::size_t n = std::size_t(a.rows().total());
  std::vector<double> centre, radius;
  on_every_rank(a.grid(), [&] {
    centre.resize(n);
    radius.resize(n);
  });
  for_each_element(a, [&](std::int64_t p, std::int64_t q, double number) {
    if (p == q) {
      centre[std::size_t(p)] = number;
    } else {
      radius[std::size_t(p)] += std::abs(number);
    }
  });
  sum_over_ranks(a, centre.data(), n);
  sum_over_ranks(a, radius.data(), n);
  if (n == 0) return {};
  Interval all{centre[0] - radius[0], centre[0] + radius[0]};
  for (std::size_t p = 1; p < n; ++p) {
    all.low = std::min(all.low, centre[p] - radius[p]);
    all.high = std::max(all.high, centre[p] + radius[p]);
  }
  return all;
}

template <class T>
double row_sum_norm(const BlockMatrix<T>& a) {
  std::vector<double> sums =
      on_every_rank(a.grid(), [&] { return std::vector<double>(std::size_t(a.rows().total())); });
  for_each_element(a, [&](std::int64_t p, std::int64_t, double number) { sums[std::size_t(p)] += std::abs(number); });
  sum_over_ranks(a, sums.data(), sums.size());
  return sums.empty() ? 0 : *std::max_element(sums.begin(), sums.end());
}

#define QUADRILLE_BLOCK_SUMS(T)                                                        \
  template double trace(const BlockMatrix<T>&);                                        \
  template double dot(const BlockMatrix<T>&, const BlockMatrix<T>&);                   \
  template std::vector<double> row_dots(const BlockMatrix<T>&, const BlockMatrix<T>&); \
  template double frobenius_norm(const BlockMatrix<T>&);                               \
  template double max_norm(const BlockMatrix<T>&);                                     \
  template std::vector<double> block_norms(const BlockMatrix<T>&);                     \
  template Interval gershgorin(const BlockMatrix<T>&);                                 \
  template double row_sum_norm(const BlockMatrix<T>&);
QUADRILLE_BLOCK_SUMS(double)
QUADRILLE_BLOCK_SUMS(float)
#undef QUADRILLE_BLOCK_SUMS

}  // namespace quadrille::block_dft
