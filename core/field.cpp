#include "core/field.h"

#include "core/error.h"
#include "core/isa.h"

#include <utility>

namespace quadrille {

std::size_t FieldDesc::parity_bytes() const {
  const std::size_t sites = std::size_t(lattice->half_volume()) * std::size_t(nrhs);
  return sites * (std::size_t(components()) * number_bytes(precision) + (has_norms() ? sizeof(float) : 0));
}

std::size_t FieldDesc::bytes() const { return parity_bytes() * std::size_t(parities()); }

Layout FieldDesc::default_layout(const Lattice& lattice, Precision precision) {
  return {choose_lanes(lattice.dims(), precision, active_isa())};
}

FieldDesc FieldDesc::spinor(const Lattice& lattice, Subset subset, Precision precision, Backend& backend) {
  FieldDesc desc;
  desc.lattice = &lattice;
  desc.subset = subset;
  desc.precision = precision;
  desc.layout = default_layout(lattice, precision);
  desc.backend = &backend;
  return desc;
}

FieldDesc FieldDesc::links(const Lattice& lattice, Precision precision, Reconstruct reconstruct, Backend& backend,
                           std::uint8_t directions) {
  FieldDesc desc = spinor(lattice, Subset::Full, precision, backend);
  desc.kind = FieldKind::Links;
  desc.reconstruct = reconstruct;
  desc.directions = directions;
  return desc;
}

Field::Field(const FieldDesc& desc) : desc_(desc) {
  memory_ = static_cast<std::byte*>(desc_.backend->allocate(desc_.bytes()));
}

Field::~Field() {
  if (owner_ && memory_ != nullptr) desc_.backend->release(memory_, desc_.bytes());
}

Field::Field(Field&& other) noexcept
    : desc_(other.desc_), memory_(std::exchange(other.memory_, nullptr)), owner_(other.owner_) {}

Field& Field::operator=(Field&& other) noexcept {
  std::swap(desc_, other.desc_);
  std::swap(memory_, other.memory_);
  std::swap(owner_, other.owner_);
  return *this;
}

Field Field::parity(Parity p) {
  FieldDesc desc = desc_;
  desc.subset = subset_of(p);
  return Field(desc, static_cast<std::byte*>(numbers(p)));
}

const Field Field::parity(Parity p) const { return const_cast<Field*>(this)->parity(p); }

const void* Field::numbers(Parity p) const {
  if (!holds(p)) throw Error(ErrorCode::internal, "a field of one parity was asked for the other");
  return memory_ + (desc_.subset == Subset::Full ? std::size_t(p) * desc_.parity_bytes() : 0);
}

const float* Field::norms(Parity p) const {
  if (!desc_.has_norms()) return nullptr;
  const std::size_t sites = std::size_t(desc_.lattice->half_volume()) * std::size_t(desc_.nrhs);
  const std::size_t offset = sites * std::size_t(desc_.components()) * number_bytes(desc_.precision);
  return reinterpret_cast<const float*>(static_cast<const std::byte*>(numbers(p)) + offset);
}

void require_same(const FieldDesc& a, const FieldDesc& b, const char* what) {
  if (!(a == b)) throw Error(ErrorCode::internal, std::string(what) + ": fields of different descriptions");
}

}  // namespace quadrille
