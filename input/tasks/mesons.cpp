#include "input/tasks/mesons.h"

#include "input/job/job.h"
#include "input/run/job_run.h"
#include "input/tasks/pion_mass.h"

namespace quadrille {

namespace {

using Json = nlohmann::ordered_json;

void run_mesons(JobRun& job, const TaskSpec& task) {
  const SolvedPropagator& propagator = job.propagator(task.parameters->text("from"));
  const JobClock::Span contracting = job.count(Phase::contractions);
  Json& out = job.record().correlators;
  if (propagator.unsolved > 0) {  // the propagator's task has said so
    const auto times = std::size_t(job.lattice().global_dims()[3]);
    out = {{"pion", std::vector<Json>(times)},
           {"source_time", propagator.source_time},
           {"effective_mass", std::vector<Json>(times / 2)}};
    return;
  }
  // pion[t], for absolute t, is the sum over space, spins and colors of |S|^2: gamma5-hermiticity makes it the
  // correlator of the pseudoscalar density; with a twisted mass that of the charged pion, as gamma5 S^+ gamma5 is the
  // other flavour's; with a chemical potential the two flavours have opposite ones.
  const std::vector<double> correlator = slice_norms(propagator.field);
  out = {{"pion", correlator},
         {"source_time", propagator.source_time},
         {"effective_mass", effective_mass_json(correlator, propagator.source_time)}};
}

}  // namespace

TaskEntry mesons_task() {
  TaskEntry entry;
  entry.name = "mesons";
  entry.table.name = "task mesons";
  entry.table.help =
      "meson correlators of a propagator: the pion (with a twisted mass the charged one, with a chemical "
      "potential that of two flavours with opposite ones)";
  entry.table.parameters = {{.name = "from", .help = "name of an earlier propagator task", .required = true}};
  entry.references = {{"from", "propagator"}};
  entry.run = run_mesons;
  return entry;
}

}  // namespace quadrille
