#include "modules/mgemm/choice/forms.h"

#include "core/error.h"
#include "modules/shared/dense/narrow_parts.h"

namespace quadrille::mgemm {
namespace {

template <class Format>
FormTraits floats(SmallForm form, const char* name, int parts, bool truncates) {
  return {form,
          name,
          parts,
          int(sizeof(typename Format::Element)),
          Format::significant_bits,
          false,
          truncates,
          Format::largest,
          Format::tiny};
}

FormTraits digits(SmallForm form, const char* name, int parts) { return {form, name, parts, 1, 8, true, false, 1, 0}; }

}  // namespace

const std::vector<FormTraits>& all_forms() {
  static const std::vector<FormTraits> forms = {
      floats<narrow::SingleFormat>(SmallForm::single, "single", 1, false),
      floats<narrow::HalfFormat>(SmallForm::half2, "half2", 2, true),
      digits(SmallForm::digits3, "digits3", 3),
      digits(SmallForm::digits4, "digits4", 4),
      digits(SmallForm::digits5, "digits5", 5),
      digits(SmallForm::digits6, "digits6", 6),
  };
  return forms;
}

const FormTraits& traits_of(SmallForm form) {
  for (const FormTraits& traits : all_forms()) {
    if (traits.form == form) return traits;
  }
  throw Error(ErrorCode::internal, "the automatic form of the small product has no traits");
}

SmallForm form_named(const std::string& name) {
  std::string known = to_string(SmallForm::automatic);
  if (name == known) return SmallForm::automatic;
  for (const FormTraits& traits : all_forms()) {
    if (name == traits.name) return traits.form;
    known += std::string(", ") + traits.name;
  }
  throw Error(ErrorCode::invalid_input, "unknown form '" + name + "' of the small product; the forms are " + known);
}

std::string to_string(SmallForm form) { return form == SmallForm::automatic ? "automatic" : traits_of(form).name; }

}  // namespace quadrille::mgemm
