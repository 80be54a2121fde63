#include "modules/mgemm/choice/precision.h"

namespace quadrille::mgemm {

Cutoff read_cutoff(const TaskContext& context, const std::string& name) {
  if (context.word(name) != "auto") return Cutoff::at(context.real(name));
  return Cutoff::for_error(context.real("target_error"),
                           value_of(assurance_names, context.text("assurance"), "assurance"));
}

PrecisionChoice read_precision(const TaskContext& context) {
  PrecisionChoice choice;
  choice.precision = value_of(product_precision_names, context.text("precision"), "precision");
  choice.cutoff = read_cutoff(context, "delta");
  choice.always_split = context.boolean("always_split");
  return choice;
}

}  // namespace quadrille::mgemm
