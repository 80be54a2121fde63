// Arrays of a host: links and spinors in every order, precision and basis against the naive operator.
#include "tests/input/capi/host.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

namespace quadrille {
namespace {

using namespace testing;

constexpr Dims dims{4, 6, 2, 8};
const reference::WilsonSetup setup{.mass = 0.137, .xi0 = 1.3, .nu = 0.9, .boundary = {0, 0.25, 0, 1}};
const char* const operator_words =
    "{type: wilson, mass: 0.137, anisotropy: {xi0: 1.3, nu: 0.9}, "
    "boundary: [periodic, {phase: 0.25}, periodic, antiperiodic]}";

HostLinks random_links() { return hot_start(Lattice(dims), next_seed()); }

std::vector<LinkLayout> link_layouts() {
  std::vector<LinkLayout> all;
  for (bool qdp : {false, true})
    for (bool even_odd : {false, true})
      for (bool columns : {false, true})
        for (bool single : {false, true}) all.push_back({qdp, even_odd, columns, single});
  return all;
}

// ---- spin bases, from their gamma matrices ----

using Spin = std::array<std::array<Complex, 4>, 4>;
enum class Basis { degrand_rossi, ukqcd, openqcd };
constexpr std::array all_bases{Basis::degrand_rossi, Basis::ukqcd, Basis::openqcd};
const char* name(Basis basis) {
  return basis == Basis::ukqcd ? "ukqcd" : basis == Basis::openqcd ? "openqcd" : "degrand_rossi";
}

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

// ---- spinors ----

struct SpinorLayout {
  bool even_odd = false, color_spin = false, single = false;
  Basis basis = Basis::degrand_rossi;

