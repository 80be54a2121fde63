#include "modules/eigen/ranks/spread.h"

#include "core/comm/agreement.h"
#include "core/error.h"
#include "modules/eigen/triangle.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace quadrille::eigen {
namespace {

constexpr std::int64_t at_once = 4096;  ///< numbers of a collective sum: each rank gets those of all

template <class T>
struct Place {
  std::int64_t row = -1, column = -1;  ///< none
  T x{};
};

/// Of the places that ranks have, the first in the order of columns.
template <class T>
Place<T> first_place(const Communicator& ranks, const Place<T>& mine) {
  std::vector<Place<T>> all(std::size_t(ranks.size()));
  ranks.gather(&mine, sizeof mine, all.data());
  Place<T> first;
  for (const Place<T>& place : all) {
    const bool earlier =
        place.column < first.column || (place.column == first.column && place.row < first.row) || first.row < 0;
    if (place.row >= 0 && earlier) first = place;
  }
  return first;
}

}  // namespace

std::vector<std::int64_t> rows_of_part(const Layout& layout, int rank) {
  std::vector<std::int64_t> rows(std::size_t(layout.local_rows(rank)));
  for (std::size_t k = 0; k < rows.size(); ++k) rows[k] = layout.row(rank, std::int64_t(k));
  return rows;
}

void sum_all(const Communicator& ranks, std::vector<double>& values) {
  for (std::size_t first = 0; first < values.size(); first += at_once) {
    ranks.sum(values.data() + first, std::min(std::size_t(at_once), values.size() - first));
  }
}

void maximum_all(const Communicator& ranks, std::vector<double>& values) {
  for (std::size_t first = 0; first < values.size(); first += at_once) {
    ranks.maximum(values.data() + first, std::min(std::size_t(at_once), values.size() - first));
  }
}

template <class T>
int scale_spread(const Communicator& ranks, const Layout& layout, T* part, const std::string& name) {
  double largest = 0;
  Place<T> infinite, unreal;
  for_lower(layout, ranks.rank(), part, [&](std::int64_t i, std::int64_t j, const T& x) {
    const double size = magnitude(x);
    largest = std::max(largest, size);
    if (infinite.row < 0 && !std::isfinite(size)) infinite = {i, j, x};
    if (i == j && unreal.row < 0 && std::imag(x) != 0) unreal = {i, j, x};
  });
  infinite = first_place(ranks, infinite);
  if (infinite.row >= 0) refuse_infinite(infinite.row, infinite.column, name, infinite.x);
  unreal = first_place(ranks, unreal);
  if (unreal.row >= 0) refuse_diagonal(unreal.row, name, unreal.x);
  ranks.maximum(&largest, 1);
  const int exponent = extreme_exponent(largest);
  if (exponent == 0) return 0;
  for_lower(layout, ranks.rank(), part, [&](std::int64_t, std::int64_t, T& x) { x = times_power(x, -exponent); });
  return exponent;
}

template <class T>
void fix_signs(const Communicator& ranks, const Layout& layout, IndexRange columns, T* part) {
  constexpr double as_large = 1 - 1e-6, none = -std::numeric_limits<double>::infinity();
  const int rank = ranks.rank();
  for (std::int64_t first = columns.first; first < columns.first + columns.count; first += at_once) {
    const IndexRange some{first, std::min(at_once, columns.first + columns.count - first)};
    const auto at = [&](std::int64_t j) { return std::size_t(j - first); };
    const auto count = std::size_t(some.count);
    std::vector<double> largest(count, 0.0), chosen(count, none), parts(2 * count, 0.0);
    for_columns(layout, rank, part, some, [&](std::int64_t, std::int64_t j, const T& x) {
      largest[at(j)] = std::max(largest[at(j)], std::abs(x));
    });
    maximum_all(ranks, largest);
    for_columns(layout, rank, part, some, [&](std::int64_t i, std::int64_t j, const T& x) {
      if (chosen[at(j)] == none && std::abs(x) >= as_large * largest[at(j)]) chosen[at(j)] = -double(i);
    });
    maximum_all(ranks, chosen);
    for_columns(layout, rank, part, some, [&](std::int64_t i, std::int64_t j, const T& x) {
      if (-chosen[at(j)] != double(i)) return;
      parts[2 * at(j)] = std::real(x);
      parts[2 * at(j) + 1] = std::imag(x);
    });
    sum_all(ranks, parts);
    for_columns(layout, rank, part, some, [&](std::int64_t i, std::int64_t j, T& x) {
      const std::complex<double> most{parts[2 * at(j)], parts[2 * at(j) + 1]};
      if (largest[at(j)] == 0 || (most.imag() == 0 && most.real() > 0)) return;
      if constexpr (is_complex<T>) {
        x *= std::conj(most) / std::abs(most);
        if (-chosen[at(j)] == double(i)) x.imag(0);
      } else {
        x = -x;
      }
    });
  }
}

template <class T>
std::vector<T> columns_on_first(const Communicator& ranks, const Layout& layout, const T* part, IndexRange columns) {
  const int rank = ranks.rank();
  std::vector<Communicator::Bytes> parcels(std::size_t(ranks.size()));
  all_or_none(ranks, [&] {
    const std::int64_t rows = layout.local_rows(rank), before = layout.columns_before(rank, columns.first);
    const auto bytes =
        std::size_t(rows * (layout.columns_before(rank, columns.first + columns.count) - before)) * sizeof(T);
    parcels[0].resize(bytes);
    if (bytes > 0) std::memcpy(parcels[0].data(), part + before * rows, bytes);
  });
  const std::vector<Communicator::Bytes> come = ranks.exchange(std::move(parcels));
  std::vector<T> out;
  on_first_rank(ranks, [&] {
    out.resize(std::size_t(layout.n * columns.count));
    for (int from = 0; from < layout.rows * layout.columns; ++from) {
      const char* next = come[std::size_t(from)].data();
      const std::vector<std::int64_t> rows = rows_of_part(layout, from);
      const std::int64_t end = layout.columns_before(from, columns.first + columns.count);
      for (std::int64_t l = layout.columns_before(from, columns.first); l < end; ++l) {
        T* const column = out.data() + (layout.column(from, l) - columns.first) * layout.n;
        for (const std::int64_t i : rows) {
          std::memcpy(column + i, next, sizeof(T));
          next += sizeof(T);
        }
      }
    }
  });
  return out;
}

template int scale_spread(const Communicator&, const Layout&, double*, const std::string&);
template int scale_spread(const Communicator&, const Layout&, std::complex<double>*, const std::string&);
template void fix_signs(const Communicator&, const Layout&, IndexRange, double*);
template void fix_signs(const Communicator&, const Layout&, IndexRange, std::complex<double>*);
template std::vector<double> columns_on_first(const Communicator&, const Layout&, const double*, IndexRange);
template std::vector<std::complex<double>> columns_on_first(const Communicator&, const Layout&,
                                                            const std::complex<double>*, IndexRange);

}  // namespace quadrille::eigen
