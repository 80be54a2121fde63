#include "modules/flow/tasks/smear_task.h"

#include "core/system/log.h"
#include "modules/flow/smearing.h"
#include "modules/shared/plugin/parameters.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace quadrille::flow {

namespace {

using namespace parameter;
using Json = nlohmann::ordered_json;

/// The parameters of a kind of smearing.
struct Strengths {
  const char* type;
  std::vector<const char*> names;
};
const std::vector<Strengths>& kinds() {
  static const std::vector<Strengths> all = {
      {"stout", {"rho"}}, {"ape", {"alpha"}}, {"hyp", {"alpha1", "alpha2", "alpha3"}}};
  return all;
}

struct SmearingPlan {
  std::string type;
  Json strengths;  ///< by name
  int steps;
  unsigned directions;

  explicit SmearingPlan(const TaskContext& context)
      : type(context.text("type")),
        steps(int(context.integer("steps"))),
        directions(context.text("directions") == "spatial" ? spatial_directions : all_directions) {
    for (const Strengths& kind : kinds()) {
      if (kind.type != type) continue;
      for (const char* name : kind.names) strengths[name] = strength(context, name);
    }
  }

 private:
  /// Those of HYP have values of their own where the job says nothing.
  static double strength(const TaskContext& context, const std::string& name) {
    if (context.has(name)) return context.real(name);
    const HypSmearing usual;
    return name == "alpha1" ? usual.alpha1 : name == "alpha2" ? usual.alpha2 : usual.alpha3;
  }
};

GaugeStore smeared_as(const GaugeStore& links, const SmearingPlan& plan) {
  const auto strength = [&](const char* name) { return plan.strengths.at(name).get<double>(); };
  if (plan.type == "stout") return smeared(links, StoutSmearing{strength("rho"), plan.steps, plan.directions});
  if (plan.type == "ape") return smeared(links, ApeSmearing{strength("alpha"), plan.steps, plan.directions});
  return smeared(links,
                 HypSmearing{strength("alpha1"), strength("alpha2"), strength("alpha3"), plan.steps, plan.directions});
}

Json observables_json(const GaugeObservables& seen) {
  Json planes;
  for (std::size_t k = 0; k < plane_names.size(); ++k) planes[plane_names[k]] = seen.planes[k];
  return {{"plaquette", seen.plaquette}, {"planes", planes}, {"link_trace", seen.link_trace}};
}

constexpr const char* types[] = {"stout", "ape", "hyp", nullptr};
constexpr const char* precisions_of_files[] = {"single", "double", nullptr};
constexpr const char* direction_sets[] = {"all", "spatial", nullptr};
constexpr quadrille_parameter saved_links[] = {
    required(file_out("file", "name of the file")),
    choice("precision", "precision of the file", "double", precisions_of_files)};

}  // namespace

constexpr quadrille_parameter smear_parameters[smear_parameter_count] = {
    required(
        choice("type",
               "stout: exp(rho P([sum of staples] U^+)) U, P the traceless anti-Hermitian part; ape: the matrix W "
               "of SU(3) with the largest Re tr(W V^+), V = (1 - alpha) U + alpha / n [sum of the n staples]; hyp: the "
               "same on the three levels of a hypercube",
               nullptr, types)),
    real("rho", "weight of a staple in stout smearing", nullptr, within(0, 0.25)),
    real("alpha", "weight of the staples in APE smearing, n / (n + c) where V = c U + [sum of staples] is meant",
         nullptr, within(0, 1)),
    real("alpha1",
         "weight of the staples on the outer level of HYP smearing; default 0.75; none with directions: spatial",
         nullptr, within(0, 1)),
    real("alpha2", "the same on the middle level; default 0.6", nullptr, within(0, 1)),
    real("alpha3", "the same on the inner level; default 0.3", nullptr, within(0, 1)),
    integer("steps", "how often", "1", within(1, 10000)),
    choice("directions", "links that are smeared, by staples in planes of these directions", "all", direction_sets),
    group("save", "write the smeared links as ILDG", saved_links, "file")};

void check_smear(const TaskContext& context) {
  const std::string type = context.text("type");
  std::string takes;
  for (const Strengths& kind : kinds()) {
    if (kind.type == type) takes = fmt::format("'{}'", fmt::join(kind.names, "', '"));
  }
  for (const Strengths& kind : kinds()) {
    for (const char* name : kind.names) {
      if (kind.type == type && type != "hyp" && !context.has(name)) {
        TaskContext::fail(QUADRILLE_INVALID_INPUT, fmt::format("type {} needs {}", type, takes), "type");
      }
      if (kind.type != type && context.has(name)) {
        TaskContext::fail(QUADRILLE_INVALID_INPUT, fmt::format("type {} has no '{}': it takes {}", type, name, takes),
                          name);
      }
    }
  }
}

void run_smear(const TaskContext& context) {
  const SmearingPlan plan(context);
  const GaugeStore& before = context.links();
  const GaugeStore after = smeared_as(before, plan);
  const GaugeObservables seen = after.observables();
  Json out = {{"type", plan.type}};
  out.update(plan.strengths);
  out.update({{"steps", plan.steps}, {"directions", context.text("directions")}});
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
