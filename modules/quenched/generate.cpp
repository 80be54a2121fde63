// The module quenched: the task `generate`, pure gauge configurations by heatbath and overrelaxation.
#include "core/system/log.h"
#include "modules/quenched/history.h"
#include "modules/shared/plugin/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace quadrille::quenched {

namespace {

using namespace parameter;
using Json = nlohmann::ordered_json;

quadrille_status outputs(const quadrille_host* host, quadrille_run* run, void (*add)(void* to, const char* name),
                         void* to) {
  return guarded(host, run, [&](const TaskContext& context) {
    for_each_file(Plan(context), [&](const std::string& name) { add(to, name.c_str()); });
  });
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// What a chain carries from sweep to sweep beside its links; a run that was interrupted goes on from it.
struct Chain {
  std::int64_t done = 0;  ///< sweeps
  History history;
  HeatbathCounts counts;  ///< of earlier runs
  double drift = 0, update_seconds = 0, seconds = 0;

  Chain() = default;
  /// Errors (QUADRILLE_FILE_ERROR): what an interrupted run kept is not what json() writes.
  explicit Chain(const Json& kept) try
      : done(kept.at("done")),
        history{kept.at("plaquette"), kept.at("spatial"), kept.at("temporal"), kept.at("loop_re"), kept.at("loop_im")},
        counts{kept.at("counts").at(0), kept.at("counts").at(1), kept.at("counts").at(2), kept.at("counts").at(3)},
        drift(kept.at("drift")),
        update_seconds(kept.at("update_seconds")),
        seconds(kept.at("seconds")) {
  } catch (const Json::exception&) {
    fail("a key is missing or has a value of another type");
  }

  /// The same error for numbers that no run of so many sweeps can have kept.
  void check(std::int64_t sweeps) const {
    if (done < 0 || done > sweeps) fail(fmt::format("'done' must be 0 to {} sweeps, but it is {}", sweeps, done));
    for (const auto* seen :
         {&history.plaquette, &history.spatial, &history.temporal, &history.loop_re, &history.loop_im}) {
      if (std::int64_t(seen->size()) != done)
        fail(fmt::format("a history has {} entries for {} sweeps", seen->size(), done));
    }
    if (!(update_seconds >= 0) || !(seconds >= 0) || std::min(counts.attempts, counts.draws) < 0) {
      fail("times and counts must not be negative");
    }
  }

  [[noreturn]] static void fail(const std::string& what) {
    TaskContext::fail(QUADRILLE_FILE_ERROR,
                      fmt::format("the state of the interrupted run in restart.json is damaged: {}; choose another "
                                  "--out, or use --force to start from scratch",
                                  what));
  }

  Json json(const HeatbathCounts& all, double now) const {
    return {{"done", done},
            {"plaquette", history.plaquette},
            {"spatial", history.spatial},
            {"temporal", history.temporal},
            {"loop_re", history.loop_re},
            {"loop_im", history.loop_im},
            {"counts", {all.attempts, all.draws, all.creutz_attempts, all.creutz_draws}},
            {"drift", drift},
            {"update_seconds", update_seconds},
            {"seconds", now}};
  }
};

/// What a gauge file says of its links.
Json description(const Plan& plan, std::int64_t done) {
  return {{"action", "Wilson plaquette"},
          {"beta", plan.action.beta},
          {"xi0", plan.action.xi0},
          {"algorithm", "heatbath and overrelaxation"},
          {"overrelaxation", plan.overrelaxation},
          {"precision", to_string(plan.form.precision)},
          {"seed", plan.seed},
          {"sweep", plan.first + done}};
}

/// One run of the task.
class Generation {
 public:
  Generation(const TaskContext& context, const GaugeStore& links, Chain chain)
      : context_(context),
        plan_(context),
        chain_(std::move(chain)),
        backend_(links.backend()),
        gauge_(links, plan_.action, plan_.seed, plan_.form) {
    // Links in SU(3) to the rounding of the precision stay as they are, bit for bit: this task may have written them. A
    // file in single precision is unitary to 1e-6 only.
    const double rounding = plan_.single() ? 2e-6 : 1e-13;
    if (chain_.done == 0 && !(links.unitarity().unitarity < rounding)) (void)gauge_.reunitarize();
  }

  void run() {
    const bool any = chain_.done < plan_.sweeps();
    while (chain_.done < plan_.sweeps()) {
      sweep();
      const std::int64_t done = chain_.done;
      context_.progress(
          fmt::format("sweep {}/{}, plaquette {:.6f}", done, plan_.sweeps(), chain_.history.plaquette.back()),
          double(done) / double(plan_.sweeps()));
      if (plan_.complete(done)) save();
      if (done == plan_.sweeps()) break;
      const bool stop = context_.should_stop();
      if (stop || time_to_keep()) keep();
      if (stop) context_.stop(fmt::format("after sweep {}", plan_.first + done));
    }
    context_.finishing();
    if (any) keep();  // more configurations continue from here
    GaugeStore last = gauge_.links();
    if (plan_.single()) (void)last.project();  // as in a file of 64 bits
    context_.set_links(last);
  }

  Json results() const {
    const double sweeps = double(plan_.sweeps());
    const double updates =
        sweeps * (1 + plan_.overrelaxation) * 4 * double(volume(gauge_.field().lattice().global_dims()));
    Json out = report(context_, chain_.history, counts(), plan_);
    out["largest_drift"] = chain_.drift;
    out["files"] = files_;
    out["seconds"] = seconds();
    out["seconds_per_sweep"] = chain_.update_seconds / sweeps;
    out["link_updates_per_second"] = updates / chain_.update_seconds;
    out["precision"] = to_string(plan_.form.precision);
    out["reconstruct"] = int(plan_.form.reconstruct);
    out["history"] = history_json(chain_.history, plan_);
    return out;
  }

 private:
  HeatbathCounts counts() const {
    HeatbathCounts all = chain_.counts;
    return all += gauge_.counts();
  }
  double seconds() const { return chain_.seconds + seconds_since(began_); }

  void sweep() {
    const std::int64_t number = plan_.first + chain_.done;
    const auto sweep_began = std::chrono::steady_clock::now();
    gauge_.sweep(std::uint64_t(number), plan_.overrelaxation);
    ++chain_.done;
    // By absolute numbers and before every configuration, so that a chain cut at one goes on with the same bits.
    if ((number + 1) % plan_.reunitarize_every == 0 || plan_.complete(chain_.done)) {
      chain_.drift = std::max(chain_.drift, gauge_.reunitarize());
    }
    backend_.synchronize();
    chain_.update_seconds += seconds_since(sweep_began);
    chain_.history.add(gauge_);
    if (!std::isfinite(chain_.history.plaquette.back())) {
      TaskContext::fail(QUADRILLE_NUMERICAL,
                        fmt::format("the links are no longer finite after sweep {}: start from links "
                                    "that are in SU(3)",
                                    number + 1));
    }
  }

  std::string name_after(std::int64_t done) const { return file_name(plan_.file, plan_.first + done); }

  void save() {
    if (plan_.file.empty()) return;
    GaugeStore links = gauge_.links();
    // A file of 64 bits promises links in SU(3) to the rounding of double; one of 32 bits holds those of a chain in
    // single precision as they are.
    if (plan_.single() && plan_.bits == 64) (void)links.project();
    context_.describe_links(description(plan_, chain_.done).dump());
    context_.write_links(name_after(chain_.done), links, plan_.bits);
  }

  /// The same on all ranks: by the clock of the first.
  bool time_to_keep() const {
    char due = seconds_since(kept_) >= plan_.keep_every ? 1 : 0;
    gauge_.field().lattice().communicator().broadcast(&due, sizeof due, 0);
    return due != 0;
  }

  void keep() {
    // A chain in single precision takes its links from a file of 32 bits as they are.
    context_.keep_unfinished(chain_.json(counts(), seconds()).dump(), gauge_.links(), plan_.single() ? 32 : 64);
    kept_ = std::chrono::steady_clock::now();
  }

  std::vector<std::string> all_files() const {
    std::vector<std::string> files;
    for_each_file(plan_, [&](const std::string& name) { files.push_back(name); });
    return files;
  }

  const TaskContext& context_;
  Plan plan_;
  Chain chain_;
  Backend& backend_;
  PureGauge gauge_;
  std::vector<std::string> files_ = all_files();
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now(), kept_ = began_;
};

void generate(const TaskContext& context) {
  const std::optional<TaskContext::Unfinished> kept = context.unfinished();
  Chain chain = kept ? Chain(Json::parse(kept->json)) : Chain();
  if (kept) {
    const Plan plan(context);
    chain.check(plan.sweeps());
    if (chain.done < plan.sweeps()) {
      log().info("{}: continuing the chain of an earlier run at sweep {}", context.task_name(),
                 plan.first + chain.done + 1);
    }
  }
  Generation generation(context, kept ? kept->links : context.links(), std::move(chain));
  generation.run();
  const Json out = generation.results();
  const Json& mean = out["plaquette"];
  log().info("{}: {:.3g} s per sweep, {:.2f} million link updates/s; plaquette {:.6f}{}", context.task_name(),
             out["seconds_per_sweep"].get<double>(), out["link_updates_per_second"].get<double>() * 1e-6,
             mean["mean"].get<double>(),
             mean["error"].is_null() ? std::string() : fmt::format(" +- {:.6f}", mean["error"].get<double>()));
  context.result_in("chains", out.dump());
}

constexpr quadrille_parameter anisotropy[] = {
    real("xi0", "bare anisotropy: beta/xi0 in spatial planes, beta xi0 in temporal ones", "1", within(0.01, 100))};

constexpr const char* precisions[] = {"single", "double", nullptr};
constexpr const char* reconstructions[] = {"18", "12", nullptr};
constexpr quadrille_parameter saved[] = {
    required(file_out("file", "their names; a row of # becomes the number of sweeps done, as in b6.0_#####.lime")),
    choice("precision",
           "precision of the files; a chain in single precision continues bit for bit from a file in single precision; "
           "for one in double its links are projected on SU(3)",
           "double", precisions)};

constexpr quadrille_parameter anisotropic() {
  quadrille_parameter out = group("anisotropy", "anisotropic action", anisotropy);
  out.default_text = "{}";
  return out;
}

constexpr quadrille_parameter parameters[] = {
    required(real("beta", "inverse coupling 6/g^2", nullptr, within(0, 1000))),
    anisotropic(),
    required(integer("thermalization", "sweeps to discard before measuring and saving", nullptr, within(0, 1e7))),
    extends(integer("configurations",
                    "how many to make; run again in the same output folder with a larger number, the chain continues",
                    "1", within(1, 100000))),
    integer("separation", "sweeps from one configuration to the next", "1", within(1, 1e7)),
    integer("overrelaxation", "overrelaxation sweeps after each heatbath sweep", "4", within(0, 1000)),
    integer("seed", "seed of the random numbers", "1", within(0, 9e18)),
    integer("first_sweep",
            "sweeps already done, which continues a chain bit for bit; default: the number in a file that generate has "
            "written, 0 after a start; required after other files and after another generate of the job",
            nullptr, within(0, 1e12)),
    integer("reunitarize_every", "sweeps between projections of the links on SU(3), which remove rounding errors", "10",
            within(1, 1e7)),
    choice("precision", "precision of the links and their updates; averages are summed in double", "double",
           precisions),
    choice(
        "reconstruct",
        "real numbers stored per link; with 12 the third row is computed from the other two. single with 12 is fastest",
        "18", reconstructions),
    real("keep_every", "time between checkpoints, from which an interrupted run continues; 0: after each sweep", "300",
         at_least(0), "s"),
    group("save", "write the configurations as ILDG, with checksums", saved, "file")};

constexpr quadrille_task tasks[] = {
    {.name = "generate",
     .help = "pure gauge configurations with the Wilson plaquette action, starting from the links of the block "
             "'gauge'; tasks after it in the job work on its last configuration; a sweep is one heatbath sweep and "
             "then the overrelaxation sweeps",
     .parameters = parameters,
     .parameter_count = std::size(parameters),
     .flags = QUADRILLE_NEEDS_LINKS | QUADRILLE_MAKES_LINKS | QUADRILLE_ON_RANKS,
     .check = task_function<check_plan>,
     .run = task_function<generate>,
     .outputs = outputs}};
constexpr const char* blocks[] = {"chains", nullptr};

constexpr quadrille_module module = module_of("quenched", QUADRILLE_VERSION, tasks, blocks);

}  // namespace

}  // namespace quadrille::quenched

extern "C" const quadrille_module* quadrille_module_quenched(void) { return &quadrille::quenched::module; }
