// A job at work: what its tasks share.
#pragma once

#include "core/backend/backend.h"
#include "core/field/propagator.h"
#include "input/gauge.h"
#include "input/job.h"
#include "input/job_clock.h"
#include "input/output_folder.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>

namespace quadrille {

/// A propagator, and what makes correlators of it meaningful.
struct SolvedPropagator {
  Propagator field;
  int source_time = 0;
};

/// Carries out the tasks of a job in their order. One task at a time writes into record().
class JobRun {
 public:
  /// `clock` has counted the reading of the links; `ranks` are those of their lattice, where there are links.
  JobRun(const Job& job, LoadedGauge gauge, std::shared_ptr<const Communicator> ranks, OutputFolder& folder,
         Backend& backend, JobClock& clock);
  JobRun(const JobRun&) = delete;
  ~JobRun();

  const Job& job() const { return job_; }
  const Lattice& lattice() const { return *gauge_.lattice; }
  const Communicator& communicator() const { return *ranks_; }
  std::shared_ptr<const Communicator> shared_communicator() const { return ranks_; }
  const LoadedGauge& gauge() const { return gauge_; }
  Backend& backend() const { return backend_; }
  /// What the kernels of this run are compiled for: "avx2"; "sm_90" on a GPU.
  std::string instruction_set() const;
  OutputFolder& folder() const { return folder_; }
  /// Results of the task at hand.
  TaskRecord& record() { return record_; }
  /// Of a module's task at hand: an entry of `solves`, under the name of the task.
  void add_solve(const nlohmann::ordered_json& solve);
  /// Says something in results.json and in the log; what is said again is counted.
  void warn(const std::string& text);

  /// Time counts as the phase's as long as what this gives lives.
  [[nodiscard]] JobClock::Span count(Phase phase) { return {clock_, phase, backend_}; }

  /// Whether a later task uses the propagator of this one.
  bool used_later(const TaskSpec& task) const { return used_after(task.name, position_); }
  /// Whether a propagator whose columns take `bytes` can stay on the backend, beside those of later tasks that will be
  /// kept together with it. To be asked when everything else that its task needs is there.
  bool stays_on_backend(const TaskSpec& task, std::size_t bytes) const;
  /// Counts `bytes` of the backend's memory as those of one of the parts that results.json names; the most at once of
  /// each are kept.
  void count_memory(const char* part, std::size_t bytes) { parts_[part] = std::max(parts_[part], bytes); }
  /// Those of kept propagators that are on the backend.
  std::size_t kept_bytes() const;
  /// Keeps the propagator of the task at hand for later ones, when there are any that use it. When the backend runs out
  /// of memory it moves to the host.
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

  /// Does what is not done yet, and writes the results after each task. True when every solve has converged, and every
  /// task of a module whose result says whether it has.
  bool run();

 private:
  /// Does a task, unless it is done.
  void settle(const TaskSpec& task);
  void do_task(const TaskSpec& task);
  void say_what_is_done() noexcept;
  /// Moves the first kept propagator that is on the backend, and not in use, to the host; false when there is none.
  bool give_way();
  nlohmann::ordered_json memory_json() const;
  void remove_unfinished(const TaskSpec& task) const;
  /// Those that a run was killed before it could remove.
  void remove_leftover_states() const;
  std::string key_of(const TaskSpec& task) const;
  /// What besides the job decides the outcome of a module's task: the module, and sizes and times of the files it
  /// reads.
  nlohmann::ordered_json module_state(const TaskSpec& task) const;
  bool used_after(const std::string& name, std::size_t position) const;
  nlohmann::ordered_json results() const;
  /// Writes results.json, or leaves it as it is where that would take more than a twentieth of the time.
  void write_results(bool now);

  const Job& job_;
  LoadedGauge gauge_;
  const std::shared_ptr<const Communicator> ranks_;
  OutputFolder& folder_;
  Backend& backend_;
  TaskRecord record_;
  std::size_t position_ = 0;  ///< of the task at hand
  JobClock& clock_;
  bool continues_ = false;  ///< it has asked for what an interrupted run kept, and got it
  std::map<std::string, SolvedPropagator> kept_;
  std::string in_use_;                            ///< the kept propagator that the task at hand works on
  std::set<std::string> on_host_;                 ///< propagators that moved to the host
  std::map<std::string, std::size_t> parts_;      ///< bytes of the backend's memory
  double results_began_ = 0, results_ended_ = 0;  ///< when results.json was last written; seconds of the clock
};

}  // namespace quadrille
