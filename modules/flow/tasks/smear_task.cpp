#include "modules/flow/tasks/smear_task.h"

#include "core/system/log.h"
#include "modules/flow/smearing.h"
#include "modules/shared/plugin/parameters.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <array>
#include <string>

namespace quadrille::flow {

namespace {

using namespace parameter;
using Json = nlohmann::ordered_json;

struct SmearingPlan {
  bool stout;
  double strength;  ///< rho or alpha
  int steps;
  unsigned directions;

  explicit SmearingPlan(const TaskContext& context)
      : stout(context.text("type") == "stout"),
        strength(context.real(stout ? "rho" : "alpha")),
        steps(int(context.integer("steps"))),
        directions(context.text("directions") == "spatial" ? spatial_directions : all_directions) {}
};

GaugeStore smeared_as(const GaugeStore& links, const SmearingPlan& plan) {
  if (plan.stout) return smeared(links, StoutSmearing{plan.strength, plan.steps, plan.directions});
  return smeared(links, ApeSmearing{plan.strength, plan.steps, plan.directions});
}

Json observables_json(const GaugeObservables& seen) {
  Json planes;
  for (std::size_t k = 0; k < plane_names.size(); ++k) planes[plane_names[k]] = seen.planes[k];
  return {{"plaquette", seen.plaquette}, {"planes", planes}, {"link_trace", seen.link_trace}};
}

constexpr const char* types[] = {"stout", "ape", nullptr};
constexpr const char* precisions_of_files[] = {"single", "double", nullptr};
constexpr const char* direction_sets[] = {"all", "spatial", nullptr};
constexpr quadrille_parameter saved_links[] = {
    required(file_out("file", "name of the file")),
    choice("precision", "precision of the file", "double", precisions_of_files)};

}  // namespace

constexpr quadrille_parameter smear_parameters[smear_parameter_count] = {
    required(choice("type",
                    "stout: exp(rho P([sum of staples] U^+)) U, P the traceless anti-Hermitian part; ape: the matrix W "
                    "of SU(3) with the largest Re tr(W V^+), V = (1 - alpha) U + alpha / n [sum of the n staples]",
                    nullptr, types)),
    real("rho", "weight of a staple in stout smearing", nullptr, within(0, 0.25)),
    real("alpha", "weight of the staples in APE smearing, n / (n + c) where V = c U + [sum of staples] is meant",
         nullptr, within(0, 1)),
    integer("steps", "how often", "1", within(1, 10000)),
    choice("directions", "links that are smeared, by staples in planes of these directions", "all", direction_sets),
    group("save", "write the smeared links as ILDG", saved_links, "file")};

void check_smear(const TaskContext& context) {
  const bool stout = context.text("type") == "stout";
  const char *needed = stout ? "rho" : "alpha", *idle = stout ? "alpha" : "rho";
  if (!context.has(needed)) {
    TaskContext::fail(QUADRILLE_INVALID_INPUT, fmt::format("type {} needs '{}'", context.text("type"), needed), "type");
  }
  if (context.has(idle)) {
    TaskContext::fail(QUADRILLE_INVALID_INPUT,
                      fmt::format("type {} has no '{}': it takes '{}'", context.text("type"), idle, needed), idle);
  }
}

void run_smear(const TaskContext& context) {
  const SmearingPlan plan(context);
  const GaugeStore& before = context.links();
  const GaugeStore after = smeared_as(before, plan);
  const GaugeObservables seen = after.observables();
  Json out = {{"type", context.text("type")},
              {plan.stout ? "rho" : "alpha", plan.strength},
              {"steps", plan.steps},
              {"directions", context.text("directions")}};
  out.update(observables_json(seen));
  if (context.has("save")) {
    Json origin = out;
    for (const char* measured : {"plaquette", "planes", "link_trace"}) origin.erase(measured);
    origin["smearing"] = origin["type"];
    origin.erase("type");
    context.describe_links(origin.dump());
    context.write_links(context.text("save.file"), after, context.text("save.precision") == "single" ? 32 : 64);
    out["files"] = {context.text("save.file")};
  }
  context.set_links(after);
  context.result_in("smearings", out.dump());
}

}  // namespace quadrille::flow
