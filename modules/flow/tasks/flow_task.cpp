#include "modules/flow/tasks/flow_task.h"

#include "core/system/log.h"
#include "modules/flow/gradient_flow.h"
#include "modules/flow/scales.h"
#include "modules/shared/plugin/parameters.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

namespace quadrille::flow {

namespace {

using namespace parameter;
using Json = nlohmann::ordered_json;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// What a job asks for.
struct Plan {
  double step, time;
  std::int64_t steps, every;
  bool until_scales, symanzik;
  double keep_every;

  explicit Plan(const TaskContext& context)
      : step(context.real("step")),
        time(context.real("time")),
        // What rounding leaves of a last step is none.
        steps(std::int64_t(std::ceil(time / step * (1 - 1e-12)))),
        every(context.integer("measure_every")),
        until_scales(context.text("until") == "scales"),
        symanzik(context.text("action") == "symanzik"),
        keep_every(context.real("keep_every")) {}

  /// After so many steps; the last one ends at the time that was asked for.
  double time_after(std::int64_t done) const { return done == steps ? time : double(done) * step; }
  bool measured(std::int64_t done) const { return done % every == 0 || done == steps; }
};

/// What a flow carries from step to step beside its links; a run that was interrupted goes on from it.
struct Curve {
  std::int64_t done = 0;  ///< steps
  std::vector<double> time, plaquette, energy_plaquette, energy_clover, charge;
  double seconds = 0, step_seconds = 0;

  Curve() = default;
  /// Errors (QUADRILLE_FILE_ERROR): what an interrupted run kept is not what json() writes.
  explicit Curve(const Json& kept) try
      : done(kept.at("done")),
        time(kept.at("time")),
        plaquette(kept.at("plaquette")),
        energy_plaquette(kept.at("energy_plaquette")),
        energy_clover(kept.at("energy_clover")),
        charge(kept.at("charge")),
        seconds(kept.at("seconds")),
        step_seconds(kept.at("step_seconds")) {
    for (const auto* seen : {&plaquette, &energy_plaquette, &energy_clover, &charge}) {
      if (seen->size() != time.size() || time.empty()) fail("its curves are of unequal length");
    }
  } catch (const Json::exception&) {
    fail("a key is missing or has a value of another type");
  }

  [[noreturn]] static void fail(const std::string& what) {
    TaskContext::fail(QUADRILLE_FILE_ERROR,
                      fmt::format("the state of the interrupted run in restart.json is damaged: {}; choose another "
                                  "--out, or use --force to start from scratch",
                                  what));
  }

  void add(double at, const FlowPoint& point) {
    time.push_back(at);
    plaquette.push_back(point.plaquette);
    energy_plaquette.push_back(point.energy_plaquette);
    energy_clover.push_back(point.energy_clover);
    charge.push_back(point.charge);
  }
  /// The part that results.json has, too.
  Json points() const {
    return {{"time", time},
            {"plaquette", plaquette},
            {"energy_plaquette", energy_plaquette},
            {"energy_clover", energy_clover},
            {"charge", charge}};
  }
  Json json(double now) const {
    Json out = points();
    out.update({{"done", done}, {"seconds", now}, {"step_seconds", step_seconds}});
    return out;
  }
};

Json or_null(const std::optional<double>& number) { return number ? Json(*number) : Json(nullptr); }

/// One run of the task.
class Flow {
 public:
  Flow(const TaskContext& context, const GaugeStore& links, Curve curve)
      : context_(context),
        plan_(context),
        curve_(std::move(curve)),
        backend_(links.backend()),
        flow_(links, plan_.symanzik ? symanzik_action : FlowAction{}) {}

  void run() {
    if (curve_.time.empty()) measure();
    while (curve_.done < plan_.steps && !(plan_.until_scales && has_scales())) {
      step();
      if (plan_.measured(curve_.done)) measure();
      context_.progress(fmt::format("flow time {:.2f}/{:g}, t^2 E {:.4f}", time(), plan_.time,
                                    curve_.time.back() * curve_.time.back() * curve_.energy_clover.back()),
                        double(curve_.done) / double(plan_.steps));
      if (curve_.done == plan_.steps) break;
      const bool stop = context_.should_stop();
      if (stop || time_to_keep()) keep();
      if (stop) context_.stop(fmt::format("at the flow time {:g}", time()));
    }
    save();
  }

  Json results() const {
    const Scales plaquette = scales(curve_.time, curve_.energy_plaquette), clover = clover_scales();
    Json out = {{"t0", {{"clover", or_null(clover.t0)}, {"plaquette", or_null(plaquette.t0)}}},
                {"w0", {{"clover", or_null(clover.w0)}, {"plaquette", or_null(plaquette.w0)}}},
                {"charge", curve_.charge.back()},
                {"action", plan_.symanzik ? "symanzik" : "wilson"},
                {"step", plan_.step},
                {"steps", curve_.done},
                {"seconds", seconds()},
                {"seconds_per_step", curve_.done > 0 ? curve_.step_seconds / double(curve_.done) : 0},
                {"history", curve_.points()}};
    if (context_.has("save")) out["files"] = {context_.text("save.file")};
    return out;
  }

