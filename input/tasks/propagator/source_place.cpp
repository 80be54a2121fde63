#include "input/tasks/propagator/source_place.h"

#include "input/job/document.h"
#include "input/sources/registry.h"

namespace quadrille {

namespace {

nlohmann::ordered_json place_of(const TaskSpec& propagator) {
  const Parameters& source = propagator.parameters->group("source");
  nlohmann::ordered_json place = to_json(source);
  for (const std::string& parameter : source_entry(source).may_differ) place.erase(parameter);
  return place;
}

}  // namespace

Dims source_position(const Job& job, const TaskSpec& task) {
  const Parameters& source = task.parameters->group("source");
  const SourceEntry& entry = source_entry(source);
  if (entry.references.empty()) return entry.position(source);
  return source_position(job, find_task(job, source.text(entry.references.front())));
}

bool same_source(const Job& job, const std::string& one, const std::string& other) {
  return place_of(find_task(job, one)) == place_of(find_task(job, other));
}

}  // namespace quadrille
