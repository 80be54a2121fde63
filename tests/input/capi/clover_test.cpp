// The clover term of a host: in every layout, against the one that the library makes from the links.
#include "tests/input/capi/host.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace quadrille {
namespace {

using namespace testing;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr Dims dims{4, 6, 2, 8};
const reference::WilsonSetup setup{
    .mass = 0.137, .mu = 0.23, .xi0 = 1.3, .nu = 0.9, .boundary = {0, 0.25, 0, 1}, .csw_r = 0.9, .csw_t = 1.1};

std::string operator_words(double csw_r, double csw_t) {
  return fmt::format(
      "{{type: twisted_clover, mass: 0.137, mu: 0.23, csw_r: {}, csw_t: {}, anisotropy: {{xi0: 1.3, nu: 0.9}}, "
      "boundary: [periodic, {{phase: 0.25}}, periodic, antiperiodic]}}",
      csw_r, csw_t);
}

using Block = std::array<std::array<Complex, 6>, 6>;

/// A without i mu gamma_5, two blocks for each site, of the naive operator: column by column.
std::vector<Block> site_term(const HostLinks& links) {
  std::vector<Block> blocks(std::size_t(volume(dims)) * 2);
  for (std::size_t column = 0; column < 12; ++column) {
    HostSpinor unit(dims);
    for (std::size_t site = 0; site < blocks.size() / 2; ++site) unit.data[site * 12 + column] = 1;
    const HostSpinor image = reference::clover_site_term(links, setup, unit);
    for (std::size_t site = 0; site < blocks.size() / 2; ++site) {
      for (std::size_t row = 0; row < 6; ++row) {
        blocks[2 * site + column / 6][row][column % 6] = image.data[site * 12 + column / 6 * 6 + row];
      }
    }
  }
  return blocks;
}

struct BlockLayout {
  const char* sites = "lexicographic";
  bool matrices = false, single = false, kappa = false;

  std::string words() const {
    return fmt::format("{{sites: {}, order: {}, precision: {}, normalization: {}}}", sites,
                       matrices ? "matrix" : "triangle", single ? "single" : "double", kappa ? "kappa" : "mass");
  }
};

template <class Real>
std::vector<Real> array_of(const std::vector<Block>& blocks, const BlockLayout& layout) {
  const std::string sites = layout.sites;
  const auto place = places(dims, sites != "lexicographic", sites == "odd_even");
  const double unit = layout.kappa ? 1 / (setup.mass + 4) : 1;  // 2 kappa
  const std::size_t numbers = layout.matrices ? 72 : 36;
  std::vector<Real> out(blocks.size() * numbers);
  for (std::size_t site = 0; site < place.size(); ++site) {
    for (std::size_t chirality = 0; chirality < 2; ++chirality) {
      const Block& block = blocks[2 * site + chirality];
      auto next = out.begin() + std::ptrdiff_t((2 * std::size_t(place[site]) + chirality) * numbers);
      const auto put = [&](double x) { *next++ = Real(unit * x); };
      const auto put_both = [&](Complex x) { put(x.real()), put(x.imag()); };
      if (layout.matrices) {
        for (const auto& row : block) std::ranges::for_each(row, put_both);
        continue;
      }
      for (std::size_t i = 0; i < 6; ++i) put(block[i][i].real());
      for (std::size_t i = 0; i < 6; ++i) {
        for (std::size_t j = 0; j < i; ++j) put_both(block[i][j]);
      }
    }
  }
  return out;
}

struct Made {
  Host host;
  HostLinks links = hot_start(Lattice(dims), next_seed());
  quadrille_gauge* gauge = host.gauge(new_links(dims), LinkHost<double>(links, {false, false, false, false}).in());
  /// With another clover term than that of `setup`, until it is given.
  quadrille_operator* op = host.op(gauge, operator_words(0.3, 0.2));

