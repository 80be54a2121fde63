#include "dirac/halo_cpu.h"

#include "core/system/aligned_memory.h"
#include "core/system/team.h"

#include <cstring>

namespace quadrille {
namespace {

constexpr int half_spinor = site_formats::half_spinor.numbers();
constexpr Parity parities[] = {Parity::Even, Parity::Odd};

}  // namespace

CpuHalo::CpuHalo(const HopSetup& setup)
    : setup_(setup),
      layout_(setup.spinor.lattice->vector_layout(setup.spinor.layout.lanes)),
      pack_(dirac::find_pack_kernel(setup.op, setup.form.precision, layout_.lanes())),
      number_bytes_(std::size_t(number_bytes(setup.form.precision))) {
  const Communicator& communicator = setup.spinor.lattice->communicator();
  faces_.reserve(8);
  for (const Parity p : parities) {
    neighbours_[std::size_t(p)] = layout_.neighbours(p);
    outside_[std::size_t(p)].assign(std::size_t(layout_.blocks()), 0);
  }
  for (int d = 0; d < 8; ++d) {
    if (communicator.splits(d % 4)) add_face(d);
  }
  for (const Parity p : parities) list_blocks(p);
  std::vector<HostMessage> messages;
  // What a hop forward finds comes from the neighbour forward: it has sent it backward.
  for (const Face& face : faces_) messages.push_back({opposite_direction(face.direction), face.bytes});
  channel_ = std::make_unique<HostChannel>(communicator, messages);
}

void CpuHalo::add_face(int d) {
  const int mu = d % 4, lanes = layout_.lanes();
  Face& face = faces_.emplace_back();
  face.direction = d;
  for (const Parity p : parities) {
    face.to_pack[std::size_t(p)] = layout_.edge_blocks(opposite(p), (d + 4) % 8);
    const std::vector<std::int32_t> from = layout_.edge_blocks(p, d);
    for (std::size_t place = 0; place < from.size(); ++place) {
      const std::size_t block = std::size_t(from[place]);
      neighbours_[std::size_t(p)][block * 8 + std::size_t(d)] = std::int32_t(place);
      outside_[std::size_t(p)][block] |= std::uint8_t(1u << d);
    }
  }
  const std::size_t sites = face.to_pack[0].size() * std::size_t(lanes);
  face.bytes = sites * (half_spinor * number_bytes_ + (setup_.spinor.has_norms() ? sizeof(float) : 0));
  const int last = layout_.lane_grid()[std::size_t(mu)] - 1;
  if (last == 0) return;
  for (int lane = 0; lane < lanes; ++lane)
    face.from_here.push_back(layout_.lane_coordinate(lane, mu) != (d < 4 ? 0 : last));
  face.packed = aligned_memory(face.bytes);
}

void CpuHalo::list_blocks(Parity p) {
  const std::vector<std::uint8_t>& outside = outside_[std::size_t(p)];
  for (std::size_t block = 0; block < outside.size(); ++block)
    (outside[block] == 0 ? inner_ : edge_)[std::size_t(p)].push_back(std::int32_t(block));
}

float* CpuHalo::norms(const Face& face, void* memory) const {
  const std::size_t numbers = face.to_pack[0].size() * std::size_t(layout_.lanes()) * half_spinor;
  return reinterpret_cast<float*>(static_cast<std::byte*>(memory) + numbers * number_bytes_);
}

void CpuHalo::start(const Field& x, Parity p, Dagger dagger) {
  dirac::PackArgs args{};
  args.in = x.numbers(opposite(p));
  args.in_norms = x.norms(opposite(p));
  args.upper = dagger == Dagger::Yes ? half_spinor : 0;
  args.lower = half_spinor - args.upper;
  for (std::size_t k = 0; k < faces_.size(); ++k) {
    const Face& face = faces_[k];
    const std::vector<std::int32_t>& blocks = face.to_pack[std::size_t(p)];
    void* const packed = face.packed ? face.packed.get() : channel_->outgoing(k);
    args.out = packed;
    args.out_norms = norms(face, packed);
    args.blocks = blocks.data();
    args.direction = face.direction;
    team_ranges(std::int64_t(blocks.size()),
                [&](std::int64_t begin, std::int64_t end) { pack_(args, layout_.lanes(), begin, end); });
    if (face.packed) std::memcpy(channel_->outgoing(k), packed, face.bytes);
  }
  channel_->start();
}

void CpuHalo::finish() {
  channel_->finish();
  for (std::size_t k = 0; k < faces_.size(); ++k) {
    if (!faces_[k].packed) continue;
    void* const ghosts = channel_->incoming(k);
    switch (setup_.form.precision) {
      case Precision::Double: fill_inner_lanes<double>(faces_[k], ghosts); break;
      case Precision::Single: fill_inner_lanes<float>(faces_[k], ghosts); break;
      case Precision::Half: fill_inner_lanes<std::int16_t>(faces_[k], ghosts); break;
    }
  }
}

template <class Number>
void CpuHalo::fill_inner_lanes(const Face& face, void* ghosts) const {
  const std::size_t lanes = face.from_here.size(), rows = face.to_pack[0].size();
  const auto fill = [&](auto* come, const auto* mine, std::size_t count) {
    for (std::size_t k = 0; k < count * lanes; ++k) {
      if (face.from_here[k % lanes] != 0) come[k] = mine[k];
    }
  };
  fill(static_cast<Number*>(ghosts), static_cast<const Number*>(face.packed.get()), rows * half_spinor);
  if (setup_.spinor.has_norms()) fill(norms(face, ghosts), norms(face, face.packed.get()), rows);
}

void CpuHalo::describe(dirac::DslashArgs& args, Parity p) const {
  args.neighbours = neighbours_[std::size_t(p)].data();
  args.outside = outside_[std::size_t(p)].data();
  for (std::size_t k = 0; k < faces_.size(); ++k) {
    const int direction = faces_[k].direction;
    args.ghosts[direction] = channel_->incoming(k);
    args.ghost_norms[direction] = norms(faces_[k], channel_->incoming(k));
  }
}

}  // namespace quadrille
