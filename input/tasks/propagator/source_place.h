// Where propagators of a job come from.
#pragma once

#include "core/dims.h"
#include "input/job/job.h"

#include <string>

namespace quadrille {

/// The site from which correlators of a propagator task are counted: a site of its source; for a sequential source that
/// of the propagator at the source of the hadron.
Dims source_position(const Job& job, const TaskSpec& task);

/// Whether two propagator tasks have quarks that meet at the source: what SourceEntry::may_differ names may differ.
bool same_source(const Job& job, const std::string& one, const std::string& other);

}  // namespace quadrille
