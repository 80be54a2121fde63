#include "input/bench/bench.h"

#include "core/comm/agreement.h"
#include "core/error.h"
#include "core/simd/isa.h"
#include "core/system/atomic_file.h"
#include "core/system/thread_count.h"
#include "input/bench/accuracy.h"
#include "input/bench/measurements.h"

#include <fmt/format.h>
#include <omp.h>

#include <ostream>

namespace quadrille {
namespace bench {
namespace {

using Json = nlohmann::ordered_json;

std::vector<Precision> chosen_precisions(const BenchOptions& options) {
  if (options.precision) return {*options.precision};
  return {Precision::Double, Precision::Single, Precision::Half};
}

std::vector<Reconstruct> chosen_reconstructs(const BenchOptions& options) {
  if (options.reconstruct) return {*options.reconstruct};
  return {Reconstruct::R18, Reconstruct::R12, Reconstruct::R8};
}

std::vector<OperatorForm> chosen_forms(const BenchOptions& options) {
  std::vector<OperatorForm> forms;
  for (Precision precision : chosen_precisions(options)) {
    for (Reconstruct reconstruct : chosen_reconstructs(options)) {
      for (bool temporal_gauge : {false, true}) forms.push_back({precision, reconstruct, temporal_gauge});
    }
  }
  return forms;
}

constexpr std::uint64_t accuracy_seed = 20091116;

std::vector<Dims> lattices(const BenchOptions& options, std::vector<Dims> usual) {
  return options.dims.empty() ? usual : options.dims;
}

/// A machine shared with others may change its mind while the kernels run, and the fractions mean little then.
void warn_of_other_rates(const MemoryRates& before, const MemoryRates& after, std::ostream& out) {
  const double change = after.read / before.read;
  if (change > 0.9 && change < 1.1) return;
  out << fmt::format(
      "the memory's read rate changed from {:.2f} to {:.2f} GB/s during the run: the fractions refer to the first\n",
      before.read, after.read);
}

/// Of all ranks together, which measure at the same time.
MemoryRates rates_of_all(const BenchOptions& options, Backend& backend, std::int64_t bytes) {
  const std::shared_ptr<const Communicator> all = options.grid.all();
  all->barrier();
  const MemoryRates mine = memory_rates(backend, bytes);
  std::array<double, 3> rates{mine.read, mine.copy, mine.triad};
  all->sum(rates.data(), rates.size());
  return {rates[0], rates[1], rates[2]};
}

/// Measures the memory, then calls measure() for each lattice (none: the memory is all).
Json timed(const BenchOptions& options, std::ostream& out, void (*measure)(const Bench& bench)) {
  const std::int64_t memory = std::int64_t(options.memory_mib) << 20;
  Table table;
  Backend& backend = options.grid.backend(options.backend);
  table.memory = rates_of_all(options, backend, memory);
  out << text(table.memory) << std::flush;
  if (measure == nullptr) return json(table);
  out << heading();
  for (const Dims& dims : lattices(options, {{8, 8, 8, 16}, {16, 16, 16, 32}, {24, 24, 24, 48}})) {
    const Lattice lattice(dims, options.grid.for_lattice(dims));
    measure({lattice, backend, options, table.memory, [&](const Row& row) {
               table.rows.push_back(row);
               out << text(table, row) << std::flush;
             }});
  }
  warn_of_other_rates(table.memory, rates_of_all(options, backend, memory), out);
  return json(table);
}

Json accuracy(const BenchOptions& options, std::ostream& out) {
  Json rows = Json::array();
  out << accuracy_heading();
  for (const Dims& dims : lattices(options, {{8, 8, 8, 16}})) {
    const Lattice lattice(dims);
    Backend& backend = options.grid.backend(options.backend);
    const AccuracyStudy study(lattice, accuracy_seed, backend);
    for (const OperatorForm& form : chosen_forms(options)) {
      const AccuracyStudy::Product product = study.product(form);
      const AccuracyRow row{
          form, dims, backend.name(), product.isa, omp_get_max_threads(), {product.vector, study.reference()}};
      rows.push_back(json(row));
      out << text(row) << std::flush;
    }
  }
  return {{"accuracy", rows}};
}

struct Entry {
  const char* name;
  const char* help;
  /// Prints a table; gives what the JSON file is to hold.
  Json (*run)(const BenchOptions& options, std::ostream& out);
};

template <void (*measure)(const Bench&)>
Json timed_entry(const BenchOptions& options, std::ostream& out) {
  return timed(options, out, measure);
}

constexpr Entry entries[] = {
    {"memory", "memory bandwidth: read, copy, triad", &timed_entry<nullptr>},
    {"dslash", "hopping term on one parity, with changing fields", &timed_entry<&measure_dslash>},
    {"operator", "even-odd preconditioned operators: Wilson, twisted mass, clover, both",
     &timed_entry<&measure_operator>},
    {"dslash_same", "hopping term on one parity, with the same fields in each call",
     &timed_entry<&measure_dslash_same>},
    {"dslash_full", "hopping term on both parities, with the same fields in each call",
     &timed_entry<&measure_dslash_full>},
    {"blas", "field algebra of the solvers", &timed_entry<&measure_blas>},
    {"solver", "one iteration of each Krylov method", &timed_entry<&measure_solver>},
    {"generate", "update of all links in pure gauge theory, by heatbath and by overrelaxation",
     &timed_entry<&measure_generate>},
    {"links", "a host code's links through the C API, against a memcpy", &timed_entry<&measure_links>},
    {"accuracy", "errors of every form of the hopping term", &accuracy}};

/// What several ranks cannot do together in this version.
void require_ranks(const BenchOptions& options) {
  if (options.grid.size() == 1 || options.what != "accuracy") return;
  throw Error(ErrorCode::unsupported,
              fmt::format("bench {} runs on one rank only in this version: start it without mpirun", options.what));
}

void require_lists(const BenchOptions& options) {
  if (options.rhs == 1 || options.what == "dslash" || options.what == "operator") return;
  throw Error(
      ErrorCode::invalid_input,
      fmt::format("--rhs {} with bench {}: several right-hand sides are measured by bench dslash and bench operator",
                  options.rhs, options.what));
}

}  // namespace

std::vector<Precision> Bench::precisions() const { return chosen_precisions(options); }
std::vector<Reconstruct> Bench::reconstructs() const { return chosen_reconstructs(options); }

Row Bench::row(const std::string& kernel, Precision precision) const {
  Row row;
  row.kernel = kernel;
  row.precision = to_string(precision);
  row.parity = "one";
  row.dims = lattice.global_dims();
  row.sites = volume(lattice.global_dims()) / 2;
  row.grid = lattice.communicator().grid();
  row.backend = backend.name();
  row.isa = backend.architecture(backend.layout(lattice, precision), precision);
  row.threads = omp_get_max_threads();
  return row;
}

}  // namespace bench

std::vector<std::string> bench_names() {
  std::vector<std::string> names;
  for (const bench::Entry& entry : bench::entries) names.push_back(entry.name);
  return names;
}

std::vector<std::pair<std::string, std::string>> bench_help() {
  std::vector<std::pair<std::string, std::string>> out;
  for (const bench::Entry& entry : bench::entries) out.emplace_back(entry.name, entry.help);
  return out;
}

void run_bench(const BenchOptions& options, std::ostream& out) {
  bench::require_lists(options);
  for (const Dims& dims : options.dims) (void)options.grid.for_lattice(Lattice{dims}.global_dims());
  std::optional<AtomicFile> file;
  on_first_rank(*options.grid.all(), [&] {
    if (!options.json.empty()) file.emplace(options.json);
  });
  omp_set_num_threads(options.threads > 0 ? options.threads : default_threads());
  Backend& backend = options.grid.backend(options.backend);
  const UseLane on_its_device(backend, nullptr);
  bench::require_ranks(options);
  out << fmt::format("{} on the backend {}, {}, {} threads{}\n", options.what, backend.name(),
                     backend.host_memory() ? to_string(active_isa()) : backend.device(), omp_get_max_threads(),
                     options.grid.size() > 1 ? fmt::format(" on each of {} ranks", options.grid.size()) : "");
  for (const bench::Entry& entry : bench::entries) {
    if (entry.name != options.what) continue;
    const bench::Json results = entry.run(options, out);
    on_first_rank(*options.grid.all(), [&] {
      if (!file) return;
      file->write(results.dump(2) + "\n");
      file->commit();
    });
  }
}

}  // namespace quadrille
