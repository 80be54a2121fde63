// What tasks that contract propagators share: the propagators, smeared at the sink, and correlators as JSON.
#pragma once

#include "input/contractions/space_sums.h"
#include "input/job/job.h"
#include "input/run/job_run.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <vector>

namespace quadrille {

/// The parameter `sink_smearing`. A task that has it names it in TaskEntry::links_of_used.
Parameter sink_smearing_parameter();
/// Appends what is wrong with the momenta of a task.
void check_hadrons(const TaskSpec& task, const Dims& dims, std::vector<Error>& errors);
/// Appends an error where the parameter `second` names a propagator from another source than `from`. Their momenta and
/// smearing may differ.
void check_same_source(const TaskSpec& task, const Job& job, const std::string& second, std::vector<Error>& errors);

/// The one or two propagators of a task, in memory that contractions can read.
class HadronQuarks {
 public:
  /// `second` names the parameter with the second one, which a task may lack. `contracted`: whether more is needed than
  /// the norms of one propagator.
  HadronQuarks(JobRun& job, const TaskSpec& task, const std::string& second, bool contracted);

  /// The site that correlators are counted from.
  const Dims& source() const { return source_; }
  /// Whether all columns have a solution; there is nothing to read otherwise.
  bool solved() const { return solved_; }
  /// The slice norms of one propagator that is not smeared at the sink, else empty.
  const std::vector<double>& norms() const { return norms_; }
  const ReadablePropagator& first() const { return *first_; }
  const ReadablePropagator& second() const { return second_ ? *second_ : *first_; }

 private:
  Dims source_{};
  bool solved_ = true;
  std::vector<double> norms_;
  std::optional<ReadablePropagator> first_, second_;
};

/// One correlator: {momentum, re, im}, of numbers that are null without sums; without im where it is real.
nlohmann::ordered_json correlator_json(const SpaceSums* sums, std::size_t output, std::size_t momentum,
                                       const Momentum& n, std::size_t times, bool real);

}  // namespace quadrille
