// Whole jobs of a host, on its own links or on those of the job.
#include "input/run/run.h"

#include "core/comm/agreement.h"
#include "input/capi/call.h"
#include "input/capi/words.h"
#include "input/job/job.h"
#include "input/run/outputs.h"
#include "input/run/progress.h"
#include "input/run/stop_signal.h"

#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>

namespace quadrille::capi {

namespace {

void check(const Job& job, const std::filesystem::path& folder, const GaugeObject* links, const Context& context) {
  Backend& backend = context.backend;
  std::vector<Error> errors;
  if (job.ensemble) {
    throw Error(
        ErrorCode::unsupported,
        "a job on several configurations runs with `quadrille run`: here give gauge.file, and run a job for each",
        job.ensemble->where());
  }
  check_outputs(job, folder, errors);
  if (errors.empty() && links != nullptr) check_tasks(job, links->lattice->global_dims(), errors);
  RankGrid grid = context.on.grid;
  if (!job.gauge) grid.wanted.reset();  // that of the context's lattices: this job has none
  if (errors.empty() && links == nullptr) check_inputs(job, errors, grid);
  if (errors.empty()) check_backend(job, backend, errors);
  if (errors.empty()) check_ranks(job, context.on.all->size(), errors);
  demand_none(errors);
}

std::string text_of(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

/// Tells the host's function, which may end the work.
ProgressListener listener_of(const Context& context) {
  if (context.progress == nullptr) return {};
  return [&context](std::size_t solve, std::size_t solves, int iteration, double residual) {
    if (context.progress(context.progress_user, solve, solves, iteration, residual) != 0) ask_to_stop();
  };
}

/// The links of the host; null for those of the job.
std::shared_ptr<GaugeObject> links_of(const Context& context, const quadrille_gauge* gauge) {
  if (gauge == nullptr) return nullptr;
  auto links = find<GaugeObject>(gauge);
  if (links->home.get() == &context) return links;
  throw Error(ErrorCode::invalid_input, "the gauge field belongs to another context");
}

quadrille_status run(Context& context, const quadrille_gauge* gauge, const char* words, const char* folder) {
  const UseLane first(context.backend, nullptr);
  JobClock clock;
  std::vector<Error> errors;
  Job job;
  std::shared_ptr<GaugeObject> links;
  together(context, {"quadrille_job_run", words}, [&] {
    links = links_of(context, gauge);
    job = read_job_text(required(words, "words"), "job", links != nullptr, errors);
    demand_none(errors);
    check(job, required(folder, "folder"), links.get(), context);
  });
  const Communicator& all = *context.on.all;
  const std::filesystem::path place = share(all, folder);
  std::optional<LoadedGauge> held;
  if (links != nullptr) held = held_gauge(links->lattice, links->links, "links of the host");
  const StopRequests requests;
  const HearProgress hear(listener_of(context));
  const std::optional<bool> converged =
      carry_out(job, place, {}, context.backend, std::move(held), clock, errors, context.on.grid);
  all_or_none(all, [&] { demand_none(errors); });
  const std::filesystem::path results = place / "results.json";
  context.text = share(all, all.rank() == 0 ? text_of(results) : "");
  if (*converged) return QUADRILLE_DONE;
  return fail(&context, QUADRILLE_NOT_CONVERGED, fmt::format("not converged: see 'converged' in {}", results.string()));
}

}  // namespace

}  // namespace quadrille::capi

using namespace quadrille;
using namespace quadrille::capi;

quadrille_status quadrille_job_run(quadrille_context* handle, quadrille_gauge* gauge, const char* words,
                                   const char* folder, const char** json) {
  if (json != nullptr) *json = "";
  // Modules keep handles and buffers of their own in the first lane. Before the turn: a callback of a job may run
  // another in a context of its own.
  const std::lock_guard one_at_a_time(first_lane_mutex());
  return with<Context>(handle, [&](const std::shared_ptr<Context>& context) {
    quadrille_status status;
    try {
      status = run(*context, gauge, words, folder);
    } catch (const quadrille::Stopped& stopped) {
      return fail(context.get(), QUADRILLE_STOPPED, stopped.what());
    }
    if (json != nullptr) *json = context->text.c_str();
    return status;
  });
}
