// openQCD's array of links on several ranks: the links that leave even points through a face lie with the odd points of
// the neighbouring rank, and travel.
#pragma once

#include "core/gauge/foreign_links.h"
#include "core/layout/lattice.h"

#include <array>
#include <cstddef>
#include <vector>

namespace quadrille::capi {

class OpenQcdFaces {
 public:
  /// `links`, `points`: udfld() and ipt of this rank, in host memory; `bits` of a real number.
  OpenQcdFaces(const Lattice& lattice, std::byte* links, const int* points, int bits);

  /// ForeignLinks::face of a direction; empty when it is not divided.
  std::vector<std::byte>& face(int mu) { return faces_[std::size_t(mu)]; }
  /// From the neighbours' arrays. Collective.
  void fetch();
  /// To the neighbours' arrays. Collective.
  void give();

 private:
  /// Calls body(link, place): a link of the array that enters through the first slice of mu, and its place in a face.
  template <class Body>
  void for_each_entering(int mu, const Body& body) const;

  const Lattice& lattice_;
  std::byte* links_;
  const int* points_;
  std::size_t link_bytes_;
  Extents extents_;
  std::array<std::vector<std::byte>, 4> faces_;
};

}  // namespace quadrille::capi
