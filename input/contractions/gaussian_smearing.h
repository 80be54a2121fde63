// Gauge-covariant Gaussian smearing of quark fields in space, of sources and sinks.
#pragma once

#include "core/gauge/gauge_store.h"
#include "core/parameters/parameters.h"
#include "dirac/wilson.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace quadrille {

/// x -> (1 + sigma^2 / (4 N) D^2)^N x for N steps, D^2 psi(x) = sum_k [U_k(x) psi(x+k) + U_k(x-k)^+ psi(x-k) - 2
/// psi(x)] over k = x, y, z, with periodic links: S. Guesken, Nucl. Phys. B (Proc. Suppl.) 17 (1990) 361, with the
/// width as Chroma's GAUGE_INV_GAUSSIAN has it: on unit links, far from the edges, exp(-r^2 / sigma^2) for many steps.
///
/// D^2 = -(M + M^+) with M the Wilson operator of mass -1 on the same links with time links of zero, so that it works
/// on every backend and on ranks.
class QUADRILLE_API GaussianSmearing {
 public:
  GaussianSmearing(const GaugeStore& links, double sigma, int steps);
  /// On links whose time links are zero.
  GaussianSmearing(std::shared_ptr<const GaugeStore> spatial_links, double sigma, int steps);

  /// Smears spinor fields of any spin basis on the full lattice in double, on the backend of the links. Several at once
  /// share the links that are read, and take twice as many more fields of memory. Collective.
  void apply_each(std::span<Field> fields) const;
  void apply(Field& x) const { apply_each({&x, 1}); }
  /// Of fields that it works on.
  const FieldDesc& field_desc() const { return laplacian_->field_desc(); }

 private:
  double factor_;  ///< sigma^2 / (4 N)
  int steps_;
  std::unique_ptr<const WilsonOperator> laplacian_;
};

/// The same on one time slice of the whole lattice, whose links it has on a lattice of its own: for sources.
class QUADRILLE_API SliceSmearing {
 public:
  SliceSmearing(const GaugeStore& links, double sigma, int steps, int time);

  /// Smears the slice of a spinor field as GaussianSmearing does; the others stay as they are. Collective.
  void apply(Field& x) const;

 private:
  /// Two slices for each rank along t: the first, on the rank that has it, is the one that is smeared.
  Lattice slices_;
  int time_;  ///< on this rank; -1 where another one has it
  GaussianSmearing smearing_;
};

/// The parameter NAME: {type: gaussian, sigma, steps}.
Parameter smearing_parameter(const std::string& name, const std::string& help);
/// Null where the parameters have none.
std::unique_ptr<const GaussianSmearing> make_smearing(const Parameters& parameters, const std::string& name,
                                                      const GaugeStore& links);
std::unique_ptr<const SliceSmearing> make_slice_smearing(const Parameters& parameters, const std::string& name,
                                                         const GaugeStore& links, int time);

}  // namespace quadrille
