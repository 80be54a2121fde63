#include "modules/eigen/tasks/ranks_task.h"

#include "core/backend/of_backend.h"
#include "core/comm/agreement.h"
#include "core/system/log.h"
#include "core/system/memory.h"
#include "modules/eigen/ranks/gpus.h"
#include "modules/eigen/ranks/solve_on_ranks.h"
#include "modules/eigen/ranks/spread.h"
#include "modules/eigen/tasks/request.h"
#include "modules/eigen/tasks/results.h"
#include "modules/eigen/tasks/spread_input.h"
#include "modules/shared/study/take_turns.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace quadrille::eigen {
namespace {

using Json = nlohmann::ordered_json;

/// How a problem is solved on ranks: on CPUs by a library.
template <class T>
class OnCpus {
 public:
  OnCpus(const Communicator& ranks, std::int64_t n, const SpreadLibrary& library)
      : ranks_(ranks), library_(library), layout_(layout_for(n, ranks.size())), steps_(library.steps<T>(layout_)) {}

  const Layout& layout() const { return layout_; }
  std::string name() const { return library_.name(); }
  SpreadProducts<T>& products() const { return *steps_; }
  /// Bytes of the host's memory for each rank.
  double bytes(const Fraction& fraction, bool generalized, bool check) const {
    return bytes_on_rank(layout_, *steps_, fraction, generalized, check);
  }
  void require(double bytes, const Fraction&, bool generalized) const {
    require_memory_of_ranks(ranks_, library_.ranks_of_host(), bytes, problem_text<T>(layout_.n, generalized));
  }
  Phase factor(std::vector<T>& b) {
    factor_ = factor_on_ranks(ranks_, layout_, *steps_, std::move(b));
    return factor_->made;
  }
  SpreadPairs<T> solve(std::vector<T>& a, const Fraction& fraction, const Progress& progress) const {
    return solve_on_ranks(
        SpreadProblem<T>{ranks_, layout_, *steps_, std::move(a), factor_ ? &*factor_ : nullptr, fraction, progress});
  }
  void drop_factor() { factor_.reset(); }
  void add_facts(Json&, const Fraction&, bool) const {}
  /// Whether matrices are gone when they have been used.
  static constexpr bool takes_over = true;

 private:
  const Communicator& ranks_;
  const SpreadLibrary& library_;
  Layout layout_;
  std::unique_ptr<SpreadSteps<T>> steps_;
  std::optional<SpreadFactor<T>> factor_;
};

/// On a GPU for each rank.
template <class T>
class OnGpus {
 public:
  OnGpus(const Communicator& ranks, std::int64_t n)
      : ranks_(ranks), layout_(columns_on_gpus(n, ranks.size())), products_(products_on_gpus<T>(ranks, layout_)) {}

  const Layout& layout() const { return layout_; }
  static std::string name() { return "CUDA"; }
  SpreadProducts<T>& products() const { return *products_; }
  double bytes(const Fraction& fraction, bool generalized, bool check) const {
    const double part = double(layout_.local_size(0)) * sizeof(T),
                 share = double((fraction.most(layout_.n) + ranks_.size() - 1) / ranks_.size()),
                 vectors = double(layout_.n) * share * sizeof(T);
    return (generalized ? 2 : 1) * part + std::max(part, (check ? (generalized ? 4 : 3) : 1) * vectors);
  }
  void require(double bytes, const Fraction& fraction, bool generalized) const {
    log().info("on each GPU: up to {}", bytes_text(bytes_on_gpu<T>(layout_, fraction, generalized)));
    require_memory_of_ranks(ranks_, gpu_ranks_of_host(ranks_), bytes, problem_text<T>(layout_.n, generalized));
    require_gpus<T>(ranks_, layout_, fraction, generalized);
  }
  Phase factor(std::vector<T>& b) {
    factor_.emplace(ranks_, layout_, b.data());
    return factor_->made();
  }
  SpreadPairs<T> solve(std::vector<T>& a, const Fraction& fraction, const Progress& progress) const {
    return solve_on_gpus(GpuProblem<T>{ranks_, layout_, a.data(), factor_ ? &*factor_ : nullptr, fraction, progress});
  }
  void drop_factor() { factor_.reset(); }
  void add_facts(Json& out, const Fraction& fraction, bool generalized) const {
    out.update({{"device_bytes", bytes_on_gpu<T>(layout_, fraction, generalized)}});
  }
  static constexpr bool takes_over = false;

