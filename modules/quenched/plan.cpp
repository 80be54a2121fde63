#include "modules/quenched/plan.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace quadrille::quenched {

Plan::Plan(const TaskContext& context)
    : action{context.real("beta"), context.real("anisotropy.xi0")},
      thermalization(context.integer("thermalization")),
      configurations(context.integer("configurations")),
      separation(context.integer("separation")),
      first(0),
      reunitarize_every(context.integer("reunitarize_every")),
      overrelaxation(int(context.integer("overrelaxation"))),
      seed(std::uint64_t(context.integer("seed"))),
      keep_every(context.real("keep_every")),
      form{parse_precision(context.text("precision")), parse_reconstruct(context.text("reconstruct"))} {
  if (context.has("first_sweep")) {
    first = context.integer("first_sweep");
  } else if (const std::string text = context.links_origin(); !text.empty()) {
    const nlohmann::json links = nlohmann::json::parse(text);
    const nlohmann::json none;
    const nlohmann::json sweep = links.contains("origin") ? links["origin"].value("sweep", none) : none;
    if (sweep.is_number_integer() && sweep >= 0) {
      first = sweep;
    } else {
      unnumbered = links.contains("task") ? "the links of " + links["task"].get<std::string>()
                                          : links["file"].get<std::string>();
    }
  }
  if (!context.has("save")) return;
  file = context.text("save.file");
  bits = context.text("save.precision") == "double" ? 64 : 32;
}

std::string file_name(const std::string& pattern, std::int64_t sweep) {
  const std::size_t begin = pattern.find('#');
  if (begin == std::string::npos) return pattern;
  const std::size_t end = std::min(pattern.find_first_not_of('#', begin), pattern.size());
  return fmt::format("{}{:0{}}{}", pattern.substr(0, begin), sweep, end - begin, pattern.substr(end));
}

void check_plan(const TaskContext& context) {
  const Plan plan(context);
  const std::size_t begin = plan.file.find('#'), end = plan.file.find_first_not_of('#', begin);
  const auto fail = [](const std::string& message) {
    TaskContext::fail(QUADRILLE_INVALID_INPUT, message, "save.file");
  };
  if (!plan.unnumbered.empty()) {
    TaskContext::fail(QUADRILLE_INVALID_INPUT,
                      fmt::format("'first_sweep' is missing: the chain starts from {}. To continue a chain, give the "
                                  "number of sweeps it has done: each sweep has its own random numbers. For an "
                                  "independent chain give 0 and another seed",
                                  plan.unnumbered));
  }
  if (!plan.file.empty() && begin == std::string::npos && plan.configurations > 1) {
    fail(fmt::format("'{}' would be the name of {} configurations: put #### where the number of the sweep should go",
                     plan.file, plan.configurations));
  }
  if (begin != std::string::npos && plan.file.find('#', std::min(end, plan.file.size())) != std::string::npos) {
    fail(fmt::format("'{}' has more than one row of # for the number of the sweep: leave one", plan.file));
  }
}

}  // namespace quadrille::quenched
