// The forms of links that gauge updates are tested in.
#pragma once

#include "modules/quenched/pure_gauge.h"

#include <gtest/gtest.h>

#include <ostream>

namespace quadrille::quenched {

inline void PrintTo(const LinkForm& form, std::ostream* out) {
  *out << to_string(form.precision) << " " << to_string(form.reconstruct);
}

inline constexpr LinkForm tested_forms[] = {{Precision::Double, Reconstruct::R18},
                                            {Precision::Double, Reconstruct::R12},
                                            {Precision::Single, Reconstruct::R18},
                                            {Precision::Single, Reconstruct::R12}};

}  // namespace quadrille::quenched
