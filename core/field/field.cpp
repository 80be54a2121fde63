#include "core/field/field.h"

#include "core/error.h"

#include <bit>
#include <string_view>
#include <utility>

namespace quadrille {

bool operator==(const SiteFormat& a, const SiteFormat& b) {
  return std::string_view(a.name) == b.name && a.sections == b.sections && a.section == b.section && a.norms == b.norms;
}

std::size_t FieldDesc::norms_offset() const {
  return std::size_t(layout.sites(lattice->half_volume())) * std::size_t(components()) * number_bytes(precision);
}

std::size_t FieldDesc::parity_bytes() const {
  const std::size_t sites = std::size_t(layout.sites(lattice->half_volume()));
  return norms_offset() + (has_norms() ? sites * sizeof(float) : 0);
}

std::size_t FieldDesc::bytes() const { return parity_bytes() * std::size_t(parities()); }

double FieldDesc::bytes_per_site() const {
  return double(number_bytes(precision)) * components() + (has_norms() ? double(sizeof(float)) : 0);
}

FieldDesc FieldDesc::of(const SiteFormat& site, const Lattice& lattice, Subset subset, Precision precision,
                        Backend& backend) {
  FieldDesc desc;
  desc.lattice = &lattice;
  desc.site = site;
  desc.subset = subset;
  desc.precision = precision;
  desc.layout = backend.layout(lattice, precision);
  desc.backend = &backend;
  return desc;
}

FieldDesc FieldDesc::spinor(const Lattice& lattice, Subset subset, Precision precision, Backend& backend) {
  return of(site_formats::spinor, lattice, subset, precision, backend);
}

FieldDesc FieldDesc::links(const Lattice& lattice, Precision precision, Reconstruct reconstruct, Backend& backend,
                           std::uint8_t directions) {
  FieldDesc desc = of(site_formats::links(std::popcount(unsigned(directions)), reconstruct), lattice, Subset::Full,
                      precision, backend);
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
  if (!holds(p)) throw Error(ErrorCode::internal, "the field does not have the parity that was requested");
  return memory_ + (desc_.subset == Subset::Full ? std::size_t(p) * desc_.parity_bytes() : 0);
}

const void* Field::section(Parity p, int section) const {
  const std::size_t before = std::size_t(section * desc_.section()) * std::size_t(desc_.layout.sites_together());
  return static_cast<const std::byte*>(numbers(p)) + before * number_bytes(desc_.precision);
}

const float* Field::norms(Parity p) const {
  if (!desc_.has_norms()) return nullptr;
  return reinterpret_cast<const float*>(static_cast<const std::byte*>(numbers(p)) + desc_.norms_offset());
}

void require_same(const FieldDesc& a, const FieldDesc& b, const char* what) {
  if (!(a == b)) throw Error(ErrorCode::internal, std::string(what) + ": fields of different descriptions");
}

}  // namespace quadrille
