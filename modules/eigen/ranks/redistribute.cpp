#include "modules/eigen/ranks/redistribute.h"

#include "core/comm/agreement.h"
#include "modules/eigen/ranks/spread.h"
#include "modules/eigen/triangle.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace quadrille::eigen {
namespace {

/// Columns of an n x n matrix that pass at once: one rank may have them all, and another take them.
template <class T>
std::int64_t slab_columns(std::int64_t n) {
  constexpr std::int64_t slab_bytes = std::int64_t(64) << 20;
  return std::max<std::int64_t>(1, slab_bytes / (n * std::int64_t(sizeof(T))));
}

/// The columns of the matrix that this rank's are.
std::vector<std::int64_t> columns_of_rank(const Layout& layout, int rank) {
  std::vector<std::int64_t> columns(std::size_t(layout.local_columns(rank)));
  for (std::size_t k = 0; k < columns.size(); ++k) columns[k] = layout.column(rank, std::int64_t(k));
  return columns;
}

/// What of a part goes into columns of the lower triangle: its own columns, or its rows where the upper one is given.
struct Lines {
  std::vector<std::int64_t> columns, rows;  ///< of the lower triangle

  Lines(const Layout& layout, int rank, Triangle triangle)
      : columns(triangle == Triangle::lower ? columns_of_rank(layout, rank) : rows_of_part(layout, rank)),
        rows(triangle == Triangle::lower ? rows_of_part(layout, rank) : columns_of_rank(layout, rank)) {}
  /// visit(k, column) for the columns among [first, end).
  template <class Visit>
  void for_columns(std::int64_t first, std::int64_t end, Visit&& visit) const {
    const auto begin = std::lower_bound(columns.begin(), columns.end(), first);
    for (auto at = begin; at != columns.end() && *at < end; ++at) visit(std::size_t(at - columns.begin()), *at);
  }
};

template <class T>
void append(Communicator::Bytes& parcel, const T* numbers, std::size_t count) {
  const auto* const first = reinterpret_cast<const char*>(numbers);
  parcel.insert(parcel.end(), first, first + count * sizeof(T));
}

}  // namespace

template <class T>
std::vector<T> columns_of_part(const Communicator& ranks, const Layout& layout, Triangle triangle, const T* part,
                               std::int64_t ld, const Layout& columns) {
  const std::int64_t n = layout.n, step = slab_columns<T>(n);
  const int rank = ranks.rank();
  std::vector<T> out;
  std::vector<Lines> lines;
  all_or_none(ranks, [&] {
    out.resize(std::size_t(columns.local_size(rank)));
    for (int r = 0; r < ranks.size(); ++r) lines.emplace_back(layout, r, triangle);
  });
  const Lines& mine = lines[std::size_t(rank)];
  for (std::int64_t first = 0; first < n; first += step) {
    std::vector<Communicator::Bytes> parcels(std::size_t(ranks.size()));
    all_or_none(ranks, [&] {
      std::vector<T> line(mine.rows.size());
      mine.for_columns(first, first + step, [&](std::size_t k, std::int64_t j) {
        for (std::size_t i = 0; i < line.size(); ++i) {
          line[i] =
              triangle == Triangle::lower ? part[i + k * std::size_t(ld)] : conjugate(part[k + i * std::size_t(ld)]);
        }
        append(parcels[std::size_t(columns.owner(0, j))], line.data(), line.size());
      });
    });
    const std::vector<Communicator::Bytes> come = ranks.exchange(std::move(parcels));
    for (int from = 0; from < ranks.size(); ++from) {
      const Lines& theirs = lines[std::size_t(from)];
      const char* next = come[std::size_t(from)].data();
      theirs.for_columns(first, first + step, [&](std::size_t, std::int64_t j) {
        if (columns.owner(0, j) != rank) return;
        T* const column = out.data() + columns.place(0, j);
        for (const std::int64_t i : theirs.rows) {
          std::memcpy(column + i, next, sizeof(T));
          next += sizeof(T);
        }
      });
    }
  }
  return out;
}

template <class T>
void vectors_to_part(const Communicator& ranks, const Layout& columns, const T* vectors, std::int64_t first,
                     std::int64_t count, const Layout& layout, T* part, std::int64_t ld) {
  const std::int64_t n = layout.n, step = slab_columns<T>(n);
  const int rank = ranks.rank();
  std::vector<std::vector<std::int64_t>> rows;
  all_or_none(ranks, [&] {
    for (int r = 0; r < layout.rows * layout.columns; ++r) rows.push_back(rows_of_part(layout, r));
  });
  for (std::int64_t begin = 0; begin < count; begin += step) {
    const std::int64_t end = std::min(begin + step, count);
    const auto for_vectors = [&](int from, auto&& visit) {
      for (std::int64_t l = columns.columns_before(from, begin); l < columns.columns_before(from, end); ++l) {
        visit(l, first + columns.column(from, l));
      }
    };
    std::vector<Communicator::Bytes> parcels(std::size_t(ranks.size()));
    all_or_none(ranks, [&] {
      std::vector<T> line;
      for_vectors(rank, [&](std::int64_t l, std::int64_t j) {
        for (std::size_t to = 0; to < rows.size(); ++to) {
          if (layout.column_of(int(to)) != layout.column_of(layout.owner(0, j))) continue;
          line.clear();
          for (const std::int64_t i : rows[to]) line.push_back(vectors[i + l * n]);
          append(parcels[to], line.data(), line.size());
        }
      });
    });
    const std::vector<Communicator::Bytes> come = ranks.exchange(std::move(parcels));
    if (layout.local_size(rank) == 0) continue;
    for (int from = 0; from < ranks.size(); ++from) {
      const char* next = come[std::size_t(from)].data();
      for_vectors(from, [&](std::int64_t, std::int64_t j) {
        if (layout.column_of(rank) != layout.column_of(layout.owner(0, j))) return;
        const std::size_t bytes = rows[std::size_t(rank)].size() * sizeof(T);
        std::memcpy(part + layout.columns_before(rank, j) * ld, next, bytes);
        next += bytes;
      });
    }
  }
}

#define QUADRILLE_REDISTRIBUTE(T)                                                                               \
  template std::vector<T> columns_of_part(const Communicator&, const Layout&, Triangle, const T*, std::int64_t, \
                                          const Layout&);                                                       \
  template void vectors_to_part(const Communicator&, const Layout&, const T*, std::int64_t, std::int64_t,       \
                                const Layout&, T*, std::int64_t);
QUADRILLE_REDISTRIBUTE(double)
QUADRILLE_REDISTRIBUTE(std::complex<double>)
#undef QUADRILLE_REDISTRIBUTE

}  // namespace quadrille::eigen
