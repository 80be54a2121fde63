// Updates on the CPU: threads share the blocks of a pass, and kernels.cpp does them.
#include "core/error.h"
#include "core/field/site_access.h"
#include "core/gauge/around/link_block_tables.h"
#include "core/numbers/chunked_sum.h"
#include "core/simd/isa.h"
#include "core/simd/of_isa.h"
#include "core/su3/link_codec.h"
#include "core/su3/su3.h"
#include "core/system/team.h"
#include "modules/quenched/polyakov.h"
#include "modules/quenched/updates/link_updates.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace quadrille::quenched {

namespace {

/// Blocks that a thread takes at a time; for sums, part of what they are.
constexpr std::int64_t chunk_blocks = 64;

const UpdateKernels& find_kernels(const FieldDesc& desc) {
  const LinkNumbers of{int(number_bytes(desc.precision)), int(desc.reconstruct)};
  const int lanes = desc.layout.lanes;
  const UpdateKernels* kernels = QUADRILLE_OF_ISA(isa_of_links(desc), find_kernels)(of, lanes);
  if (kernels == nullptr) {
    throw Error(ErrorCode::unsupported, "no gauge-update kernel for " + to_string(desc.precision) + " precision, " +
                                            to_string(desc.reconstruct) + " numbers per link and " +
                                            std::to_string(lanes) + " lanes in this build");
  }
  return *kernels;
}

struct Chunks {
  std::int64_t blocks;
  std::int64_t count() const { return (blocks + chunk_blocks - 1) / chunk_blocks; }
  std::int64_t begin(std::int64_t chunk) const { return chunk * chunk_blocks; }
  std::int64_t end(std::int64_t chunk) const { return std::min(blocks, (chunk + 1) * chunk_blocks); }
  /// Part of as many blocks.
  Blocks of(const Blocks& all, std::int64_t chunk) const {
    return {all.list, all.begin + begin(chunk), all.begin + end(chunk)};
  }
};

class CpuUpdates final : public LinkUpdates {
 public:
  explicit CpuUpdates(Field& links)
      : links_(links),
        isa_(isa_of_links(links.desc())),
        kernels_(find_kernels(links.desc())),
        chunks_{links.lattice().half_volume() / links.desc().layout.lanes} {
    if (links.lattice().communicator().size() > 1) halo_.emplace(links, staple_halo());
    tables_.emplace(links, halo_ ? &*halo_ : nullptr);
  }

  std::string architecture() const override { return to_string(isa_); }
  void heatbath(const SweepPart& part) override;
  void overrelax(const SweepPart& part) override;
  HeatbathCounts counts() const override { return counts_; }
  std::array<double, 6> plane_sums() const override;
  std::array<double, 2> loop_sum() const override;
  double reunitarize() override;

 private:
  const LinkBlocks& links_around() const { return tables_->blocks(); }
  /// Calls update(blocks) for all blocks that `part` updates; over several ranks the inner ones are worked on while
  /// links of the others travel.
  template <class Update>
  void over_blocks(const SweepPart& part, const Update& update);

