// Sources: what stands on the right-hand side of M S = source. One entry each in an explicit table.
#pragma once

#include "core/field/field.h"
#include "core/gauge/gauge_store.h"
#include "core/parameters/parameters.h"

#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace quadrille {

class SliceSmearing;
struct SolvedPropagator;

/// What sources are made of beside their parameters.
struct SourceSetting {
  const GaugeStore& links;           ///< what is made lies on their lattice and backend
  std::filesystem::path job_folder;  ///< that paths are relative to
  /// That of an earlier task, until the next call.
  std::function<const SolvedPropagator&(const std::string& task)> propagator;
};

/// Makes b, a spinor field on the full lattice in double, the source of one spin (0..3, DeGrand-Rossi) and color
/// (0..2). Collective.
using MakeColumn = std::function<void(Field& b, int spin, int color)>;

/// One kind of source. `source: {type: NAME, ...}` in a task; the other keys are `table`.
struct SourceEntry {
  std::string name;
  ParameterTable table;
  /// Parameters that name earlier propagator tasks, "from" or "hadron.other" in a group; correlators are counted from
  /// the source of the first.
  std::vector<std::string> references = {};
  /// Parameters in which sources may differ whose quarks make a hadron.
  std::vector<std::string> may_differ = {"smearing"};
  /// Whether three quarks from it make a baryon: not those of noise, which average to zero.
  bool baryons = true;
  /// Throws (invalid_input, with the place in the job) when the source does not fit a lattice of `dims`.
  void (*check)(const Parameters& source, const Dims& dims, const std::filesystem::path& job_folder);
  /// `smearing`, null if there is none, is also applied to what this makes: a sequential source smears quarks with it.
  MakeColumn (*maker)(const Parameters& source, const SourceSetting& setting, const SliceSmearing* smearing);
  /// A site of the source, from which correlators are counted: smearing acts on its time slice; 0 in the directions in
  /// which the source has no place.
  Dims (*position)(const Parameters& source);
  /// Names and texts of what files of propagators say of the source, beside its type and site. Null: nothing.
  std::vector<std::pair<std::string, std::string>> (*file_elements)(const Parameters& source) = nullptr;
};

const std::vector<SourceEntry>& source_registry();

/// The entry that a resolved `source` block names.
const SourceEntry& source_entry(const Parameters& source);

}  // namespace quadrille
