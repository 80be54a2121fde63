#include "input/tasks/propagator/quarks_of_source.h"

#include "input/sources/registry.h"
#include "input/tasks/propagator/source_place.h"

#include <fmt/format.h>

#include <algorithm>

namespace quadrille {

namespace {

bool is_baryon(const Parameters& hadron) { return hadron.has("quark"); }

void check_baryon(const Parameters& source, const Job& job, std::vector<Error>& errors) {
  const Parameters& of_quark = find_task(job, source.text("from")).parameters->group("source");
  if (source_entry(of_quark).baryons) return;
  errors.emplace_back(ErrorCode::invalid_input,
                      fmt::format("'source.from' must name quarks that make a nucleon: those of '{}' are from a source "
                                  "of the type {}",
                                  source.text("from"), of_quark.text("type")),
                      source.where("from"));
}

}  // namespace

void check_quarks_of_source(const TaskSpec& propagator, const Job& job, std::vector<Error>& errors) {
  const Parameters& source = propagator.parameters->group("source");
  if (!source.has("hadron")) return;
  const Parameters& hadron = source.group("hadron");
  if (is_baryon(hadron)) check_baryon(source, job, errors);
  if (!hadron.has("other") || same_source(job, source.text("from"), hadron.text("other"))) return;
  errors.emplace_back(ErrorCode::invalid_input,
                      "'source.hadron.other' must name a propagator from the same source as 'source.from'",
                      hadron.where("other"));
}

std::string unsolved_quark(JobRun& job, const TaskSpec& propagator) {
  const auto found = std::find_if(propagator.uses.begin(), propagator.uses.end(),
                                  [&](const std::string& name) { return job.propagator(name).unsolved > 0; });
  return found == propagator.uses.end() ? "" : *found;
}

void warn_of_hadron(JobRun& job, const TaskSpec& propagator) {
  const Parameters& source = propagator.parameters->group("source");
  if (!source.has("hadron")) return;
  for (const std::string& name : propagator.uses) {
    if (find_task(job.job(), name).links_from != propagator.links_from)
      job.warn(fmt::format("the quark '{}' of the hadron is on other links than this propagator", name));
  }
  if (source.integer("time") == source_position(job.job(), propagator)[3])
    job.warn(fmt::format("the sink is at the time of the source, {}", source.integer("time")));
}

}  // namespace quadrille
