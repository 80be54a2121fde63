// Pure SU(3) gauge theory with the Wilson plaquette action, sampled by heatbath and overrelaxation.
//
//   S = beta sum_x [ (1/xi0) sum_{spatial planes} (1 - Re tr P / 3) + xi0 sum_{temporal planes} (1 - Re tr P / 3) ]
//
// A sweep updates all links once: direction after direction, in each the even sites and then the odd ones, so that the
// links updated together do not see each other. The lattice is periodic: boundary conditions of fermions play no part.
// Links are kept and updated in double or single precision, by 18 or 12 numbers per link (Precision, Reconstruct); what
// is measured of them is summed in double. Random numbers depend on seed, number of the sweep, direction, subgroup and
// global site only, so the links are the same bits for any number of threads and any grid of ranks (one backend and
// instruction set; another one rounds differently); what is summed over ranks agrees to rounding.
#pragma once

#include "core/field/field.h"
#include "core/gauge/gauge_store.h"
#include "modules/quenched/updates/kernels.h"
#include "modules/quenched/updates/link_updates.h"

#include <array>
#include <cstdint>
#include <memory>

namespace quadrille::quenched {

struct WilsonGaugeAction {
  double beta = 0;
  double xi0 = 1;  ///< bare anisotropy
};

/// How links are kept, and in which precision they are updated.
struct LinkForm {
  Precision precision = Precision::Double;     ///< or Single
  Reconstruct reconstruct = Reconstruct::R18;  ///< or R12

  bool operator==(const LinkForm&) const = default;
};

/// Over several ranks all members but field() are collective.
class PureGauge {
 public:
  /// Starts from `links`, rounded to the form, which should be unitary to its rounding (reunitarize() makes them so; of
  /// 12 numbers the third row is made from the others). `lattice` outlives this. Errors: ErrorCode::unsupported for
  /// half precision or 8 numbers.
  PureGauge(const GaugeStore& links, const WilsonGaugeAction& action, std::uint64_t seed, const LinkForm& form = {});
  PureGauge(const PureGauge&) = delete;
  PureGauge& operator=(const PureGauge&) = delete;

  /// The compound sweep: one heatbath sweep, with the random numbers of sweep `number`, and `overrelaxations` sweeps of
  /// overrelaxation.
  void sweep(std::uint64_t number, int overrelaxations);
  void heatbath(std::uint64_t number);
  void overrelax();

  /// Re tr P / 3, averages over the sites for the planes xy, xz, xt, yz, yt, zt.
  std::array<double, 6> planes() const;
  /// The trace of the product of the time links of a site, / 3, averaged over space.
  Complex polyakov_loop() const;
  /// Makes every link an SU(3) matrix again and returns the largest |change| of a real or imaginary part: how far
  /// rounding has carried the links from SU(3).
  double reunitarize();

  /// Exactly as they are kept: another PureGauge of the same form that starts from them goes on with the same bits.
  GaugeStore links() const;
  /// What the links are kept as; their values are those of the last links().
  const Field& field() const { return links_; }
  /// Since the construction.
  HeatbathCounts counts() const;

 private:
  template <class Update>
  void update_all(const char* name, std::uint64_t seed, const Update& update);

  const Lattice* lattice_;
  WilsonGaugeAction action_;
  std::uint64_t seed_;
  Field links_;
  std::unique_ptr<LinkUpdates> updates_;
};

/// The average over all planes, over xy xz yz, and over xt yt zt, of what planes() returns.
double plaquette_of(const std::array<double, 6>& planes);
double spatial_plaquette_of(const std::array<double, 6>& planes);
double temporal_plaquette_of(const std::array<double, 6>& planes);

}  // namespace quadrille::quenched
