// Matrices of a device's grouped layout, with those of other ranks, as kernels read them around a site.
#pragma once

#include "core/api.h"
#include "core/field/halo_torus.h"
#include "core/gauge/around/grouped_links.h"
#include "core/gauge/gauge_store.h"

#include <optional>

namespace quadrille {

/// A field of 3 x 3 matrices in double with 18 numbers on a torus that has the sites of other ranks around this rank's
/// (core/field/halo_torus.h). It stays where it is: the torus refers to it. Constructors and exchange() are collective.
class QUADRILLE_API GroupedField {
 public:
  /// A copy of the forward links.
  explicit GroupedField(const GaugeStore& links);
  /// One matrix a site; contents are undefined.
  explicit GroupedField(const Lattice& lattice, Backend& backend);
  GroupedField(const GroupedField&) = delete;
  GroupedField& operator=(const GroupedField&) = delete;

  /// What kernels work on.
  const GroupedLinks& around() const { return around_; }
  /// The matrices of this rank's sites, as kernels have left them.
  const Field& field() const;

  const FieldDesc& desc() const { return field_.desc(); }
  const Lattice& lattice() const { return field_.lattice(); }

  /// Brings the matrices of other ranks up to date, of all or of one parity (of fields of one matrix a site).
  void exchange();
  void exchange(int parity);

 private:
  Field field_;
  std::optional<HaloTorus> halo_;  ///< of several ranks
  GroupedLinks around_{};
};

}  // namespace quadrille