  template <class Real>
  quadrille_status give(const std::vector<Block>& blocks, const BlockLayout& layout = {}) const {
    return quadrille_operator_set_clover(op, layout.words().c_str(), array_of<Real>(blocks, layout).data());
  }
  HostSpinor apply(const HostSpinor& x, quadrille_product product = QUADRILLE_M) const {
    HostSpinor y(dims);
    const void* in = x.data.data();
    void* out = y.data.data();
    EXPECT_EQ(quadrille_operator_apply(op, product, "{}", &in, &out, 1), QUADRILLE_DONE) << host.message();
    return y;
  }
};

TEST(CApiClover, TheTermOfAHostIsUsedInEveryLayout) {
  const Made made;
  const std::vector<Block> blocks = site_term(made.links);
  const HostSpinor x = random_spinor(dims);
  EXPECT_GT(relative_distance(made.apply(x), reference::clover(made.links, made.links, setup, x, false)), 0.01);
  for (const bool dagger : {false, true}) {
    const HostSpinor expected = reference::clover(made.links, made.links, setup, x, dagger);
    const auto product = dagger ? QUADRILLE_M_DAGGER : QUADRILLE_M;
    for (const char* sites : {"lexicographic", "even_odd", "odd_even"}) {
      for (const bool matrices : {false, true}) {
        for (const bool kappa : {false, true}) {
          const BlockLayout in_double{sites, matrices, false, kappa}, in_single{sites, matrices, true, kappa};
          ASSERT_EQ(made.give<float>(blocks, in_single), QUADRILLE_DONE) << made.host.message();
          const double error = relative_distance(made.apply(x, product), expected);
          EXPECT_LT(error, 1e-6) << in_single.words();
          EXPECT_GT(error, 1e-10) << in_single.words();
          ASSERT_EQ(made.give<double>(blocks, in_double), QUADRILLE_DONE) << made.host.message();
          EXPECT_LT(relative_distance(made.apply(x, product), expected), 1e-14) << in_double.words();
        }
      }
    }
  }
}

TEST(CApiClover, SolversUseItAndItStaysWithOtherLinks) {
  const Made made;
  quadrille_solver* const solver = made.host.solver(
      made.op, "{type: bicgstab, tolerance: 1e-9, sloppy: {precision: half, reconstruct: 12, temporal_gauge: true}}");
  const auto solved = [&](const HostLinks& links, const HostLinks& leaves) {
    const HostSpinor b = random_spinor(dims);
    HostSpinor x(dims);
    const void* from = b.data.data();
    void* to = x.data.data();
    EXPECT_EQ(quadrille_solver_solve(solver, "{}", &from, &to, 1, nullptr), QUADRILLE_DONE) << made.host.message();
    return relative_distance(reference::clover(links, leaves, setup, x, false), b);
  };
  (void)solved(made.links, made.links);  // every form is made with the old term
  std::vector<Block> blocks = site_term(made.links);
  ASSERT_EQ(made.give<double>(blocks), QUADRILLE_DONE) << made.host.message();
  EXPECT_LT(solved(made.links, made.links), 1.01e-9);

  const HostLinks other = hot_start(Lattice(dims), next_seed());
  const LinkHost<double> arrays(other, {false, false, false, false});
  ASSERT_EQ(quadrille_gauge_update(made.gauge, "{}", arrays.in().data(), 1), QUADRILLE_DONE) << made.host.message();
  EXPECT_LT(solved(other, made.links), 1.01e-9);
}

TEST(CApiClover, BadBlocksAreRefused) {
  const Made made;
  const std::vector<Block> good = site_term(made.links);
  const auto says = [&](quadrille_status wanted, quadrille_status status, const auto& what) {
    EXPECT_EQ(status, wanted);
    EXPECT_THAT(made.host.message(), what);
  };
  const std::size_t site = std::size_t(((3 * dims[2] + 1) * dims[1] + 5) * dims[0] + 2);
  std::vector<Block> bad = good;
  bad[2 * site + 1][4][2] += 1e-7;
  says(QUADRILLE_NUMERICAL, made.give<double>(bad, {.matrices = true}),
       HasSubstr("the clover term at site (2,5,1,3) is not Hermitian"));
  EXPECT_EQ(made.give<double>(bad), QUADRILLE_DONE);  // what stands above the diagonal is not read

  for (const double element : {0.0, std::numeric_limits<double>::quiet_NaN()}) {
    bad = good;
    for (auto& row : bad[2 * site]) row.fill(element);
    quadrille_operator* const untwisted = made.host.op(
        made.gauge, "{type: clover, mass: 0.137, csw: 1, boundary: [periodic, periodic, periodic, periodic]}");
    says(QUADRILLE_NUMERICAL, quadrille_operator_set_clover(untwisted, "{}", array_of<double>(bad, {}).data()),
         AllOf(HasSubstr("at site (2,5,1,3) cannot be inverted"), HasSubstr("give other blocks")));
    EXPECT_EQ(quadrille_operator_set_clover(untwisted, "{}", array_of<double>(good, {}).data()), QUADRILLE_DONE);
  }

  const std::vector<double> array = array_of<double>(good, {});
  const auto give = [&](const char* words, const void* blocks) {
    return quadrille_operator_set_clover(made.op, words, blocks);
  };
  says(QUADRILLE_INVALID_INPUT, give("{}", nullptr), HasSubstr("blocks"));
  says(QUADRILLE_INVALID_INPUT, give("{bytes: 8}", array.data()), HasSubstr("bytes"));
  says(QUADRILLE_INVALID_INPUT, give("{order: triangles}", array.data()), HasSubstr("clover:1:9"));
  quadrille_operator* const wilson =
      made.host.op(made.gauge, "{type: wilson, mass: 1, boundary: [periodic, periodic, periodic, periodic]}");
  says(QUADRILLE_INVALID_INPUT, quadrille_operator_set_clover(wilson, "{}", array.data()),
       HasSubstr("the operator has no clover term"));
  EXPECT_EQ(quadrille_operator_set_clover(nullptr, "{}", array.data()), QUADRILLE_INVALID_HANDLE);
}

}  // namespace
}  // namespace quadrille
