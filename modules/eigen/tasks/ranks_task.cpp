#include "modules/eigen/tasks/ranks_task.h"

#include "core/comm/agreement.h"
#include "core/system/log.h"
#include "core/system/memory.h"
#include "modules/eigen/ranks/solve_on_ranks.h"
#include "modules/eigen/ranks/spread.h"
#include "modules/eigen/tasks/request.h"
#include "modules/eigen/tasks/results.h"
#include "modules/eigen/tasks/spread_input.h"
#include "modules/shared/study/take_turns.h"

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace quadrille::eigen {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
void solve_request(const TaskContext& context, const Request& request, const SpreadLibrary& library) {
  const Communicator& ranks = context.ranks();
  const std::int64_t n = request.head.n;
  const Layout layout = layout_for(n, ranks.size());
  const bool vectors = request.fraction.kind() != Fraction::Kind::none, checked = context.boolean("check") && vectors,
             generalized = request.b.has_value();
  const std::unique_ptr<SpreadSteps<T>> steps = library.steps<T>(layout);
  const double bytes = bytes_on_rank(layout, *steps, request.fraction, generalized, checked);
  log().info("{}: {} rows, {}{}: {}, {} x {} ranks, blocks of {}, up to {} of memory for each", context.task_name(), n,
             is_complex<T> ? "complex" : "real", generalized ? ", generalized" : "", library.name(), layout.rows,
             layout.columns, layout.block, bytes_text(bytes));
  require_memory_of_ranks(ranks, library, bytes, problem_text<T>(n, generalized));
  std::vector<T> a = blamed("a", [&] { return read_spread<T>(ranks, layout, request.a); }), b, a_kept, b_kept;
  if (generalized) b = blamed("b", [&] { return read_spread<T>(ranks, layout, *request.b); });
  all_or_none(ranks, [&] {
    if (!checked) return;
    a_kept = a;
    b_kept = b;
  });
  const auto show = [&](const std::string& phase, double fraction) { context.progress_or_stop(phase, fraction); };
  const double began = now();
  std::optional<SpreadFactor<T>> factor;
  if (generalized) {
    show(phase::cholesky, 0);
    factor = blamed("b", [&] { return factor_on_ranks(ranks, layout, *steps, std::move(b)); });
  }
  const auto solve = [&] {
    return solve_on_ranks(
        SpreadProblem<T>{ranks, layout, *steps, std::move(a), factor ? &*factor : nullptr, request.fraction, show});
  };
  SpreadPairs<T> found = request.fraction.kind() == Fraction::Kind::interval ? blamed("vectors", solve) : solve();
  if (factor) found.pairs.phases.insert(found.pairs.phases.begin(), factor->made);
  factor.reset();
  const double seconds = now() - began;
  const Pairs<T>& pairs = found.pairs;
  Json out = results_of(context, pairs, generalized, vectors ? pairs.range.count : 0, bytes, seconds);
  out.update({{"library", library.name()}, {"grid", {layout.rows, layout.columns}}, {"block", layout.block}});
  if (checked) {
    const Accuracy accuracy = check_on_ranks(ranks, layout, *steps, a_kept, generalized ? &b_kept : nullptr, found);
    out.update({{"residual", accuracy.residual}, {"orthogonality", accuracy.orthogonality}});
  }
  std::function<std::vector<T>(IndexRange)> panel;
  if (vectors) {
    panel = [&](IndexRange columns) { return columns_on_first(ranks, layout, found.vectors.data(), columns); };
  }
  save(context, pairs, panel);
  tell(context, pairs, seconds);
  context.result(out.dump());
}

}  // namespace

void run_on_ranks(const TaskContext& context) {
  if (context.backend() == "cuda") {
    TaskContext::fail(QUADRILLE_UNSUPPORTED,
                      "the task eigen takes one rank on a GPU: start it without mpirun, or use --backend cpu");
  }
  if (context.integer("refine") > 0) {
    TaskContext::fail(QUADRILLE_UNSUPPORTED, "pairs are refined on one rank: start it without mpirun", "refine");
  }
  const Communicator& ranks = context.ranks();
  const std::unique_ptr<SpreadLibrary> library = load_spread_library(ranks, context.text("library"));
  const Request request = request_of(context, true, ranks);
  request.head.complex ? solve_request<std::complex<double>>(context, request, *library)
                       : solve_request<double>(context, request, *library);
}

}  // namespace quadrille::eigen
