#include "modules/quenched/updates/link_halo.h"

#include "core/system/aligned_memory.h"
#include "core/system/team.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace quadrille::quenched {
namespace {

constexpr int backward = 4;

}  // namespace

LinkHalo::LinkHalo(const Field& links)
    : links_(links),
      lattice_(links.lattice()),
      layout_(lattice_.vector_layout(links.desc().layout.lanes)),
      link_bytes_(std::size_t(links.desc().reconstruct) * std::size_t(layout_.lanes()) *
                  std::size_t(number_bytes(links.desc().precision))) {
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
    ghosts_[std::size_t(p)] = aligned_memory(std::size_t(4 * ghost_count_) * link_bytes_);
  }
  for (const auto connect : {&LinkHalo::connect_face, &LinkHalo::connect_beyond}) {
    for (Row& row : rows_) {
      for (const int p : {0, 1}) (this->*connect)(row, p);
    }
  }
  for (int mu = 0; mu < 4; ++mu) {
    for (const int p : {0, 1}) plan(mu, p);
  }
  exchange_all();
}

void LinkHalo::list_blocks(int parity) {
  for (std::int64_t block = 0; block < layout_.blocks(); ++block) {
    bool at_edge = false;
    for (int d = 0; d < 8; ++d) at_edge = at_edge || leaves(parity, block, d);
    (at_edge ? edge_ : inner_)[std::size_t(parity)].push_back(std::int32_t(block));
  }
}

void LinkHalo::add_row(int d) {
  Row& row = rows_.emplace_back();
  row.direction = d;
  row.first = ghost_count_;
  const std::vector<std::int32_t> face = layout_.edge_blocks(Parity::Even, d);  // as many of odd ones
  row.count.fill(std::int64_t(face.size()));
  for (int nu = 0; d < backward && nu < 4; ++nu) {
    if (nu == d) continue;
    row.count[std::size_t(nu)] += std::count_if(
        face.begin(), face.end(), [&](std::int32_t block) { return leaves(int(Parity::Even), block, nu + backward); });
  }
  const std::int64_t most = *std::max_element(row.count.begin(), row.count.end());
  ghost_count_ += most;
  row.send = aligned_memory(std::size_t(most) * link_bytes_);
  const int last = layout_.lane_grid()[std::size_t(d % 4)] - 1;
  for (int lane = 0; last > 0 && lane < layout_.lanes(); ++lane)
    row.from_here.push_back(layout_.lane_coordinate(lane, d % 4) != (d < backward ? 0 : last));
}

/// The ghosts that blocks of a parity find beyond the face.
void LinkHalo::connect_face(Row& row, int parity) {
  const int d = row.direction, other = 1 - parity;
  std::int64_t ghost = layout_.blocks() + row.first;
  for (const std::int32_t block : layout_.edge_blocks(Parity(parity), d)) {
    std::int32_t& neighbour = neighbours_[std::size_t(parity)][std::size_t(block) * 8 + std::size_t(d)];
    for (auto& of_mu : row.sources) of_mu[std::size_t(other)].push_back(neighbour);
    wraps_[std::size_t(other)][std::size_t(ghost)] = wraps_[std::size_t(other)][std::size_t(neighbour)];
    neighbour = std::int32_t(ghost++);
  }
}

/// The ghosts that another shift finds from those: of the same row, or a corner.
void LinkHalo::connect_beyond(Row& row, int parity) {
  const int d = row.direction, other = 1 - parity;
  for (int e = 0; e < 8; ++e) {
    if (e % 4 == d % 4) continue;
    const bool corners = d < backward && e >= backward;
    std::int64_t corner = layout_.blocks() + row.first + std::int64_t(layout_.edge_blocks(Parity(parity), d).size());
    for (const std::int32_t block : layout_.edge_blocks(Parity(parity), d)) {
      const auto at = [](std::int64_t number, int direction) { return std::size_t(number * 8 + direction); };
      const std::int32_t ghost = neighbours_[std::size_t(parity)][at(block, d)];
      std::int32_t& found = neighbours_[std::size_t(other)][at(ghost, e)];
      if (!leaves(parity, block, e)) {
        const std::int32_t beside = neighbours_[std::size_t(parity)][at(block, e)];
        found = neighbours_[std::size_t(other)][at(beside, d)];
      } else if (corners) {
        // What the neighbour forward has as a ghost of its own, at the block that this one finds where the torus
        // closes.
        const std::int32_t closed = layout_.neighbours(Parity(parity))[at(block, d)];
        row.sources[std::size_t(e - backward)][std::size_t(parity)].push_back(
            neighbours_[std::size_t(other)][at(closed, e)]);
        found = std::int32_t(corner++);
      }
    }
  }
}

