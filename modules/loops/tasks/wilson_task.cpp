#include "modules/loops/tasks/wilson_task.h"

#include "core/system/log.h"
#include "modules/loops/loops.h"
#include "modules/shared/plugin/parameters.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace quadrille::loops {

namespace {

using namespace parameter;
using Json = nlohmann::ordered_json;

constexpr int time_direction = 3;

/// The largest loops: by default half the extents, those of the shortest direction of space.
struct WilsonPlan {
  int r, t;
  bool time, space;  ///< which planes

  WilsonPlan(const TaskContext& context, const Dims& dims)
      : r(size_of(context, "max_r", std::min({dims[0], dims[1], dims[2]}))),
        t(size_of(context, "max_t", dims[time_direction])),
        time(context.text("planes") != "space"),
        space(context.text("planes") != "time") {}

  std::vector<LoopPlane> planes() const {
    std::vector<LoopPlane> all;
    for (int mu = 0; mu < 4; ++mu) {
      for (int nu = mu + 1; nu < 4; ++nu) {
        const bool with_time = nu == time_direction;
        if (with_time ? time : space) all.push_back({mu, nu, r, with_time ? t : r});
      }
    }
    return all;
  }

 private:
  static int size_of(const TaskContext& context, const char* name, int extent) {
    if (!context.has(name)) return std::max(1, extent / 2);
    const std::int64_t size = context.integer(name);
    if (size > extent) {
      TaskContext::fail(
          QUADRILLE_INVALID_INPUT,
          fmt::format("'{}' is {}: loops may be as long as the {} sites of the lattice there", name, size, extent),
          name);
    }
    return int(size);
  }
};

std::string name_of(const LoopPlane& plane) { return {"xyzt"[plane.mu], "xyzt"[plane.nu]}; }

constexpr const char* wilson_planes[] = {"time", "space", "all", nullptr};

}  // namespace

constexpr quadrille_parameter wilson_parameters[wilson_parameter_count] = {
    integer("max_r", "largest spatial extent R; default: half the shortest extent of space", nullptr, at_least(1)),
    integer("max_t", "largest extent T in time; default: half the extent of time", nullptr, at_least(1)),
    choice("planes", "time: R x T in xt, yt and zt; space: R x R' in xy, xz and yz; all", "time", wilson_planes)};

void run_wilson_loops(const TaskContext& context) {
  const GaugeStore& links = context.links();
  const WilsonPlan plan(context, links.lattice().global_dims());
  const std::vector<LoopPlane> planes = plan.planes();
  std::vector<LoopTable> time, space;
  Json by_plane;
  for (std::size_t k = 0; k < planes.size(); ++k) {
    const LoopTable table = wilson_loops(links, planes[k], [&](double done) {
      context.progress_or_stop(fmt::format("Wilson loops, {}", name_of(planes[k])),
                               (double(k) + done) / double(planes.size()));
    });
    by_plane[name_of(planes[k])] = table;
    (planes[k].nu == time_direction ? time : space).push_back(table);
  }
  Json out = {{"max_r", plan.r}};
  if (plan.time) out["max_t"] = plan.t;
  if (plan.time) out["time"] = mean_of(time);
  if (plan.space) out["space"] = mean_of(space);
  out["planes"] = by_plane;
  const std::vector<LoopTable>& first = plan.time ? time : space;
  log().info("{}: Wilson loops up to {} x {}, 1 x 1: {:.8f}", context.task_name(), plan.r, plan.time ? plan.t : plan.r,
             mean_of(first)[0][0]);
  context.result_in("loops", out.dump());
}

}  // namespace quadrille::loops
