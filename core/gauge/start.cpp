#include "core/gauge/start.h"

#include "core/gauge/su3.h"
#include "core/gauge/su3_project.h"
#include "core/random.h"

namespace quadrille {
namespace {

/// Gram-Schmidt on the rows of a Gaussian matrix gives rows uniform on the sphere and orthogonal; the third row is
/// fixed by the determinant: Haar measure on SU(3).
Matrix3 haar(SiteRandom& random) {
  Matrix3 u;
  for (int row = 0; row < 2; ++row) {
    for (int j = 0; j < 3; ++j) {
      const double re = random.normal(), im = random.normal();
      u(row, j) = {re, im};
    }
    for (int pass = 0; pass < 2 * row; ++pass) {  // twice is enough for orthogonality to rounding
      Complex overlap = 0;
      for (int j = 0; j < 3; ++j) overlap += std::conj(u(0, j)) * u(1, j);
      for (int j = 0; j < 3; ++j) u(1, j) -= overlap * u(0, j);
    }
    double norm2 = 0;
    for (int j = 0; j < 3; ++j) norm2 += std::norm(u(row, j));
    for (int j = 0; j < 3; ++j) u(row, j) /= std::sqrt(norm2);
  }
  complete_third_row(u);
  return u;
}

Matrix3 traceless_hermitian(SiteRandom& random) {
  Matrix3 h;
  for (int i = 0; i < 3; ++i) {
    for (int j = i + 1; j < 3; ++j) {
      const double re = 0.5 * random.normal(), im = 0.5 * random.normal();
      h(i, j) = {re, -im};
      h(j, i) = {re, im};
    }
  }
  const double h3 = 0.5 * random.normal(), h8 = 0.5 * random.normal() / std::sqrt(3.0);
  h(0, 0) = h3 + h8;
  h(1, 1) = -h3 + h8;
  h(2, 2) = -2 * h8;
  return h;
}

template <class MakeLink>
HostLinks fill(const Lattice& lattice, std::uint64_t seed, RandomPurpose purpose, MakeLink make_link) {
  HostLinks links(lattice.dims());
#pragma omp parallel for schedule(static)
  for (std::int64_t site = 0; site < lattice.volume(); ++site) {
    SiteRandom random(seed, purpose, lattice.global_site(lattice.coordinates(site)));
    for (int mu = 0; mu < 4; ++mu) make_link(random).write(links.link(site, mu));
  }
  return links;
}

}  // namespace

HostLinks cold_start(const Lattice& lattice) {
  return fill(lattice, 0, RandomPurpose::WeakLinks, [](SiteRandom&) { return Matrix3::identity(); });
}

HostLinks hot_start(const Lattice& lattice, std::uint64_t seed) {
  return fill(lattice, seed, RandomPurpose::HotLinks, [](SiteRandom& random) { return haar(random); });
}

HostLinks weak_start(const Lattice& lattice, std::uint64_t seed, double epsilon) {
  return fill(lattice, seed, RandomPurpose::WeakLinks, [epsilon](SiteRandom& random) {
    Matrix3 u = exp_i(Complex(epsilon) * traceless_hermitian(random));
    (void)project_su3(u);  // frees it of the series' rounding; an exponential is never singular
    return u;
  });
}

std::vector<Complex> random_transformation(const Lattice& lattice, std::uint64_t seed) {
  std::vector<Complex> g(std::size_t(lattice.volume()) * 9);
#pragma omp parallel for schedule(static)
  for (std::int64_t site = 0; site < lattice.volume(); ++site) {
    SiteRandom random(seed, RandomPurpose::GaugeTransformation, lattice.global_site(lattice.coordinates(site)));
    haar(random).write(g.data() + site * 9);
  }
  return g;
}

}  // namespace quadrille
