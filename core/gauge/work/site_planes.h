// Plaquettes at one site of links in any form that can be read: what the host's loops and the devices' kernels share,
// as core/gauge/work/site_links.h.
#pragma once

#include "core/gauge/around/staples.h"
#include "core/gauge/link_edges.h"
#include "core/gauge/link_view.h"
#include "core/numbers/exact_sum.h"

namespace quadrille::site_links::inline QUADRILLE_ISA {

/// Finds links around one site (core/gauge/around/staples.h), as 18 numbers in double.
template <class From>
class SiteSurroundings {
 public:
  QUADRILLE_HOST_DEVICE SiteSurroundings(const From& from, const LinkEdges& edges, int parity, int site)
      : from_(from), edges_(edges), place_(from.view().extents, parity, site), parity_(parity), site_(site) {}

  QUADRILLE_HOST_DEVICE const double* here(int nu, double* buffer) const { return read(nu, parity_, site_, buffer); }
  QUADRILLE_HOST_DEVICE const double* shifted(int d, int nu, double* buffer) const {
    const Extents& extents = from_.view().extents;
    if (d < 4 && edges_.leaves(extents, place_, d)) return edges_.matrix(extents, place_, d, nu);
    return read(nu, 1 - parity_, place_.neighbour(extents, d).site(extents), buffer);
  }

 private:
  QUADRILLE_HOST_DEVICE const double* read(int nu, int parity, int site, double* buffer) const {
    const Matrix3 u = from_.matrix(2 * nu, parity, site);
    QUADRILLE_UNROLL
    for (int i = 0; i < 9; ++i) {
      buffer[2 * i] = u.e[std::size_t(i)].real();
      buffer[2 * i + 1] = u.e[std::size_t(i)].imag();
    }
    return buffer;
  }

  const From& from_;
  const LinkEdges& edges_;
  SitePlace place_;
  int parity_, site_;
};

/// Adds Re tr P of the planes xy, xz, xt, yz, yt, zt and Re tr of the four links to seven sums: sums[2 k] is the coarse
/// and sums[2 k + 1] the fine part of number k.
template <class From>
struct AddPlanes {
  From from;
  LinkEdges edges;  ///< with the four links of each site beyond a face
  ExactQuanta quanta;

  QUADRILLE_HOST_DEVICE void operator()(int parity, int site, double* sums) const {
    const SiteSurroundings<From> around(from, edges, parity, site);
    const auto add = [&](int k, double term) {
      ExactSum sum{sums[2 * k], sums[2 * k + 1]};
      sum.add(term, quanta);
      sums[2 * k] = sum.coarse;
      sums[2 * k + 1] = sum.fine;
    };
    double link[18], trace = 0;
    QUADRILLE_UNROLL
    for (int mu = 0; mu < 4; ++mu) {
      around.here(mu, link);
      trace += link[0] + link[8] + link[16];
    }
    add(6, trace);
    int plane = 0;
    QUADRILLE_UNROLL
    for (int mu = 0; mu < 3; ++mu) {
      QUADRILLE_UNROLL
      for (int nu = mu + 1; nu < 4; ++nu, ++plane) add(plane, link_lanes::plane_trace<double, 1, 18>(around, mu, nu));
    }
  }
};

}  // namespace quadrille::site_links::inline QUADRILLE_ISA
