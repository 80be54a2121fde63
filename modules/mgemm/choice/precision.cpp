#include "modules/mgemm/choice/precision.h"

namespace quadrille::mgemm {

Cutoff read_cutoff(const TaskContext& context, const std::string& name) {
  if (context.word(name) != "auto") return Cutoff::at(context.real(name));
  const std::string assurance = context.text("assurance");
  return Cutoff::for_error(context.real("target_error"), assurance == "certain"    ? Assurance::certain
                                                         : assurance == "probable" ? Assurance::probable
                                                                                   : Assurance::measured);
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
