// Several fields of one description, as methods with long recurrences keep them.
#pragma once

#include "core/field/field.h"

#include <cstddef>
#include <vector>

namespace quadrille {

class Workspace {
 public:
  Workspace(const FieldDesc& desc, std::size_t count) {
    fields_.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      fields_.emplace_back(desc);
      pointers_.push_back(&fields_.back());
    }
  }

  Field& operator[](std::size_t i) { return fields_[i]; }
  std::size_t size() const { return fields_.size(); }
  /// As core/blas/blas.h takes several.
  const std::vector<const Field*>& pointers() const { return pointers_; }

 private:
  std::vector<Field> fields_;
  std::vector<const Field*> pointers_;
};

}  // namespace quadrille
