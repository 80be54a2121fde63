// Makes the right-hand sides of a `source` block: the source itself, and what smears it.
#pragma once

#include "input/contractions/gaussian_smearing.h"
#include "input/sources/registry.h"

#include <memory>
#include <string>

namespace quadrille {

class SourceMaker {
 public:
  /// `source` and the links outlive this. Collective.
  SourceMaker(const Parameters& source, const SourceSetting& setting);
  /// Overwrites b, a spinor field on the full lattice in double on the backend of the links. Collective.
  void make(Field& b, int spin, int color) const;

 private:
  std::unique_ptr<const SliceSmearing> smearing_;  ///< null where it is not smeared
  MakeColumn make_;
};

/// What Chroma calls it in files of propagators, without _SOURCE and in any case.
std::string file_source_type(const Parameters& source);

}  // namespace quadrille
