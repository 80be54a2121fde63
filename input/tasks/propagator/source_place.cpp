#include "input/tasks/propagator/source_place.h"

#include "input/job/document.h"
#include "input/sources/registry.h"

namespace quadrille {

namespace {

nlohmann::ordered_json place_of(const TaskSpec& propagator) {
  nlohmann::ordered_json source = to_json(propagator.parameters->group("source"));
  source.erase("momentum");
  source.erase("smearing");
  return source;
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
