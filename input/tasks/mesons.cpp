#include "input/tasks/mesons.h"

#include "core/chunked_sum.h"
#include "input/job.h"
#include "input/job_run.h"

namespace quadrille {

namespace {

/// pion[t] = sum over space, spins and colours of |S|^2, for absolute t. gamma5-hermiticity makes it the correlator of
/// the pseudoscalar density.
std::vector<double> pion(const HostPropagator& propagator) {
  const Dims& dims = propagator.dims;
  const std::int64_t slice = std::int64_t(dims[0]) * dims[1] * dims[2];
  std::vector<double> out;
  for (int t = 0; t < dims[3]; ++t) {
    const Complex* first = propagator.data.data() + t * slice * 144;
    out.push_back(chunked_sum<1>(slice, [first](std::int64_t site, std::array<double, 1>& sum) {
      double here = 0;
      for (int k = 0; k < 144; ++k) here += std::norm(first[site * 144 + k]);
      sum[0] += here;
    })[0]);
  }
  return out;
}

void run(JobRun& job, const TaskSpec& task) {
  const SolvedPropagator& propagator = job.propagator(task.parameters->text("from"));
  job.record().correlators = {{"pion", pion(propagator.field)}, {"source_time", propagator.source_time}};
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
