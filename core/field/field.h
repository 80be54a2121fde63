// Fields: memory with a description of what it holds. Typed at run time; kernels see typed views.
#pragma once

#include "core/api.h"
#include "core/backend/backend.h"
#include "core/field/site_format.h"
#include "core/layout/lattice.h"
#include "core/layout/layout.h"
#include "core/numbers/precision.h"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace quadrille {

/// Sets of links by the hop that they belong to, as bits: bit 2 mu is U_mu(x), of the hop to x + mu; bit 2 mu + 1 is
/// U_mu(x - mu), of the hop to x - mu. The order is that in which kernels read them.
namespace hops {
constexpr std::uint8_t forward = 0b01010101;  ///< each link once
constexpr std::uint8_t spatial = 0b00111111, time = 0b11000000;
}  // namespace hops

enum class Subset { Even, Odd, Full };
constexpr Subset subset_of(Parity p) { return p == Parity::Even ? Subset::Even : Subset::Odd; }
/// Of Even or Odd.
constexpr Parity parity_of(Subset subset) { return subset == Subset::Odd ? Parity::Odd : Parity::Even; }

/// What a field holds and how.
///
/// Spinors are in the non-relativistic (UKQCD) spin basis. The links of a site's `directions` follow each other in
/// rising order of their bits: number n of the k-th is component k * reconstruct + n; always both parities.
/// In memory, for each parity of the subset (even first): the numbers as the layout says, and where the format has
/// norms, in half precision, one float a site after them, as [block][lane] or [site].
struct QUADRILLE_API FieldDesc {
  const Lattice* lattice = nullptr;  ///< outlives every field on it
  SiteFormat site = site_formats::spinor;
  Subset subset = Subset::Full;
  Precision precision = Precision::Double;
  Reconstruct reconstruct = Reconstruct::R18;  ///< of links; ignored for others
  std::uint8_t directions = hops::forward;     ///< of links: a set of `hops`; ignored for others
  Layout layout;
  Backend* backend = nullptr;

  bool operator==(const FieldDesc&) const = default;

  /// Stored numbers of a site.
  int components() const { return site.numbers(); }
  /// Those that lie together in the grouped layout.
  int section() const { return site.section; }
  bool has_norms() const { return site.norms && precision == Precision::Half; }
  bool holds_links() const { return site == site_formats::links(site.sections, reconstruct); }
  int parities() const { return subset == Subset::Full ? 2 : 1; }
  /// Bytes of one parity, and of the whole field, padding included.
  std::size_t parity_bytes() const;
  std::size_t bytes() const;
  /// Bytes that reading or writing one site moves.
  double bytes_per_site() const;
  /// From the start of a parity to its norms.
  std::size_t norms_offset() const;

  /// In the layout that the backend uses for the precision.
  static FieldDesc of(const SiteFormat& site, const Lattice& lattice, Subset subset, Precision precision,
                      Backend& backend = cpu_backend());
  static FieldDesc spinor(const Lattice& lattice, Subset subset, Precision precision, Backend& backend = cpu_backend());
  static FieldDesc links(const Lattice& lattice, Precision precision, Reconstruct reconstruct,
                         Backend& backend = cpu_backend(), std::uint8_t directions = hops::forward);
};

/// A field owns its memory, or is a view of one parity of another field. Fresh memory holds anything
/// (core/backend/backend.h).
class QUADRILLE_API Field {
 public:
  explicit Field(const FieldDesc& desc);
  ~Field();
  Field(Field&& other) noexcept;
  Field& operator=(Field&& other) noexcept;
  Field(const Field&) = delete;
  Field& operator=(const Field&) = delete;

  const FieldDesc& desc() const { return desc_; }
  const Lattice& lattice() const { return *desc_.lattice; }

  /// One parity of a full field, or the field itself when it is that parity; a view that must not outlive this field.
  /// ErrorCode::internal when the field does not hold the parity.
  Field parity(Parity p);
  const Field parity(Parity p) const;

  /// Start of the numbers, and of the norms, of one parity that the field holds.
  void* numbers(Parity p) { return const_cast<void*>(std::as_const(*this).numbers(p)); }
  const void* numbers(Parity p) const;
  /// Start of a section's numbers: those of the first sites that lie together.
  const void* section(Parity p, int section) const;
  float* norms(Parity p) { return const_cast<float*>(std::as_const(*this).norms(p)); }
  const float* norms(Parity p) const;
  bool holds(Parity p) const { return desc_.subset == Subset::Full || desc_.subset == subset_of(p); }

 private:
  Field(const FieldDesc& desc, std::byte* borrowed) : desc_(desc), memory_(borrowed), owner_(false) {}

  FieldDesc desc_;
  std::byte* memory_ = nullptr;
  bool owner_ = true;
};

/// Throws ErrorCode::internal, naming `what`, unless the two descriptions are equal.
void require_same(const FieldDesc& a, const FieldDesc& b, const char* what);

}  // namespace quadrille
