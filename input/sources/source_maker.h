// Makes the right-hand sides of a `source` block: the source itself, and what smears it.
#pragma once

#include "core/gauge/gauge_store.h"
#include "input/contractions/gaussian_smearing.h"
#include "input/sources/registry.h"

#include <memory>
#include <string>
#include <vector>

namespace quadrille {

class SourceMaker {
 public:
  /// `source` outlives this. Collective.
  SourceMaker(const Parameters& source, const GaugeStore& links);
  /// Overwrites b, a spinor field on the full lattice in double on the backend of the links. Collective.
  void make(Field& b, int spin, int color) const;

 private:
  const Parameters& source_;
  const SourceEntry& entry_;
  std::unique_ptr<const SliceSmearing> smearing_;  ///< null where it is not smeared
};

/// What Chroma calls it in files of propagators, without _SOURCE and in any case.
std::string file_source_type(const Parameters& source);

}  // namespace quadrille
