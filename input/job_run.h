// A job at work: what its tasks share.
#pragma once

#include "core/backend/backend.h"
#include "input/gauge.h"
#include "input/job.h"
#include "input/output_folder.h"

#include <map>
#include <memory>
#include <string>

namespace quadrille {

/// A propagator, and what makes correlators of it meaningful.
struct SolvedPropagator {
  HostPropagator field;
  int source_time = 0;
};

/// Carries out the tasks of a job in their order. One task at a time writes into record().
class JobRun {
 public:
  JobRun(const Job& job, LoadedGauge gauge, OutputFolder& folder, Backend& backend);

  const Job& job() const { return job_; }
  const Lattice& lattice() const { return *gauge_.lattice; }
  const LoadedGauge& gauge() const { return gauge_; }
  Backend& backend() const { return backend_; }
  /// What the kernels of this run are compiled for: "avx2"; "sm_90" on a GPU.
  std::string instruction_set() const;
  const OutputFolder& folder() const { return folder_; }
  /// Results of the task at hand.
  TaskRecord& record() { return record_; }
  /// Says something in results.json and in the log.
  void warn(const std::string& text);

  /// Keeps the propagator of the task at hand for later ones, when there are any that use it.
  void keep(const TaskSpec& task, SolvedPropagator propagator);
  /// The propagator of an earlier task: kept, read back from the file in double precision that it saved, or computed
  /// again when this run skipped the task.
  const SolvedPropagator& propagator(const std::string& task);

  enum class Threads { same, any };
  /// What an earlier run of the task at hand had done when it was interrupted, with the same instruction set and number
  /// of threads (or any); null when there is nothing. Warns when there is something that cannot be used, and when what
  /// is given back is of another build (core/build_id.h), whose bits this one need not have.
  nlohmann::ordered_json unfinished(const TaskSpec& task, Threads threads = Threads::same);
  /// Keeps what the task at hand has done so far for such a run.
  void keep_unfinished(const TaskSpec& task, nlohmann::ordered_json so_far);

  /// Does what is not done yet, and writes the results after each task. True when every solve has converged.
  bool run();

 private:
  void do_task(const TaskSpec& task);
  std::string key_of(const TaskSpec& task) const;
  /// What besides the job decides the outcome of a module's task: the module, and sizes and times of the files it
  /// reads.
  nlohmann::ordered_json module_state(const TaskSpec& task) const;
  bool used_after(const std::string& name, std::size_t position) const;
  void write_results() const;

  const Job& job_;
  LoadedGauge gauge_;
  OutputFolder& folder_;
  Backend& backend_;
  TaskRecord record_;
  std::size_t position_ = 0;  ///< of the task at hand
  std::map<std::string, SolvedPropagator> kept_;
};

/// A hash of the numbers of a propagator, to know a saved one again.
std::string data_hash(const HostPropagator& field);

}  // namespace quadrille
