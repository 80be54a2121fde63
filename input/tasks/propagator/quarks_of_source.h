// The propagators that a source is made of.
#pragma once

#include "input/job/job.h"
#include "input/run/job_run.h"

#include <string>
#include <vector>

namespace quadrille {

/// Appends an error where they have not one source, or one from which quarks do not make the hadron.
void check_quarks_of_source(const TaskSpec& propagator, const Job& job, std::vector<Error>& errors);

/// The first of them without a solution; empty where there is none. Collective.
std::string unsolved_quark(JobRun& job, const TaskSpec& propagator);

/// Says what is unusual about a hadron: quarks on other links than the propagator's, no time between source and sink.
void warn_of_hadron(JobRun& job, const TaskSpec& propagator);

}  // namespace quadrille
