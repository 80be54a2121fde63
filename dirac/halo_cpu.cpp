#include "dirac/halo_cpu.h"

#include "core/system/aligned_memory.h"
#include "core/system/team.h"

#include <cstring>

namespace quadrille {
namespace {

constexpr int half_spinor = site_formats::half_spinor.numbers();
constexpr Parity parities[] = {Parity::Even, Parity::Odd};

void* part_of(const void* memory, std::size_t from) {
  return const_cast<std::byte*>(static_cast<const std::byte*>(memory) + from);
}

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
}

CpuHalo::Exchange& CpuHalo::exchange_for(std::size_t calls) {
  if (exchanges_.size() < calls) exchanges_.resize(calls);
  Exchange& exchange = exchanges_[calls - 1];
  if (exchange.channel) return exchange;
  std::vector<HostMessage> messages;
  for (const Face& face : faces_) {
    // What a hop forward finds comes from the neighbour forward: it has sent it backward.
    messages.push_back({opposite_direction(face.direction), calls * face.bytes});
    exchange.packed.push_back(face.from_here.empty() ? nullptr : aligned_memory(calls * face.bytes));
  }
  exchange.channel = std::make_unique<HostChannel>(setup_.spinor.lattice->communicator(), messages);
  return exchange;
}

void CpuHalo::list_blocks(Parity p) {
  const std::vector<std::uint8_t>& outside = outside_[std::size_t(p)];
  for (std::size_t block = 0; block < outside.size(); ++block)
    (outside[block] == 0 ? inner_ : edge_)[std::size_t(p)].push_back(std::int32_t(block));
}

float* CpuHalo::norms(const Face& face, const void* memory) const {
  const std::size_t numbers = face.to_pack[0].size() * std::size_t(layout_.lanes()) * half_spinor;
  return reinterpret_cast<float*>(part_of(memory, numbers * number_bytes_));
}

void CpuHalo::start(const HopCall& call) {
  const Parity p = call.parity;
  calls_ = call.list.size();
  Exchange& exchange = exchange_for(calls_);
  dirac::PackArgs args{};
  args.upper = call.dagger == Dagger::Yes ? half_spinor : 0;
  args.lower = half_spinor - args.upper;
  for (std::size_t k = 0; k < faces_.size(); ++k) {
    const Face& face = faces_[k];
    const std::vector<std::int32_t>& blocks = face.to_pack[std::size_t(p)];
    void* const packed = exchange.packed[k] ? exchange.packed[k].get() : exchange.channel->outgoing(k);
    args.blocks = blocks.data();
    args.direction = face.direction;
    for (std::size_t i = 0; i < calls_; ++i) {
      args.in = call.list[i].x->numbers(opposite(p));
      args.in_norms = call.list[i].x->norms(opposite(p));
      args.out = part_of(packed, i * face.bytes);
      args.out_norms = norms(face, args.out);
      team_ranges(std::int64_t(blocks.size()),
                  [&](std::int64_t begin, std::int64_t end) { pack_(args, layout_.lanes(), begin, end); });
    }
    if (exchange.packed[k]) std::memcpy(exchange.channel->outgoing(k), packed, calls_ * face.bytes);
  }
  exchange.channel->start();
}

void CpuHalo::finish() {
  const Exchange& exchange = exchanges_[calls_ - 1];
  exchange.channel->finish();
  for (std::size_t k = 0; k < faces_.size(); ++k) {
    if (!exchange.packed[k]) continue;
    for (std::size_t i = 0; i < calls_; ++i) {
      void* const ghosts = part_of(exchange.channel->incoming(k), i * faces_[k].bytes);
      const void* const packed = part_of(exchange.packed[k].get(), i * faces_[k].bytes);
      switch (setup_.form.precision) {
        case Precision::Double: fill_inner_lanes<double>(faces_[k], ghosts, packed); break;
        case Precision::Single: fill_inner_lanes<float>(faces_[k], ghosts, packed); break;
        case Precision::Half: fill_inner_lanes<std::int16_t>(faces_[k], ghosts, packed); break;
      }
    }
  }
}

template <class Number>
void CpuHalo::fill_inner_lanes(const Face& face, void* ghosts, const void* packed) const {
  const std::size_t lanes = face.from_here.size(), rows = face.to_pack[0].size();
  const auto fill = [&](auto* come, const auto* mine, std::size_t count) {
    for (std::size_t k = 0; k < count * lanes; ++k) {
      if (face.from_here[k % lanes] != 0) come[k] = mine[k];
    }
  };
  fill(static_cast<Number*>(ghosts), static_cast<const Number*>(packed), rows * half_spinor);
  if (setup_.spinor.has_norms()) fill(norms(face, ghosts), norms(face, packed), rows);
}

void CpuHalo::describe(dirac::DslashArgs& args, std::span<dirac::DslashFields> fields, Parity p) const {
  args.neighbours = neighbours_[std::size_t(p)].data();
  args.outside = outside_[std::size_t(p)].data();
  for (std::size_t k = 0; k < faces_.size(); ++k) {
    const int direction = faces_[k].direction;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      void* const ghosts = part_of(exchanges_[calls_ - 1].channel->incoming(k), i * faces_[k].bytes);
      fields[i].ghosts[direction] = ghosts;
      fields[i].ghost_norms[direction] = norms(faces_[k], ghosts);
    }
  }
}

}  // namespace quadrille
