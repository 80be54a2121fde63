#include "input/sources/source_maker.h"

namespace quadrille {

SourceMaker::SourceMaker(const Parameters& source, const GaugeStore& links)
    : source_(source),
      entry_(source_entry(source)),
      smearing_(make_slice_smearing(source, "smearing", links, entry_.position(source)[3])) {}

void SourceMaker::make(Field& b, int spin, int color) const {
  entry_.make(source_, b, spin, color);
  if (smearing_) smearing_->apply(b);
}

std::string file_source_type(const Parameters& source) {
  return source.has("smearing") ? "shell" : source.text("type");
}

}  // namespace quadrille
