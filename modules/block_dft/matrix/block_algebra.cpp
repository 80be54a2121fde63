#include "modules/block_dft/matrix/block_algebra.h"

#include "core/comm/agreement.h"
#include "core/error.h"
#include "core/system/team.h"
#include "modules/block_dft/matrix/block_exchange.h"
#include "modules/block_dft/matrix/block_terms.h"
#include "modules/block_dft/matrix/every_rank.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace quadrille::block_dft {
namespace {

template <class T>
std::vector<BlockPlace> places_of(const BlockMatrix<T>& a) {
  std::vector<BlockPlace> places;
  places.reserve(std::size_t(a.block_count()));
  a.for_each([&](std::int32_t i, std::int32_t j, std::int64_t) { places.push_back({i, j}); });
  return places;
}

/// Whether A has all blocks of B.
template <class T>
bool has_places(const BlockMatrix<T>& a, const BlockMatrix<T>& b) {
  for (std::int32_t i = 0; i < b.rows().count(); ++i) {
    std::int64_t of_a = a.begin(i);
    for (std::int64_t slot = b.begin(i); slot < b.end(i); ++slot, ++of_a) {
      while (of_a < a.end(i) && a.column(of_a) < b.column(slot)) ++of_a;
      if (of_a == a.end(i) || a.column(of_a) != b.column(slot)) return false;
    }
  }
  return true;
}

/// The blocks of both; numbers are not set.
template <class T>
BlockMatrix<T> united(const BlockMatrix<T>& a, const BlockMatrix<T>& b) {
  std::vector<std::int64_t> first{0};
  std::vector<std::int32_t> column;
  for (std::int32_t i = 0; i < a.rows().count(); ++i) {
    std::int64_t of_a = a.begin(i), of_b = b.begin(i);
    while (of_a < a.end(i) || of_b < b.end(i)) {
      const bool from_a = of_b == b.end(i) || (of_a < a.end(i) && a.column(of_a) <= b.column(of_b));
      const std::int32_t j = from_a ? a.column(of_a) : b.column(of_b);
      if (from_a && of_b < b.end(i) && b.column(of_b) == j) ++of_b;
      from_a ? ++of_a : ++of_b;
      column.push_back(j);
    }
    first.push_back(std::int64_t(column.size()));
  }
  return BlockMatrix<T>::with_unset_pattern(a.rows(), a.columns(), a.symmetry(), std::move(first), std::move(column));
}

template <class To, class From>
BlockMatrix<To> converted(const BlockMatrix<From>& a) {
  std::vector<std::int64_t> first{0};
  std::vector<std::int32_t> column;
  column.reserve(std::size_t(a.block_count()));
  for (std::int32_t i = 0; i < a.rows().count(); ++i) {
    for (std::int64_t slot = a.begin(i); slot < a.end(i); ++slot) column.push_back(a.column(slot));
    first.push_back(std::int64_t(column.size()));
  }
  auto out =
      BlockMatrix<To>::with_unset_pattern(a.rows(), a.columns(), a.symmetry(), std::move(first), std::move(column));
  team_for_uneven(a.rows().count(), [&](std::int32_t i) {
    for (std::int64_t slot = a.begin(i); slot < a.end(i); ++slot) {
      std::copy_n(a.block(slot), numbers(a, i, a.column(slot)), out.block(slot));
    }
  });
  return out;
}

/// A = alpha A + beta B of this rank's blocks.
template <class T>
void add_here(T alpha, BlockMatrix<T>& a, T beta, const BlockMatrix<T>& b) {
  BlockMatrix<T> sum;  // only where B has blocks that A lacks
  const bool inside = has_places(a, b);
  if (!inside) sum = united(a, b);
  team_for_uneven(a.rows().count(), [&](std::int32_t i) {
    BlockMatrix<T>& to = inside ? a : sum;
    std::int64_t of_a = a.begin(i), of_b = b.begin(i);
    for (std::int64_t slot = to.begin(i); slot < to.end(i); ++slot) {
      const std::int32_t j = to.column(slot);
      const T* left = of_a < a.end(i) && a.column(of_a) == j ? a.block(of_a++) : nullptr;
      const T* right = of_b < b.end(i) && b.column(of_b) == j ? b.block(of_b++) : nullptr;
      T* block = to.block(slot);
      for (std::int64_t k = 0; k < numbers(to, i, j); ++k) {
        block[k] = (left != nullptr ? alpha * left[k] : T(0)) + (right != nullptr ? beta * right[k] : T(0));
      }
    }
  });
  if (!inside) a = std::move(sum);
}

/// The upper half of (A + B) / 2, with a symmetry, of this rank's blocks.
template <class T>
BlockMatrix<T> upper_mean(const BlockMatrix<T>& a, const BlockMatrix<T>& b, Symmetry symmetry) {
  BlockMatrix<T> out(a.rows(), a.columns(), symmetry);
  std::vector<BlockPlace> places = places_of(a);
  for (const BlockPlace& place : places_of(b)) places.push_back(place);
  std::erase_if(places, [](const BlockPlace& place) { return place.row > place.column; });
  out.reserve(places);
  const T sign = T(mirror_sign(symmetry));
  const auto add_half = [&](const BlockMatrix<T>& from, T factor) {
    from.for_each([&](std::int32_t i, std::int32_t j, std::int64_t slot) {
      if (j < i) return;
      T* to = out.block(out.find(i, j));
      for (std::int64_t k = 0; k < numbers(from, i, j); ++k) to[k] += factor * from.block(slot)[k];
    });
  };
  add_half(a, T(0.5));
  add_half(b, sign * T(0.5));
  for (std::int32_t i = 0; i < out.rows().count(); ++i) {
    if (out.find(i, i) >= 0) symmetrise_block(out.block(out.find(i, i)), out.rows().size(i), sign);
  }
  return out;
}

/// What a filter leaves of this rank's blocks, and what it takes.
template <class T>
struct Kept {
  BlockMatrix<T> matrix;
  double squares = 0;       ///< of the norms of what goes, as often as it counts
  std::int64_t blocks = 0;  ///< that go
};

template <class T>
Kept<T> kept(const BlockMatrix<T>& a, double eps) {
  const std::vector<double> norms = block_norms(a);
  std::vector<std::int64_t> first{0}, source;
  std::vector<std::int32_t> column;
  Kept<T> out;
  for (std::int32_t i = 0; i < a.rows().count(); ++i) {
    for (std::int64_t slot = a.begin(i); slot < a.end(i); ++slot) {
      const double norm = norms[std::size_t(slot)];
      if (norm < eps) {
        out.squares += weight(a, i, a.column(slot)) * norm * norm;
      } else {
        column.push_back(a.column(slot));
        source.push_back(slot);
      }
    }
    first.push_back(std::int64_t(column.size()));
  }
  out.blocks = a.block_count() - std::int64_t(column.size());
  if (out.blocks == 0) return out;
  out.matrix =
      BlockMatrix<T>::with_unset_pattern(a.rows(), a.columns(), a.symmetry(), std::move(first), std::move(column));
  team_for_uneven(out.matrix.rows().count(), [&](std::int32_t i) {
    for (std::int64_t slot = out.matrix.begin(i); slot < out.matrix.end(i); ++slot) {
      std::copy_n(a.block(source[std::size_t(slot)]), numbers(a, i, out.matrix.column(slot)), out.matrix.block(slot));
    }
  });
  return out;
}

}  // namespace

