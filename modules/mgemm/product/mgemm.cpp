#include "modules/mgemm/product/mgemm.h"

#include "core/backend/backend.h"
#include "core/backend/of_backend.h"
#include "core/error.h"
#include "modules/mgemm/choice/device_choice.h"
#include "modules/mgemm/choice/host_choice.h"
#include "modules/mgemm/device.h"
#include "modules/mgemm/product/blas.h"
#include "modules/mgemm/product/cleaver.h"
#include "modules/mgemm/product/split_product.h"
#include "modules/shared/dense/panel_plan.h"

#include <fmt/format.h>

#include <omp.h>
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace quadrille::mgemm {
namespace {

/// Under a cap as many tiles of floats are paid for, and no more threads than that multiply: the tiles' size must not
/// depend on the number of threads.
constexpr int capped_threads = 64;

/// How a split passes through a memory cap.
struct SplitPlan {
  PanelPlan panels;
  Tile tile;
  int threads;
  std::int64_t bytes;
};

/// Tiles get a quarter of the cap, lists of large elements what they need, panels the rest. Nothing when less than half
/// is left for panels, or not enough for any.
std::optional<SplitPlan> plan_split(const ProductShape& shape, std::int64_t large, std::int64_t cap) {
  PanelMemory memory;
  memory.a_bytes = memory.b_bytes = int(sizeof(float));
  memory.c_bytes = 0;
  const std::int64_t lists = large * large_element_bytes;
  const auto tiles = [](const Tile& tile, int threads) {
    return threads * tile.rows * tile.cols * std::int64_t(sizeof(float));
  };
  const int threads = omp_get_max_threads();
  if (cap == 0) {
    // As long as a slab of large elements: longer ones gain nothing, and cost the system more fresh pages.
    memory.max_k = large_slab;
    const PanelPlan panels = plan_panels(shape, memory);
    const Tile tile = choose_tile(shape.m, shape.n, std::numeric_limits<std::int64_t>::max());
    return SplitPlan{panels, tile, threads, panels.bytes(memory) + lists + tiles(tile, threads)};
  }
  const std::int64_t tile_numbers = cap / (4 * capped_threads * std::int64_t(sizeof(float)));
  const Tile tile = choose_tile(shape.m, shape.n, std::max<std::int64_t>(1, tile_numbers));
  const std::int64_t rest = lists + tiles(tile, capped_threads);
  memory.cap = cap - rest;
  if (memory.cap < cap / 2 || memory.cap < 2 * memory.a_bytes) return {};
  const PanelPlan panels = plan_panels(shape, memory);
  return SplitPlan{panels, tile, std::min(capped_threads, threads), panels.bytes(memory) + rest};
}

/// The product of finite operands, split at report.delta.
void multiply_split(const Operands<double>& o, const MgemmReport& report, const SplitPlan& plan, const Pause& pause) {
  const PanelPlan& panels = plan.panels;
  const OneBlasThread threads;
  SplitFactor a, b_turned;
  for (std::int64_t number = 0; number < panels.steps(); ++number) {
    if (pause) pause();
    const PanelStep s = panels.step(number);
    const DenseView<double> c = o.c.block(s.row, s.column, s.rows, s.columns);
    if (s.load_a) a.assign(o.a.block(s.row, s.depth, s.rows, s.depths), report.delta);
    if (s.load_b) b_turned.assign(o.b.block(s.depth, s.column, s.depths, s.columns).transposed(), report.delta);
    multiply_split(o.alpha, a, b_turned, s.begins_c ? o.beta : 1, c, report.depth, plan.tile, plan.threads);
  }
}

}  // namespace

void check_choices(const Cutoff& cutoff, const MgemmOptions& options) {
  const auto refuse = [](const std::string& message) { throw Error(ErrorCode::invalid_input, message); };
  if (cutoff.automatic && !(cutoff.target_error > 0)) {
    refuse(fmt::format("target error = {}: an automatic cutoff needs a target above 0", cutoff.target_error));
  }
  if (!cutoff.automatic && !(cutoff.delta >= 0)) refuse(fmt::format("delta = {}: it must be 0 or more", cutoff.delta));
  if (options.memory_cap < 0) refuse(fmt::format("memory cap = {}: it must be 0 or more", options.memory_cap));
  if (options.depth < 0) refuse(fmt::format("depth = {}: it must be 0 or more", options.depth));
  const bool device = options.backend != nullptr && !options.backend->host_memory();
  if (!device && options.small_form != SmallForm::automatic && options.small_form != SmallForm::single) {
    refuse(fmt::format("the form {} of the small product needs the backend cuda; the CPU has only single",
                       to_string(options.small_form)));
  }
}

MgemmReport mgemm(const Gemm<double>& gemm, const Cutoff& cutoff, const MgemmOptions& options) {
  const Operands<double> operands = check_arguments(gemm);
  check_choices(cutoff, options);
  if (options.backend != nullptr && !options.backend->host_memory()) {
    require_no_sample(cutoff);
    return with_cuda<MgemmReport>([&](auto) { return mgemm_through_device(gemm, cutoff, options); });
  }
  const LargestMagnitudes most = check_numbers(gemm);
  if (!gemm.has_product()) {
    if (gemm.m > 0 && gemm.n > 0) scale(operands.c, operands.beta);
    MgemmReport report;
    report.reason = "there is nothing to multiply";
    return report;
  }
  MgemmReport report = choose_on_host(operands, most, cutoff, options);
  if (report.form == MgemmForm::split) {
    const ProductShape shape{operands.m(), operands.n(), operands.k()};
    const std::optional<SplitPlan> plan = plan_split(shape, report.large_elements, options.memory_cap);
    if (plan) {
      report.panel_bytes = plan->bytes;
      multiply_split(operands, report, *plan, options.pause);
      return report;
    }
    report_double(fmt::format("large elements and tiles leave too little of a memory cap of {} bytes for panels",
                              options.memory_cap),
                  double_error_bound(gemm.k, most.a, most.b), report);
  }
  report.panel_bytes = multiply_panels(operands, options.memory_cap, options.pause).panel_bytes;
  return report;
}

std::string to_string(MgemmForm form) { return form == MgemmForm::split ? "split" : "plain double"; }

std::string to_string(Assurance assurance) { return name_of(assurance_names, assurance); }

}  // namespace quadrille::mgemm
