#include "modules/block_dft/tasks/multiply_task.h"

#include "core/backend/of_backend.h"
#include "core/comm/agreement.h"
#include "core/simd/isa.h"
#include "core/system/atomic_file.h"
#include "core/system/csv.h"
#include "core/system/log.h"
#include "core/system/memory.h"
#include "core/system/thread_count.h"
#include "modules/block_dft/device.h"
#include "modules/block_dft/matrix/random_blocks.h"
#include "modules/block_dft/tasks/matrix_inputs.h"
#include "modules/block_dft/tasks/multiply_study.h"
#include "modules/shared/plugin/parameters.h"
#include "modules/shared/study/study_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

namespace quadrille::block_dft {
namespace {

using namespace parameter;
using Json = nlohmann::ordered_json;

template <class Call>
auto blamed_on(const char* parameter, Call call) {
  try {
    return call();
  } catch (const Error& error) {
    const quadrille_status code =
        error.code() == ErrorCode::unsupported ? QUADRILLE_UNSUPPORTED : QUADRILLE_INVALID_INPUT;
    TaskContext::fail(code, error.message(), parameter);
  }
}

std::vector<Driver> drivers_of(const TaskContext& context) {
  std::vector<Driver> out;
  for (const std::string& name : context.texts("drivers")) {
    out.push_back(blamed_on("drivers", [&] { return driver_named(name); }));
  }
  return out;
}

std::vector<std::int32_t> kinds_of(const TaskContext& context) {
  const std::vector<std::int64_t> given = context.integers("block_sizes");
  return {given.begin(), given.end()};
}

constexpr double most_blocks = 1e6;  // along a side

/// One product that is measured.
struct Case {
  std::vector<std::int32_t> kinds{};  ///< sizes of blocks
  double blocks = 1;                  ///< as a multiple of m, n, k: sizes alone are in matrices of about as many rows
  double occupation = 0.1;
  bool single = false;
  int threads = 1;
  bool on_gpu = false;
};

std::int32_t blocks_along(const TaskContext& context, const char* name, const Case& one) {
  const double given = double(context.integer(context.has(name) ? name : "m"));
  return std::int32_t(std::lround(given * one.blocks));
}

StudyProblem problem_of(const TaskContext& context, const std::shared_ptr<const MatrixGrid>& grid, const Case& one) {
  const std::uint64_t seed = std::uint64_t(context.integer("seed"));
  const auto sizes = [&](const char* name, std::uint64_t which) {
    return random_sizes(blocks_along(context, name, one), one.kinds, seed + which).on(grid);
  };
  StudyProblem problem;
  problem.symmetric = context.boolean("symmetric");
  problem.m = sizes("m", 0);
  problem.n = problem.symmetric ? problem.m : sizes("n", 1);
  problem.k = problem.symmetric ? problem.m : sizes("k", 2);
  problem.occupation = one.occupation;
  problem.decay = context.real("decay");
  problem.eps = context.real("eps");
  problem.transpose = context.boolean("transpose");
  problem.accumulate = context.boolean("accumulate");
  problem.single = one.single;
  problem.seed = seed;
  return problem;
}

/// `link`: of a GPU that matrices in pinned memory are sent to.
Json row_json(const StudyProblem& p, const StudyRow& row, const Case& one, const std::optional<DeviceLinkRates>& link) {
  const double rate = row.report.flops / row.seconds * 1e-9;
  const double link_seconds =
      link ? std::max(row.report.bytes_sent / link->up, row.report.bytes_received / link->down) : 0;
  return {{"precision", p.single    ? "single"
                        : row.mixed ? "mixed"
                                    : "double"},
          {"driver", one.on_gpu ? "cuda" : to_string(row.driver)},
          {"block_size", one.kinds.size() == 1 ? Json(one.kinds[0]) : Json()},
          {"threads", one.threads},
          {"rows", p.m.total()},
          {"columns", p.n.total()},
          {"inner", p.k.total()},
          {"probability", one.occupation},
          {"occupation", row.a_occupation},
          {"occupation_of_c", row.c_occupation},
          {"seconds", row.seconds},
          {"shortest_seconds", row.shortest_seconds},
          {"longest_seconds", row.longest_seconds},
          {"gflops", rate},
          {"flops", row.report.flops},
          {"products", row.report.products},
          {"skipped", row.report.skipped},
          {"single_flops", row.report.single_flops},
          {"dense", row.report.dense},
          {"filtered_blocks", row.report.filtered_blocks},
          {"index_seconds", row.report.index_seconds},
          {"product_seconds", row.report.product_seconds},
          {"exchange_seconds", known(p.m.grid() != nullptr, row.report.exchange_seconds)},
          {"bytes", row.bytes},
          {"transfer_seconds", known(one.on_gpu && !link, row.transfer_seconds)},
          {"parts", known(one.on_gpu, row.report.parts)},
          {"link_seconds", known(link.has_value(), link_seconds)},
          {"device_seconds", known(link.has_value(), row.device_seconds)},
          {"share_of_bound", known(link.has_value(), std::max(link_seconds, row.device_seconds) / row.seconds)},
          {"flops_per_byte", known(row.product_bytes > 0, row.report.flops / row.product_bytes)},
          {"bound", row.report.bound},
          {"error", known(row.error.has_value(), row.error.value_or(0))},
          {"dense_seconds", known(row.dense_seconds.has_value(), row.dense_seconds.value_or(0))}};
}

constexpr const char* precisions[] = {"double", "single", "both", "mixed", nullptr};
constexpr quadrille_parameter number = integer("size", nullptr, nullptr, within(1, 4096));
constexpr quadrille_parameter share = real("occupation", nullptr, nullptr, above_and_up_to(0, 1));
constexpr const char* drivers[] = {"automatic", "own", "blas", "xsmm", nullptr};
constexpr quadrille_parameter thread_count = integer("threads", nullptr, nullptr, within(1, most_threads));
constexpr quadrille_parameter driver = choice("driver", nullptr, nullptr, drivers);

/// What a GPU's memories and its link to the host give, in bytes per second.
Json memory_json(bool on_gpu, const std::optional<DeviceLinkRates>& link) {
  if (!on_gpu) return nullptr;
  const DeviceMemoryRates rates = with_cuda<DeviceMemoryRates>([](auto) { return device_memory_rates(); });
  Json out = {{"device", rates.device}, {"cache", rates.cache}};
  if (link) out.update({{"up", link->up}, {"down", link->down}});
  return out;
}

constexpr const char* places[] = {"device", "pinned", nullptr};

}  // namespace

const quadrille_parameter multiply_parameters[multiply_parameter_count] = {
    integer("m", "blocks of rows of A and C", "100", within(1, most_blocks)),
    integer("n", "blocks of columns of B and C; default: m", nullptr, within(1, most_blocks)),
    integer("k", "blocks of columns of A and rows of B; default: m", nullptr, within(1, most_blocks)),
    list("block_sizes", "sizes of the blocks of rows and columns, each drawn at random from these", "[23]", number),
    boolean("each_size",
            "measure each of block_sizes alone; m, n and k count blocks of the largest, and smaller ones are in "
            "matrices of as many rows",
            "false"),
    list("occupations", "fractions of the blocks of A and B that are present, drawn at random; one product for each",
         "[0.1, 0.25, 0.5]", share),
    real("decay", "elements of block (i, j) are random numbers in [-1, 1) times exp(-decay |i - j|)", "0", at_least(0)),
    boolean("symmetric", "compute A^2 of a symmetric A instead of A B: only the upper half of C is computed", "false"),
    boolean("transpose", "A is stored as its transpose", "false"),
    boolean("accumulate", "C = A B + C, with a random C of the same occupation as A and B", "false"),
    choice("precision",
           "of elements and sums; both: double and single; mixed: double, with products in single where eps allows it",
           "double", precisions),
    list("drivers", "how blocks are multiplied: automatic, own, blas (OpenBLAS), xsmm (libxsmm, if the build has it)",
         "[automatic]", driver),
    list("threads",
         "numbers of threads, one product for each; default: those of the job. On a GPU the CPU's products with these, "
         "and the GPU's",
         nullptr, thread_count),
    real("eps",
         "threshold of the filter: it changes every block of C by less than this, and removes blocks with norms below "
         "it; 0: no filter",
         "0", at_least(0)),
    boolean("check", "measure the error due to eps", "false"),
    boolean("dense", "also measure the dense product by OpenBLAS", "false"),
    integer("repeats", "times that each product is computed, with the drivers taking turns; medians are reported", "5",
            within(1, 1000)),
    integer("seed", "of block sizes, places and elements", "1", within(0, 9e15)),
    choice(
        "memory",
        "where A, B and C of a product on a GPU are: device, in its memory; pinned, in pinned memory of the host, from "
        "and to which panels are copied while others are multiplied",
        "device", places),
    matrix_input::grid,
    csv("block_multiply.csv")};

namespace {

/// Of the matrices.
void check_sizes(const TaskContext& context) {
  for (const char* name : {"n", "k"}) {
    if (!context.boolean("symmetric") || !context.has(name) || context.integer(name) == context.integer("m")) continue;
    TaskContext::fail(QUADRILLE_INVALID_INPUT, "a symmetric matrix has as many blocks of columns as of rows", name);
  }
  const std::vector<std::int32_t> kinds = kinds_of(context);
  const auto [smallest, largest] = std::minmax_element(kinds.begin(), kinds.end());
  for (const char* name : {"m", "n", "k"}) {
    if (!context.boolean("each_size") || !context.has(name)) continue;
    const double most = double(context.integer(name)) * *largest / *smallest;
    if (most <= most_blocks) continue;
    TaskContext::fail(QUADRILLE_INVALID_INPUT,
                      fmt::format("with each_size there are {:g} blocks of {} along a side: at most {:g} can be", most,
                                  *smallest, most_blocks),
                      name);
  }
}

}  // namespace

void check_multiply(const TaskContext& context) {
  drivers_of(context);
  if (context.text("precision") == "mixed" && context.real("eps") == 0) {
    TaskContext::fail(QUADRILLE_INVALID_INPUT, "mixed precision needs an eps above 0: otherwise nothing may be rounded",
                      "precision");
  }
  check_sizes(context);
  if (context.text("memory") == "pinned" && context.backend() == "cpu") {
    TaskContext::fail(QUADRILLE_INVALID_INPUT, "pinned is for products on a GPU: leave it out, or use --backend cuda",
                      "memory");
  }
  if (!on_gpu(context)) return;
  const std::string precision = context.text("precision");
  if (precision != "double" && precision != "mixed") {
    TaskContext::fail(QUADRILLE_UNSUPPORTED,
                      "matrices on a GPU are in double precision, products in double or mixed: use --backend cpu",
                      "precision");
  }
  if (!context.integers("threads").empty()) return;  // the CPU's products are measured, too
  if (context.texts("drivers") != std::vector<std::string>{"automatic"}) {
    TaskContext::fail(QUADRILLE_INVALID_INPUT,
                      "drivers belong to the CPU: leave them out, or give threads for its products", "drivers");
  }
  if (context.boolean("dense")) {
    TaskContext::fail(QUADRILLE_INVALID_INPUT,
                      "OpenBLAS belongs to the CPU: leave it out, or give threads for its products", "dense");
  }
}

namespace {

StudyOptions options_of(const TaskContext& context, bool on_ranks) {
  StudyOptions options;
  options.drivers = drivers_of(context);
  options.repeats = int(context.integer("repeats"));
  options.check = context.boolean("check");
  options.dense = context.boolean("dense");
  options.on_gpu = on_gpu(context);
  options.pinned = context.text("memory") == "pinned";
  options.mixed = context.text("precision") == "mixed";
  if (on_ranks && options.dense) {
    TaskContext::fail(QUADRILLE_INVALID_INPUT, "OpenBLAS multiplies whole matrices on one rank: leave it out", "dense");
  }
  if (options.pinned && on_ranks) {
    TaskContext::fail(QUADRILLE_UNSUPPORTED, "products of matrices in pinned memory are made on one rank: leave it out",
                      "memory");
  }
  return options;
}

std::vector<bool> singles_of(const TaskContext& context) {
  const std::string precision = context.text("precision");
  if (precision == "both") return {false, true};
  return {precision == "single"};
}

/// In the order of the rows.
std::vector<Case> cases_of(const TaskContext& context) {
  const std::vector<std::int32_t> kinds = kinds_of(context);
  const double largest = *std::max_element(kinds.begin(), kinds.end());
  const bool alone = context.boolean("each_size");
  const bool gpu = on_gpu(context);
  std::vector<std::pair<int, bool>> where;  // threads, on a GPU
  for (const std::int64_t count : context.integers("threads")) where.emplace_back(int(count), false);
  if (gpu || where.empty()) where.emplace_back(context.threads(), gpu);
  std::vector<Case> out;
  for (std::size_t k = 0; k < (alone ? kinds.size() : 1); ++k) {
    for (const double occupation : context.reals("occupations")) {
      for (const bool single : singles_of(context)) {
        for (const auto& [threads, there] : where) {
          out.push_back({.kinds = alone ? std::vector{kinds[k]} : kinds,
                         .blocks = alone ? largest / kinds[k] : 1,
                         .occupation = occupation,
                         .single = single,
                         .threads = threads,
                         .on_gpu = there});
        }
      }
    }
  }
  return out;
}

std::string title_of(const Case& one) {
  return fmt::format("blocks of {}, occupation {:g}, {}{}", fmt::join(one.kinds, ", "), one.occupation,
                     one.single ? "single" : "double",
                     one.on_gpu ? std::string(", on the GPU") : fmt::format(", threads: {}", one.threads));
}

/// Throws NotEnoughMemory unless the host has room for A and B, and, without a filter, for C too.
void require_memory_for(const TaskContext& context, const MatrixGrid* grid, const Case& one) {
  const double occupation = one.occupation;
  const double size = std::accumulate(one.kinds.begin(), one.kinds.end(), 0.0) / double(one.kinds.size());
  const bool symmetric = context.boolean("symmetric");
  const double m = blocks_along(context, "m", one), n = symmetric ? m : blocks_along(context, "n", one),
               k = symmetric ? m : blocks_along(context, "k", one);
  const double block = size * size * (one.single ? sizeof(float) : sizeof(double)) + sizeof(std::int32_t);
  const double of_c = 1 - std::pow(1 - occupation * occupation, k);
  double blocks = symmetric ? occupation * m * m / 2 : occupation * (m * k + k * n);
  if (context.real("eps") == 0) blocks += of_c * m * n / (symmetric ? 2 : 1);
  if (context.boolean("accumulate")) blocks += occupation * m * n;
  const int ranks = grid == nullptr ? 1 : grid->rows() * grid->columns();
  require_memory(blocks * block / ranks,
                 fmt::format("the product of matrices of {:g} x {:g} and {:g} x {:g} blocks with "
                             "occupation {:g}",
                             m, k, k, n, occupation));
}

}  // namespace

void run_multiply(const TaskContext& context) {
  check_multiply(context);
  const std::shared_ptr<const MatrixGrid> grid = grid_of(context);
  StudyOptions options = options_of(context, grid != nullptr);
  const bool gpu = options.on_gpu, pinned = options.pinned, dense = options.dense;
  std::optional<DeviceLinkRates> link;
  if (pinned) link = with_cuda<DeviceLinkRates>([](auto) { return device_link_rates(); });
  const std::vector<Case> cases = cases_of(context);
  all_or_none(context.ranks(), [&] {
    for (const Case& one : cases) require_memory_for(context, grid.get(), one);
  });
  Json rows = Json::array();
  for (std::size_t number = 0; number < cases.size(); ++number) {
    const Case& one = cases[number];
    const CallThreads threads(one.threads);
    options.on_gpu = one.on_gpu;
    options.pinned = pinned && one.on_gpu;
    options.dense = dense && !one.on_gpu;
    const StudyProblem problem = problem_of(context, grid, one);
    const std::string what = title_of(one);
    const auto progress = [&](int done, int of) {
      context.progress_or_stop(what, (double(number) + double(done) / of) / double(cases.size()));
    };
    for (const StudyRow& row : measure_products(problem, options, progress)) {
      rows.push_back(row_json(problem, row, one, one.on_gpu ? link : std::nullopt));
      log().info("{}: {}, {}: {:.3g} s, {:.4g} GFLOP/s, {:.3g} skipped", context.task_name(), what,
                 (one.on_gpu ? "cuda" : to_string(row.driver)) + (row.mixed ? ", mixed" : ""), row.seconds,
                 row.report.flops / row.seconds * 1e-9, double(row.report.skipped));
    }
  }
  if (gpu) with_cuda([&](auto) { release_windows(grid); });
  report_study(context, "block_products",
               {{"memory", memory_json(gpu, link)},
                {"backend", gpu ? "cuda" : "cpu"},
                {"threads", context.threads()},
                {"grid", grid ? Json{grid->rows(), grid->columns()} : Json{1, 1}},
                {"isa", to_string(active_isa())},
                {"block_sizes", kinds_of(context)},
                {"eps", context.real("eps")},
                {"symmetric", context.boolean("symmetric")},
                {"repeats", options.repeats}},
               rows);
}

}  // namespace quadrille::block_dft
