// A field as host code sees it, wherever its memory is.
#pragma once

#include "core/field/field.h"

#include <optional>

namespace quadrille {

/// The field itself where the host can touch its memory; elsewhere a copy in this process' memory with the same layout,
/// which must not outlive the field.
class HostImage {
 public:
  /// For reading: the copy holds what the field does.
  explicit HostImage(const Field& field) : HostImage(const_cast<Field&>(field), true) {}
  /// For overwriting: the copy is fresh, and write_back() carries it to the field.
  static HostImage fresh(Field& field) { return HostImage(field, false); }

  Field& field() { return copy_ ? *copy_ : *field_; }
  void write_back() {
    if (!copy_) return;
    for_each_part(
        [&](void* mine, void* theirs, std::size_t bytes) { field_->desc().backend->copy_in(theirs, mine, bytes); });
  }

 private:
  HostImage(Field& field, bool read) : field_(&field) {
    if (field.desc().backend->host_memory()) return;
    FieldDesc desc = field.desc();
    desc.backend = &cpu_backend();
    copy_.emplace(desc);
    if (!read) return;
    for_each_part([&](void* mine, const void* theirs, std::size_t bytes) {
      field_->desc().backend->copy_out(mine, theirs, bytes);
    });
  }

  template <class F>
  void for_each_part(F&& f) {
    for (Parity p : {Parity::Even, Parity::Odd}) {
      if (field_->holds(p)) f(copy_->numbers(p), field_->numbers(p), field_->desc().parity_bytes());
    }
  }

  Field* field_;
  std::optional<Field> copy_;
};

}  // namespace quadrille
