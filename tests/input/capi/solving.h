// What the tests of solves and jobs through the C API share.
#pragma once

#include "tests/input/capi/host.h"

#include <fmt/ranges.h>

#include <string>

namespace quadrille::testing {

constexpr Dims dims{4, 4, 4, 8};
constexpr const char* operator_words =
    "{type: wilson, mass: 0.1, boundary: [periodic, periodic, periodic, antiperiodic]}";
constexpr const char* solver_words = "{type: bicgstab, tolerance: 1e-11, sloppy: {precision: half, reconstruct: 12}}";

inline std::string start_words() {
  return fmt::format("{{start: hot, seed: {}, dims: [{}]}}", next_seed() >> 2, fmt::join(dims, ", "));
}

struct Solving {
  explicit Solving(const char* words = solver_words) : solver(host.solver(op, words)) {}

  /// |b - M x| / |b| by the library's M.
  double residual(const HostSpinor& b, const HostSpinor& x) const {
    HostSpinor mx(dims);
    const void* in = x.data.data();
    void* out = mx.data.data();
    EXPECT_EQ(quadrille_operator_apply(op, QUADRILLE_M, nullptr, &in, &out, 1), QUADRILLE_DONE) << host.message();
    return relative_distance(mx, b);
  }
  quadrille_status solve(const HostSpinor& b, HostSpinor& x, quadrille_report* report, const char* words = "") const {
    const void* from = b.data.data();
    void* to = x.data.data();
    return quadrille_solver_solve(solver, words, &from, &to, 1, report);
  }

  Host host;
  quadrille_gauge* gauge = host.gauge(start_words());
  quadrille_operator* op = host.op(gauge, operator_words);
  quadrille_solver* solver;
};

}  // namespace quadrille::testing
