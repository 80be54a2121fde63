// What a job says about the precision of matrix products: the parameters of every task with such products, and how they
// are read.
#pragma once

#include "core/api.h"
#include "core/system/names.h"
#include "modules/mgemm/product/mgemm.h"
#include "modules/shared/plugin/parameters.h"
#include "modules/shared/plugin/task.h"

#include <string>

namespace quadrille::mgemm {

enum class ProductPrecision { double_, single, mgemm };
inline constexpr Named<ProductPrecision> product_precision_names[] = {
    {ProductPrecision::double_, "double"}, {ProductPrecision::single, "single"}, {ProductPrecision::mgemm, "mgemm"}};

struct PrecisionChoice {
  ProductPrecision precision = ProductPrecision::double_;
  Cutoff cutoff;              ///< of mgemm
  bool always_split = false;  ///< of mgemm: also where no gain is expected
};

/// Of the parameters below, which the task must have.
QUADRILLE_API PrecisionChoice read_precision(const TaskContext& context);

/// The cutoff of a parameter like `delta`; an automatic one takes `target_error` and `assurance`.
QUADRILLE_API Cutoff read_cutoff(const TaskContext& context, const std::string& name);

inline constexpr const char* precision_choices[] = {"double", "single", "mgemm", nullptr};
/// Of one product, on a GPU without `measured`; of products of which a sample is taken anywhere.
inline constexpr const char* product_assurances[] = {"certain", "probable", "measured", nullptr};
inline constexpr const char* sampled_assurances[] = {"certain", "measured", nullptr};

inline constexpr quadrille_parameter precision_parameter = parameter::choice(
    "precision", "precision of the matrix products; mgemm multiplies large elements in double and the others in single",
    "double", precision_choices);
inline constexpr const char* delta_words[] = {"auto", nullptr};
constexpr quadrille_parameter delta_parameter_of(const char* name, const char* help, const char* value) {
  return parameter::number_or_word(name, help, value, delta_words, parameter::at_least(0));
}
inline constexpr quadrille_parameter delta_parameter =
    delta_parameter_of("delta", "for mgemm: elements above it are large; auto chooses it for `target_error`", "auto");
inline constexpr quadrille_parameter always_split_parameter = parameter::boolean(
    "always_split", "split products even where mgemm expects no gain: for studies of errors", "false");

}  // namespace quadrille::mgemm
