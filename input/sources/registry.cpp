#include "input/sources/registry.h"

#include "input/sources/file.h"
#include "input/sources/noise.h"
#include "input/sources/point.h"
#include "input/sources/sequential.h"
#include "input/sources/wall.h"

namespace quadrille {

const std::vector<SourceEntry>& source_registry() {
  static const std::vector<SourceEntry> entries = {point_source(), wall_source(), noise_source(), sequential_source(),
                                                   file_source()};
  return entries;
}

const SourceEntry& source_entry(const Parameters& source) {
  for (const SourceEntry& entry : source_registry()) {
    if (entry.name == source.text("type")) return entry;
  }
  throw Error(ErrorCode::internal, "no source '" + source.text("type") + "' is registered");
}

}  // namespace quadrille