  Field& links_;
  Isa isa_;
  const UpdateKernels& kernels_;
  Chunks chunks_;
  HeatbathCounts counts_;
  std::vector<HeatbathCounts> chunk_counts_;
  std::optional<HaloExchange> halo_;  ///< of several ranks
  std::optional<LinkBlockTables> tables_;
};

template <class Update>
void CpuUpdates::over_blocks(const SweepPart& part, const Update& update) {
  if (!halo_) return update(Blocks{nullptr, 0, chunks_.blocks});
  const Parity p = Parity(part.parity);
  const std::vector<std::int32_t>&edge = halo_->edge_blocks(p), &inner = halo_->inner_blocks(p);
  const std::int64_t all = std::int64_t(inner.size());
  update(Blocks{edge.data(), 0, std::int64_t(edge.size())});
  halo_->start(part.direction, p);
  update(Blocks{inner.data(), 0, all / 2});
  halo_->next_step();
  update(Blocks{inner.data(), all / 2, all});
  halo_->finish();
}

void CpuUpdates::heatbath(const SweepPart& part) {
  over_blocks(part, [&](const Blocks& blocks) {
    const Chunks chunks{blocks.end - blocks.begin};
    chunk_counts_.assign(std::size_t(chunks.count()), {});
    team_for(chunks.count(), [&](std::int64_t chunk) {
      HeatbathCounts mine;
      kernels_.heatbath(links_around(), part, chunks.of(blocks, chunk), mine);
      chunk_counts_[std::size_t(chunk)] = mine;
    });
    for (const HeatbathCounts& mine : chunk_counts_) counts_ += mine;
  });
}

void CpuUpdates::overrelax(const SweepPart& part) {
  over_blocks(part, [&](const Blocks& blocks) {
    const Chunks chunks{blocks.end - blocks.begin};
    team_for(chunks.count(),
             [&](std::int64_t chunk) { kernels_.overrelax(links_around(), part, chunks.of(blocks, chunk)); });
  });
}

std::array<double, 6> CpuUpdates::plane_sums() const {
  std::vector<std::array<double, 6>> partial(std::size_t(2 * chunks_.count()));
  team_for(2 * chunks_.count(), [&](std::int64_t row) {
    const std::int64_t chunk = row % chunks_.count();
    kernels_.planes(links_around(), int(row / chunks_.count()), chunks_.begin(chunk), chunks_.end(chunk),
                    partial[std::size_t(row)].data());
  });
  return combine_partial_sums(std::span(partial));
}

/// A link of direction mu among the numbers of its site.
template <class T>
Matrix3 read_link(const T* site, Reconstruct reconstruct, int mu) {
  const T* numbers = site + mu * int(reconstruct);
  if (reconstruct == Reconstruct::R12) return link_codec::decode_12(numbers);
  Matrix3 link;
  for (std::size_t i = 0; i < 9; ++i) link[i] = {numbers[2 * i], numbers[2 * i + 1]};
  return link;
}

/// For each place in space the product of this rank's time links, whose numbers are of type T, in double.
template <class T>
std::vector<Matrix3> time_products(const Field& links) {
  const Lattice& lattice = links.lattice();
  const Dims& dims = lattice.dims();
  const SiteAccess<T> even(links, Parity::Even), odd(links, Parity::Odd);
  std::vector<Matrix3> products(std::size_t(lattice.volume() / dims[3]));
  team_for(std::int64_t(products.size()), [&](std::int64_t place) {
    Dims x = lattice.coordinates(place);
    Matrix3 product = Matrix3::identity();
    for (x[3] = 0; x[3] < dims[3]; ++x[3]) {
      T numbers[72];
      (Lattice::parity(x) == 0 ? even : odd).load(lattice.even_odd_index(x), numbers);
      product = product * read_link(numbers, links.desc().reconstruct, 3);
    }
    products[std::size_t(place)] = product;
  });
  return products;
}

std::array<double, 2> CpuUpdates::loop_sum() const {
  return loop_traces(
      links_.desc().precision == Precision::Double ? time_products<double>(links_) : time_products<float>(links_),
      links_.lattice().communicator());
}

double CpuUpdates::reunitarize() {
  std::vector<double> changes(std::size_t(2 * chunks_.count()), 0.0);
  team_for(2 * chunks_.count(), [&](std::int64_t row) {
    const std::int64_t chunk = row % chunks_.count();
    changes[std::size_t(row)] =
        kernels_.reunitarize(links_around(), int(row / chunks_.count()), chunks_.begin(chunk), chunks_.end(chunk));
  });
  if (halo_) halo_->exchange_all();
  return changes.empty() ? 0.0 : *std::max_element(changes.begin(), changes.end());
}

}  // namespace

std::unique_ptr<LinkUpdates> make_updates_cpu(Field& links) { return std::make_unique<CpuUpdates>(links); }

}  // namespace quadrille::quenched
