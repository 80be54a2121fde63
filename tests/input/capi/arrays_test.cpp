// A host's spinors in every order, precision and basis against the naive operator.
#include "tests/input/capi/arrays.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace quadrille {
namespace {

using namespace testing;

using Spin = std::array<std::array<Complex, 4>, 4>;
constexpr std::array all_bases{Basis::degrand_rossi, Basis::ukqcd, Basis::openqcd};
Spin product(const Spin& a, const Spin& b) {
  Spin c{};
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 4; ++j)
      for (std::size_t k = 0; k < 4; ++k) c[i][j] += a[i][k] * b[k][j];
  return c;
}

/// gamma_mu (x, y, z, t) as the documents of each basis have them.
Spin gamma(Basis basis, int mu) {
  if (basis == Basis::degrand_rossi) return reference::gamma(mu);
  const Complex i(0, 1);
  const std::array<std::array<std::array<Complex, 2>, 2>, 3> pauli = {
      {{{{0, 1}, {1, 0}}}, {{{0, -i}, {i, 0}}}, {{{1, 0}, {0, -1}}}}};
  Spin g{};
  for (std::size_t a = 0; a < 2; ++a) {
    for (std::size_t b = 0; b < 2; ++b) {
      if (basis == Basis::ukqcd && mu == 3) {
        g[a][b] = a == b ? 1 : 0;
        g[2 + a][2 + b] = a == b ? -1 : 0;
        continue;
      }
      // openQCD: the upper right block is -1 for t, -i sigma_k for the others; UKQCD: i sigma_k.
      const Complex up = mu == 3                 ? Complex(a == b ? -1 : 0)
                         : basis == Basis::ukqcd ? i * pauli[std::size_t(mu)][a][b]
                                                 : -i * pauli[std::size_t(mu)][a][b];
      g[a][2 + b] = up;
    }
  }
  if (basis == Basis::ukqcd && mu == 3) return g;
  for (std::size_t a = 0; a < 2; ++a)
    for (std::size_t b = 0; b < 2; ++b) g[2 + b][a] = std::conj(g[a][2 + b]);
  return g;
}

/// A unitary S with gamma(basis) = S gamma(DeGrand-Rossi) S^+, up to a phase: the sum of Gamma(basis) X Gamma^-1(DR)
/// over the group of products of the gammas.
Spin from_degrand_rossi(Basis basis) {
  Spin sum{}, seed{};
  for (std::size_t a = 0; a < 4; ++a)
    for (std::size_t b = 0; b < 4; ++b)
      seed[a][b] = Complex(1.0 + double(a) * 0.3, 0.7 * double(b) - 0.2 * double(a * b));
  for (int subset = 0; subset < 16; ++subset) {
    Spin left{}, right{};
    for (std::size_t a = 0; a < 4; ++a) left[a][a] = right[a][a] = 1;
    for (int mu = 0; mu < 4; ++mu) {
      if (!(subset >> mu & 1)) continue;
      left = product(left, gamma(basis, mu));
      right = product(gamma(Basis::degrand_rossi, mu), right);  // the inverse of the product: each squares to 1
    }
    const Spin term = product(product(left, seed), right);
    for (std::size_t a = 0; a < 4; ++a)
      for (std::size_t b = 0; b < 4; ++b) sum[a][b] += term[a][b];
  }
  double norm = 0;
  for (std::size_t b = 0; b < 4; ++b) norm += std::norm(sum[0][b]);
  for (auto& row : sum)
    for (Complex& x : row) x /= std::sqrt(norm);
  return sum;
}

/// Every spin of every site multiplied by S or S^+.
HostSpinor rotated(const HostSpinor& psi, const Spin& s, bool adjoint) {
  HostSpinor out(psi.dims);
  for (std::size_t site = 0; site < psi.data.size() / 12; ++site)
    for (std::size_t a = 0; a < 4; ++a)
      for (std::size_t b = 0; b < 4; ++b)
        for (std::size_t c = 0; c < 3; ++c)
          out.data[site * 12 + a * 3 + c] += (adjoint ? std::conj(s[b][a]) : s[a][b]) * psi.data[site * 12 + b * 3 + c];
  return out;
}

