// Scratch of an operator that works on lists of calls.
#pragma once

#include "core/field/field.h"

#include <cstddef>
#include <deque>

namespace quadrille {

/// Fields of one description, one for each call of the longest list so far: the first is made at once.
class ScratchFields {
 public:
  explicit ScratchFields(const FieldDesc& desc) { fields_.emplace_back(desc); }

  Field& operator[](std::size_t call) {
    while (fields_.size() <= call) fields_.emplace_back(fields_.front().desc());
    return fields_[call];
  }

 private:
  std::deque<Field> fields_;  // growing it moves no field
};

}  // namespace quadrille
