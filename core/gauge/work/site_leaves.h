// Plaquettes and clover leaves at one site: bodies that the host's loops and the devices' kernels share, as those of
// core/gauge/work/site_links.h. A field of matrices has one link a site, as hop 0, in double with 18 numbers.
#pragma once

#include "core/gauge/work/site_planes.h"

namespace quadrille::site_links::inline QUADRILLE_ISA {

/// to(x) = U_mu(x) U_nu(x+mu) U_mu(x+nu)^+ U_nu(x)^+.
template <class To, class From>
struct Plaquettes {
  To to;
  From from;
  LinkEdges edges;  ///< with the four links of each site beyond a face
  int mu, nu;

  QUADRILLE_HOST_DEVICE void operator()(int parity, int site) const {
    const SiteSurroundings<From> around(from, edges, parity, site);
    double link[18];
    const Matrix3 here_mu = load_numbers(around.here(mu, link)), here_nu = load_numbers(around.here(nu, link));
    const Matrix3 nu_at_mu = load_numbers(around.shifted(mu, nu, link));
    const Matrix3 mu_at_nu = load_numbers(around.shifted(nu, mu, link));
    to.store(0, parity, site, here_mu * nu_at_mu * adjoint(here_nu * mu_at_nu));
  }
};

/// U_mu(x)^+ V(x) U_mu(x): the matrix at x as it is at x + mu.
template <class Links, class Matrices>
QUADRILLE_HOST_DEVICE Matrix3 transported(const Links& links, const Matrices& matrices, const SitePlace& x, int mu) {
  const int parity = x.parity(), site = x.site(links.view().extents);
  const Matrix3 u = links.matrix(2 * mu, parity, site);
  return adjoint(u) * matrices.matrix(0, parity, site) * u;
}

/// face[site of the face][18] = matrices of the last face, transported forward in mu.
template <class Links, class Matrices>
struct TransportedFace {
  Links links;
  Matrices matrices;
  int mu;
  double* face;

  QUADRILLE_HOST_DEVICE void operator()(std::int64_t at) const {
    store_numbers(face + at * 18, transported(links, matrices, face_place(links.view().extents, at, mu, true), mu));
  }
};

/// to(x) = from(x) + the matrix of x - mu, transported. `face`: what has come from another rank for the first face;
/// null where mu is not divided. `to` is not `from`.
template <class To, class Links, class Matrices>
struct AddTransported {
  To to;
  Links links;
  Matrices from;
  int mu;
  const double* face;

  QUADRILLE_HOST_DEVICE void operator()(int parity, int site) const {
    const Extents& extents = links.view().extents;
    const SitePlace x(extents, parity, site);
    const int coordinate = mu == 0 ? x.x : mu == 1 ? x.y : mu == 2 ? x.z : x.t;
    const Matrix3 moved = face != nullptr && coordinate == 0
                              ? load_numbers(face + face_index(extents, x, mu) * 18)
                              : transported(links, from, x.neighbour(extents, mu + 4), mu);
    to.store(0, parity, site, from.matrix(0, parity, site) + moved);
  }
};

/// The field strength of four leaves (CloverLeaves), without its trace: (Q - Q^+) / 8 - tr(Q - Q^+) / 24.
QUADRILLE_HOST_DEVICE Matrix3 field_strength(const Matrix3& q) {
  Matrix3 f;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) f(i, j) = product(0.125, difference(q(i, j), std::conj(q(j, i))));
  }
  const Complex third = product(1.0 / 3, sum(sum(f(0, 0), f(1, 1)), f(2, 2)));
  for (int i = 0; i < 3; ++i) f(i, i) = difference(f(i, i), third);
  return f;
}

/// Adds -tr(F F), -tr(G G) and -tr(F G), F and G the field strengths of two fields of leaves.
template <class Matrices>
struct AddStrengths {
  Matrices first, second;

  QUADRILLE_HOST_DEVICE void operator()(int parity, int site, double* sums) const {
    const Matrix3 f = field_strength(first.matrix(0, parity, site));
    const Matrix3 g = field_strength(second.matrix(0, parity, site));
    sums[0] += real_trace_adjoint(f, f);
    sums[1] += real_trace_adjoint(g, g);
    sums[2] += real_trace_adjoint(f, g);
  }
};

}  // namespace quadrille::site_links::inline QUADRILLE_ISA