void LinkHalo::plan(int mu, int parity) {
  auto& steps = steps_[std::size_t(mu)][std::size_t(parity)];
  for (const Row& row : rows_) {
    if (row.direction != mu) steps[row.direction == mu + backward ? 0 : 1].rows.push_back(&row);
  }
  for (Step& step : steps) {
    if (step.rows.empty()) continue;
    std::vector<Message> messages;
    for (const Row* row : step.rows) {
      // What a shift forward finds comes from the neighbour forward: it has sent it backward.
      messages.push_back({(row->direction + backward) % 8, row->send.get(), ghost(mu, parity, row->first),
                          std::size_t(row->count[std::size_t(mu)]) * link_bytes_});
    }
    step.channel = lattice_.communicator().channel(std::move(messages));
  }
}

const std::byte* LinkHalo::link(int mu, int parity, std::int64_t block) const {
  if (block >= layout_.blocks()) return ghost(mu, parity, block - layout_.blocks());
  return static_cast<const std::byte*>(links_.numbers(Parity(parity))) + std::size_t(block * 4 + mu) * link_bytes_;
}

std::byte* LinkHalo::ghost(int mu, int parity, std::int64_t number) const {
  return static_cast<std::byte*>(ghosts_[std::size_t(parity)].get()) +
         std::size_t(mu * ghost_count_ + number) * link_bytes_;
}

void LinkHalo::describe(LinkSites& sites) const {
  sites.ghost_count = ghost_count_;
  for (const std::size_t p : {0u, 1u}) {
    sites.ghosts[p] = ghosts_[p].get();
    sites.neighbours[p] = neighbours_[p].data();
    sites.wraps[p] = wraps_[p].data();
  }
}

void LinkHalo::send(const Step& step, int mu, int parity) const {
  for (const Row* row : step.rows) {
    const std::vector<std::int32_t>& sources = row->sources[std::size_t(mu)][std::size_t(parity)];
    auto* const to = static_cast<std::byte*>(row->send.get());
    team_for(std::int64_t(sources.size()), [&](std::int64_t k) {
      std::memcpy(to + std::size_t(k) * link_bytes_, link(mu, parity, sources[std::size_t(k)]), link_bytes_);
    });
  }
  if (step.channel) step.channel->start();
}

void LinkHalo::receive(const Step& step, int mu, int parity) const {
  if (step.channel) step.channel->finish();
  for (const Row* row : step.rows) {
    if (row->from_here.empty()) continue;
    if (links_.desc().precision == Precision::Double) {
      fill_inner_lanes<double>(*row, mu, parity);
    } else {
      fill_inner_lanes<float>(*row, mu, parity);
    }
  }
}

/// Lanes that are not at the rank's edge find their neighbours in what this rank has sent itself.
template <class T>
void LinkHalo::fill_inner_lanes(const Row& row, int mu, int parity) const {
  const std::size_t lanes = row.from_here.size();
  const auto* const mine = static_cast<const T*>(row.send.get());
  T* const ghosts = reinterpret_cast<T*>(ghost(mu, parity, row.first));
  for (std::size_t k = 0; k < std::size_t(row.count[std::size_t(mu)]) * link_bytes_ / sizeof(T); ++k) {
    if (row.from_here[k % lanes] != 0) ghosts[k] = mine[k];
  }
}

void LinkHalo::start(int mu, int parity) {
  mu_ = mu;
  parity_ = parity;
  send(steps_[std::size_t(mu)][std::size_t(parity)][0], mu, parity);
}

void LinkHalo::next_step() {
  auto& steps = steps_[std::size_t(mu_)][std::size_t(parity_)];
  receive(steps[0], mu_, parity_);
  send(steps[1], mu_, parity_);
}

void LinkHalo::finish() { receive(steps_[std::size_t(mu_)][std::size_t(parity_)][1], mu_, parity_); }

void LinkHalo::exchange_all() {
  for (int mu = 0; mu < 4; ++mu) {
    for (const int parity : {0, 1}) {
      start(mu, parity);
      next_step();
      finish();
    }
  }
}

}  // namespace quadrille::quenched
