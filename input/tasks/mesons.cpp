#include "input/tasks/mesons.h"

#include "input/job.h"
#include "input/job_run.h"
#include "input/pion_mass.h"

namespace quadrille {

namespace {

void run(JobRun& job, const TaskSpec& task) {
  const SolvedPropagator& propagator = job.propagator(task.parameters->text("from"));
  const JobClock::Span contracting = job.count(Phase::contractions);
  // pion[t], for absolute t, is the sum over space, spins and colors of |S|^2: gamma5-hermiticity makes it the
  // correlator of the pseudoscalar density.
  const std::vector<double> correlator = slice_norms(propagator.field);
  job.record().correlators = {{"pion", correlator},
                              {"source_time", propagator.source_time},
                              {"effective_mass", effective_mass_json(correlator, propagator.source_time)}};
}

}  // namespace

TaskEntry mesons_task() {
  TaskEntry entry;
  entry.name = "mesons";
  entry.table.name = "task mesons";
  entry.table.help = "meson correlators of a propagator: the pion";
  entry.table.parameters = {{.name = "from", .help = "name of an earlier propagator task", .required = true}};
  entry.references = {{"from", "propagator"}};
  entry.run = run;
  return entry;
}

}  // namespace quadrille