  std::string words(const std::string& more = "") const {
    return fmt::format("{{sites: {}, order: {}, precision: {}, basis: {}{}}}", even_odd ? "even_odd" : "lexicographic",
                       color_spin ? "color_spin" : "spin_color", single ? "single" : "double", name(basis), more);
  }
};

template <class Real>
std::vector<std::complex<Real>> laid_out(const HostSpinor& psi, const SpinorLayout& layout) {
  std::vector<std::complex<Real>> out(psi.data.size());
  const auto place = places(psi.dims, layout.even_odd);
  for (std::size_t site = 0; site < place.size(); ++site)
    for (std::size_t s = 0; s < 4; ++s)
      for (std::size_t c = 0; c < 3; ++c)
        out[std::size_t(place[site]) * 12 + (layout.color_spin ? c * 4 + s : s * 3 + c)] =
            std::complex<Real>(psi.data[site * 12 + s * 3 + c]);
  return out;
}

template <class Real>
HostSpinor read_back(const std::vector<std::complex<Real>>& array, const SpinorLayout& layout) {
  HostSpinor out(dims);
  const auto place = places(dims, layout.even_odd);
  for (std::size_t site = 0; site < place.size(); ++site)
    for (std::size_t s = 0; s < 4; ++s)
      for (std::size_t c = 0; c < 3; ++c)
        out.data[site * 12 + s * 3 + c] =
            Complex(array[std::size_t(place[site]) * 12 + (layout.color_spin ? c * 4 + s : s * 3 + c)]);
  return out;
}

template <class Real>
HostSpinor multiplied(quadrille_operator* op, quadrille_product product, const HostSpinor& psi,
                      const SpinorLayout& layout) {
  const auto in = laid_out<Real>(psi, layout);
  std::vector<std::complex<Real>> out(in.size());
  const void* from = in.data();
  void* to = out.data();
  EXPECT_EQ(quadrille_operator_apply(op, product, layout.words().c_str(), &from, &to, 1), QUADRILLE_DONE)
      << quadrille_message(nullptr);
  return read_back(out, layout);
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

double distance(const std::vector<Complex>& a, const std::vector<Complex>& b) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += std::norm(a[i] - b[i]);
    size += std::norm(b[i]);
  }
  return std::sqrt(difference / size);
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

// ---- links ----

template <class Real>
void links_come_and_go(const Host& host, const HostLinks& links, const LinkLayout& layout, double bound) {
  SCOPED_TRACE(layout.words());
  const LinkHost<Real> arrays(links, layout);
  quadrille_gauge* gauge = host.gauge(new_links(dims, layout.words()), arrays.in());
  double plaquettes[7];
  ASSERT_EQ(quadrille_gauge_plaquettes(gauge, plaquettes), QUADRILLE_DONE);
  const GaugeObservables wanted = gauge_observables(links);
  EXPECT_NEAR(plaquettes[0], wanted.plaquette, bound);
  for (std::size_t plane = 0; plane < 6; ++plane) EXPECT_NEAR(plaquettes[1 + plane], wanted.planes[plane], bound);

  const HostSpinor psi = random_spinor(dims);
  const HostSpinor m = multiplied<double>(host.op(gauge, operator_words), QUADRILLE_M, psi, {});
  EXPECT_LT(relative_distance(m, reference::wilson(links, setup, psi, false)), 3 * bound);

  for (const LinkLayout& other : link_layouts()) {
    if (other.single != layout.single) continue;
    LinkHost<Real> out(HostLinks(dims), other);
    const auto to = out.out();
    ASSERT_EQ(quadrille_gauge_to_memory(gauge, fmt::format("{{{}}}", other.words()).c_str(), to.data(), to.size()),
              QUADRILLE_DONE)
        << host.message();
    EXPECT_EQ(out.arrays, (LinkHost<Real>(links, other).arrays)) << other.words();
  }
}

TEST(CApiArrays, LinksInEveryLayout) {
  const Host host;
  const HostLinks links = random_links();
  for (const LinkLayout& layout : link_layouts()) {
    if (layout.single) {
      links_come_and_go<float>(host, links, layout, 1e-6);
    } else {
      links_come_and_go<double>(host, links, layout, 1e-14);
    }
  }
}

/// Links with the factor exp(i pi phase) on those that leave the last slice of each direction.
HostLinks with_factors(HostLinks links, const std::array<double, 4>& phases) {
  const Lattice lattice(dims);
  for (std::int64_t site = 0; site < lattice.volume(); ++site)
    for (std::size_t mu = 0; mu < 4; ++mu) {
      if (lattice.coordinates(site)[mu] != dims[mu] - 1) continue;
      for (int n = 0; n < 9; ++n) links.link(site, int(mu))[n] *= std::polar(1.0, M_PI * phases[mu]);
    }
  return links;
}

TEST(CApiArrays, BoundaryFactorsAreDividedOutOrRefused) {
  const Host host;
  const HostLinks links = random_links();
  const HostLinks antiperiodic = with_factors(links, {0, 0, 0, 1});
  const LinkHost<double> arrays(antiperiodic, {false, false, false, false});
  quadrille_gauge* gauge = nullptr;
  EXPECT_EQ(quadrille_gauge_from_memory(host.context, new_links(dims).c_str(), arrays.in().data(), 1, &gauge),
            QUADRILLE_NUMERICAL);
  EXPECT_EQ(gauge, nullptr);
  EXPECT_THAT(host.message(),
              ::testing::HasSubstr("direction t, on the last slice. If the links contain boundary factors"));
  const HostLinks twisted = with_factors(links, {0.25, 0, 0.5, 1});
  for (const auto& [given, boundary] : {std::pair(&antiperiodic, "[periodic, periodic, periodic, antiperiodic]"),
                                        std::pair(&twisted, "[{phase: 0.25}, periodic, {phase: 0.5}, antiperiodic]")}) {
    const LinkHost<double> in(*given, {true, true, false, false});
    gauge = host.gauge(new_links(dims, fmt::format("order: qdp, boundary: {}", boundary)), in.in());
    double plaquettes[7];
    ASSERT_EQ(quadrille_gauge_plaquettes(gauge, plaquettes), QUADRILLE_DONE);
    EXPECT_NEAR(plaquettes[0], gauge_observables(links).plaquette, 1e-14);
    const HostSpinor psi = random_spinor(dims);
    EXPECT_LT(relative_distance(multiplied<double>(host.op(gauge, operator_words), QUADRILLE_M, psi, {}),
                                reference::wilson(links, setup, psi, false)),
              3e-15);
  }
}

TEST(CApiArrays, LinksOutOfSU3AreRefusedWithTheirPlace) {
  const Host host;
  HostLinks links = random_links();
  const Lattice lattice(dims);
  links.link(lattice.site({1, 2, 0, 3}), 1)[4] += 1e-6;
  const LinkHost<double> arrays(links, {false, true, false, false});
  quadrille_gauge* gauge = nullptr;
  const auto in = arrays.in();
  const std::string words = new_links(dims, "order: milc");
  EXPECT_EQ(quadrille_gauge_from_memory(host.context, words.c_str(), in.data(), 1, &gauge), QUADRILLE_NUMERICAL);
  EXPECT_THAT(host.message(), ::testing::HasSubstr("site (1,2,0,3), direction y"));
  links.link(lattice.site({3, 5, 1, 7}), 2)[0] = std::nan("");
  const LinkHost<double> broken(links, {false, false, false, false});
  EXPECT_EQ(quadrille_gauge_from_memory(host.context, new_links(dims).c_str(), broken.in().data(), 1, &gauge),
            QUADRILLE_NUMERICAL);
  EXPECT_THAT(host.message(), ::testing::HasSubstr("site (3,5,1,7), direction z"));
}

TEST(CApiArrays, CpsIsMilcByColumns) {
  const Host host;
  const HostLinks links = random_links();
  const LinkHost<double> milc_by_columns(links, {false, true, true, false});
  quadrille_gauge* gauge = host.gauge(new_links(dims, "order: cps"), milc_by_columns.in());
  LinkHost<double> plain(HostLinks(dims), {false, false, false, false});
  ASSERT_EQ(quadrille_gauge_to_memory(gauge, "", plain.out().data(), 1), QUADRILLE_DONE) << host.message();
  EXPECT_EQ(plain.arrays, (LinkHost<double>(links, {false, false, false, false}).arrays));
}

/// Arrays in which all odd sites come first.
/// Places of the links of one array by the documents of each order: number (z, row, column) of U_mu at a site, where
/// `cb` is its place among those of its parity.
template <class Real>
struct NamedOrder {
  const char* name;
  std::size_t arrays, numbers;  ///< of one array
  std::size_t (*at)(std::size_t mu, std::size_t parity, std::size_t cb, std::size_t row, std::size_t column,
                    std::size_t z);
};

constexpr std::size_t half_volume = std::size_t(dims[0]) * dims[1] * dims[2] * dims[3] / 2;
constexpr std::size_t extended = std::size_t(dims[0] / 2 + 2) * (dims[1] + 2) * (dims[2] + 2) * (dims[3] + 2);

template <class Real>
void check_named_orders() {
  using N = std::size_t;
  const NamedOrder<Real> named[] = {{"tifr", 1, 4 * 2 * half_volume * 18,
                                     [](N mu, N p, N cb, N row, N column, N z) {
                                       return (((mu * 2 + p) * half_volume + cb) * 9 + column * 3 + row) * 2 + z;
                                     }},
                                    {"bqcd", 1, 4 * 2 * extended * 18,
                                     [](N mu, N p, N cb, N row, N column, N z) {
                                       return (((mu * 2 + p) * extended + cb) * 9 + column * 3 + row) * 2 + z;
                                     }},
                                    {"qdpjit", 4, 2 * half_volume * 18, [](N, N p, N cb, N row, N column, N z) {
                                       return ((z * 9 + row * 3 + column) * 2 + p) * half_volume + cb;
                                     }}};
  const Host host;
  const HostLinks links = random_links();
  const auto place = places(dims, true);
  const double bound = sizeof(Real) == 8 ? 1e-14 : 1e-6;
  for (const NamedOrder<Real>& order : named) {
    SCOPED_TRACE(fmt::format("{} {}", order.name, sizeof(Real)));
    std::vector<std::vector<Real>> arrays(order.arrays, std::vector<Real>(order.numbers, Real(std::nan(""))));
    for (N site = 0; site < place.size(); ++site)
      for (N mu = 0; mu < 4; ++mu)
        for (N i = 0; i < 9; ++i) {
          const Complex number = links.link(std::int64_t(site), int(mu))[i];
          const N at = N(place[site]), parity = at / half_volume;
          auto& array = arrays[order.arrays == 4 ? mu : 0];
          array[order.at(mu, parity, at % half_volume, i / 3, i % 3, 0)] = Real(number.real());
          array[order.at(mu, parity, at % half_volume, i / 3, i % 3, 1)] = Real(number.imag());
        }
    std::vector<const void*> in;
    for (const auto& array : arrays) in.push_back(array.data());
    const std::string words = fmt::format("order: {}, precision: {}, bytes: {}", order.name,
                                          sizeof(Real) == 8 ? "double" : "single", order.numbers * sizeof(Real));
    quadrille_gauge* gauge = host.gauge(new_links(dims, words), in);
    const HostSpinor psi = random_spinor(dims);
    EXPECT_LT(relative_distance(multiplied<double>(host.op(gauge, operator_words), QUADRILLE_M, psi, {}),
                                reference::wilson(links, setup, psi, false)),
              bound);
    // Out again: the same numbers, and nothing where there was none.
    std::vector<std::vector<Real>> back(order.arrays, std::vector<Real>(order.numbers, Real(std::nan(""))));
    std::vector<void*> out;
    for (auto& array : back) out.push_back(array.data());
    ASSERT_EQ(quadrille_gauge_to_memory(gauge, fmt::format("{{{}}}", words).c_str(), out.data(), out.size()),
              QUADRILLE_DONE)
        << host.message();
    for (N a = 0; a < arrays.size(); ++a)
      EXPECT_EQ(std::memcmp(arrays[a].data(), back[a].data(), order.numbers * sizeof(Real)), 0);
  }
}

TEST(CApiArrays, LinksOfQdpJitBqcdAndTifrInDouble) { check_named_orders<double>(); }
TEST(CApiArrays, LinksOfQdpJitBqcdAndTifrInSingle) { check_named_orders<float>(); }

TEST(CApiArrays, OddSitesFirst) {
  const Host host;
  const HostLinks links = random_links();
  const LinkHost<double> even_first(links, {false, true, false, false});
  auto odd_first = even_first.arrays[0];
  std::rotate(odd_first.begin(), odd_first.begin() + std::ptrdiff_t(odd_first.size() / 2), odd_first.end());
  const void* in = odd_first.data();
  quadrille_gauge* gauge = nullptr;
  ASSERT_EQ(quadrille_gauge_from_memory(host.context, new_links(dims, "sites: odd_even").c_str(), &in, 1, &gauge),
            QUADRILLE_DONE)
      << host.message();
  LinkHost<double> out(HostLinks(dims), {false, true, false, false});
  ASSERT_EQ(quadrille_gauge_to_memory(gauge, "order: milc", out.out().data(), 1), QUADRILLE_DONE) << host.message();
  EXPECT_EQ(out.arrays, even_first.arrays);

  quadrille_operator* op = host.op(gauge, operator_words);
  const HostSpinor psi = random_spinor(dims);
  auto b = laid_out<double>(psi, {.even_odd = true});
  const auto middle = std::ptrdiff_t(b.size() / 2);
  std::rotate(b.begin(), b.begin() + middle, b.end());
  const void* from = b.data();
  void* to = b.data();
  ASSERT_EQ(quadrille_operator_apply(op, QUADRILLE_M, "sites: odd_even", &from, &to, 1), QUADRILLE_DONE);
  std::rotate(b.begin(), b.begin() + middle, b.end());
  EXPECT_LT(relative_distance(read_back(b, {.even_odd = true}), reference::wilson(links, setup, psi, false)), 3e-15);
}

// ---- openQCD ----

/// openQCD's arrays: x0 is t; the points of a parity in an order of their own, even ones first.
struct OpenQcd {
  std::vector<int> ipt;
  std::vector<Complex> links;

