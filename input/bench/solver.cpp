#include "core/blas/random_fill.h"
#include "core/convert.h"
#include "core/gauge/start.h"
#include "core/kernel_log.h"
#include "dirac/preconditioned.h"
#include "dirac/wilson.h"
#include "input/bench/measurements.h"
#include "input/bench/timing.h"
#include "solvers/registry.h"

namespace quadrille::bench {
namespace {

constexpr int iterations = 20;

/// Bytes and flops a site of one parity in one iteration, from the kernels that one solve ran.
void count_traffic(Row& row, const std::vector<KernelRecord>& kernels, const SolveReport& report) {
  const double site_iterations = double(row.sites) * report.iterations;
  row.bytes_per_site = 0;
  for (const KernelRecord& kernel : kernels) {
    row.bytes_per_site += kernel.bytes_per_site * double(kernel.sites) / site_iterations;
    if (kernel.name.starts_with("wilson")) row.isa = kernel.isa;
  }
  row.flops_per_site = report.flops / site_iterations;
}

void measure(const Bench& bench, const EvenOddSystem& system, const SolverEntry& entry) {
  const LinearOperator& a = system.reduced();
  Field gaussian(FieldDesc::spinor(bench.lattice, Subset::Even, Precision::Double, bench.backend));
  fill_gaussian(gaussian, 3);
  Field b(a.field_desc()), x(a.field_desc());
  convert(b, gaussian);
  const auto solver = entry.make(a, nullptr, 0);
  const auto before = kernel_records();
  const SolveReport report = solver->solve(x, b, {0, iterations});
  Row row = bench.row(entry.name, a.form().precision);
  row.reconstruct = int(a.form().reconstruct);
  row.temporal_gauge = a.form().temporal_gauge;
  count_traffic(row, kernel_records_since(before), report);
  row.seconds = median_seconds(
                    [&] {
                      solver->solve(x, b, {0, iterations});
                    },
                    [&] { bench.backend.synchronize(); }) /
                report.iterations;
  bench.add(row);
}

}  // namespace

void measure_solver(const Bench& bench) {
  const auto gauge = std::make_shared<const GaugeSource>(bench.lattice, hot_start(bench.lattice, 5));
  const EvenOddSystem outer(
      std::make_shared<const WilsonOperator>(gauge, WilsonParameters{.mass = 0.1}, OperatorForm{}, bench.backend));
  for (const SolverEntry& entry : solver_registry()) {
    for (Precision precision : bench.precisions()) {
      for (Reconstruct reconstruct : bench.reconstructs()) {
        const auto system = outer.converted({precision, reconstruct, false});
        measure(bench, dynamic_cast<const EvenOddSystem&>(*system), entry);
      }
    }
  }
}

}  // namespace quadrille::bench
