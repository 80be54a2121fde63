#include "input/sources/source_maker.h"

namespace quadrille {

SourceMaker::SourceMaker(const Parameters& source, const SourceSetting& setting) {
  const SourceEntry& entry = source_entry(source);
  smearing_ = make_slice_smearing(source, "smearing", setting.links, entry.position(source)[3]);
  make_ = entry.maker(source, setting, smearing_.get());
}

void SourceMaker::make(Field& b, int spin, int color) const {
  make_(b, spin, color);
  if (smearing_) smearing_->apply(b);
}

std::string file_source_type(const Parameters& source) {
  const bool shell = source.has("smearing") && source_entry(source).file_elements == nullptr;
  return shell ? "shell" : source.text("type");
}

}  // namespace quadrille
