#include "input/capi/arrays/openqcd_faces.h"

#include "core/comm/communicator.h"

#include <cstring>
#include <utility>

namespace quadrille::capi {

OpenQcdFaces::OpenQcdFaces(const Lattice& lattice, std::byte* links, const int* points, int bits)
    : lattice_(lattice), links_(links), points_(points), link_bytes_(18 * std::size_t(bits) / 8) {
  const Dims& dims = lattice.dims();
  extents_ = {dims[0], dims[1], dims[2], dims[3], int(lattice.half_volume())};
  for (int mu = 0; mu < 4; ++mu) {
    if (!lattice.communicator().splits(mu)) continue;
    face(mu).resize(std::size_t(lattice.half_volume()) / std::size_t(dims[std::size_t(mu)]) * link_bytes_);
  }
}

template <class Body>
void OpenQcdFaces::for_each_entering(int mu, const Body& body) const {
  for (std::int64_t site = 0; site < lattice_.volume(); ++site) {
    const SitePlace x = SitePlace::of_index(extents_, site);
    const int at[4] = {x.x, x.y, x.z, x.t};
    if (at[mu] != 0 || x.parity() == 0) continue;
    body(links_ + openqcd_link(extents_, points_[point_number(extents_, x)], mu, true) * std::int64_t(link_bytes_),
         std::size_t(face_index(extents_, x, mu) / 2) * link_bytes_);
  }
}

void OpenQcdFaces::fetch() {
  std::array<std::vector<std::byte>, 4> entering;
  std::vector<Message> messages;
  for (int mu = 0; mu < 4; ++mu) {
    if (face(mu).empty()) continue;
    std::vector<std::byte>& mine = entering[std::size_t(mu)];
    mine.resize(face(mu).size());
    for_each_entering(
        mu, [&](const std::byte* link, std::size_t place) { std::memcpy(mine.data() + place, link, link_bytes_); });
    messages.push_back({4 + mu, mine.data(), face(mu).data(), mine.size()});
  }
  lattice_.communicator().exchange(std::move(messages));
}

void OpenQcdFaces::give() {
  std::array<std::vector<std::byte>, 4> entering;
  std::vector<Message> messages;
  for (int mu = 0; mu < 4; ++mu) {
    if (face(mu).empty()) continue;
    entering[std::size_t(mu)].resize(face(mu).size());
    messages.push_back({mu, face(mu).data(), entering[std::size_t(mu)].data(), face(mu).size()});
  }
  lattice_.communicator().exchange(std::move(messages));
  for (int mu = 0; mu < 4; ++mu) {
    const std::vector<std::byte>& theirs = entering[std::size_t(mu)];
    if (theirs.empty()) continue;
    for_each_entering(
        mu, [&](std::byte* link, std::size_t place) { std::memcpy(link, theirs.data() + place, link_bytes_); });
  }
}

}  // namespace quadrille::capi
