// The forms that the dense product of the small elements can take, and what each is made of.
#pragma once

#include "core/api.h"

#include <cstdint>
#include <string>
#include <vector>

namespace quadrille::mgemm {

/// What multiplies the small elements. All but `single` need a GPU.
enum class SmallForm {
  automatic,  ///< chosen by the required accuracy and by cost; on the CPU: single
  single,     ///< products and sums in single precision
  half2,      ///< two parts in half precision each, three products, sums in single precision
  digits3,    ///< fixed point, three digits of 8 bits, six exact products in integers
  digits4,    ///< four digits, ten products
  digits5,    ///< five, 15
  digits6,    ///< six, 21
};

/// A form as parts r = 0, 1, ... of each factor (modules/shared/dense/narrow_parts.h). Of the products of part r of A
/// with part s of B, those with r + s < parts are done: `parts` sums, one for each value of r + s.
struct FormTraits {
  SmallForm form;
  const char* name;
  int parts;
  int bytes;             ///< of one part of a number
  int significant_bits;  ///< of a part
  bool integer;          ///< parts are digits of fixed-point numbers
  bool truncates;        ///< sums are cut rather than rounded, as matrix units do
  double largest;        ///< factors are scaled such that no magnitude is above this
  double tiny;           ///< what is below may be lost

  int products() const { return parts * (parts + 1) / 2; }
};

/// All but `automatic`.
QUADRILLE_API const std::vector<FormTraits>& all_forms();
QUADRILLE_API const FormTraits& traits_of(SmallForm form);
QUADRILLE_API std::string to_string(SmallForm form);
/// Errors: ErrorCode::invalid_input, with the known names.
QUADRILLE_API SmallForm form_named(const std::string& name);

/// Terms of a sum of products of digits that fit 32 bits, whatever the digits are.
constexpr std::int64_t longest_integer_sum = 131008;  // 2^31 / 2^14, less a few, a multiple of 64

}  // namespace quadrille::mgemm
