// A host's arrays of links and spinors, as words describe them, on their way to and from fields.
#pragma once

#include "core/field/field.h"
#include "core/gauge/gauge_store.h"
#include "core/parameters/parameters.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace quadrille::capi {

/// Throws ErrorCode::invalid_input, naming the array, unless arrays[0 .. count) are `count` pointers aligned to
/// `alignment`.
void check_arrays(const void* const* arrays, std::size_t count, std::size_t alignment, const std::string& what);

/// Links of a whole lattice in a host's arrays. Reads and writes nothing else.
class LinkArrays {
 public:
  /// `words` resolved from links_table() or new_links_table(). Throws ErrorCode::invalid_input for arrays that do not
  /// fit them.
  LinkArrays(const Parameters& words, const Dims& dims, const void* const* arrays, std::size_t count);

  /// Sets all links. Throws ErrorCode::numerical, naming the worst link, for
  /// links that are not in SU(3) to link_tolerance(bits); the field holds them all the same.
  void read_into(GaugeStore& store) const;
  /// Overwrites the arrays.
  void write_from(const GaugeStore& store) const;

 private:
  template <class Real, class Word>
  void fill(std::byte* bytes, std::int64_t begin, std::int64_t end) const;
  template <class Real, class Word>
  void take(const std::byte* bytes, std::int64_t begin, std::int64_t end) const;
  std::byte* link(std::int64_t site, int mu) const;
  void demand_su3(const GaugeStore& store) const;

  Dims dims_;
  int bits_;
  bool even_odd_, columns_;
  std::byte* first_[4];  ///< link mu of the first site
  std::size_t stride_;   ///< bytes from site to site
  std::array<Complex, 4> undo_;
  bool undoes_ = false;  ///< there are boundary factors to divide out
};

enum class SpinBasis { degrand_rossi, ukqcd, openqcd };

/// How a host lays out spinor fields.
class SpinorArrays {
 public:
  /// `words` resolved from spinors_table() or solve_table(). Throws ErrorCode::invalid_input for a number of bytes that
  /// is given and wrong.
  SpinorArrays(const Parameters& words, const Lattice& lattice);

  Subset subset() const { return subset_; }
  std::size_t alignment() const { return single_ ? sizeof(float) : sizeof(double); }
  /// Of one array.
  std::size_t bytes() const;
  /// `field` holds this subset in double; its sites are overwritten.
  void read_into(Field& field, const void* array) const;
  void write_from(const Field& field, void* array) const;

 private:
  template <class Real>
  void read_sites(Field& image, const Real* array) const;
  template <class Real>
  void write_sites(const Field& image, Real* array) const;
  std::int64_t place(Parity p, std::int64_t site) const;

  const Lattice& lattice_;
  Subset subset_;
  bool even_odd_, color_spin_, single_;
  SpinBasis basis_;
};

}  // namespace quadrille::capi
