// Numbers with a range in the tables of solvers and preconditioners.
#pragma once

#include "core/parameters/parameters.h"

#include <string>
#include <utility>

namespace quadrille {

/// A whole number from 1 to `most`.
inline Parameter count(std::string name, double most, std::string by_default, std::string help) {
  return {.name = std::move(name),
          .type = ParameterType::integer,
          .help = std::move(help),
          .default_text = std::move(by_default),
          .minimum = 1,
          .maximum = most};
}

/// A number between two others, neither of which it may be.
inline Parameter between(std::string name, double least, double most, std::string by_default, std::string help) {
  return {.name = std::move(name),
          .type = ParameterType::real,
          .help = std::move(help),
          .default_text = std::move(by_default),
          .minimum = least,
          .maximum = most,
          .minimum_open = true,
          .maximum_open = true};
}

}  // namespace quadrille
