#include "core/blas/random_fill.h"
#include "core/field/convert.h"
#include "core/gauge/start.h"
#include "core/tuning/kernel_log.h"
#include "dirac/systems/even_odd.h"
#include "dirac/wilson.h"
#include "input/bench/measurements.h"
#include "solvers/registry.h"

#include <deque>

namespace quadrille::bench {
namespace {

constexpr int iterations = 20;

/// Seconds of one application of the operator, over four pairs of fields in turn.
double apply_seconds(const Bench& bench, const LinearOperator& a, const Field& random) {
  std::deque<Field> x, y;
  for (int i = 0; i < 4; ++i) {
    x.emplace_back(a.field_desc());
    y.emplace_back(a.field_desc());
    convert(x.back(), random);
  }
  std::size_t turn = 0;
  return bench.time([&] {
    a.apply(y[turn % 4], x[turn % 4], Dagger::No);
    ++turn;
  });
}

bool is_hop(const KernelRecord& kernel) { return kernel.name.starts_with("wilson"); }

/// Seconds of an iteration by its traffic: the operator (two hops) as measured, everything else at the copy rate.
double traffic_seconds(const std::vector<KernelRecord>& kernels, double apply, const MemoryRates& memory,
                       int iterations) {
  double hops = 0, bytes = 0;
  for (const KernelRecord& kernel : kernels) {
    if (is_hop(kernel)) {
      hops += double(kernel.calls);
    } else {
      bytes += kernel.bytes_per_site * double(kernel.sites);
    }
  }
  return (hops / 2 * apply + bytes * 1e-9 / memory.copy) / iterations;
}

/// Bytes and flops per site of one parity in one iteration, from the kernels that one solve ran.
/// Kernels and flops are this rank's.
void count_traffic(Row& row, const Lattice& lattice, const std::vector<KernelRecord>& kernels,
                   const SolveReport& report) {
  const double site_iterations = double(lattice.half_volume()) * report.iterations;
  row.bytes_per_site = 0;
  for (const KernelRecord& kernel : kernels) {
    row.bytes_per_site += kernel.bytes_per_site * double(kernel.sites) / site_iterations;
    if (is_hop(kernel)) row.isa = kernel.isa;
  }
  row.flops_per_site = report.flops / site_iterations;
}

void measure(const Bench& bench, const EvenOddSystem& system, const SolverEntry& entry) {
  const GaugeOperator& a = system.reduced();
  Field gaussian(FieldDesc::spinor(bench.lattice, Subset::Even, Precision::Double, bench.backend));
  fill_gaussian(gaussian, 3);
  Field b(a.field_desc()), x(a.field_desc());
  convert(b, gaussian);
  const auto solver = make_method(entry, {a}, {});
  const auto before = kernel_records();
  const SolveReport report = solver->solve(x, b, {0, iterations});
  Row row = bench.row(entry.name, a.form().precision);
  row.reconstruct = int(a.form().reconstruct);
  row.temporal_gauge = a.form().temporal_gauge;
  const std::vector<KernelRecord> kernels = kernel_records_since(before);
  count_traffic(row, bench.lattice, kernels, report);
  const double apply = apply_seconds(bench, a, gaussian);
  row.traffic_seconds = traffic_seconds(kernels, apply, bench.memory, report.iterations);
  row.operator_gflops = a.flops() / double(bench.lattice.half_volume()) * double(row.sites) / apply * 1e-9;
  row.seconds = bench.time([&] { solver->solve(x, b, {0, iterations}); }) / report.iterations;
  bench.add(row);
}

}  // namespace

void measure_solver(const Bench& bench) {
  const auto gauge = std::make_shared<const GaugeStore>(bench.lattice, GaugeStart::hot(5), bench.backend);
  const EvenOddSystem outer(
      std::make_shared<const WilsonOperator>(gauge, WilsonParameters{.mass = 0.1}, OperatorForm{}));
  for (const SolverEntry& entry : solver_registry()) {
    if (entry.name == "multigrid") continue;  // its iterations are those of gcr but for the preconditioner
    for (Precision precision : bench.precisions()) {
      for (Reconstruct reconstruct : bench.reconstructs()) {
        for (const bool temporal_gauge : {false, true}) {
          const auto system = outer.converted({precision, reconstruct, temporal_gauge});
          measure(bench, dynamic_cast<const EvenOddSystem&>(*system), entry);
        }
      }
    }
  }
}

}  // namespace quadrille::bench
