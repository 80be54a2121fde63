// Matrices of a CPU's vector layout, with those of other ranks, as kernels read them around a block of sites.
#pragma once

#include "core/api.h"
#include "core/field/field.h"
#include "core/field/halo_exchange.h"
#include "core/gauge/around/link_block_tables.h"
#include "core/gauge/gauge_store.h"
#include "core/numbers/chunked_sum.h"
#include "core/system/team.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace quadrille {

/// A field of 3 x 3 matrices in double with 18 numbers and all that kernels need around it. It stays where it is: its
/// tables refer to it. Constructors and exchange() are collective.
class QUADRILLE_API BlockField {
 public:
  /// A copy of the forward links, with what staples read of other ranks.
  explicit BlockField(const GaugeStore& links);
  /// One matrix a site, with the neighbours of other ranks; contents are undefined.
  explicit BlockField(const Lattice& lattice, Backend& backend);
  BlockField(const BlockField&) = delete;
  BlockField& operator=(const BlockField&) = delete;

  Field& field() { return field_; }
  const Field& field() const { return field_; }
  const LinkBlocks& blocks() const { return tables_->blocks(); }
  double* numbers(int parity) { return static_cast<double*>(field_.numbers(Parity(parity))); }

  const FieldDesc& desc() const { return field_.desc(); }
  const Lattice& lattice() const { return field_.lattice(); }

  /// Brings the matrices of other ranks up to date, of all or of one parity (of fields of one matrix a site).
  void exchange();
  void exchange(int parity);

 private:
  Field field_;
  std::optional<HaloExchange> halo_;  ///< of several ranks
  std::optional<LinkBlockTables> tables_;
};

/// Calls work(parity, begin, end) for ranges that together are all of `blocks` blocks of both parities.
template <class Work>
void over_blocks(std::int64_t blocks, const Work& work) {
  for (const int parity : {0, 1}) {
    team_ranges(blocks, [&](std::int64_t begin, std::int64_t end) { work(parity, begin, end); });
  }
}

/// N sums over the blocks of one parity, independent of the number of threads: work(begin, end, sums) overwrites
/// sums[0..N) with those of its range.
template <std::size_t N, class Work>
std::array<double, N> sums_over_blocks(std::int64_t blocks, const Work& work) {
  constexpr std::int64_t chunk = 64;
  std::vector<std::array<double, N>> partial(std::size_t((blocks + chunk - 1) / chunk));
  team_for(std::int64_t(partial.size()),
           [&](std::int64_t k) { work(k * chunk, std::min(blocks, (k + 1) * chunk), partial[std::size_t(k)].data()); });
  return combine_partial_sums(std::span(partial));
}

}  // namespace quadrille
