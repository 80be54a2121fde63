// A job at work: what its tasks share.
#pragma once

#include "core/backend/backend.h"
#include "core/field/propagator.h"
#include "input/job/gauge.h"
#include "input/job/job.h"
#include "input/run/job_clock.h"
#include "input/run/output_folder.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace quadrille {

class DeflationSpace;

/// A propagator, and what makes correlators of it meaningful.
struct SolvedPropagator {
  Propagator field;
  Dims source{};     ///< the site that correlators are counted from
  int unsolved = 0;  ///< columns without a solution: their numbers are NaN
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
  /// The links that the task at hand works on: of the block `gauge`, or those that an earlier task has made.
  const LoadedGauge& gauge() const;
  /// The task at hand has made links: those that later tasks work on. Copied if there are any.
  void set_links(const GaugeStore& links);
  /// The task at hand has done its work: what it keeps from now on stays when it has finished.
  void finishing() { state_stays_ = true; }
  bool is_finishing() const { return state_stays_; }
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

  /// Whether a later task uses the propagator of this one, or one of those that are being done again for the task at
  /// hand does.
  bool used_later(const TaskSpec& task) const;
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
  /// again when this run skipped the task, as are then those that it is made of. Until the next call.
  const SolvedPropagator& propagator(const std::string& task);
  /// The task at hand no longer needs the last of them: it may leave the backend.
  void done_with_propagators() { in_use_.clear(); }

  /// The deflation space that earlier tasks with the operator and solver of this one (but for tolerance and limit of
  /// iterations) have left, on the same links; null where there is none.
  std::shared_ptr<DeflationSpace> low_modes(const TaskSpec& task) const;
  /// Keeps it for later ones, when there are any. It goes when the backend runs out of memory and nobody uses it.
  void keep_low_modes(const TaskSpec& task, std::shared_ptr<DeflationSpace> space);

  enum class Threads { same, any };
  /// What an earlier run of the task at hand had done when it was interrupted, with the same instruction set and number
  /// of threads (or any), or what it has kept of its end, with any; null when there is nothing. Warns when there is
  /// something that cannot be used, and when what is given back is of another build (core/system/build_id.h) or
  /// instruction set, whose bits this one need not have.
  nlohmann::ordered_json unfinished(const TaskSpec& task, Threads threads = Threads::same);
  /// Warns that what unfinished() has given is not used, and why.
  void start_over(const TaskSpec& task, const std::string& why);
  /// Keeps what the task at hand has done so far for such a run.
  void keep_unfinished(const TaskSpec& task, nlohmann::ordered_json so_far);

  /// Does what is not done yet, and writes the results after each task. True when every solve has converged, and every
  /// task of a module whose result says whether it has.
  bool run();

 private:
  void run_unless_done(const TaskSpec& task);
  void do_task(const TaskSpec& task);
  void say_what_is_done() noexcept;
  /// A task that an earlier run has finished, for what later tasks need of it.
  void do_again(const TaskSpec& task);
  /// Keeps the propagator of a task that this run skipped.
  void bring_back(const TaskSpec& task);
  const TaskSpec& spec(const std::string& name) const;
  /// Whether tasks from `position` on work on the links that the task `name` makes.
  bool links_used(const std::string& name, std::size_t position) const;
  /// The same links on the job's lattice.
  std::shared_ptr<const GaugeStore> copy_of(const GaugeStore& links) const;
  /// Puts the links that a task works on where gauge() finds them: those that an earlier run has made are made again
  /// from the state of their task's end.
  void prepare_links(const TaskSpec& task);
  /// Moves the first kept propagator that is on the backend, and not in use, to the host, or lets a deflation space go;
  /// false when there is none.
  bool give_way();
  /// Whether tasks from `position` on have the system of this one (low_modes()).
  bool solved_after(const TaskSpec& task, std::size_t position) const;
  nlohmann::ordered_json memory_json() const;
  void remove_unfinished(const TaskSpec& task) const;
  /// Those that a run was killed before it could remove.
  void remove_leftover_states() const;
  /// Empty for a task on links that are yet to be made. `extends` false: the same for a task that is extended.
  std::string key_of(const TaskSpec& task, bool extends = true) const;
  /// Whether more than the job and its links decides the outcome of a task: links that others make, files that it or
  /// those that it uses read.
  bool depends_on_more(const TaskSpec& task) const;
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
  const TaskSpec* at_hand_ = nullptr;
  std::map<std::string, LoadedGauge> made_;  ///< by tasks, for later ones
  bool state_stays_ = false;                 ///< of the task at hand
  bool continues_ = false;                   ///< it has taken over what an interrupted run kept
  std::map<std::string, SolvedPropagator> kept_;
  std::vector<std::pair<const TaskSpec*, std::shared_ptr<DeflationSpace>>> low_modes_;  ///< by tasks
  std::vector<const TaskSpec*> brought_back_;                                           ///< each needs the one after it
  std::string in_use_;                            ///< the kept propagator that the task at hand works on
  std::set<std::string> on_host_;                 ///< propagators that moved to the host
  std::map<std::string, std::size_t> parts_;      ///< bytes of the backend's memory
  double results_began_ = 0, results_ended_ = 0;  ///< when results.json was last written; seconds of the clock
};

}  // namespace quadrille