 private:
  const Communicator& ranks_;
  Layout layout_;
  std::unique_ptr<SpreadProducts<T>> products_;
  std::optional<GpuFactor<T>> factor_;
};

template <class T, class Solver>
void solve_request(const TaskContext& context, const Request& request, Solver solver) {
  const Communicator& ranks = context.ranks();
  const std::int64_t n = request.head.n;
  const Layout& layout = solver.layout();
  const bool vectors = request.fraction.kind() != Fraction::Kind::none, checked = context.boolean("check") && vectors,
             generalized = request.b.has_value();
  const double bytes = solver.bytes(request.fraction, generalized, checked);
  log().info("{}: {} rows, {}{}: {}, {} x {} ranks, blocks of {}, up to {} of memory for each", context.task_name(), n,
             is_complex<T> ? "complex" : "real", generalized ? ", generalized" : "", solver.name(), layout.rows,
             layout.columns, layout.block, bytes_text(bytes));
  solver.require(bytes, request.fraction, generalized);
  std::vector<T> a = blamed("a", [&] { return read_spread<T>(ranks, layout, request.a); }), b, a_kept, b_kept;
  if (generalized) b = blamed("b", [&] { return read_spread<T>(ranks, layout, *request.b); });
  all_or_none(ranks, [&] {
    if (!checked || !Solver::takes_over) return;
    a_kept = a;
    b_kept = b;
  });
  const auto show = [&](const std::string& phase, double fraction) { context.progress_or_stop(phase, fraction); };
  const double began = now();
  std::optional<Phase> factored;
  if (generalized) {
    show(phase::cholesky, 0);
    factored = blamed("b", [&] { return solver.factor(b); });
  }
  const auto solve = [&] { return solver.solve(a, request.fraction, show); };
  SpreadPairs<T> found = request.fraction.kind() == Fraction::Kind::interval ? blamed("vectors", solve) : solve();
  if (factored) found.pairs.phases.insert(found.pairs.phases.begin(), *factored);
  solver.drop_factor();
  const double seconds = now() - began;
  const Pairs<T>& pairs = found.pairs;
  Json out = results_of(context, pairs, generalized, vectors ? pairs.range.count : 0, bytes, seconds);
  out.update({{"library", solver.name()}, {"grid", {layout.rows, layout.columns}}, {"block", layout.block}});
  solver.add_facts(out, request.fraction, generalized);
  if (checked) {
    const std::vector<T>&of_a = Solver::takes_over ? a_kept : a, &of_b = Solver::takes_over ? b_kept : b;
    const Accuracy accuracy =
        check_on_ranks(ranks, layout, solver.products(), of_a, generalized ? &of_b : nullptr, found);
    out.update({{"residual", accuracy.residual}, {"orthogonality", accuracy.orthogonality}});
  }
  std::function<std::vector<T>(IndexRange)> panel;
  if (vectors) {
    panel = [&](IndexRange columns) {
      return columns_on_first(ranks, found.layout, found.vectors.data(),
                              {columns.first - pairs.range.first + found.first, columns.count});
    };
  }
  save(context, pairs, panel);
  tell(context, pairs, seconds);
  context.result(out.dump());
}

template <class T>
void solve_with(const TaskContext& context, const Request& request) {
  const Communicator& ranks = context.ranks();
  if (context.backend() == "cuda") {
    return with_cuda([&](auto) { solve_request<T>(context, request, OnGpus<T>(ranks, request.head.n)); });
  }
  const std::unique_ptr<SpreadLibrary> library = load_spread_library(ranks, context.text("library"));
  solve_request<T>(context, request, OnCpus<T>(ranks, request.head.n, *library));
}

}  // namespace

void run_on_ranks(const TaskContext& context) {
  if (context.integer("refine") > 0) {
    TaskContext::fail(QUADRILLE_UNSUPPORTED, "pairs are refined on one rank: start it without mpirun", "refine");
  }
  if (context.backend() == "cuda" && context.text("library") != "auto") {
    TaskContext::fail(QUADRILLE_INVALID_INPUT, "names a library for CPUs: leave it out, or use --backend cpu",
                      "library");
  }
  const Request request = request_of(context, true, context.ranks());
  request.head.complex ? solve_with<std::complex<double>>(context, request) : solve_with<double>(context, request);
}

}  // namespace quadrille::eigen
