#include "input/bench/bench.h"

#include "core/atomic_file.h"
#include "core/error.h"
#include "core/isa.h"
#include "input/bench/measurements.h"

#include <fmt/format.h>
#include <omp.h>

#include <ostream>

namespace quadrille {
namespace bench {
namespace {

struct Entry {
  const char* name;
  void (*measure)(const Bench& bench);
};

constexpr Entry entries[] = {{"dslash", &measure_dslash},
                             {"dslash_full", &measure_dslash_full},
                             {"blas", &measure_blas},
                             {"solver", &measure_solver}};

const std::vector<Dims> usual_lattices{{8, 8, 8, 16}, {16, 16, 16, 32}, {24, 24, 24, 48}};

void measure(const Entry& entry, const BenchOptions& options, Table& table, std::ostream& out) {
  out << heading();
  for (const Dims& dims : options.dims.empty() ? usual_lattices : options.dims) {
    const Lattice lattice(dims);
    entry.measure({lattice, find_backend(options.backend), options, [&](const Row& row) {
                     table.rows.push_back(row);
                     out << text(table, row) << std::flush;
                   }});
  }
}

}  // namespace

std::vector<Precision> Bench::precisions() const {
  if (options.precision) return {*options.precision};
  return {Precision::Double, Precision::Single, Precision::Half};
}

std::vector<Reconstruct> Bench::reconstructs() const {
  if (options.reconstruct) return {*options.reconstruct};
  return {Reconstruct::R18, Reconstruct::R12, Reconstruct::R8};
}

Row Bench::row(const std::string& kernel, Precision precision) const {
  Row row;
  row.kernel = kernel;
  row.precision = to_string(precision);
  row.parity = "one";
  row.dims = lattice.global_dims();
  row.sites = lattice.half_volume();
  row.backend = backend.name();
  row.isa = to_string(active_isa());
  row.threads = omp_get_max_threads();
  return row;
}

}  // namespace bench

std::vector<std::string> bench_names() {
  std::vector<std::string> names{"memory"};
  for (const bench::Entry& entry : bench::entries) names.push_back(entry.name);
  return names;
}

void run_bench(const BenchOptions& options, std::ostream& out) {
  for (const Dims& dims : options.dims) Lattice{dims};
  std::optional<AtomicFile> file;
  if (!options.json.empty()) file.emplace(options.json);
  if (options.threads > 0) omp_set_num_threads(options.threads);
  out << fmt::format("{} on the backend {}, {}, {} threads\n", options.what, find_backend(options.backend).name(),
                     to_string(active_isa()), omp_get_max_threads());
  bench::Table table;
  table.memory = bench::memory_rates();
  out << bench::text(table.memory) << std::flush;
  for (const bench::Entry& entry : bench::entries) {
    if (entry.name == options.what) bench::measure(entry, options, table, out);
  }
  if (!file) return;
  file->write(bench::json(table).dump(2) + "\n");
  file->commit();
}

}  // namespace quadrille
