#include "modules/eigen/tasks/spread_input.h"

#include "core/comm/agreement.h"
#include "modules/eigen/ranks/spread.h"
#include "modules/eigen/tasks/generated.h"
#include "modules/eigen/triangle.h"
#include "modules/shared/elements/matrix_elements.h"

#include <omp.h>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

namespace quadrille::eigen {
namespace {

constexpr std::size_t piece_length = std::size_t(1) << 20;  ///< elements on their way at once

/// Elements go to the rank that has their place in the lower triangle.
template <class T>
std::vector<Communicator::Bytes> parcels_of(const Layout& layout, int ranks,
                                            const std::vector<MatrixElement<T>>& piece) {
  const auto to = [&](const MatrixElement<T>& e) {
    return std::size_t(layout.owner(std::max(e.row, e.column), std::min(e.row, e.column)));
  };
  std::vector<std::size_t> bytes(static_cast<std::size_t>(ranks));
  std::vector<Communicator::Bytes> parcels(bytes.size());
  for (const MatrixElement<T>& e : piece) bytes[to(e)] += sizeof e;
  for (std::size_t rank = 0; rank < parcels.size(); ++rank) parcels[rank].reserve(bytes[rank]);
  for (const MatrixElement<T>& e : piece) {
    const auto* const first = reinterpret_cast<const char*>(&e);
    parcels[to(e)].insert(parcels[to(e)].end(), first, first + sizeof e);
  }
  return parcels;
}

/// Calls take(element) on the rank that has its place. Gives what rows count from in the file, on all ranks.
template <class T, class Take>
int pass_elements(const Communicator& ranks, const Layout& layout, const MatrixInput& input, Take&& take) {
  std::unique_ptr<MatrixElements<T>> source;
  std::vector<MatrixElement<T>> piece;
  on_first_rank(ranks, [&] { source = elements_of_file<T>(input.file, input.dataset); });
  for (;;) {
    std::vector<Communicator::Bytes> parcels(std::size_t(ranks.size()));
    on_first_rank(ranks, [&] {
      source->next(piece_length, piece);
      parcels = parcels_of(layout, ranks.size(), piece);
    });
    char more = piece.empty() ? 0 : 1;
    ranks.broadcast(&more, 1, 0);
    if (more == 0) break;
    const std::vector<Communicator::Bytes> come = ranks.exchange(std::move(parcels));
    MatrixElement<T> element;
    for (std::size_t at = 0; at < come[0].size(); at += sizeof element) {
      std::memcpy(&element, come[0].data() + at, sizeof element);
      take(element);
    }
  }
  int base = ranks.rank() == 0 ? source->base() : 0;
  ranks.broadcast(&base, sizeof base, 0);
  return base;
}

/// One half of a file.
template <class T>
void read_half(const Communicator& ranks, const Layout& layout, const MatrixInput& input, std::vector<T>& part) {
  const bool lower = *input.triangle == Triangle::lower;
  pass_elements<T>(ranks, layout, input, [&](const MatrixElement<T>& e) {
    if (lower ? e.row < e.column : e.row > e.column) return;
    const bool as_it_is = lower || e.row == e.column;
    part[std::size_t(layout.place(std::max(e.row, e.column), std::min(e.row, e.column)))] +=
        as_it_is ? e.value : conjugate(e.value);
  });
}

/// Both halves, which must agree: their average. The upper one lies, conjugated, at the places of the lower one.
template <class T>
void read_both(const Communicator& ranks, const Layout& layout, const MatrixInput& input, std::vector<T>& part) {
  std::vector<T> upper;
  all_or_none(ranks, [&] { upper.resize(part.size()); });
  const int base = pass_elements<T>(ranks, layout, input, [&](const MatrixElement<T>& e) {
    const auto at = std::size_t(layout.place(std::max(e.row, e.column), std::min(e.row, e.column)));
    if (e.row >= e.column) part[at] += e.value;
    if (e.row <= e.column) upper[at] += conjugate(e.value);
  });
  struct {
    double largest = 0;
    Asymmetry worst;
  } mine;
  const T* const first = part.data();
  for_lower(layout, ranks.rank(), part.data(), [&](std::int64_t i, std::int64_t j, T& x) {
    const T other = upper[std::size_t(&x - first)];
    mine.largest = std::max({mine.largest, std::abs(x), std::abs(other)});
    const double difference = std::abs(x - other);
    if (difference > mine.worst.size) mine.worst = {difference, i, j};
    x = x == other ? x : x * 0.5 + other * 0.5;
  });
  std::vector<decltype(mine)> all(std::size_t(ranks.size()));
  ranks.gather(&mine, sizeof mine, all.data());
  for (const auto& of_rank : all) {
    mine.largest = std::max(mine.largest, of_rank.largest);
    if (of_rank.worst.before(mine.worst)) mine.worst = of_rank.worst;
  }
  require_agreement(mine.worst, mine.largest, is_complex<T>, input, base);
}

/// Threads make some rows each, so that they write to columns in pieces.
template <class T>
void make_part(const Layout& layout, int rank, const GeneratedRows<T>& generated, std::vector<T>& part) {
  constexpr std::int64_t together = 32;
  const std::vector<std::int64_t> rows = rows_of_part(layout, rank);
  const auto count = std::int64_t(rows.size());
  std::vector<std::vector<T>> buffers(std::size_t(omp_get_max_threads()),
                                      std::vector<T>(std::size_t(layout.n * together)));
#pragma omp parallel for schedule(dynamic) if (count > together)
  for (std::int64_t first = 0; first < count; first += together) {
    const std::int64_t last = std::min(count, first + together);
    T* const buffer = buffers[std::size_t(omp_get_thread_num())].data();
    for (std::int64_t k = first; k < last; ++k) generated.row(rows[std::size_t(k)], buffer + (k - first) * layout.n);
    const std::int64_t end = layout.columns_before(rank, rows[std::size_t(last - 1)] + 1);
    for (std::int64_t l = 0; l < end; ++l) {
      const std::int64_t column = layout.column(rank, l);
      for (std::int64_t k = first; k < last; ++k) {
        if (column <= rows[std::size_t(k)]) part[std::size_t(k + l * count)] = buffer[(k - first) * layout.n + column];
      }
    }
  }
}

}  // namespace

template <class T>
std::vector<T> read_spread(const Communicator& ranks, const Layout& layout, const MatrixInput& input) {
  std::vector<T> part;
  all_or_none(ranks, [&] { part.resize(std::size_t(layout.local_size(ranks.rank()))); });
  if (!input.generated.empty()) {
    all_or_none(
        ranks, [&] { make_part(layout, ranks.rank(), GeneratedRows<T>(input.generated, layout.n, input.seed), part); });
  } else {
    input.triangle ? read_half(ranks, layout, input, part) : read_both(ranks, layout, input, part);
  }
  return part;
}

template std::vector<double> read_spread(const Communicator&, const Layout&, const MatrixInput&);
template std::vector<std::complex<double>> read_spread(const Communicator&, const Layout&, const MatrixInput&);

}  // namespace quadrille::eigen
