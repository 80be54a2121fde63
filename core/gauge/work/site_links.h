// What is done to the links of one site, or of one line in t: the bodies that the host's loops and the devices' kernels
// share (core/gauge/work/link_work_of.h). Accesses are those of core/gauge/link_view.h; every body works on the site
// with even-odd index `site` of parity `parity`.
#pragma once

#include "core/gauge/foreign_links.h"
#include "core/gauge/link_edges.h"
#include "core/gauge/link_view.h"
#include "core/gauge/max_loc.h"
#include "core/gauge/start.h"
#include "core/numbers/big_endian.h"
#include "core/su3/random_link.h"

#include <cstdint>

namespace quadrille::site_links {

/// The number of a link, for messages and for the order of equals: lexicographic site * 4 + direction.
QUADRILLE_HOST_DEVICE std::int64_t link_number(const Extents& extents, const SitePlace& place, int mu) {
  return place.lexicographic(extents) * 4 + mu;
}

/// The forward link of a site, in the original gauge or in that of the transformation g (one link a site, as hop 0),
/// U'_mu(x) = g(x) U_mu(x) g(x+mu)^+, in which time links but those of the lattice's last slice are exactly 1. Where
/// x + mu is another rank's, `edges` has the g of that site.
template <class From, class Gauge>
struct GaugedLink {
  From from;
  Gauge g;
  bool fixed;
  LinkEdges edges;

  QUADRILLE_HOST_DEVICE Matrix3 operator()(const SitePlace& place, int mu) const {
    const Extents& extents = from.view().extents;
    const int parity = place.parity(), site = place.site(extents);
    if (!fixed) return from.matrix(2 * mu, parity, site);
    if (mu == 3 && !(edges.last_time && place.t == extents.t - 1)) return Matrix3::identity();
    const Matrix3 u = g.matrix(0, parity, site) * from.matrix(2 * mu, parity, site);
    return u * adjoint(edges.leaves(extents, place, mu)
                           ? load_numbers(edges.matrix(extents, place, mu, 0))
                           : g.matrix(0, 1 - parity, place.neighbour(extents, mu).site(extents)));
  }
};

/// to = from, gauged. Each link is stored for all hops of `to` that it belongs to on this rank. `to` may be what is
/// read itself without a g.
template <class To, class Gauged>
struct CopyLinks {
  To to;
  Gauged gauged;

  QUADRILLE_HOST_DEVICE void operator()(int parity, int site) const {
    const Extents& extents = to.view().extents;
    const SitePlace place(extents, parity, site);
    for (int mu = 0; mu < 4; ++mu) {
      const bool forward = to.view().holds(2 * mu);
      const bool backward = to.view().holds(2 * mu + 1) && !gauged.edges.leaves(extents, place, mu);
      if (!forward && !backward) continue;
      const Matrix3 u = gauged(place, mu);
      if (forward) to.store(2 * mu, parity, site, u);
      if (backward) to.store(2 * mu + 1, 1 - parity, place.neighbour(extents, mu).site(extents), u);
    }
  }
};

/// face[site of the face][18] = the links of direction mu, gauged, that leave this rank.
template <class Gauged>
struct LeavingLinks {
  Gauged gauged;
  int mu;
  double* face;

  QUADRILLE_HOST_DEVICE void operator()(std::int64_t at) const {
    store_numbers(face + at * 18, gauged(face_place(gauged.from.view().extents, at, mu, true), mu));
  }
};

/// The other way: those that enter, as links of the backward hops from the first face.
template <class To>
struct EnteringLinks {
  To to;
  int mu;
  const double* face;

  QUADRILLE_HOST_DEVICE void operator()(std::int64_t at) const {
    const Extents& extents = to.view().extents;
    const SitePlace place = face_place(extents, at, mu, false);
    to.store(2 * mu + 1, place.parity(), place.site(extents), load_numbers(face + at * 18));
  }
};

/// face[site of the face][matrix][18] = the first `matrices` forward links of the sites of the first face.
template <class From>
struct FirstFace {
  From from;
  int mu, matrices;
  double* face;

  QUADRILLE_HOST_DEVICE void operator()(std::int64_t at) const {
    const Extents& extents = from.view().extents;
    const SitePlace place = face_place(extents, at, mu, false);
    for (int nu = 0; nu < matrices; ++nu) {
      store_numbers(face + (at * matrices + nu) * 18, from.matrix(2 * nu, place.parity(), place.site(extents)));
    }
  }
};

/// The forward links of a site from its bytes in a file (ILDG's order: mu, row, column, re and im), big-endian numbers
/// of `bits` bits; site number `at` of the piece at `bytes`.
template <class To>
struct UnpackLinks {
  To to;
  const void* bytes;
  int bits;

  QUADRILLE_HOST_DEVICE void operator()(int parity, int site, std::int64_t at) const {
    for (int mu = 0; mu < 4; ++mu) {
      Matrix3 u;
      for (int i = 0; i < 9; ++i) {
        const std::int64_t n = at * 72 + mu * 18 + 2 * i;
        u.e[std::size_t(i)] = bits == 64
                                  ? Complex(get_big_endian<double>(bytes, n), get_big_endian<double>(bytes, n + 1))
                                  : Complex(get_big_endian<float>(bytes, n), get_big_endian<float>(bytes, n + 1));
      }
      to.store(2 * mu, parity, site, u);
    }
  }
};

/// The other way.
template <class From>
struct PackLinks {
  From from;
  void* bytes;
  int bits;

