#include "solvers/registry.h"

#include "core/parameters/parameter_values.h"
#include "toy_operator.h"

#include <gtest/gtest.h>

namespace quadrille::test {
namespace {

SolverSpec parse(const std::string& block, std::vector<Error>& errors) {
  const auto parameters = resolve_variant(solver_variant(), parse_flow(block, {"job.yaml", 3, 1, "", -1}), errors);
  return errors.empty() ? solver_spec(*parameters) : SolverSpec{};
}

std::string error_of(const std::string& block) {
  std::vector<Error> errors;
  try {
    parse(block, errors);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_input);
    EXPECT_TRUE(error.where().known());
    return error.message();
  }
  return errors.empty() ? "" : errors.front().message();
}

TEST(SolverTable, Defaults) {
  std::vector<Error> errors;
  const SolverSpec spec = parse("{type: cg}", errors);
  ASSERT_TRUE(errors.empty()) << errors.front().what();
  EXPECT_EQ(spec.type, "cg");
  EXPECT_EQ(spec.tolerance, 1e-10);
  EXPECT_EQ(spec.max_iterations, 10000);
  EXPECT_EQ(spec.scheme, Scheme::reliable);
  EXPECT_EQ(spec.outer_form(), (OperatorForm{Precision::Double, Reconstruct::R18, false}));
  EXPECT_EQ(spec.delta, 0.1);
  EXPECT_EQ(spec.sloppy, (OperatorForm{Precision::Single, Reconstruct::R12, false}));
}

TEST(SolverTable, Everything) {
  std::vector<Error> errors;
  SolverSpec spec = parse(
      "{type: bicgstab, tolerance: 1.0e-12, max_iterations: 77, scheme: defect, reconstruct: 8, "
      "delta: 0.01, sloppy: {precision: half, reconstruct: 8, temporal_gauge: true}}",
      errors);
  ASSERT_TRUE(errors.empty()) << errors.front().what();
  EXPECT_EQ(spec.type, "bicgstab");
  EXPECT_EQ(spec.tolerance, 1e-12);
  EXPECT_EQ(spec.max_iterations, 77);
  EXPECT_EQ(spec.scheme, Scheme::defect);
  EXPECT_EQ(spec.reconstruct, Reconstruct::R8);
  EXPECT_EQ(spec.delta, 0.01);
  EXPECT_EQ(spec.sloppy, (OperatorForm{Precision::Half, Reconstruct::R8, true}));
  spec = parse("{type: cg, scheme: uniform, precision: half}", errors);
  ASSERT_TRUE(errors.empty());
  EXPECT_EQ(spec.outer_form(), (OperatorForm{Precision::Half, Reconstruct::R18, false}));
}

TEST(SolverTable, Errors) {
  EXPECT_NE(error_of("{}"), "");
  EXPECT_NE(error_of("{type: gmres}"), "");
  EXPECT_NE(error_of("{type: cg, tolerance: 0}"), "");
  EXPECT_NE(error_of("{type: cg, tolerance: -1.0e-10}"), "");
  EXPECT_NE(error_of("{type: cg, tolerance: 1}"), "");
  EXPECT_NE(error_of("{type: cg, delta: 1}"), "");
  EXPECT_NE(error_of("{type: cg, max_iterations: 0}"), "");
  EXPECT_NE(error_of("{type: cg, reconstruct: 9}"), "");
  EXPECT_NE(error_of("{type: cg, sloppy: {precision: quarter}}"), "");
  EXPECT_NE(error_of("{type: cg, toleranse: 1.0e-8}").find("tolerance"), std::string::npos);
  EXPECT_NE(error_of("{type: cg, precision: single}").find("scheme: uniform"), std::string::npos);
  EXPECT_NE(error_of("{type: cg, scheme: defect, precision: half}").find("scheme: uniform"), std::string::npos);
  EXPECT_EQ(error_of("{type: cg, scheme: defect, precision: double}"), "");
}

TEST(SolverTable, OwnParameters) {
  std::vector<Error> errors;
  const auto own = [&](const std::string& block) { return parse(block, errors).own; };
  EXPECT_EQ(own("{type: gcr}").integer("restart_length"), 16);
  EXPECT_FALSE(own("{type: gcr}").has("preconditioner"));
  EXPECT_EQ(own("{type: bicgstab_l, l: 4}").integer("l"), 4);
  const Parameters mr =
      own("{type: gcr, restart_length: 5, preconditioner: {type: mr, omega: 1.1}}").group("preconditioner");
  EXPECT_EQ(mr.integer("steps"), 4);
  EXPECT_EQ(mr.real("omega"), 1.1);
  EXPECT_TRUE(errors.empty());
  EXPECT_NE(error_of("{type: cg, restart_length: 5}").find("restart_length"), std::string::npos);
  EXPECT_NE(error_of("{type: bicgstab, preconditioner: {type: mr}}").find("preconditioner"), std::string::npos);
  EXPECT_NE(error_of("{type: gcr, restart_length: 0}"), "");
  EXPECT_NE(error_of("{type: gcr, preconditioner: {type: mr, omega: 2}}"), "");
  EXPECT_NE(error_of("{type: gcr, preconditioner: {type: ilu}}").find("mr"), std::string::npos);
  EXPECT_NE(error_of("{type: bicgstab_l, l: 9}"), "");
  EXPECT_EQ(own("{type: multigrid}").integer("vectors"), 16);
  EXPECT_NE(error_of("{type: multigrid, levels: 1}"), "");
  EXPECT_NE(error_of("{type: multigrid, vectors: 12}").find("multiple of 8"), std::string::npos);
  EXPECT_NE(error_of("{type: multigrid, preconditioning: {form: symmetric}}").find("asymmetric"), std::string::npos);
}

TEST(SolverRegistry, MakesEveryEntryInEveryScheme) {
  const Lattice lattice({4, 4, 4, 4});
  const ToyOperator a(lattice, {.smallest = 0.5, .angle = 0.2}, 1);
  const auto inner = a.converted({Precision::Single, Reconstruct::R18, false});
  Field b(a.field_desc()), x(a.field_desc());
  fill_gaussian(b, 2);
  EXPECT_GE(solver_registry().size(), 4u);
  for (const SolverEntry& entry : solver_registry()) {
    for (const Scheme scheme : {Scheme::reliable, Scheme::defect, Scheme::uniform}) {
      SolverSpec spec;
      spec.type = entry.name;
      spec.scheme = scheme;
      const SolveReport report = make_solver(spec, a, inner.get())->solve(x, b, {1e-9, 500});
      EXPECT_TRUE(report.converged) << entry.name << " " << to_string(scheme);
      EXPECT_EQ(report.reliable_updates > 0, scheme == Scheme::reliable);
      if (scheme == Scheme::defect) {
        EXPECT_GT(report.restarts, 0);
      }
      if (scheme == Scheme::uniform && entry.name != "gcr" && entry.name != "multigrid") {
        EXPECT_EQ(report.restarts, 0);
      }
    }
  }
  SolverSpec spec;
  spec.type = "gmres";
  EXPECT_THROW(make_solver(spec, a, inner.get()), Error);
  spec.type = "cg";
  EXPECT_THROW(make_solver(spec, a, nullptr), Error);
}

}  // namespace
}  // namespace quadrille::test
