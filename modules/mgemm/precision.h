// What a job says about the precision of matrix products: the parameters of every task with such products, and how they
// are read.
#pragma once

#include "modules/mgemm/mgemm.h"
#include "modules/task.h"

#include <string>

namespace quadrille::mgemm {

enum class ProductPrecision { double_, single, mgemm };

struct PrecisionChoice {
  ProductPrecision precision = ProductPrecision::double_;
  Cutoff cutoff;              ///< of mgemm
  bool always_split = false;  ///< of mgemm: also where no gain is expected
};

/// Of the parameters below, which the task must have. Errors: a delta that is neither auto nor a number >= 0.
PrecisionChoice read_precision(const TaskContext& context);

/// The cutoff of a parameter like `delta`; an automatic one takes `target_error` and `assurance`.
Cutoff read_cutoff(const TaskContext& context, const std::string& name);

inline constexpr const char* precision_choices[] = {"double", "single", "mgemm", nullptr};
/// Of one product, on a GPU without `measured`; of products of which a sample is taken anywhere.
inline constexpr const char* product_assurances[] = {"certain", "probable", "measured", nullptr};
inline constexpr const char* sampled_assurances[] = {"certain", "measured", nullptr};

inline constexpr quadrille_parameter precision_parameter = {
    .name = "precision",
    .type = QUADRILLE_CHOICE,
    .help = "of the matrix products; mgemm multiplies large elements in double and the others in single",
    .default_text = "double",
    .choices = precision_choices};

inline constexpr quadrille_parameter delta_parameter = {
    .name = "delta",
    .type = QUADRILLE_TEXT,
    .help = "of mgemm: elements above it are large; auto chooses it for `target_error`",
    .default_text = "auto"};

constexpr quadrille_parameter target_error_parameter(const char* help, const char* unit, const char* value) {
  return {.name = "target_error",
          .type = QUADRILLE_REAL,
          .help = help,
          .unit = unit,
          .default_text = value,
          .flags = QUADRILLE_HAS_MINIMUM | QUADRILLE_MINIMUM_OPEN};
}

constexpr quadrille_parameter assurance_parameter(const char* help, const char* value, const char* const* choices) {
  return {.name = "assurance", .type = QUADRILLE_CHOICE, .help = help, .default_text = value, .choices = choices};
}

inline constexpr quadrille_parameter always_split_parameter = {
    .name = "always_split",
    .type = QUADRILLE_BOOLEAN,
    .help = "split products where mgemm expects no gain, too: for studies of errors",
    .default_text = "false"};

}  // namespace quadrille::mgemm