template <class T>
BlockMatrix<T> copied(const BlockMatrix<T>& a) {
  return on_every_rank(a.grid(), [&] { return a; });
}

template <class T>
void scale(BlockMatrix<T>& a, T alpha) {
  team_for_uneven(a.rows().count(), [&](std::int32_t i) {
    for (std::int64_t slot = a.begin(i); slot < a.end(i); ++slot) {
      T* block = a.block(slot);
      for (std::int64_t k = 0; k < numbers(a, i, a.column(slot)); ++k) block[k] *= alpha;
    }
  });
}

template <class T>
void add(T alpha, BlockMatrix<T>& a, T beta, const BlockMatrix<T>& b) {
  if (!require_terms(a, b)) return add(alpha, a, beta, without_symmetry(b));
  on_every_rank(a.grid(), [&] { add_here(alpha, a, beta, b); });
}

template <class T>
void add_identity(BlockMatrix<T>& a, T alpha) {
  require_term_of_identity(a);
  std::vector<BlockPlace> diagonal;
  for (std::int32_t i = 0; i < a.rows().count(); ++i) {
    if (a.owns(i, i)) diagonal.push_back({i, i});
  }
  on_every_rank(a.grid(), [&] { a.reserve(diagonal); });
  for (const auto& [i, j] : diagonal) {
    T* block = a.block(a.find(i, i));
    for (std::int64_t p = 0; p < a.rows().size(i); ++p) block[p * (a.rows().size(i) + 1)] += alpha;
  }
}

