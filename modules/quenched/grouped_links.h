// Links in the grouped layout (core/layout/grouped_layout.h), as device code reads them.
#pragma once

#include "modules/quenched/kernels.h"

#include <type_traits>

namespace quadrille::quenched {

struct GroupedLinks {
  void* links[2];  ///< of four links a site, by parity
  LinkNumbers of;  ///< what they are made of
  int x, y, z, t;  ///< extents
  int sites;       ///< of a parity
};

/// Calls f with a number of the type of the links' numbers and a std::integral_constant, how many of them a link has.
template <class F>
void with_numbers(const LinkNumbers& of, F&& f) {
  const auto with_type = [&](auto number) {
    if (of.numbers == 12) {
      f(number, std::integral_constant<int, 12>{});
    } else {
      f(number, std::integral_constant<int, 18>{});
    }
  };
  if (of.bytes == 4) {
    with_type(float{});
  } else {
    with_type(double{});
  }
}

}  // namespace quadrille::quenched