  explicit OpenQcd(const HostLinks& given) : ipt(std::size_t(volume(dims))), links(ipt.size() * 36) {
    const Lattice lattice(dims);
    std::vector<int> order[2];
    for (int point = 0; point < int(ipt.size()); ++point) order[point >= int(ipt.size()) / 2 ? 1 : 0].push_back(point);
    std::mt19937_64 random(next_seed());
    for (auto& points : order) std::shuffle(points.begin(), points.end(), random);
    for (std::int64_t site = 0; site < lattice.volume(); ++site) {
      const Dims x = lattice.coordinates(site);
      auto& points = order[(x[0] + x[1] + x[2] + x[3]) % 2];
      ipt[number(x)] = points.back();
      points.pop_back();
    }
    for (std::int64_t site = 0; site < lattice.volume(); ++site) {
      const Dims x = lattice.coordinates(site);
      if ((x[0] + x[1] + x[2] + x[3]) % 2 == 0) continue;
      for (std::size_t mu = 0; mu < 4; ++mu) {
        const std::size_t nu = mu == 3 ? 0 : mu + 1, odd = std::size_t(ipt[number(x)]) - ipt.size() / 2;
        Dims behind = x;
        behind[mu] = (x[mu] + dims[mu] - 1) % dims[mu];
        std::copy_n(given.link(site, int(mu)), 9, links.begin() + std::ptrdiff_t((odd * 8 + 2 * nu) * 9));
        std::copy_n(given.link(lattice.site(behind), int(mu)), 9,
                    links.begin() + std::ptrdiff_t((odd * 8 + 2 * nu + 1) * 9));
      }
    }
  }
  static std::size_t number(const Dims& x) {
    return std::size_t(((x[3] * dims[0] + x[0]) * dims[1] + x[1]) * dims[2] + x[2]);
  }
  std::vector<const void*> in() const { return {links.data(), ipt.data()}; }
};

TEST(CApiArrays, LinksAndSpinorsOfOpenQcd) {
  const Host host;
  const HostLinks links = random_links();
  const OpenQcd openqcd(links);
  quadrille_gauge* gauge = host.gauge(new_links(dims, "order: openqcd"), openqcd.in());
  LinkHost<double> plain(HostLinks(dims), {false, false, false, false});
  ASSERT_EQ(quadrille_gauge_to_memory(gauge, "", plain.out().data(), 1), QUADRILLE_DONE) << host.message();
  EXPECT_EQ(plain.arrays, (LinkHost<double>(links, {false, false, false, false}).arrays));
  OpenQcd back(HostLinks{dims});
  back.ipt = openqcd.ipt;
  void* const out[] = {back.links.data(), back.ipt.data()};
  ASSERT_EQ(quadrille_gauge_to_memory(gauge, "order: openqcd", out, 2), QUADRILLE_DONE) << host.message();
  EXPECT_EQ(back.links, openqcd.links);
  EXPECT_EQ(back.ipt, openqcd.ipt);

  const Lattice lattice(dims);
  const HostSpinor psi = random_spinor(dims), wanted = reference::wilson(links, setup, psi, false);
  const auto in_order = [&](const HostSpinor& from) {
    std::vector<Complex> array(from.data.size());
    for (std::int64_t site = 0; site < lattice.volume(); ++site)
      std::copy_n(from.data.begin() + site * 12, 12,
                  array.begin() + 12 * std::ptrdiff_t(openqcd.ipt[OpenQcd::number(lattice.coordinates(site))]));
    return array;
  };
  quadrille_operator* op = host.op(gauge, operator_words);
  auto b = in_order(psi);
  const void* from = b.data();
  void* to = b.data();
  ASSERT_EQ(quadrille_operator_apply(op, QUADRILLE_M, "sites: openqcd", &from, &to, 1), QUADRILLE_DONE)
      << host.message();
  EXPECT_LT(distance(b, in_order(wanted)), 3e-15);

  // H of the odd sites onto the even ones is what is left of M without the diagonal.
  HostSpinor odd_only = psi;
  for (std::int64_t site = 0; site < lattice.volume(); ++site) {
    const Dims x = lattice.coordinates(site);
    if ((x[0] + x[1] + x[2] + x[3]) % 2 == 0) std::fill_n(odd_only.data.begin() + site * 12, 12, Complex(0));
  }
  const auto all = in_order(psi), hopped = in_order(reference::wilson(links, setup, odd_only, false));
  std::vector<Complex> odd(all.begin() + std::ptrdiff_t(all.size() / 2), all.end()), even(odd.size());
  from = odd.data();
  to = even.data();
  ASSERT_EQ(quadrille_operator_apply(op, QUADRILLE_HOP, "{sites: openqcd, subset: even}", &from, &to, 1),
            QUADRILLE_DONE)
      << host.message();
  EXPECT_LT(distance(even, {hopped.begin(), hopped.begin() + std::ptrdiff_t(hopped.size() / 2)}), 3e-15);
}

TEST(CApiArrays, PointsThatAreNoneAreRefused) {
  const Host host;
  OpenQcd openqcd(random_links());
  quadrille_gauge* gauge = nullptr;
  const std::string words = new_links(dims, "order: openqcd");
  const auto refused = [&](const std::vector<const void*>& in, const char* why) {
    EXPECT_EQ(quadrille_gauge_from_memory(host.context, words.c_str(), in.data(), in.size(), &gauge),
              QUADRILLE_INVALID_INPUT);
    EXPECT_THAT(host.message(), ::testing::HasSubstr(why));
  };
  refused({openqcd.links.data()}, "two arrays (the links and ipt)");
  refused({openqcd.links.data(), nullptr}, "ipt, is a null pointer");
  const int kept = openqcd.ipt[0];
  openqcd.ipt[0] = int(openqcd.ipt.size()) - 1;
  refused(openqcd.in(), "entry 0 (t, x, y, z = 0, 0, 0, 0) is");
  openqcd.ipt[0] = openqcd.ipt[3];  // of another even point
  refused(openqcd.in(), ", as an earlier one; the even points are 0 to");
  openqcd.ipt[0] = kept;
  EXPECT_EQ(quadrille_gauge_from_memory(host.context, new_links(dims, "order: openqcd, sites: even_odd").c_str(),
                                        openqcd.in().data(), 2, &gauge),
            QUADRILLE_INVALID_INPUT);
  quadrille_operator* op = host.op(
      host.gauge(new_links(dims), LinkHost<double>(random_links(), {false, false, false, false}).in()), operator_words);
  HostSpinor x(dims);
  const void* from = x.data.data();
  void* to = x.data.data();
  EXPECT_EQ(quadrille_operator_apply(op, QUADRILLE_M, "sites: openqcd", &from, &to, 1), QUADRILLE_INVALID_INPUT);
  EXPECT_THAT(host.message(), ::testing::HasSubstr("spinors:1:8: 'sites: openqcd' needs a gauge field"));
}

// ---- factors and normalisation ----

TEST(CApiArrays, ASpatialFactorIsDividedOut) {
  const Host host;
  const HostLinks links = random_links();
  HostLinks scaled = with_factors(links, {0, 0.25, 0, 1});
  for (std::int64_t site = 0; site < volume(dims); ++site)
    for (int mu = 0; mu < 3; ++mu)
      for (int n = 0; n < 9; ++n) scaled.link(site, mu)[n] *= 0.375;
  const LinkHost<double> arrays(scaled, {false, false, false, false});
  quadrille_gauge* gauge = nullptr;
  EXPECT_EQ(quadrille_gauge_from_memory(host.context, new_links(dims).c_str(), arrays.in().data(), 1, &gauge),
            QUADRILLE_NUMERICAL);
  EXPECT_THAT(host.message(), ::testing::HasSubstr("spatial_factor: 0.4"));
  gauge = host.gauge(new_links(dims,
                               "spatial_factor: 0.375, boundary: [periodic, {phase: 0.25}, periodic, "
                               "antiperiodic]"),
                     arrays.in());
  const HostSpinor psi = random_spinor(dims);
  EXPECT_LT(relative_distance(multiplied<double>(host.op(gauge, operator_words), QUADRILLE_M, psi, {}),
                              reference::wilson(links, setup, psi, false)),
            3e-15);
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

TEST(CApiArrays, KappaNormalisation) {
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
  // 2 kappa M x = b; a guess is of the same normalisation: begun at the solution, there is nothing to do.
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
