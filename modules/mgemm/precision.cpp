#include "modules/mgemm/precision.h"

#include <fmt/format.h>

#include <charconv>

namespace quadrille::mgemm {

Cutoff read_cutoff(const TaskContext& context, const std::string& name) {
  const std::string text = context.text(name);
  if (text == "auto") {
    const std::string name = context.text("assurance");
    const Assurance assurance = name == "certain"    ? Assurance::certain
                                : name == "probable" ? Assurance::probable
                                                     : Assurance::measured;
    return Cutoff::for_error(context.real("target_error"), assurance);
  }
  double delta = 0;
  const auto [end, trouble] = std::from_chars(text.data(), text.data() + text.size(), delta);
  if (trouble != std::errc() || end != text.data() + text.size() || !(delta >= 0) || delta > 1e300) {
    TaskContext::fail(QUADRILLE_INVALID_INPUT, fmt::format("must be auto or a number >= 0, got {}", text), name);
  }
  return Cutoff::at(delta);
}

PrecisionChoice read_precision(const TaskContext& context) {
  PrecisionChoice choice;
  const std::string precision = context.text("precision");
  choice.precision = precision == "double"   ? ProductPrecision::double_
                     : precision == "single" ? ProductPrecision::single
                                             : ProductPrecision::mgemm;
  choice.cutoff = read_cutoff(context, "delta");
  choice.always_split = context.boolean("always_split");
  return choice;
}

}  // namespace quadrille::mgemm
