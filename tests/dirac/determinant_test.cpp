// Determinants: of the operator as a dense matrix, and of what even-odd preconditioning makes of it.
#include "core/field/convert.h"
#include "dirac/clover/clover_blocks.h"
#include "dirac/systems/even_odd.h"
#include "tests/dirac/dirac_testing.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace quadrille {
namespace {

using namespace testing;
using Kind = EvenOddForm::Kind;

/// log |det| of a matrix by its columns, by Gaussian elimination.
double log_det(std::vector<std::vector<Complex>> a) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k; i < a.size(); ++i) {
      if (std::abs(a[i][k]) > std::abs(a[pivot][k])) pivot = i;
    }
    std::swap(a[k], a[pivot]);
    sum += std::log(std::abs(a[k][k]));
    for (std::size_t i = k + 1; i < a.size(); ++i) {
      const Complex factor = a[i][k] / a[k][k];
      for (std::size_t j = k; j < a.size(); ++j) a[i][j] -= factor * a[k][j];
    }
  }
  return sum;
}

/// Places in a HostSpinor of the numbers on the sites of a subset.
std::vector<std::size_t> places(const Lattice& lattice, Subset subset) {
  std::vector<std::size_t> found;
  for (std::int64_t site = 0; site < lattice.volume(); ++site) {
    if (subset != Subset::Full && Lattice::parity(lattice.coordinates(site)) != int(parity_of(subset))) continue;
    for (std::size_t n = 0; n < 12; ++n) found.push_back(std::size_t(site) * 12 + n);
  }
  return found;
}

/// `apply` takes a unit vector and gives the image; both count on the sites of `subset`.
template <class Apply>
double log_det_of(const Lattice& lattice, Subset subset, const Apply& apply) {
  const std::vector<std::size_t> all = places(lattice, subset);
  std::vector<std::vector<Complex>> columns;
  for (const std::size_t column : all) {
    HostSpinor unit(lattice.dims());
    unit.data[column] = 1;
    const HostSpinor image = apply(unit);
    columns.emplace_back();
    for (const std::size_t row : all) columns.back().push_back(image.data[row]);
  }
  return log_det(std::move(columns));
}

/// log |det A| of the sites of each parity.
std::array<double, 2> log_det_of_sites(const Scene& scene) {
  const CloverTerm term = scene.parameters.clover_term();
  if (scene.parameters.csw_r != 0) return CloverBlocks(scene.gauge, term).log_det();
  const double all = 12 * double(scene.lattice.half_volume()) * std::log(std::hypot(term.number, term.mu));
  return {all, all};
}

class Determinants : public ::testing::TestWithParam<std::tuple<Dims, Scene::Terms>> {};
INSTANTIATE_TEST_SUITE_P(Operators, Determinants,
                         ::testing::Combine(::testing::Values(Dims{2, 2, 2, 2}, Dims{4, 2, 2, 2}),
                                            ::testing::Values(Scene::Terms{}, Scene::Terms{.mu = 0.3},
                                                              Scene::Terms{.csw_r = 0.91, .csw_t = 1.07},
                                                              Scene::Terms{.mu = -0.2, .csw_r = 0.7, .csw_t = 0.9},
                                                              Scene::Terms{
                                                                  .csw_r = 0.8, .csw_t = 0.7, .exponential = true})));

/// det M = det A_q det (A_p - H A_q^-1 H), p the parity that is kept, and det A_p more for the symmetric form; M is
/// that of the dense program.
TEST_P(Determinants, OfTheReducedSystems) {
  const auto& [dims, terms] = GetParam();
  const Scene scene(dims, hot_start(Lattice(dims), next_seed()), terms);
  const HostLinks links = scene.gauge->host_links();
  const double whole = log_det_of(scene.lattice, Subset::Full, [&](const HostSpinor& unit) {
    return reference::clover(links, links, scene.setup(), unit, false);
  });
  const std::array<double, 2> sites = log_det_of_sites(scene);
  for (const Kind kind : {Kind::asymmetric, Kind::symmetric}) {
    for (const Parity kept : {Parity::Even, Parity::Odd}) {
      const EvenOddSystem system(scene.shared_wilson(), {kept, kind});
      Field x(system.full_desc()), image(system.full_desc());
      const double reduced =
          log_det_of(scene.lattice, kept == Parity::Even ? Subset::Even : Subset::Odd, [&](const HostSpinor& unit) {
            import_spinor(x, unit);
            Field part = image.parity(kept);
            system.reduced().apply(part, x.parity(kept), Dagger::No);
            HostSpinor out(dims);
            export_spinor(out, image);
            return out;
          });
      const double of_sites =
          sites[std::size_t(opposite(kept))] + (kind == Kind::symmetric ? sites[std::size_t(kept)] : 0);
      EXPECT_NEAR(reduced + of_sites, whole, 1e-10) << (kind == Kind::symmetric ? "symmetric" : "asymmetric");
    }
  }
}

}  // namespace
}  // namespace quadrille