 private:
  double time() const { return plan_.time_after(curve_.done); }
  Scales clover_scales() const { return scales(curve_.time, curve_.energy_clover); }
  bool has_scales() const {
    const Scales found = clover_scales();
    return found.t0 && found.w0;
  }
  double seconds() const { return curve_.seconds + seconds_since(began_); }

  void step() {
    const auto began = std::chrono::steady_clock::now();
    flow_.step(plan_.time_after(curve_.done + 1) - time());
    backend_.synchronize();
    ++curve_.done;
    curve_.step_seconds += seconds_since(began);
  }

  void measure() {
    const FlowPoint point = flow_.measure();
    if (!std::isfinite(point.plaquette + point.energy_clover)) {
      TaskContext::fail(
          QUADRILLE_NUMERICAL,
          fmt::format("the links are not finite at the flow time {:g}: start from links that are in SU(3)", time()));
    }
    curve_.add(time(), point);
  }

  void save() {
    if (!context_.has("save")) return;
    const Json origin = {{"flow", plan_.symanzik ? "Symanzik" : "Wilson"}, {"flow_time", time()}, {"step", plan_.step}};
    context_.describe_links(origin.dump());
    context_.write_links(context_.text("save.file"), flow_.links(),
                         context_.text("save.precision") == "single" ? 32 : 64);
  }

  /// The same on all ranks: by the clock of the first.
  bool time_to_keep() const {
    char due = seconds_since(kept_) >= plan_.keep_every ? 1 : 0;
    context_.ranks().broadcast(&due, sizeof due, 0);
    return due != 0;
  }
  void keep() {
    context_.keep_unfinished(curve_.json(seconds()).dump(), flow_.links(), 64);
    kept_ = std::chrono::steady_clock::now();
  }

  const TaskContext& context_;
  Plan plan_;
  Curve curve_;
  Backend& backend_;
  GradientFlow flow_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now(), kept_ = began_;
};

constexpr const char* ends[] = {"time", "scales", nullptr};
constexpr const char* actions[] = {"wilson", "symanzik", nullptr};
constexpr const char* precisions[] = {"single", "double", nullptr};
constexpr quadrille_parameter saved[] = {required(file_out("file", "name of the file")),
                                         choice("precision", "precision of the file", "double", precisions)};

}  // namespace

constexpr quadrille_parameter flow_parameters[flow_parameter_count] = {
    required(real("time", "flow time at which it ends", nullptr, above_and_up_to(0, 10000), "a^2")),
    choice("action", "wilson: plaquettes; symanzik: 5/3 of plaquettes - 1/12 of rectangles of 1 x 2 links (tree level)",
           "wilson", actions),
    real("step", "step of the Runge-Kutta integrator, whose error is of its third order in all", "0.02",
         above_and_up_to(0, 0.1), "a^2"),
    integer("measure_every", "steps from one measurement to the next; the last step is measured, too", "5",
            within(1, 1000000)),
    choice("until",
           "time: flow to `time`; scales: end where t0 and w0 of the clover energy are known, at `time` at the latest",
           "time", ends),
    real("keep_every", "time between checkpoints, from which an interrupted run continues; 0: after each step", "300",
         at_least(0), "s"),
    group("save", "write the links at the end of the flow as ILDG", saved, "file")};

void run_flow(const TaskContext& context) {
  const std::optional<TaskContext::Unfinished> kept = context.unfinished();
  Curve curve = kept ? Curve(Json::parse(kept->json)) : Curve();
  if (kept && (curve.done < 0 || curve.done > Plan(context).steps)) Curve::fail("'done' is no number of steps");
  if (kept) log().info("{}: continuing the flow of an earlier run at step {}", context.task_name(), curve.done + 1);
  Flow flow(context, kept ? kept->links : context.links(), std::move(curve));
  flow.run();
  const Json out = flow.results();
  const auto number = [&](const char* name) {
    const Json& value = out[name]["clover"];
    return value.is_null() ? std::string("not reached") : fmt::format("{:.5f}", value.get<double>());
  };
  log().info("{}: t0/a^2 {}, w0/a {}, charge {:.4f}; {:.3g} s per step", context.task_name(), number("t0"),
             number("w0"), out["charge"].get<double>(), out["seconds_per_step"].get<double>());
  context.result_in("flows", out.dump());
}

void check_flow(const TaskContext& context) {
  const Plan plan(context);
  if (plan.steps > 1000000) {
    TaskContext::fail(QUADRILLE_INVALID_INPUT,
                      fmt::format("{} steps of {:g} lead to the flow time {:g}: at most a million are allowed",
                                  plan.time / plan.step, plan.step, plan.time),
                      "time");
  }
}

}  // namespace quadrille::flow
