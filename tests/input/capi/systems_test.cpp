// Every system that a solver of the C API solves, and every product of one parity, against the naive operator.
#include "tests/input/capi/host.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

namespace quadrille {
namespace {

using namespace testing;
using ::testing::HasSubstr;

constexpr Dims dims{4, 6, 2, 8};
// Twisted, so that A is neither a number nor its own adjoint.
const reference::WilsonSetup setup{.mass = 0.137, .mu = -0.41, .xi0 = 1.3, .nu = 0.9, .boundary = {0, 0.25, 0, 1}};
const char* const operator_words =
    "{type: twisted_mass, mass: 0.137, mu: -0.41, anisotropy: {xi0: 1.3, nu: 0.9}, "
    "boundary: [periodic, {phase: 0.25}, periodic, antiperiodic]}";

/// The request: a word of quadrille_solver_solve, the same as a product, and the sites of both.
struct System {
  const char* word;
  quadrille_product product;
  int parity;  ///< 0 even, 1 odd; -1: all
  bool dagger, normal;
};
constexpr System all_systems[] = {
    {"m", QUADRILLE_M, -1, false, false},
    {"m_dagger", QUADRILLE_M_DAGGER, -1, true, false},
    {"m_dagger_m", QUADRILLE_M_DAGGER_M, -1, false, true},
    {"even_odd", QUADRILLE_EVEN_ODD, 0, false, false},
    {"even_odd", QUADRILLE_EVEN_ODD, 1, false, false},
    {"even_odd_dagger", QUADRILLE_EVEN_ODD_DAGGER, 0, true, false},
    {"even_odd_dagger", QUADRILLE_EVEN_ODD_DAGGER, 1, true, false},
    {"even_odd_normal", QUADRILLE_EVEN_ODD_DAGGER_EVEN_ODD, 0, false, true},
    {"even_odd_normal", QUADRILLE_EVEN_ODD_DAGGER_EVEN_ODD, 1, false, true},
};
std::string name_of(const System& system) { return fmt::format("{}, parity {}", system.word, system.parity); }

/// The sites of one parity (-1: all), the others 0.
HostSpinor masked(const HostSpinor& psi, int parity) {
  HostSpinor out(dims);
  const auto place = places(dims, true);
  for (std::size_t site = 0; site < place.size(); ++site) {
    const int mine = place[site] < std::int64_t(place.size() / 2) ? 0 : 1;
    if (parity >= 0 && mine != parity) continue;
    std::copy_n(psi.data.begin() + std::ptrdiff_t(site * 12), 12, out.data.begin() + std::ptrdiff_t(site * 12));
  }
  return out;
}

HostSpinor difference(const HostSpinor& x, const HostSpinor& y) {
  HostSpinor out(dims);
  for (std::size_t i = 0; i < out.data.size(); ++i) out.data[i] = x.data[i] - y.data[i];
  return out;
}

/// A psi or A^-1 psi, A = m + 1 + 3 nu/xi0 + i mu gamma_5, or of A^+.
HostSpinor site_local(const HostSpinor& psi, bool dagger, bool inverse) {
  HostSpinor out(dims);
  for (std::size_t i = 0; i < out.data.size(); ++i) {
    const double chirality = i % 12 < 6 ? 1 : -1;
    const Complex a(setup.mass + 1 + 3 * setup.nu / setup.xi0, (dagger ? -1 : 1) * chirality * setup.mu);
    out.data[i] = inverse ? psi.data[i] / a : a * psi.data[i];
  }
  return out;
}

/// P x by the naive operator, with x on the sites of the system.
HostSpinor naive(const HostLinks& links, const System& system, const HostSpinor& x) {
  const auto once = [&](const HostSpinor& psi, bool dagger) {
    if (system.parity < 0) return reference::wilson(links, setup, psi, dagger);
    const int there = 1 - system.parity;
    // M of a field on one parity is A of it there and H of it on the other.
    const HostSpinor hop = masked(reference::wilson(links, setup, psi, dagger), there);
    const HostSpinor between = site_local(hop, dagger, true);
    const HostSpinor back = masked(reference::wilson(links, setup, between, dagger), system.parity);
    return difference(site_local(psi, dagger, false), back);
  };
  if (system.normal) return once(once(x, false), true);
  return once(x, system.dagger);
}

/// As the host has it: all sites, lexicographic, or those of a parity in even-odd order.
std::vector<Complex> array_of(const HostSpinor& psi, int parity) {
  if (parity < 0) return {psi.data.begin(), psi.data.end()};
  std::vector<Complex> out(psi.data.size() / 2);
  const auto place = places(dims, true);
  const std::int64_t first = parity == 0 ? 0 : std::int64_t(place.size() / 2);
  for (std::size_t site = 0; site < place.size(); ++site) {
    const std::int64_t at = place[site] - first;
    if (at < 0 || at >= std::int64_t(place.size() / 2)) continue;
    std::copy_n(psi.data.begin() + std::ptrdiff_t(site * 12), 12, out.begin() + at * 12);
  }
  return out;
}

HostSpinor spinor_of(const std::vector<Complex>& array, int parity) {
  HostSpinor out(dims);
  const auto place = places(dims, true);
  const std::int64_t first = parity == 1 ? std::int64_t(place.size() / 2) : 0;
  for (std::size_t site = 0; site < place.size(); ++site) {
    const std::int64_t at = parity < 0 ? std::int64_t(site) : place[site] - first;
    if (at < 0 || at * 12 >= std::int64_t(array.size())) continue;
    std::copy_n(array.begin() + at * 12, 12, out.data.begin() + std::ptrdiff_t(site * 12));
  }
  return out;
}

std::string subset_of(const System& system) { return system.parity < 0 ? "full" : system.parity == 0 ? "even" : "odd"; }

struct Asked {
  Host host;
  HostLinks links = hot_start(Lattice(dims), next_seed());
  quadrille_operator* op =
      host.op(host.gauge(new_links(dims), LinkHost<double>(links, {false, false, false, false}).in()), operator_words);

