#include "core/field/halo_exchange.h"

#include "core/error.h"
#include "core/system/aligned_memory.h"
#include "core/system/team.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>

namespace quadrille {
namespace {

constexpr int backward = 4;

std::size_t at(std::int64_t block, int direction) { return std::size_t(block * 8 + direction); }

[[noreturn]] void refuse(const char* needed) {
  throw Error(ErrorCode::internal, std::string("halo exchange on a CPU: ") + needed);
}

const Field& in_vector_layout(const Field& field, std::size_t sections) {
  const FieldDesc& desc = field.desc();
  if (desc.layout.grouped() || desc.subset != Subset::Full || sections != std::size_t(desc.site.sections)) {
    refuse("a full field in the vector layout and one SectionHalo for each of its sections are needed");
  }
  return field;
}

/// What is read of the norms: the corners that are read of numbers.
SectionHalo of_norms(const std::vector<SectionHalo>& sections) {
  SectionHalo norms;
  for (const SectionHalo& read : sections) {
    if (read.corners < 0) continue;
    if (norms.corners >= 0 && norms.corners != read.corners)
      refuse("in half precision sections with corners must have those of the same direction, as the norms do");
    norms.corners = read.corners;
  }
  return norms;
}

void demand_backward_faces(const std::vector<SectionHalo>& sections) {
  for (const SectionHalo& read : sections) {
    if (read.corners < 0) continue;
    if (read.corners > 3 || (read.faces >> (read.corners + backward) & 1u) == 0)
      refuse("a section with corners in direction nu, x to t, must have the backward face of nu");
  }
}

/// Copies the lanes [lane] of `from` with inside[lane] != 0 to `to`, for `count` vectors of numbers of `Number`'s size.
template <class Number>
void copy_lanes(std::byte* to, const std::byte* from, const std::vector<std::uint8_t>& inside, std::size_t count) {
  const std::size_t lanes = inside.size();
  auto* const x = reinterpret_cast<Number*>(to);
  const auto* const y = reinterpret_cast<const Number*>(from);
  for (std::size_t k = 0; k < count * lanes; ++k) {
    if (inside[k % lanes] != 0) x[k] = y[k];
  }
}

}  // namespace

HaloExchange::HaloExchange(const Field& field, const std::vector<SectionHalo>& sections)
    : field_(in_vector_layout(field, sections.size())),
      lattice_(field.lattice()),
      layout_(lattice_.vector_layout(field.desc().layout.lanes)),
      sections_(sections) {
  demand_backward_faces(sections);
  const FieldDesc& desc = field.desc();
  const auto lanes = std::size_t(layout_.lanes());
  bytes_.assign(sections_.size(), std::size_t(desc.section()) * lanes * number_bytes(desc.precision));
  if (desc.has_norms()) {
    sections_.push_back(of_norms(sections));
    bytes_.push_back(lanes * sizeof(float));
  }
  for (const int p : {0, 1}) {
    neighbours_[std::size_t(p)] = layout_.neighbours(Parity(p));
    wraps_[std::size_t(p)] = layout_.wraps(Parity(p));
    list_blocks(p);
  }
  for (int d = 0; d < 8; ++d) {
    if (splits(d)) add_row(d);
  }
  for (const int p : {0, 1}) {
    neighbours_[std::size_t(p)].resize(std::size_t(layout_.blocks() + ghost_count_) * 8);
    wraps_[std::size_t(p)].resize(std::size_t(layout_.blocks() + ghost_count_));
    const std::size_t all = std::accumulate(bytes_.begin(), bytes_.end(), std::size_t(0));
    ghosts_[std::size_t(p)] = aligned_memory(std::size_t(ghost_count_) * all);
  }
  for (const auto connect : {&HaloExchange::connect_face, &HaloExchange::connect_beyond}) {
    for (Row& row : rows_) {
      for (const int p : {0, 1}) (this->*connect)(row, p);
    }
  }
  steps_.resize(sections_.size());
  for (int section = 0; section < int(sections_.size()); ++section) {
    for (const int p : {0, 1}) plan(section, p);
  }
  exchange_all();
}

void HaloExchange::list_blocks(int parity) {
  for (std::int64_t block = 0; block < layout_.blocks(); ++block) {
    bool at_edge = false;
    for (int d = 0; d < 8; ++d) at_edge = at_edge || leaves(parity, block, d);
    (at_edge ? edge_ : inner_)[std::size_t(parity)].push_back(std::int32_t(block));
  }
}

void HaloExchange::add_row(int d) {
  Row& row = rows_.emplace_back();
  row.direction = d;
  row.first = ghost_count_;
  const std::vector<std::int32_t> face = layout_.edge_blocks(Parity::Even, d);  // as many of odd ones
  std::int64_t most = std::int64_t(face.size());
  std::size_t most_bytes = 0;
  for (std::size_t s = 0; s < sections_.size(); ++s) {
    const int nu = sections_[s].corners;
    std::int64_t count = std::int64_t(face.size());
    if (d < backward && nu >= 0 && nu != d) {
      count += std::count_if(face.begin(), face.end(),
                             [&](std::int32_t block) { return leaves(int(Parity::Even), block, nu + backward); });
    }
    row.count.push_back(count);
    most = std::max(most, count);
    most_bytes = std::max(most_bytes, std::size_t(count) * bytes_[s]);
  }
  row.sources.resize(sections_.size());
  ghost_count_ += most;
  row.send = aligned_memory(most_bytes);
  const int last = layout_.lane_grid()[std::size_t(d % 4)] - 1;
  for (int lane = 0; last > 0 && lane < layout_.lanes(); ++lane)
    row.inside.push_back(layout_.lane_coordinate(lane, d % 4) != (d < backward ? 0 : last));
}

/// The ghosts that blocks of a parity find beyond the face.
void HaloExchange::connect_face(Row& row, int parity) {
  const int d = row.direction, other = 1 - parity;
  std::int64_t ghost = layout_.blocks() + row.first;
  for (const std::int32_t block : layout_.edge_blocks(Parity(parity), d)) {
    std::int32_t& neighbour = neighbours_[std::size_t(parity)][at(block, d)];
    for (ByParity& sources : row.sources) sources[std::size_t(other)].push_back(neighbour);
    wraps_[std::size_t(other)][std::size_t(ghost)] = wraps_[std::size_t(other)][std::size_t(neighbour)];
    neighbour = std::int32_t(ghost++);
  }
}

/// The ghosts that another shift finds from those: of the same row, or a corner.
void HaloExchange::connect_beyond(Row& row, int parity) {
  const int d = row.direction, other = 1 - parity;
  const std::vector<std::int32_t> face = layout_.edge_blocks(Parity(parity), d);
  for (int e = 0; e < 8; ++e) {
    if (e % 4 == d % 4) continue;
    const bool corners = d < backward && e >= backward;
    std::int64_t corner = layout_.blocks() + row.first + std::int64_t(face.size());
    for (const std::int32_t block : face) {
      const std::int32_t ghost = neighbours_[std::size_t(parity)][at(block, d)];
      std::int32_t& found = neighbours_[std::size_t(other)][at(ghost, e)];
      if (!leaves(parity, block, e)) {
        const std::int32_t beside = neighbours_[std::size_t(parity)][at(block, e)];
        found = neighbours_[std::size_t(other)][at(beside, d)];
      } else if (corners) {
        // What the neighbour forward has as a ghost of its own, at the block that this one finds where the torus
        // closes.
        const std::int32_t closed = layout_.neighbours(Parity(parity))[at(block, d)];
        const std::int32_t source = neighbours_[std::size_t(other)][at(closed, e)];
        for (std::size_t s = 0; s < sections_.size(); ++s) {
          if (sections_[s].corners == e - backward) row.sources[s][std::size_t(parity)].push_back(source);
        }
        found = std::int32_t(corner++);
      }
    }
  }
}

void HaloExchange::plan(int section, int parity) {
  const SectionHalo& read = sections_[std::size_t(section)];
  auto& steps = steps_[std::size_t(section)][std::size_t(parity)];
  for (const Row& row : rows_) {
    const bool first = read.corners >= 0 && row.direction == read.corners + backward;
    if ((read.faces >> row.direction & 1u) != 0) steps[first ? 0 : 1].rows.push_back(&row);
  }
  const std::size_t bytes = bytes_[std::size_t(section)];
  for (Step& step : steps) {
    if (step.rows.empty()) continue;
    std::vector<Message> messages;
    for (const Row* row : step.rows) {
      // What a shift forward finds comes from the neighbour forward: it has sent it backward.
      messages.push_back({(row->direction + backward) % 8, row->send.get(), ghost(section, parity, row->first),
                          std::size_t(row->count[std::size_t(section)]) * bytes});
    }
    step.channel = lattice_.communicator().channel(std::move(messages));
  }
}

const std::byte* HaloExchange::block(int section, int parity, std::int64_t number) const {
  if (number >= layout_.blocks()) return ghost(section, parity, number - layout_.blocks());
  const auto s = std::size_t(section);
  if (is_norms(section))
    return reinterpret_cast<const std::byte*>(field_.norms(Parity(parity))) + std::size_t(number) * bytes_[s];
  const std::int64_t place = number * field_.desc().site.sections + section;
  return static_cast<const std::byte*>(field_.numbers(Parity(parity))) + std::size_t(place) * bytes_[s];
}

std::byte* HaloExchange::ghost(int section, int parity, std::int64_t number) const {
  const auto s = std::size_t(section);
  const std::size_t before = bytes_[0] * s * std::size_t(ghost_count_);  // sections of numbers are alike
  return static_cast<std::byte*>(ghosts_[std::size_t(parity)].get()) + before + std::size_t(number) * bytes_[s];
}

void HaloExchange::send(const Step& step) const {
  const std::size_t bytes = bytes_[std::size_t(section_)];
  for (const Row* row : step.rows) {
    const std::vector<std::int32_t>& sources = row->sources[std::size_t(section_)][std::size_t(parity_)];
    auto* const to = static_cast<std::byte*>(row->send.get());
    team_for(std::int64_t(sources.size()), [&](std::int64_t k) {
      std::memcpy(to + std::size_t(k) * bytes, block(section_, parity_, sources[std::size_t(k)]), bytes);
    });
  }
  if (step.channel) step.channel->start();
}

void HaloExchange::receive(const Step& step) const {
  if (step.channel) step.channel->finish();
  for (const Row* row : step.rows) {
    if (!row->inside.empty()) fill_inner_lanes(*row);
  }
}

/// Lanes that are not at the rank's edge find their neighbours in what this rank has sent itself.
void HaloExchange::fill_inner_lanes(const Row& row) const {
  const auto* const mine = static_cast<const std::byte*>(row.send.get());
  std::byte* const ghosts = ghost(section_, parity_, row.first);
  const std::size_t number = is_norms(section_) ? sizeof(float) : number_bytes(field_.desc().precision);
  const std::size_t vectors =
      std::size_t(row.count[std::size_t(section_)]) * bytes_[std::size_t(section_)] / number / row.inside.size();
  if (number == 8) return copy_lanes<std::uint64_t>(ghosts, mine, row.inside, vectors);
  if (number == 4) return copy_lanes<std::uint32_t>(ghosts, mine, row.inside, vectors);
  copy_lanes<std::uint16_t>(ghosts, mine, row.inside, vectors);
}

void HaloExchange::start(int section, Parity p) {
  section_ = section;
  parity_ = int(p);
  send(steps_[std::size_t(section)][std::size_t(p)][0]);
}

void HaloExchange::next_step() {
  auto& steps = steps_[std::size_t(section_)][std::size_t(parity_)];
  receive(steps[0]);
  send(steps[1]);
}

void HaloExchange::finish() { receive(steps_[std::size_t(section_)][std::size_t(parity_)][1]); }

void HaloExchange::exchange_all() {
  for (int section = 0; section < int(sections_.size()); ++section) {
    for (const Parity p : {Parity::Even, Parity::Odd}) {
      start(section, p);
      next_step();
      finish();
    }
  }
}

}  // namespace quadrille
