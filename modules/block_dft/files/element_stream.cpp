#include "modules/block_dft/files/element_stream.h"

#include "core/error.h"
#include "modules/block_dft/matrix/block_algebra.h"
#include "modules/block_dft/matrix/every_rank.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>

namespace quadrille::block_dft {
namespace {

using Matrix = BlockMatrix<double>;
using Bytes = Communicator::Bytes;

constexpr double largest_asymmetry = 1e-8;
/// For each element of a piece: as its source keeps it, in the piece, packed, and where it comes to.
constexpr std::size_t bytes_per_element = 4 * sizeof(Element);

const Communicator& ranks_of(const BlockSizes& sizes) {
  return sizes.grid() ? sizes.grid()->ranks() : *single_process();
}

/// What goes to each rank, in vectors without spare room: address(element, visit) calls visit(rank, record) for each
/// record that an element makes.
template <class Record, class Address>
std::vector<Bytes> packed(int ranks, const std::vector<Element>& piece, const Address& address) {
  std::vector<std::size_t> counts(static_cast<std::size_t>(ranks));
  for (const Element& e : piece) address(e, [&](int rank, const Record&) { ++counts[std::size_t(rank)]; });
  std::vector<Bytes> out(counts.size());
  for (std::size_t rank = 0; rank < out.size(); ++rank) out[rank].reserve(counts[rank] * sizeof(Record));
  for (const Element& e : piece) {
    address(e, [&](int rank, const Record& record) {
      const char* const bytes = reinterpret_cast<const char*>(&record);
      Bytes& to = out[std::size_t(rank)];
      to.insert(to.end(), bytes, bytes + sizeof record);
    });
  }
  return out;
}

template <class Record, class Take>
void for_each_record(const std::vector<Bytes>& come, const Take& take) {
  for (const Bytes& bytes : come) {
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(Record)) {
      Record record;
      std::memcpy(&record, bytes.data() + at, sizeof record);
      take(record);
    }
  }
}

std::size_t bytes_of(const std::vector<Bytes>& all) {
  std::size_t sum = 0;
  for (const Bytes& bytes : all) sum += bytes.capacity();
  return sum;
}

/// Exchanges, and notes what the piece has taken.
std::vector<Bytes> exchanged(const Communicator& ranks, std::vector<Bytes> parcels, std::size_t besides,
                             StreamBuffer& buffer) {
  const std::size_t sent = bytes_of(parcels), kept = parcels[std::size_t(ranks.rank())].capacity();
  std::vector<Bytes> come = ranks.exchange(std::move(parcels));
  buffer.largest = std::max(buffer.largest, besides + sent + bytes_of(come) - kept);
  ++buffer.pieces;
  return come;
}

/// Elements of sources on their way to the ranks that own their places.
class Passage {
 public:
  Passage(const Communicator& ranks, ElementSource* source, StreamBuffer& buffer)
      : ranks_(ranks), source_(source), buffer_(buffer) {
    double sources = source == nullptr ? 0 : 1;
    ranks_.sum(&sources, 1);
    most_ = std::max<std::size_t>(1, buffer.bytes / bytes_per_element / std::size_t(std::max(sources, 1.0)));
  }

  /// All elements of all sources, once.
  template <class Record, class Address, class Take>
  void run(const Address& address, const Take& take) {
    std::vector<Element> piece;
    std::vector<Bytes> parcels;
    for (bool ended = source_ == nullptr;;) {
      all_or_none(ranks_, [&] {
        piece.clear();
        piece.reserve(ended ? 0 : most_);
        if (!ended) source_->next(most_, piece);
        ended = piece.empty();
        parcels = packed<Record>(ranks_.size(), piece, address);
      });
      double left = ended ? 0 : 1;
      ranks_.maximum(&left, 1);
      if (left == 0) return;
      const std::size_t of_piece = piece.capacity() * sizeof(Element);
      const std::vector<Bytes> come = exchanged(ranks_, std::move(parcels), of_piece, buffer_);
      all_or_none(ranks_, [&] { for_each_record<Record>(come, take); });
    }
  }

