// A module in C++ with the pieces of the library that modules/PLUGINS.md names: links, propagators, operators, the
// defect-correction loop, field algebra, layouts, files, matrix products. Whatever the library does not export is
// missing here.
#include "core/blas/blas.h"
#include "core/field/convert.h"
#include "core/field/propagator.h"
#include "core/layout/vector_layout.h"
#include "core/system/atomic_file.h"
#include "core/system/csv.h"
#include "dirac/systems/even_odd.h"
#include "modules/mgemm/choice/precision.h"
#include "modules/mgemm/product/mgemm.h"
#include "modules/shared/hdf5/hdf5_file.h"
#include "modules/shared/plugin/parameters.h"
#include "modules/shared/plugin/task.h"
#include "modules/shared/study/differences.h"
#include "modules/shared/study/take_turns.h"
#include "solvers/driver.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace {

using namespace quadrille;

/// Column 0 of a point source again, by defect correction in half precision; gives its distance from the propagator.
double solved_again(const TaskContext& context, const Propagator& propagator) {
  const auto& dirac = *static_cast<const DiracOperator*>(context.object(context.dirac_operator()));
  const EvenOddSystem system(std::shared_ptr<const DiracOperator>(&dirac, [](const DiracOperator*) {}));
  SolverSpec spec;
  spec.type = "cg";
  spec.scheme = Scheme::defect;
  spec.tolerance = 1e-11;
  spec.sloppy = {Precision::Half, Reconstruct::R12, true};
  SystemSolver solver(system, spec);
  Field b(system.full_desc()), x(system.full_desc()), given(system.full_desc());
  blas::zero(b);
  std::array<Complex, 12> source{};
  source[0] = 1;
  put_spinor(b, {0, 0, 0, 0}, source);
  const SolveReport report = solver.solve(x, b);
  if (!report.converged) TaskContext::fail(QUADRILLE_NUMERICAL, report.message);
  convert(given, propagator.columns[0]);
  const double size = std::sqrt(blas::norm2(given));
  blas::axpy(-1, given, x);
  return std::sqrt(blas::norm2(x)) / size;
}

void use(const TaskContext& context) {
  const GaugeStore& links = context.links();
  const double plaquette = links.observables().plaquette;
  GaugeStore copy(links.lattice(), links.host_links(), links.backend());
  context.write_links(context.text("links"), copy, 64);
  const mgemm::PrecisionChoice choice = mgemm::read_precision(context);
  const double a[4] = {1, 2, 3, 4};
  double c[4] = {};
  mgemm::Gemm<double> gemm;
  gemm.m = gemm.n = gemm.k = gemm.lda = gemm.ldb = gemm.ldc = 2;
  gemm.a = gemm.b = a;
  gemm.c = c;
  (void)mgemm::mgemm(gemm, choice.cutoff);
  write_hdf5(context.output_file("matrix"), "C", {{2, 2}, {c, c + 4}});
  const Hdf5Array back = Hdf5Reader(context.output_file("matrix")).read("C", 2);
  Differences differences;
  differences.add(back.data.data(), c, 1, 4);
  const nlohmann::ordered_json row = {{"plaquette", plaquette}, {"c", c[3]}};
  write_file(context.output_file("csv"), csv_of_rows({row}));
  double norm2 = 0;
  for (const Complex& x : context.propagator_column("from", 5)) norm2 += std::norm(x);
  context.result(
      fmt::format(R"({{"norm2": {}, "same_norm2": {}}})", norm2, blas::norm2(context.propagator("from").columns[5])));
  context.result(fmt::format(
      R"({{"plaquette": {}, "distance": {}, "lanes": {}, "c": {}, "difference": {}, "delta": {}, "seconds": {}}})",
      plaquette, solved_again(context, context.propagator("from")), VectorLayout(links.lattice(), 1).lanes(), c[3],
      differences.largest(), choice.cutoff.delta, seconds_of([] {}) < 1));
}

const char* const kinds[] = {"propagator", nullptr};
const quadrille_parameter parameters[] = {
    {.name = "from", .type = QUADRILLE_EARLIER_TASK, .flags = QUADRILLE_REQUIRED, .choices = kinds},
    parameter::required(parameter::file_out("links", "a copy")),
    parameter::required(parameter::file_out("matrix", "HDF5")),
    parameter::csv("uses.csv"),
    mgemm::precision_parameter,
    mgemm::delta_parameter,
    parameter::real("target_error", "of a product", "1e-6"),
    parameter::choice("assurance", "of the target", "certain", mgemm::product_assurances),
    mgemm::always_split_parameter};
const quadrille_task tasks[] = {{.name = "uses",
                                 .help = "uses the library",
                                 .parameters = parameters,
                                 .parameter_count = std::size(parameters),
                                 .flags = QUADRILLE_NEEDS_LINKS | QUADRILLE_NEEDS_OPERATOR,
                                 .run = task_function<use>}};
constexpr quadrille_module module = module_of("uses", "0.1", tasks);

}  // namespace

extern "C" QUADRILLE_API const quadrille_module* quadrille_module_descriptor() { return &module; }
