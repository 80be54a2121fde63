// What PureGauge asks of a backend: updates and sums of the links in its memory.
#pragma once

#include "core/backend/of_backend.h"
#include "core/field/field.h"
#include "modules/quenched/updates/kernels.h"

#include <array>
#include <memory>
#include <string>

namespace quadrille::quenched {

inline HeatbathCounts& operator+=(HeatbathCounts& all, const HeatbathCounts& more) {
  all.attempts += more.attempts;
  all.draws += more.draws;
  all.creutz_attempts += more.creutz_attempts;
  all.creutz_draws += more.creutz_draws;
  return all;
}

/// Work on one field of links in double or single precision with 18 or 12 numbers, which outlives this. Calls may
/// return before their work is done, if they give no result; it is done in the order of the calls. Over several ranks
/// calls are collective, and what they give is of this rank.
class LinkUpdates {
 public:
  virtual ~LinkUpdates() = default;

  /// What its kernels are compiled for: "avx2", "sm_90".
  virtual std::string architecture() const = 0;
  /// Updates the links of one direction and parity.
  virtual void heatbath(const SweepPart& part) = 0;
  virtual void overrelax(const SweepPart& part) = 0;
  /// Of all heatbaths since the construction.
  virtual HeatbathCounts counts() const = 0;

  /// The sums over the sites of Re tr P for the planes xy, xz, xt, yz, yt, zt.
  virtual std::array<double, 6> plane_sums() const = 0;
  /// The sum over space of the trace of the product of the time links: re, im. Over several ranks of loops that end on
  /// this one.
  virtual std::array<double, 2> loop_sum() const = 0;
  /// Makes every link an SU(3) matrix and returns the largest |change| of a number.
  virtual double reunitarize() = 0;
  /// Brings the field up to date: before, it may hold older links. Not collective.
  virtual void sync() {}
};

QUADRILLE_DECLARE_FOR_BACKENDS(std::unique_ptr<LinkUpdates>, make_updates, (Field & links))

}  // namespace quadrille::quenched
