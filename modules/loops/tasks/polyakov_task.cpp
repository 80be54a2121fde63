#include "modules/loops/tasks/polyakov_task.h"

#include "core/system/log.h"
#include "modules/loops/loops.h"
#include "modules/shared/plugin/parameters.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <string>

namespace quadrille::loops {

namespace {

constexpr const char* polyakov_directions[] = {"t", "all", nullptr};

}  // namespace

constexpr quadrille_parameter polyakov_parameters[polyakov_parameter_count] = {
    parameter::choice("directions", "t: loops around time; all: around x, y, z and t", "t", polyakov_directions)};

void run_polyakov(const TaskContext& context) {
  nlohmann::ordered_json out;
  const int first = context.text("directions") == "all" ? 0 : 3;
  for (int mu = first; mu < 4; ++mu) {
    const Complex loop = polyakov_loop(context.links(), mu);
    const std::string name(1, "xyzt"[mu]);
    out[name] = {{"re", loop.real()}, {"im", loop.imag()}, {"abs", std::abs(loop)}};
    log().info("{}: Polyakov loop around {}: {:.6f} {:+.6f} i", context.task_name(), name, loop.real(), loop.imag());
    if (mu < 3) context.progress_or_stop("Polyakov loops", double(mu - first + 1) / double(4 - first));
  }
  context.result_in("loops", out.dump());
}

}  // namespace quadrille::loops
