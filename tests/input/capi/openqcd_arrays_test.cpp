// Links and spinors in openQCD's order.
#include "tests/input/capi/arrays.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>

namespace quadrille {
namespace {

using namespace testing;

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

}  // namespace
}  // namespace quadrille