 private:
  const Communicator& ranks_;
  ElementSource* source_;
  StreamBuffer& buffer_;
  std::size_t most_;
};

/// The block of a row, mostly that of the row before.
class BlockFinder {
 public:
  explicit BlockFinder(const BlockSizes& sizes) : sizes_(sizes) {}
  std::int32_t operator()(std::int64_t row) {
    if (row < sizes_.offset(last_) || row >= sizes_.offset(last_ + 1)) last_ = sizes_.block_of(row);
    return last_;
  }

 private:
  const BlockSizes& sizes_;
  std::int32_t last_ = 0;
};

/// Places of blocks in any order, many of them more than once.
class PlaceSet {
 public:
  void add(const BlockPlace& place) {
    if (!all_.empty() && all_.back() == place) return;
    all_.push_back(place);
    constexpr std::size_t few = 4096;
    if (all_.size() > 2 * distinct_ + few) make_distinct();
  }
  Matrix zeros(const BlockSizes& sizes) {
    make_distinct();
    std::vector<std::int64_t> first(std::size_t(sizes.count()) + 1);
    std::vector<std::int32_t> column;
    column.reserve(all_.size());
    for (const BlockPlace& place : all_) {
      ++first[std::size_t(place.row) + 1];
      column.push_back(place.column);
    }
    for (std::size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
    return Matrix::with_pattern(sizes, sizes, Symmetry::symmetric, std::move(first), std::move(column));
  }

 private:
  void make_distinct() {
    std::sort(all_.begin(), all_.end());
    all_.erase(std::unique(all_.begin(), all_.end()), all_.end());
    distinct_ = all_.size();
  }

  std::vector<BlockPlace> all_;
  std::size_t distinct_ = 0;
};

/// (A + A^T) / 2 and A - A^T, both in the upper half.
class Halves {
 public:
  Halves(const BlockSizes& sizes, PlaceSet places)
      : sizes_(sizes), mean_(places.zeros(sizes)), difference_(mean_), row_of_(sizes_), column_of_(sizes_) {}

  void add(const Element& e) {
    std::int32_t i = row_of_(e.row), j = column_of_(e.column);
    const bool lower = i > j;
    std::int64_t p = e.row, q = e.column;
    if (lower) {
      std::swap(i, j);
      std::swap(p, q);
    }
    if (i != last_.row || j != last_.column) {
      last_ = {i, j};
      slot_ = mean_.find(i, j);
    }
    p -= sizes_.offset(i);
    q -= sizes_.offset(j);
    const auto put = [&](std::int64_t at, double sign) {
      mean_.block(slot_)[at] += e.value / 2;
      difference_.block(slot_)[at] += sign * e.value;
    };
    put(p * sizes_.size(j) + q, lower ? -1 : 1);
    if (i == j) put(q * sizes_.size(j) + p, -1);
  }

  /// The mean, of an A that is symmetric but for rounding. `base`: what rows of messages count from.
  Matrix symmetric(const std::string& name, int base) {
    const Place first = first_on_ranks(first_above(largest_asymmetry * largest_element()));
    if (first.i == none) return std::move(mean_);
    const std::int64_t p = base + sizes_.offset(first.i) + first.k / sizes_.size(first.j);
    const std::int64_t q = base + sizes_.offset(first.j) + first.k % sizes_.size(first.j);
    throw Error(ErrorCode::invalid_input,
                fmt::format("the matrix must be symmetric: elements [{}, {}] and [{}, {}] differ by {:.3g}", p, q, q, p,
                            first.difference),
                Location{.file = name});
  }

 private:
  static constexpr std::int32_t none = std::numeric_limits<std::int32_t>::max();
  struct Place {
    std::int32_t i = none, j = none;
    std::int64_t k = 0;  ///< in the block
    double difference = 0;
  };

  double largest_element() const {
    double largest = 0;
    for (std::size_t k = 0; k < mean_.data().size(); ++k) {
      largest = std::max(largest, std::abs(mean_.data()[k]) + std::abs(difference_.data()[k]) / 2);
    }
    ranks_of(sizes_).maximum(&largest, 1);
    return largest;
  }

