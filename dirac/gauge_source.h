// The gauge field that operators are made from: the links as read, and what is derived from them once.
#pragma once

#include "core/api.h"
#include "core/gauge/temporal_gauge.h"
#include "core/host_field.h"
#include "core/lattice.h"

#include <memory>
#include <mutex>
#include <utility>

namespace quadrille {

class QUADRILLE_API GaugeSource {
 public:
  /// `lattice` outlives this; the links' extents are its local extents.
  GaugeSource(const Lattice& lattice, HostLinks links) : lattice_(&lattice), links_(std::move(links)) {}

  const Lattice& lattice() const { return *lattice_; }
  const HostLinks& links() const { return links_; }
  /// The transformation to temporal gauge, made at the first call.
  std::shared_ptr<const TemporalGauge> temporal_gauge() const {
    const std::lock_guard lock(mutex_);
    if (!temporal_gauge_) temporal_gauge_ = std::make_shared<const TemporalGauge>(*lattice_, links_);
    return temporal_gauge_;
  }

 private:
  const Lattice* lattice_;
  HostLinks links_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const TemporalGauge> temporal_gauge_;
};

}  // namespace quadrille