  QUADRILLE_HOST_DEVICE void operator()(int parity, int site, std::int64_t at) const {
    for (int mu = 0; mu < 4; ++mu) {
      const Matrix3 u = from.matrix(2 * mu, parity, site);
      for (int i = 0; i < 9; ++i) {
        const Complex& z = u.e[std::size_t(i)];
        const std::int64_t n = at * 72 + mu * 18 + 2 * i;
        if (bits == 64) {
          put_big_endian<double>(bytes, n, z.real());
          put_big_endian<double>(bytes, n + 1, z.imag());
        } else {
          put_big_endian<float>(bytes, n, z.real());
          put_big_endian<float>(bytes, n + 1, z.imag());
        }
      }
    }
  }
};

/// The links of a site from another program's arrays, those of backward hops from its neighbours' forward ones.
template <class To>
struct ReadLinks {
  To to;
  ForeignLinks from;

  QUADRILLE_HOST_DEVICE void operator()(int parity, int site) const {
    const SitePlace place(from.extents, parity, site);
    for (int mu = 0; mu < 4; ++mu) {
      to.store(2 * mu, parity, site, from.matrix(place, mu));
      if (!to.view().holds(2 * mu + 1)) continue;
      to.store(2 * mu + 1, parity, site, from.matrix(place.neighbour(from.extents, 4 + mu), mu));
    }
  }
};
/// The forward links of a site into such arrays.
template <class From>
struct WriteLinks {
  From from;
  ForeignLinks to;

  QUADRILLE_HOST_DEVICE void operator()(int parity, int site) const {
    const SitePlace place(to.extents, parity, site);
    for (int mu = 0; mu < 4; ++mu) to.store(place, mu, from.matrix(2 * mu, parity, site));
  }
};

/// Meets worst[0] with the largest |element| of U U^+ - 1, worst[1] with |det U - 1|, by number of the link.
template <class From>
struct MeetDefects {
  From from;

  QUADRILLE_HOST_DEVICE void operator()(int parity, int site, MaxLoc* worst) const {
    const Extents& extents = from.view().extents;
    const SitePlace place(extents, parity, site);
    for (int mu = 0; mu < 4; ++mu) {
      const Matrix3 u = from.matrix(2 * mu, parity, site);
      const std::int64_t number = link_number(extents, place, mu);
      worst[0].reduce(unitarity_defect(u), number);
      worst[1].reduce(magnitude(difference(determinant(u), 1.0)), number);
    }
  }
};

/// Projects the forward links on SU(3). Meets worst[0] with the largest |change| of an element, worst[1] with 1 for a
/// link that has no nearest SU(3) matrix and stays as it was.
template <class Links>
struct ProjectLinks {
  Links links;

  QUADRILLE_HOST_DEVICE void operator()(int parity, int site, MaxLoc* worst) const {
    const Extents& extents = links.view().extents;
    const SitePlace place(extents, parity, site);
    for (int mu = 0; mu < 4; ++mu) {
      const Matrix3 before = links.matrix(2 * mu, parity, site);
      const std::int64_t number = link_number(extents, place, mu);
      Matrix3 u = before;
      if (!project_su3(u)) {
        worst[1].reduce(1, number);
        continue;
      }
      for (std::size_t i = 0; i < 9; ++i) worst[0].reduce(magnitude(difference(u.e[i], before.e[i])), number);
      links.store(2 * mu, parity, site, u);
    }
  }
};

/// The transformation to temporal gauge along one line in t, g(x, t+1) = g(x, t) U_t(x, t), each product projected on
/// SU(3), from g = 1 or what the rank before has left in lines[line][18], where the next rank's is put. Meets worst[0]
/// with 1 where a time link is singular or not finite.
template <class Gauge, class From>
struct FixLine {
  Gauge g;
  From from;
  bool begins;    ///< the lattice's first time slice is this rank's
  double* lines;  ///< null on the only rank

  QUADRILLE_HOST_DEVICE void operator()(std::int64_t line, MaxLoc* worst) const {
    const Extents& extents = from.view().extents;
    SitePlace place = SitePlace::of_index(extents, line);
    Matrix3 product = begins ? Matrix3::identity() : load_numbers(lines + line * 18);
    for (place.t = 0; place.t < extents.t; ++place.t) {
      const int parity = place.parity(), site = place.site(extents);
      g.store(0, parity, site, product);
      product = product * from.matrix(6, parity, site);
      if (!project_su3(product)) worst[0].reduce(1, line);
    }
    if (lines != nullptr) store_numbers(lines + line * 18, product);
  }
};

/// The links of a start (core/gauge/start.h). Random numbers are those of the global site.
template <class To>
struct StartLinks {
  To to;
  GaugeStart start;
  Extents global;
  int origin[4];  ///< global coordinates of the local site 0

  QUADRILLE_HOST_DEVICE void operator()(int parity, int site) const {
    SitePlace place(to.view().extents, parity, site);
    place.x += origin[0];
    place.y += origin[1];
    place.z += origin[2];
    place.t += origin[3];
    SiteRandom random(start.seed, start.purpose(), place.lexicographic(global));
    for (int mu = 0; mu < 4; ++mu) to.store(2 * mu, parity, site, start.link(random));
  }
};

}  // namespace quadrille::site_links