  Place first_above(double allowed) const {
    Place first;
    difference_.for_each([&](std::int32_t i, std::int32_t j, std::int64_t slot) {
      const double* const block = difference_.block(slot);
      for (std::int64_t k = 0; first.i == none && k < std::int64_t(difference_.numbers(i, j)); ++k) {
        if (!(std::abs(block[k]) <= allowed)) first = {i, j, k, std::abs(block[k])};
      }
    });
    return first;
  }

  Place first_on_ranks(Place mine) const {
    const Communicator& ranks = ranks_of(sizes_);
    std::vector<Place> all(std::size_t(ranks.size()));
    ranks.gather(&mine, sizeof mine, all.data());
    return *std::min_element(all.begin(), all.end(), [](const Place& a, const Place& b) {
      return std::tie(a.i, a.j, a.k) < std::tie(b.i, b.j, b.k);
    });
  }

  const BlockSizes sizes_;
  Matrix mean_, difference_;
  BlockFinder row_of_, column_of_;
  BlockPlace last_{-1, -1};
  std::int64_t slot_ = -1;
};

/// Rows of a matrix, as far as this rank has them, by columns; of one with a symmetry both halves.
class OwnRows {
 public:
  explicit OwnRows(const Matrix& a) : a_(a), block_of_(a.rows()), first_(std::size_t(a.columns().count()) + 1) {
    if (a.symmetry() == Symmetry::none) return;
    a.for_each([&](std::int32_t i, std::int32_t j, std::int64_t) { first_[std::size_t(j) + 1] += i != j; });
    for (std::size_t j = 1; j < first_.size(); ++j) first_[j] += first_[j - 1];
    mirrors_.resize(std::size_t(first_.back()));
    std::vector<std::int64_t> next = first_;
    a.for_each([&](std::int32_t i, std::int32_t j, std::int64_t slot) {
      if (i != j) mirrors_[std::size_t(next[std::size_t(j)]++)] = {i, slot};
    });
  }

  /// body(column, number) for the numbers that are not 0.
  template <class Body>
  void for_each(std::int64_t row, const Body& body) {
    const std::int32_t i = block_of_(row);
    const std::int64_t p = row - a_.rows().offset(i), size = a_.rows().size(i);
    const double sign = mirror_sign(a_.symmetry());
    for (std::int64_t k = first_[std::size_t(i)]; k < first_[std::size_t(i) + 1]; ++k) {
      const auto [above, slot] = mirrors_[std::size_t(k)];
      const double* const block = a_.block(slot);
      for (std::int32_t q = 0; q < a_.rows().size(above); ++q) {
        if (block[q * size + p] != 0) body(a_.rows().offset(above) + q, sign * block[q * size + p]);
      }
    }
    for (std::int64_t slot = a_.begin(i); slot < a_.end(i); ++slot) {
      const std::int32_t j = a_.column(slot), columns = a_.columns().size(j);
      const double* const numbers = a_.block(slot) + p * columns;
      for (std::int32_t q = 0; q < columns; ++q) {
        if (numbers[q] != 0) body(a_.columns().offset(j) + q, numbers[q]);
      }
    }
  }

  /// Of all ranks, in successive rows.
  template <class Body>
  void for_each_counts(const Body& body) {
    constexpr std::int64_t at_once = 1024;
    for (std::int64_t row = 0; row < a_.rows().total(); row += at_once) {
      std::vector<double> counts(std::size_t(std::min(at_once, a_.rows().total() - row)));
      for (std::size_t k = 0; k < counts.size(); ++k) {
        for_each(row + std::int64_t(k), [&](std::int64_t, double) { ++counts[k]; });
      }
      ranks_of(a_.rows()).sum(counts.data(), counts.size());
      body(row, std::vector<std::int64_t>(counts.begin(), counts.end()));
    }
  }

