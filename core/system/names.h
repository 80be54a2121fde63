// The values of an enumeration and their names, from one table.
#pragma once

#include "core/error.h"

#include <cstddef>
#include <string>

namespace quadrille {

template <class E>
struct Named {
  E value;
  const char* name;
};

/// The name of a value of the table.
template <class E, std::size_t N>
std::string name_of(const Named<E> (&table)[N], E value) {
  for (const Named<E>& one : table) {
    if (one.value == value) return one.name;
  }
  throw Error(ErrorCode::internal, "a value without a name");
}

/// The value of this name. ErrorCode::invalid_input for another one: "`what` must be cut, shifted_potential or
/// shifted_force, got 'x'".
template <class E, std::size_t N>
E value_of(const Named<E> (&table)[N], const std::string& name, const std::string& what) {
  std::string names;
  for (std::size_t k = 0; k < N; ++k) {
    if (name == table[k].name) return table[k].value;
    names += std::string(k == 0 ? "" : k + 1 < N ? ", " : " or ") + table[k].name;
  }
  throw Error(ErrorCode::invalid_input, what + " must be " + names + ", got '" + name + "'");
}

}  // namespace quadrille
