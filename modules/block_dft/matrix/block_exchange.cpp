#include "modules/block_dft/matrix/block_exchange.h"

#include "modules/block_dft/matrix/every_rank.h"

#include <algorithm>
#include <cstring>

namespace quadrille::block_dft {
namespace {

using Bytes = Communicator::Bytes;

/// A block that has come, in the bytes that it came with.
struct Arrived {
  BlockPlace place;
  const char* numbers;
};

/// A place is followed by its numbers, which begin at no boundary of theirs: they are copied as bytes.
template <class T>
void pack(const BlockPattern& to, const GivenBlock<T>& given, Bytes& bytes) {
  const auto [i, j] = given.place;
  const std::size_t at = bytes.size(), count = to.numbers(i, j);
  bytes.resize(at + sizeof given.place + count * sizeof(T));
  std::memcpy(bytes.data() + at, &given.place, sizeof given.place);
  if (!given.mirrored) {
    std::memcpy(bytes.data() + at + sizeof given.place, given.block, count * sizeof(T));
    return;
  }
  std::vector<T> mirror(count);
  transpose_block(given.block, to.columns().size(j), to.rows().size(i), given.sign, mirror.data());
  std::memcpy(bytes.data() + at + sizeof given.place, mirror.data(), count * sizeof(T));
}

template <class T>
void unpack(const BlockPattern& to, const Bytes& bytes, std::vector<Arrived>& out) {
  for (std::size_t at = 0; at < bytes.size();) {
    Arrived one{};
    std::memcpy(&one.place, bytes.data() + at, sizeof one.place);
    one.numbers = bytes.data() + at + sizeof one.place;
    out.push_back(one);
    at += sizeof one.place + to.numbers(one.place.row, one.place.column) * sizeof(T);
  }
}

/// What goes to each rank, where each block goes to rank to(place) of `out`.
template <class T, class To>
std::vector<Bytes> packed(int ranks, const BlockPattern& out, const std::vector<GivenBlock<T>>& blocks, To to) {
  std::vector<Bytes> for_ranks(static_cast<std::size_t>(ranks));
  std::vector<std::size_t> lengths(for_ranks.size());
  for (const GivenBlock<T>& given : blocks) {
    lengths[std::size_t(to(given.place))] +=
        sizeof given.place + out.numbers(given.place.row, given.place.column) * sizeof(T);
  }
  for (std::size_t rank = 0; rank < lengths.size(); ++rank) for_ranks[rank].reserve(lengths[rank]);
  for (const GivenBlock<T>& given : blocks) pack(out, given, for_ranks[std::size_t(to(given.place))]);
  return for_ranks;
}

/// The matrix like `out` of the blocks that have come.
template <class T>
BlockMatrix<T> unpacked(const BlockPattern& out, const std::vector<Bytes>& come) {
  std::vector<Arrived> arrived;
  for (const Bytes& bytes : come) unpack<T>(out, bytes, arrived);
  std::sort(arrived.begin(), arrived.end(), [](const Arrived& a, const Arrived& b) { return a.place < b.place; });
  std::vector<std::int64_t> first(std::size_t(out.rows().count()) + 1);
  std::vector<std::int32_t> column;
  for (const Arrived& one : arrived) {
    ++first[std::size_t(one.place.row) + 1];
    column.push_back(one.place.column);
  }
  for (std::size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
  BlockMatrix<T> made = BlockMatrix<T>::with_unset_pattern(out.rows(), out.columns(), out.symmetry(), std::move(first),
                                                           std::move(column));
  for (std::size_t slot = 0; slot < arrived.size(); ++slot) {
    const auto [i, j] = arrived[slot].place;
    std::memcpy(made.block(std::int64_t(slot)), arrived[slot].numbers, out.numbers(i, j) * sizeof(T));
  }
  return made;
}

/// The matrix like `out` of the blocks that come to this rank when all of what give() gives go to rank to(place).
template <class T, class To>
BlockMatrix<T> exchanged(const Communicator& ranks, const BlockPattern& out, const GiveBlocks<T>& give, To to) {
  std::vector<Bytes> going = on_every_rank(ranks, [&] { return packed(ranks.size(), out, give(), to); });
  const std::vector<Bytes> come = ranks.exchange(std::move(going));
  return on_every_rank(ranks, [&] { return unpacked<T>(out, come); });
}

template <class T>
std::vector<GivenBlock<T>> all_blocks(const BlockMatrix<T>& a) {
  std::vector<GivenBlock<T>> out;
  a.for_each([&](std::int32_t i, std::int32_t j, std::int64_t slot) { out.push_back({{i, j}, a.block(slot)}); });
  return out;
}

}  // namespace

template <class T>
BlockMatrix<T> delivered(const BlockSizes& rows, const BlockSizes& columns, Symmetry symmetry,
                         const GiveBlocks<T>& give) {
  const BlockPattern out(rows, columns, symmetry);
  return exchanged(rows.grid()->ranks(), out, give,
                   [&](const BlockPlace& place) { return out.owner(place.row, place.column); });
}

template <class T>
BlockMatrix<T> scattered(const BlockMatrix<T>& whole, const std::shared_ptr<const MatrixGrid>& grid) {
  const GiveBlocks<T> give = [&] {
    return grid->ranks().rank() == 0 ? all_blocks(whole) : std::vector<GivenBlock<T>>();
  };
  return delivered(whole.rows().on(grid), whole.columns().on(grid), whole.symmetry(), give);
}

template <class T>
BlockMatrix<T> collected(const BlockMatrix<T>& a) {
  if (!a.grid()) return a;
  const BlockPattern out(a.rows().on(nullptr), a.columns().on(nullptr), a.symmetry());
  const GiveBlocks<T> give = [&] { return all_blocks(a); };
  return exchanged(a.grid()->ranks(), out, give, [](const BlockPlace&) { return 0; });
}

BlockMatrix<double> made_on_first(const BlockSizes& sizes, Symmetry symmetry,
                                  const std::function<BlockMatrix<double>(const BlockSizes&)>& make) {
  if (!sizes.grid()) return make(sizes);
  const BlockSizes alone = sizes.on(nullptr);
  BlockMatrix<double> whole(alone, alone, symmetry);
  on_first_rank(sizes.grid()->ranks(), [&] { whole = make(alone); });
  return scattered(whole, sizes.grid());
}

#define QUADRILLE_BLOCK_EXCHANGE(T)                                                                        \
  template BlockMatrix<T> delivered(const BlockSizes&, const BlockSizes&, Symmetry, const GiveBlocks<T>&); \
  template BlockMatrix<T> scattered(const BlockMatrix<T>&, const std::shared_ptr<const MatrixGrid>&);      \
  template BlockMatrix<T> collected(const BlockMatrix<T>&);
QUADRILLE_BLOCK_EXCHANGE(double)
QUADRILLE_BLOCK_EXCHANGE(float)
#undef QUADRILLE_BLOCK_EXCHANGE

}  // namespace quadrille::block_dft