 private:
  struct Mirror {
    std::int32_t row;
    std::int64_t slot;
  };
  const Matrix& a_;
  BlockFinder block_of_;
  std::vector<std::int64_t> first_;  // [block column]
  std::vector<Mirror> mirrors_;
};

}  // namespace

Matrix symmetric_of_elements(ElementSource* source, const BlockSizes& sizes, const std::string& name,
                             StreamBuffer& buffer) {
  const BlockPattern pattern(sizes, sizes, Symmetry::symmetric);
  BlockFinder row_of(sizes), column_of(sizes);
  const auto place_of = [&](const Element& e) {
    const auto [i, j] = std::minmax({row_of(e.row), column_of(e.column)});
    return BlockPlace{i, j};
  };
  Passage passage(ranks_of(sizes), source, buffer);
  PlaceSet places;
  passage.run<BlockPlace>(
      [&](const Element& e, const auto& visit) {
        const BlockPlace place = place_of(e);
        if (e.value != 0) visit(pattern.owner(place.row, place.column), place);
      },
      [&](const BlockPlace& place) { places.add(place); });
  std::optional<Halves> halves;
  all_or_none(ranks_of(sizes), [&] { halves.emplace(sizes, std::move(places)); });
  passage.run<Element>(
      [&](const Element& e, const auto& visit) {
        const BlockPlace place = place_of(e);
        if (e.value != 0) visit(pattern.owner(place.row, place.column), e);
      },
      [&](const Element& e) { halves->add(e); });
  double base = source == nullptr ? 0 : source->base();
  ranks_of(sizes).maximum(&base, 1);
  return halves->symmetric(name, int(base));
}

void for_each_row_counts(const Matrix& a,
                         const std::function<void(std::int64_t, const std::vector<std::int64_t>&)>& body) {
  on_every_rank(a.grid(), [&] { return OwnRows(a); }).for_each_counts(body);
}

void for_each_rows(const Matrix& a, std::int64_t most_rows, const std::function<int(std::int64_t)>& to,
                   StreamBuffer& buffer, const std::function<void(const ElementRows&)>& body) {
  const Communicator& ranks = ranks_of(a.rows());
  const std::int64_t most = std::int64_t(buffer.bytes / bytes_per_element);
  OwnRows rows = on_every_rank(a.grid(), [&] { return OwnRows(a); });
  std::vector<Element> piece;
  const auto send = [&](std::int64_t first, std::int64_t end, std::int64_t elements) {
    std::vector<Bytes> parcels;
    all_or_none(ranks, [&] {
      piece.clear();
      piece.reserve(std::size_t(elements));
      for (std::int64_t row = first; row < end; ++row) {
        if (to(row) < 0) continue;
        rows.for_each(row, [&](std::int64_t column, double number) {
          piece.push_back({std::int32_t(row), std::int32_t(column), number});
        });
      }
      parcels = packed<Element>(ranks.size(), piece, [&](const Element& e, const auto& visit) { visit(to(e.row), e); });
    });
    const std::size_t of_piece = piece.capacity() * sizeof(Element);
    const std::vector<Bytes> come = exchanged(ranks, std::move(parcels), of_piece, buffer);
    all_or_none(ranks, [&] {
      piece.clear();
      for_each_record<Element>(come, [&](const Element& e) { piece.push_back(e); });
      const auto before = [](const Element& x, const Element& y) {
        return std::tie(x.row, x.column) < std::tie(y.row, y.column);
      };
      if (!std::is_sorted(piece.begin(), piece.end(), before)) std::sort(piece.begin(), piece.end(), before);
      body({first, end, piece});
    });
  };
  rows.for_each_counts([&](std::int64_t row, const std::vector<std::int64_t>& counts) {
    for (std::size_t first = 0, end = 0; first < counts.size(); first = end) {
      std::int64_t elements = counts[end++];
      while (end < counts.size() && std::int64_t(end - first) < most_rows && elements + counts[end] <= most) {
        elements += counts[end++];
      }
      send(row + std::int64_t(first), row + std::int64_t(end), elements);
    }
  });
}

}  // namespace quadrille::block_dft