  std::vector<Complex> product(const System& system, const std::vector<Complex>& in, const char* more = "") const {
    std::vector<Complex> out(in.size());
    const void* from = in.data();
    void* to = out.data();
    EXPECT_EQ(quadrille_operator_apply(op, system.product,
                                       fmt::format("{{subset: {}{}}}", subset_of(system), more).c_str(), &from, &to, 1),
              QUADRILLE_DONE)
        << host.message();
    return out;
  }
  quadrille_status solve(quadrille_solver* solver, const System& system, const std::vector<Complex>& b,
                         std::vector<Complex>& x, quadrille_report* report, const char* more = "") const {
    const void* from = b.data();
    void* to = x.data();
    const std::string words = fmt::format("{{system: {}, subset: {}{}}}", system.word, subset_of(system), more);
    return quadrille_solver_solve(solver, words.c_str(), &from, &to, 1, report);
  }
};

TEST(CApiSystems, ProductsAgreeWithTheReference) {
  const Asked asked;
  for (const System& system : all_systems) {
    SCOPED_TRACE(name_of(system));
    const HostSpinor x = masked(random_spinor(dims), system.parity);
    const HostSpinor found = spinor_of(asked.product(system, array_of(x, system.parity)), system.parity);
    EXPECT_LT(relative_distance(found, naive(asked.links, system, x)), 6e-15);
  }
}

TEST(CApiSystems, SolutionsMeetTheirTargetWithTheNaiveOperator) {
  constexpr double tolerance = 1e-10;
  const Asked asked;
  for (const char* words : {"{type: bicgstab, tolerance: 1e-10, sloppy: {precision: half, reconstruct: 12}}",
                            "{type: cg, tolerance: 1e-10, sloppy: {precision: single}}",
                            "{type: cg, tolerance: 1e-10, preconditioning: {form: symmetric, parity: odd}}"}) {
    quadrille_solver* solver = asked.host.solver(asked.op, words);
    for (const System& system : all_systems) {
      SCOPED_TRACE(name_of(system) + " " + words);
      const HostSpinor b = masked(random_spinor(dims), system.parity);
      const auto right = array_of(b, system.parity);
      std::vector<Complex> x(right.size(), Complex(std::nan(""), 0));
      quadrille_report report = QUADRILLE_REPORT_INIT;
      ASSERT_EQ(asked.solve(solver, system, right, x, &report), QUADRILLE_DONE) << asked.host.message();
      const double residual = relative_distance(naive(asked.links, system, spinor_of(x, system.parity)), b);
      EXPECT_LE(residual, 1.01 * tolerance);
      EXPECT_NEAR(report.residual, residual, 0.01 * tolerance);
      EXPECT_EQ(report.converged, 1);
      EXPECT_GT(report.iterations, 3);

      const int iterations = report.iterations;  // from near the solution it is a short way
      for (Complex& value : x) value *= 1 + 1e-7;
      ASSERT_EQ(asked.solve(solver, system, right, x, &report, ", initial_guess: true"), QUADRILLE_DONE);
      EXPECT_LE(relative_distance(naive(asked.links, system, spinor_of(x, system.parity)), b), 1.01 * tolerance);
      EXPECT_LT(report.iterations, iterations * 3 / 4);
      EXPECT_GT(report.iterations, 0);
    }
  }
}

/// N^+ N x = b takes CG about as many iterations as N x = b by way of N^+, not twice as many.
TEST(CApiSystems, CgSolvesTheNormalEquationsOfAParityAtOnce) {
  const Asked asked;
  const auto b = array_of(random_spinor(dims), 1);
  for (const char* words : {"{type: cg, tolerance: 1e-10, scheme: uniform}",
                            "{type: cg, tolerance: 1e-10, sloppy: {precision: half, reconstruct: 12}}"}) {
    quadrille_solver* solver = asked.host.solver(asked.op, words);
    const auto iterations = [&](const System& system) {
      std::vector<Complex> x(b.size());
      quadrille_report report = QUADRILLE_REPORT_INIT;
      EXPECT_EQ(asked.solve(solver, system, b, x, &report), QUADRILLE_DONE) << asked.host.message();
      return report.iterations;
    };
    EXPECT_LT(iterations(all_systems[8]), 1.5 * iterations(all_systems[4])) << words;
  }
}

TEST(CApiSystems, KappasNormalisationIsThatOfTheSystem) {
  const Asked asked;
  const double kappa = 0.5 / (setup.mass + 4);
  quadrille_solver* solver = asked.host.solver(asked.op, "{type: bicgstab, tolerance: 1e-12}");
  for (const System& system : all_systems) {
    SCOPED_TRACE(name_of(system));
    const auto b = array_of(random_spinor(dims), system.parity);
    std::vector<Complex> x(b.size());
    ASSERT_EQ(asked.solve(solver, system, b, x, nullptr, ", normalization: kappa"), QUADRILLE_DONE);
    const auto again = asked.product(system, x, ", normalization: kappa");
    double off = 0, norm = 0;
    for (std::size_t i = 0; i < b.size(); ++i) off += std::norm(again[i] - b[i]), norm += std::norm(b[i]);
    EXPECT_LT(std::sqrt(off / norm), 2e-12);
    const auto plain = asked.product(system, x);
    const double factor = system.normal ? 4 * kappa * kappa : 2 * kappa;
    EXPECT_NEAR(std::abs(plain[5] * factor - again[5]), 0, 1e-13 * std::abs(again[5]));
  }
}

TEST(CApiSystems, WhatCannotBeIsSaid) {
  const Asked asked;
  quadrille_solver* solver = asked.host.solver(asked.op, "{type: bicgstab}");
  std::vector<Complex> b(std::size_t(volume(dims)) * 12, 1), x(b.size());
  for (const System& wrong :
       {System{"m_dagger", QUADRILLE_M, 0, false, false}, System{"even_odd", QUADRILLE_M, -1, false, false}}) {
    EXPECT_EQ(asked.solve(solver, wrong, b, x, nullptr), QUADRILLE_INVALID_INPUT);
    EXPECT_THAT(asked.host.message(), HasSubstr(fmt::format("system: {} is solved with subset: {}", wrong.word,
                                                            wrong.parity < 0 ? "even, or odd" : "full")));
  }
  const auto apply = [&](int product, const char* words) {
    const void* from = b.data();
    void* to = x.data();
    return quadrille_operator_apply(asked.op, quadrille_product(product), words, &from, &to, 1);
  };
  EXPECT_EQ(apply(QUADRILLE_EVEN_ODD_DAGGER_EVEN_ODD, ""), QUADRILLE_INVALID_INPUT);
  EXPECT_THAT(asked.host.message(), HasSubstr("this product needs subset: even or odd"));
  EXPECT_EQ(apply(8, ""), QUADRILLE_INVALID_INPUT);
  b[3] = std::nan("");
  for (const System& system : all_systems) {
    const std::vector<Complex> right(b.begin(),
                                     b.begin() + std::ptrdiff_t(system.parity < 0 ? b.size() : b.size() / 2));
    EXPECT_EQ(asked.solve(solver, system, right, x, nullptr), QUADRILLE_NUMERICAL) << name_of(system);
  }
}

/// What solve_shifts gives, with the naive operator, on both parities, in both normalizations, and again.
TEST(CApiSystems, ShiftedSolutionsMeetTheirTargetWithTheNaiveOperator) {
  constexpr double tolerance = 1e-10;
  const Asked asked;
  const double kappa = 0.5 / (setup.mass + 4);
  for (const char* words : {"{type: cg, tolerance: 1e-10, sloppy: {precision: half, reconstruct: 12}}",
                            "{type: cg, tolerance: 1e-10, scheme: uniform}"}) {
    quadrille_solver* solver = asked.host.solver(asked.op, words);
    for (const System& system : {all_systems[7], all_systems[8], all_systems[7]}) {
      for (const bool of_kappa : {false, true}) {
        SCOPED_TRACE(name_of(system) + " " + words);
        const HostSpinor b = masked(random_spinor(dims), system.parity);
        const auto right = array_of(b, system.parity);
        const std::vector<double> shifts{0, 0.1 + (of_kappa ? 0.05 : 0), 1};
        std::vector<std::vector<Complex>> x(3, std::vector<Complex>(right.size(), Complex(std::nan(""), 0)));
        std::vector<void*> to;
        for (auto& array : x) to.push_back(array.data());
        std::vector<quadrille_report> reports(3, quadrille_report QUADRILLE_REPORT_INIT);
        const std::string spinors =
            fmt::format("{{subset: {}, normalization: {}}}", subset_of(system), of_kappa ? "kappa" : "mass");
        ASSERT_EQ(quadrille_solver_solve_shifts(solver, spinors.c_str(), shifts.data(), right.data(), to.data(), 3,
                                                reports.data()),
                  QUADRILLE_DONE)
            << asked.host.message();
        const double unit = of_kappa ? 4 * kappa * kappa : 1;
        for (std::size_t k = 0; k < 3; ++k) {
          const HostSpinor solution = spinor_of(x[k], system.parity);
          HostSpinor image = naive(asked.links, system, solution);
          for (std::size_t i = 0; i < image.data.size(); ++i) {
            image.data[i] = unit * image.data[i] + shifts[k] * solution.data[i];
          }
          const double residual = relative_distance(image, b);
          EXPECT_LE(residual, 1.01 * tolerance) << "shift " << shifts[k];
          EXPECT_NEAR(reports[k].residual, residual, 0.01 * tolerance);
          EXPECT_EQ(reports[k].converged, 1);
          EXPECT_GE(reports[0].iterations, reports[k].iterations);
        }
      }
    }
  }
}

TEST(CApiSystems, ShiftsThatCannotBeAreSaid) {
  const Asked asked;
  const std::vector<Complex> b(std::size_t(volume(dims)) * 6, 1);
  std::vector<Complex> x(b.size()), y(b.size());
  void* const to[] = {x.data(), y.data()};
  const auto solve = [&](const char* solver, const char* words, std::array<double, 2> shifts) {
    EXPECT_EQ(quadrille_solver_solve_shifts(asked.host.solver(asked.op, solver), words, shifts.data(), b.data(), to, 2,
                                            nullptr),
              QUADRILLE_INVALID_INPUT);
    return asked.host.message();
  };
  EXPECT_THAT(solve("{type: cg}", "{subset: even}", {0.2, 0.1}), HasSubstr("shift 1 is 0.1 after 0.2"));
  EXPECT_THAT(solve("{type: cg}", "{subset: even}", {-0.2, 0.1}),
              HasSubstr("shift 0 is -0.2: shifts are not negative"));
  EXPECT_THAT(solve("{type: bicgstab}", "{subset: odd}", {0, 1}), HasSubstr("type: cg, not bicgstab"));
  EXPECT_THAT(solve("{type: cg, scheme: defect}", "{subset: odd}", {0, 1}), HasSubstr("scheme: reliable"));
  EXPECT_THAT(solve("{type: cg}", "", {0, 1}), HasSubstr("subset: even, or odd"));
  quadrille_solver* solver = asked.host.solver(asked.op, "{type: cg, tolerance: 1e-10, max_iterations: 3}");
  const std::array<double, 2> shifts{0, 0.01};
  EXPECT_EQ(quadrille_solver_solve_shifts(solver, "{subset: even}", nullptr, b.data(), to, 2, nullptr),
            QUADRILLE_INVALID_INPUT);
  EXPECT_EQ(quadrille_solver_solve_shifts(solver, "{subset: even}", shifts.data(), b.data(), to, 0, nullptr),
            QUADRILLE_INVALID_INPUT);
  EXPECT_EQ(quadrille_solver_solve_shifts(solver, "{subset: even}", shifts.data(), b.data(), to, 2, nullptr),
            QUADRILLE_NOT_CONVERGED);
  EXPECT_THAT(asked.host.message(), HasSubstr("shift 0.01: "));
}

TEST(CApiSystems, AnUnfinishedNormalEquationIsAStatus) {
  const Asked asked;
  quadrille_solver* solver = asked.host.solver(asked.op, "{type: bicgstab, tolerance: 1e-10, max_iterations: 3}");
  const System normal = all_systems[2];
  const auto b = array_of(random_spinor(dims), -1);
  std::vector<Complex> x(b.size());
  quadrille_report report = QUADRILLE_REPORT_INIT;
  EXPECT_EQ(asked.solve(solver, normal, b, x, &report), QUADRILLE_NOT_CONVERGED);
  EXPECT_EQ(report.converged, 0);
  EXPECT_EQ(report.stop_reason, QUADRILLE_MAX_ITERATIONS);
  EXPECT_GT(report.residual, 1e-10);
}

}  // namespace
}  // namespace quadrille
