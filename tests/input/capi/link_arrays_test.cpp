// A host's links in every order and precision, with the factors that hosts give them.
#include "tests/input/capi/arrays.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

namespace quadrille {
namespace {

using namespace testing;

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

}  // namespace
}  // namespace quadrille