template <class T>
BlockMatrix<T> transposed(const BlockMatrix<T>& a) {
  if (a.symmetry() == Symmetry::symmetric) return copied(a);
  if (a.symmetry() == Symmetry::antisymmetric) {
    BlockMatrix<T> out = copied(a);
    scale(out, T(-1));
    return out;
  }
  if (a.grid()) {
    const GiveBlocks<T> mirrors = [&] {
      std::vector<GivenBlock<T>> out;
      a.for_each([&](std::int32_t i, std::int32_t j, std::int64_t slot) {
        out.push_back({{j, i}, a.block(slot), true, T(1)});
      });
      return out;
    };
    return delivered(a.columns(), a.rows(), Symmetry::none, mirrors);
  }
  std::vector<std::int64_t> first(std::size_t(a.columns().count()) + 1);
  for (std::int64_t slot = 0; slot < a.block_count(); ++slot) ++first[std::size_t(a.column(slot)) + 1];
  for (std::size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
  std::vector<std::int64_t> next(first.begin(), first.end() - 1), source(std::size_t(a.block_count()));
  std::vector<std::int32_t> column(source.size());
  a.for_each([&](std::int32_t i, std::int32_t j, std::int64_t slot) {
    const std::size_t to = std::size_t(next[std::size_t(j)]++);
    column[to] = i;
    source[to] = slot;
  });
  BlockMatrix<T> out =
      BlockMatrix<T>::with_unset_pattern(a.columns(), a.rows(), Symmetry::none, std::move(first), std::move(column));
  team_for_uneven(out.rows().count(), [&](std::int32_t i) {
    for (std::int64_t slot = out.begin(i); slot < out.end(i); ++slot) {
      transpose_block(a.block(source[std::size_t(slot)]), a.rows().size(out.column(slot)), a.columns().size(i), T(1),
                      out.block(slot));
    }
  });
  return out;
}

template <class T>
BlockMatrix<T> without_symmetry(const BlockMatrix<T>& a) {
  if (a.symmetry() == Symmetry::none) return copied(a);
  const T sign = T(mirror_sign(a.symmetry()));
  if (a.grid()) {
    const GiveBlocks<T> both_halves = [&] {
      std::vector<GivenBlock<T>> out;
      a.for_each([&](std::int32_t i, std::int32_t j, std::int64_t slot) {
        out.push_back({{i, j}, a.block(slot)});
        if (i != j) out.push_back({{j, i}, a.block(slot), true, sign});
      });
      return out;
    };
    return delivered(a.rows(), a.columns(), Symmetry::none, both_halves);
  }
  // Those below the diagonal come from earlier rows, so each row fills in ascending column.
  std::vector<std::int64_t> first(std::size_t(a.rows().count()) + 1);
  a.for_each([&](std::int32_t i, std::int32_t j, std::int64_t) {
    ++first[std::size_t(i) + 1];
    if (i != j) ++first[std::size_t(j) + 1];
  });
  for (std::size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
  std::vector<std::int64_t> next(first.begin(), first.end() - 1);
  std::vector<std::int32_t> column(std::size_t(first.back()));
  std::vector<std::int64_t> source(column.size());
  a.for_each([&](std::int32_t i, std::int32_t j, std::int64_t slot) {
    const auto enter = [&](std::int32_t row, std::int32_t to) {
      const std::size_t at = std::size_t(next[std::size_t(row)]++);
      column[at] = to;
      source[at] = slot;
    };
    enter(i, j);
    if (i != j) enter(j, i);
  });
  BlockMatrix<T> out =
      BlockMatrix<T>::with_unset_pattern(a.rows(), a.columns(), Symmetry::none, std::move(first), std::move(column));
  team_for_uneven(out.rows().count(), [&](std::int32_t i) {
    for (std::int64_t slot = out.begin(i); slot < out.end(i); ++slot) {
      const std::int32_t j = out.column(slot);
      const T* from = a.block(source[std::size_t(slot)]);
      if (j < i) {
        transpose_block(from, a.rows().size(j), a.columns().size(i), sign, out.block(slot));
      } else {
        std::copy_n(from, numbers(a, i, j), out.block(slot));
      }
    }
  });
  return out;
}

template <class T>
BlockMatrix<T> with_symmetry(const BlockMatrix<T>& a, Symmetry symmetry) {
  if (a.symmetry() == symmetry) return copied(a);
  if (symmetry == Symmetry::none) return without_symmetry(a);
  require_square(a);
  const BlockMatrix<T> whole = without_symmetry(a), mirror = transposed(whole);
  return on_every_rank(a.grid(), [&] { return upper_mean(whole, mirror, symmetry); });
}

BlockMatrix<float> to_single(const BlockMatrix<double>& a) { return converted<float>(a); }
BlockMatrix<double> to_double(const BlockMatrix<float>& a) { return converted<double>(a); }

template <class T>
BlockMatrix<T> identity(const BlockSizes& sizes) {
  BlockMatrix<T> out(sizes, sizes, Symmetry::symmetric);
  add_identity(out, T(1));
  return out;
}

template <class T>
void scale_by_means(BlockMatrix<T>& a, const std::vector<double>& factor) {
  team_for_uneven(a.rows().count(), [&](std::int32_t i) {
    for (std::int64_t slot = a.begin(i); slot < a.end(i); ++slot) {
      const std::int32_t j = a.column(slot);
      const T mean = T((factor[std::size_t(i)] + factor[std::size_t(j)]) / 2);
      for (std::int64_t k = 0; k < numbers(a, i, j); ++k) a.block(slot)[k] *= mean;
    }
  });
}

template <class T>
Filtered filter(BlockMatrix<T>& a, double eps) {
  Kept<T> left = on_every_rank(a.grid(), [&] { return kept(a, eps); });
  double sums[] = {left.squares, double(left.blocks)};
  sum_over_ranks(a, sums, 2);
  if (left.blocks > 0) a = std::move(left.matrix);
  return {std::sqrt(sums[0]), std::int64_t(sums[1])};
}

/// Says which element of A is the first that is not finite here; empty where all are.
template <class T>
std::string first_not_finite(const BlockMatrix<T>& a) {
  for (std::int32_t i = 0; i < a.rows().count(); ++i) {
    for (std::int64_t slot = a.begin(i); slot < a.end(i); ++slot) {
      const std::int32_t j = a.column(slot);
      for (std::int64_t k = 0; k < numbers(a, i, j); ++k) {
        const T number = a.block(slot)[k];
        if (std::isfinite(double(number))) continue;
        return fmt::format("element [{}, {}] is {}: it must be finite", a.rows().offset(i) + k / a.columns().size(j),
                           a.columns().offset(j) + k % a.columns().size(j), number);
      }
    }
  }
  return {};
}

template <class T>
void require_finite(const BlockMatrix<T>& a, const std::string& name) {
  std::string found = first_not_finite(a);
  if (a.grid()) found = first_reason(a.grid()->ranks(), found);
  if (!found.empty()) throw Error(ErrorCode::numerical, name + ": " + found);
}

#define QUADRILLE_BLOCK_ALGEBRA(T)                                           \
  template BlockMatrix<T> copied(const BlockMatrix<T>&);                     \
  template void scale(BlockMatrix<T>&, T);                                   \
  template void add(T, BlockMatrix<T>&, T, const BlockMatrix<T>&);           \
  template void add_identity(BlockMatrix<T>&, T);                            \
  template BlockMatrix<T> transposed(const BlockMatrix<T>&);                 \
  template BlockMatrix<T> without_symmetry(const BlockMatrix<T>&);           \
  template BlockMatrix<T> with_symmetry(const BlockMatrix<T>&, Symmetry);    \
  template BlockMatrix<T> identity(const BlockSizes&);                       \
  template void scale_by_means(BlockMatrix<T>&, const std::vector<double>&); \
  template Filtered filter(BlockMatrix<T>&, double);                         \
  template void require_finite(const BlockMatrix<T>&, const std::string&);
QUADRILLE_BLOCK_ALGEBRA(double)
QUADRILLE_BLOCK_ALGEBRA(float)
#undef QUADRILLE_BLOCK_ALGEBRA

}  // namespace quadrille::block_dft
