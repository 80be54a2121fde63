#include "modules/gauge_fixing/tasks/gauge_fix_task.h"

#include "core/system/log.h"
#include "modules/gauge_fixing/fixing.h"
#include "modules/shared/plugin/parameters.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <string>
#include <vector>

namespace quadrille::gauge_fixing {

namespace {

using namespace parameter;
using Json = nlohmann::ordered_json;

/// F and theta after each iteration, the first before all.
struct Relaxed {
  std::vector<double> functional, theta;
  bool converged = false;

  std::int64_t iterations() const { return std::int64_t(functional.size()) - 1; }
};

double finite(double theta) {
  if (!std::isfinite(theta)) {
    TaskContext::fail(QUADRILLE_NUMERICAL, "the links are not finite: start from links that are in SU(3)");
  }
  return theta;
}

/// Until theta is below the tolerance or the iterations are spent.
Relaxed relaxed(const TaskContext& context, GaugeFixing& fixing) {
  const double tolerance = context.real("tolerance"), omega = context.real("omega");
  const std::int64_t most = context.integer("max_iterations");
  const GaugeState start = fixing.measure();
  Relaxed seen{{start.functional}, {finite(start.theta)}, start.theta <= tolerance};
  while (!seen.converged && seen.iterations() < most) {
    const GaugeState now = fixing.iterate(omega);
    // This theta is that before the iteration: known from measure() for the first one.
    seen.theta.back() = finite(now.theta);
    seen.functional.push_back(now.functional);
    const bool last = now.theta <= tolerance || seen.iterations() == most;
    seen.theta.push_back(last ? fixing.measure().theta : now.theta);
    seen.converged = last && seen.theta.back() <= tolerance;
    context.progress_or_stop(
        fmt::format("theta {:.2e}, tolerance {:.0e}", seen.theta.back(), tolerance),
        std::min(1.0, std::log(seen.theta.back() / start.theta) / std::log(tolerance / start.theta)));
  }
  return seen;
}

constexpr const char* gauges[] = {"landau", "coulomb", nullptr};
constexpr const char* file_precisions[] = {"single", "double", nullptr};
constexpr quadrille_parameter saved_fixed[] = {required(file_out("file", "name of the file")),
                                               choice("precision", "precision of the file", "double", file_precisions)};

}  // namespace

constexpr quadrille_parameter gauge_fix_parameters[gauge_fix_parameter_count] = {
    required(
        choice("gauge", "landau: links of all directions; coulomb: of space, in every time slice", nullptr, gauges)),
    real("tolerance", "theta at which it ends, the average of tr D D^+ / 3, D the divergence of the gauge field",
         "1e-12", above(0)),
    integer("max_iterations", "iterations at most", "10000", within(1, 10000000)),
    real("omega", "overrelaxation: a site turns by 1 + omega (h - 1), made unitary, h its best turn", "1.9",
         within(1, 1.99)),
    group("save", "write the fixed links as ILDG", saved_fixed, "file")};

void run_gauge_fix(const TaskContext& context) {
  const bool landau = context.text("gauge") == "landau";
  GaugeFixing fixing(context.links(), landau ? Gauge::Landau : Gauge::Coulomb);
  const Relaxed seen = relaxed(context, fixing);
  const std::unique_ptr<GaugeStore> fixed = fixing.links();
  const GaugeObservables observed = fixed->observables();
  Json out = {{"gauge", context.text("gauge")},
              {"omega", context.real("omega")},
              {"tolerance", context.real("tolerance")},
              {"converged", seen.converged},
              {"iterations", seen.iterations()},
              {"functional", seen.functional.back()},
              {"theta", seen.theta.back()},
              {"plaquette", observed.plaquette},
              {"link_trace", observed.link_trace},
              {"history", {{"functional", seen.functional}, {"theta", seen.theta}}}};
  if (!seen.converged) {
    context.warn(
        fmt::format("{}: theta is {:.3g} after {} iterations, above the tolerance {:g}; max_iterations or "
                    "omega may be larger",
                    context.task_name(), seen.theta.back(), seen.iterations(), context.real("tolerance")));
  }
  if (context.has("save")) {
    const Json origin = {{"gauge_fixing", context.text("gauge")}, {"theta", seen.theta.back()}};
    context.describe_links(origin.dump());
    context.write_links(context.text("save.file"), *fixed, context.text("save.precision") == "single" ? 32 : 64);
    out["files"] = {context.text("save.file")};
  }
  context.set_links(*fixed);
  log().info("{}: {} gauge, F {:.10f}, theta {:.3g} after {} iterations", context.task_name(), context.text("gauge"),
             seen.functional.back(), seen.theta.back(), seen.iterations());
  context.result_in("gauge_fixings", out.dump());
}

}  // namespace quadrille::gauge_fixing
