// openQCD's arrays of links on several ranks, made from the whole lattice by loops that know nothing of the library's.
#include "input/capi/arrays/arrays.h"
#include "core/gauge/gauge_store.h"
#include "input/capi/words.h"
#include "tests/ranks/ranks_testing.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>

namespace quadrille {
namespace {

using testing::backend;
using testing::divided_dims;
using testing::ranks;

/// udfld() and ipt of one rank.
template <class Real>
struct Arrays {
  std::vector<int> points;
  std::vector<Real> links;

  Arrays(const HostLinks& whole, const Lattice& lattice)
      : points(std::size_t(lattice.volume())), links(points.size() * 72) {
    const std::size_t half = points.size() / 2;
    std::vector<int> order(points.size());
    std::iota(order.begin(), order.end(), 0);
    std::mt19937_64 random(testing::next_seed());
    std::shuffle(order.begin(), order.begin() + std::ptrdiff_t(half), random);
    std::shuffle(order.begin() + std::ptrdiff_t(half), order.end(), random);
    std::size_t next[2] = {0, half};
    for (std::int64_t site = 0; site < lattice.volume(); ++site) {
      const Dims x = lattice.coordinates(site);
      const bool odd = (x[0] + x[1] + x[2] + x[3]) % 2 != 0;
      const int point = order[next[odd ? 1 : 0]++];
      points[number(lattice.dims(), x)] = point;
      if (!odd) continue;
      for (std::size_t mu = 0; mu < 4; ++mu) {
        const std::size_t nu = mu == 3 ? 0 : mu + 1, at = (8 * (std::size_t(point) - half) + 2 * nu) * 18;
        Dims here{}, behind{};
        for (std::size_t k = 0; k < 4; ++k) behind[k] = here[k] = x[k] + lattice.origin()[k];
        behind[mu] = (here[mu] + divided_dims[mu] - 1) % divided_dims[mu];
        put(at, whole.link(index(here), int(mu)));
        put(at + 18, whole.link(index(behind), int(mu)));
      }
    }
  }

 private:
  static std::size_t number(const Dims& n, const Dims& x) {
    return std::size_t(((x[3] * n[0] + x[0]) * n[1] + x[1]) * n[2] + x[2]);
  }
  static std::int64_t index(const Dims& x) {
    const Dims& n = divided_dims;
    return ((std::int64_t(x[3]) * n[2] + x[2]) * n[1] + x[1]) * n[0] + x[0];
  }
  void put(std::size_t at, const Complex* link) {
    for (std::size_t i = 0; i < 9; ++i) {
      links[at + 2 * i] = Real(link[i].real());
      links[at + 2 * i + 1] = Real(link[i].imag());
    }
  }
};

template <class Real>
void links_of_openqcd(const char* words, double tolerance) {
  const GaugeStart start = GaugeStart::hot(testing::shared_seed());
  const HostLinks whole = GaugeStore(Lattice(divided_dims), start, backend()).host_links();
  const auto read = capi::read_words(capi::links_table(), words, "links");
  for (const Dims& grid : testing::some_grids()) {
    const Lattice lattice(divided_dims, ranks().communicator(grid));
    const HostLinks wanted = GaugeStore(lattice, start, backend()).host_links();
    Arrays<Real> arrays(whole, lattice);
    const void* const given[] = {arrays.links.data(), arrays.points.data()};
    GaugeStore store(lattice, backend());
    capi::LinkArrays(*read, lattice, given, 2, {backend()}).read_into(store);
    const HostLinks found = store.host_links();
    double largest = 0;
    for (std::size_t i = 0; i < found.data.size(); ++i) {
      largest = std::max(largest, std::abs(found.data[i] - wanted.data[i]));
    }
    EXPECT_LE(largest, tolerance) << grid_text(grid);

    const std::vector<Real> before = arrays.links;
    std::fill(arrays.links.begin(), arrays.links.end(), Real(std::nan("")));
    capi::LinkArrays(*read, lattice, given, 2, {backend()}).write_from(store);
    EXPECT_EQ(std::memcmp(arrays.links.data(), before.data(), before.size() * sizeof(Real)), 0) << grid_text(grid);
  }
}

TEST(RankArrays, LinksOfOpenQcd) { links_of_openqcd<double>("{order: openqcd}", 0); }
TEST(RankArrays, LinksOfOpenQcdInSingle) { links_of_openqcd<float>("{order: openqcd, precision: single}", 6e-8); }

}  // namespace
}  // namespace quadrille