TEST(CApiArrays, TheBasesOfTheTestAreBases) {
  for (const Basis basis : all_bases) {
    SCOPED_TRACE(name(basis));
    const Spin s = from_degrand_rossi(basis);
    for (int mu = 0; mu < 4; ++mu) {
      const Spin left = product(gamma(basis, mu), s), right = product(s, gamma(Basis::degrand_rossi, mu));
      for (std::size_t a = 0; a < 4; ++a)
        for (std::size_t b = 0; b < 4; ++b) EXPECT_LT(std::abs(left[a][b] - right[a][b]), 1e-14);
    }
  }
}

TEST(CApiArrays, ProductsAgreeWithTheReferenceInEveryLayoutAndBasis) {
  const Host host;
  const HostLinks links = random_links();
  quadrille_operator* op =
      host.op(host.gauge(new_links(dims), LinkHost<double>(links, {false, false, false, false}).in()), operator_words);
  const HostSpinor psi = random_spinor(dims);  // in the basis of the layout
  for (const Basis basis : all_bases) {
    const Spin s = from_degrand_rossi(basis);
    const auto reference = [&](const HostSpinor& in, bool dagger) {
      return rotated(reference::wilson(links, setup, rotated(in, s, true), dagger), s, false);
    };
    const HostSpinor m = reference(psi, false), dagger = reference(psi, true), normal = reference(m, true);
    for (int bits = 0; bits < 8; ++bits) {
      const SpinorLayout layout{(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, basis};
      SCOPED_TRACE(layout.words());
      const double bound = layout.single ? 2e-7 : 3e-15;
      const auto apply = [&](quadrille_product product) {
        return layout.single ? multiplied<float>(op, product, psi, layout)
                             : multiplied<double>(op, product, psi, layout);
      };
      EXPECT_LT(relative_distance(apply(QUADRILLE_M), m), bound);
      EXPECT_LT(relative_distance(apply(QUADRILLE_M_DAGGER), dagger), bound);
      EXPECT_LT(relative_distance(apply(QUADRILLE_M_DAGGER_M), normal), 2 * bound);
    }
  }
}

/// The sites of one parity, in even-odd order.
std::vector<Complex> half_of(const HostSpinor& psi, int parity) {
  const auto all = laid_out<double>(psi, {.even_odd = true});
  const auto middle = all.begin() + std::ptrdiff_t(all.size() / 2);
  return parity == 0 ? std::vector<Complex>(all.begin(), middle) : std::vector<Complex>(middle, all.end());
}

TEST(CApiArrays, ProductsOfOneParity) {
  const Host host;
  const HostLinks links = random_links();
  quadrille_operator* op =
      host.op(host.gauge(new_links(dims), LinkHost<double>(links, {false, false, false, false}).in()), operator_words);
  const HostSpinor psi = random_spinor(dims);
  const auto place = places(dims, true);
  const auto apply = [&](quadrille_product product, const char* words, const std::vector<Complex>& in) {
    std::vector<Complex> out(in.size());
    const void* from = in.data();
    void* to = out.data();
    EXPECT_EQ(quadrille_operator_apply(op, product, words, &from, &to, 1), QUADRILLE_DONE) << host.message();
    return out;
  };
  const double diagonal = setup.mass + 1 + 3 * setup.nu / setup.xi0;
  for (const bool dagger : {false, true}) {
    std::vector<Complex> hops[2];
    for (const int to : {0, 1}) {
      HostSpinor from(dims);  // psi on the other parity: M of it is H of it on this one
      for (std::size_t site = 0; site < place.size(); ++site) {
        const bool even = place[site] < std::int64_t(place.size() / 2);
        if (even == (to == 1))
          std::copy_n(psi.data.begin() + std::ptrdiff_t(site * 12), 12, from.data.begin() + std::ptrdiff_t(site * 12));
      }
      const auto wanted = half_of(reference::wilson(links, setup, from, dagger), to);
      const auto product = dagger ? QUADRILLE_HOP_DAGGER : QUADRILLE_HOP;
      const char* words = to == 0 ? "{subset: even}" : "{subset: odd}";
      EXPECT_LT(distance(apply(product, words, half_of(psi, 1 - to)), wanted), 3e-15) << words << dagger;
      hops[to] = apply(product, words, half_of(psi, 1 - to));
    }
    // A psi_e - H_eo A^-1 H_oe psi_e
    const auto hop = dagger ? QUADRILLE_HOP_DAGGER : QUADRILLE_HOP;
    auto wanted = apply(hop, "{subset: even}", apply(hop, "{subset: odd}", half_of(psi, 0)));
    const auto even = half_of(psi, 0);
    for (std::size_t i = 0; i < even.size(); ++i) wanted[i] = diagonal * even[i] - wanted[i] / diagonal;
    EXPECT_LT(distance(apply(dagger ? QUADRILLE_EVEN_ODD_DAGGER : QUADRILLE_EVEN_ODD, "{subset: even}", even), wanted),
              3e-15);
  }
}

/// An operator made before sees new links, in every form that it works with.
TEST(CApiArrays, NewLinksReachAnOperator) {
  const Host host;
  quadrille_gauge* gauge =
      host.gauge(new_links(dims), LinkHost<double>(random_links(), {false, false, false, false}).in());
  quadrille_operator* op = host.op(gauge, operator_words);
  const HostSpinor psi = random_spinor(dims);
  (void)multiplied<double>(op, QUADRILLE_M, psi, {});
  for (const bool single : {false, true}) {
    const HostLinks links = random_links();
    const LinkLayout layout{true, true, true, single};
    const std::string words = fmt::format("{{{}}}", layout.words());
    const auto update = [&](const auto& arrays) {
      return quadrille_gauge_update(gauge, words.c_str(), arrays.in().data(), 4);
    };
    ASSERT_EQ(single ? update(LinkHost<float>(links, layout)) : update(LinkHost<double>(links, layout)), QUADRILLE_DONE)
        << host.message();
    EXPECT_LT(
        relative_distance(multiplied<double>(op, QUADRILLE_M, psi, {}), reference::wilson(links, setup, psi, false)),
        single ? 1e-6 : 3e-15);
  }
}

TEST(CApiArrays, KappaNormalization) {
  const Host host;
  const HostLinks links = random_links();
  quadrille_operator* op =
      host.op(host.gauge(new_links(dims), LinkHost<double>(links, {false, false, false, false}).in()), operator_words);
  const double unit = 1 / (setup.mass + 4);  // 2 kappa
  const HostSpinor psi = random_spinor(dims), m = reference::wilson(links, setup, psi, false);
  const auto apply = [&](quadrille_product product) {
    HostSpinor out(dims);
    const void* from = psi.data.data();
    void* to = out.data.data();
    EXPECT_EQ(quadrille_operator_apply(op, product, "normalization: kappa", &from, &to, 1), QUADRILLE_DONE);
    return out;
  };
  const auto scaled = [](HostSpinor psi, double factor) {
    for (Complex& z : psi.data) z *= factor;
    return psi;
  };
  EXPECT_LT(relative_distance(apply(QUADRILLE_M), scaled(m, unit)), 3e-15);
  EXPECT_LT(
      relative_distance(apply(QUADRILLE_M_DAGGER_M), scaled(reference::wilson(links, setup, m, true), unit * unit)),
      6e-15);
  // 2 kappa M x = b; a guess is of the same normalization: begun at the solution, there is nothing to do.
  quadrille_solver* solver = host.solver(op, "{type: bicgstab, tolerance: 1e-11}");
  HostSpinor x(dims);
  const void* from = psi.data.data();
  void* to = x.data.data();
  quadrille_report report = QUADRILLE_REPORT_INIT;
  ASSERT_EQ(quadrille_solver_solve(solver, "normalization: kappa", &from, &to, 1, &report), QUADRILLE_DONE);
  EXPECT_GT(report.iterations, 3);
  EXPECT_LT(relative_distance(scaled(reference::wilson(links, setup, x, false), unit), psi), 1.1e-11);
  ASSERT_EQ(quadrille_solver_solve(solver, "{normalization: kappa, initial_guess: true}", &from, &to, 1, &report),
            QUADRILLE_DONE);
  EXPECT_LE(report.iterations, 1);
  EXPECT_LT(relative_distance(scaled(reference::wilson(links, setup, x, false), unit), psi), 1.1e-11);
}

TEST(CApiArrays, ArraysOnADeviceNeedTheCudaBackend) {
  const Host host("{backend: cpu}");
  const LinkHost<double> arrays(random_links(), {false, false, false, false});
  quadrille_gauge* gauge = nullptr;
  EXPECT_EQ(quadrille_gauge_from_memory(host.context, new_links(dims, "where: device").c_str(), arrays.in().data(), 1,
                                        &gauge),
            QUADRILLE_UNSUPPORTED);
  EXPECT_THAT(host.message(),
              ::testing::HasSubstr("need a context with `backend: cuda`; this one has the backend cpu"));
}

}  // namespace
}  // namespace quadrille
