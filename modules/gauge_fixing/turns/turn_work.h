// What gauge fixing asks of a backend: half sweeps of a gauge transformation in its memory.
#pragma once

#include "core/backend/of_backend.h"
#include "core/gauge/gauge_store.h"
#include "modules/gauge_fixing/turns/kernels.h"

#include <memory>
#include <string>

namespace quadrille::gauge_fixing {

/// Sums over the sites of a half sweep.
struct Seen {
  double functional = 0;         ///< of Re tr M after the sites have turned (relaxation.h)
  double before = 0, after = 0;  ///< of tr D D^+ before and after
};

/// Work on a transformation g of links, which begins as 1. Over several ranks calls are collective, and sums are of
/// this rank.
class TurnWork {
 public:
  virtual ~TurnWork() = default;

  /// What its kernels are compiled for: "avx2", "sm_90".
  virtual std::string architecture() const = 0;
  virtual Seen relax(const Relaxation& relaxation) = 0;
  /// The transformed links, on the lattice of the links.
  virtual std::unique_ptr<GaugeStore> transformed() = 0;
};

/// On a copy of `links`.
QUADRILLE_DECLARE_FOR_BACKENDS(std::unique_ptr<TurnWork>, make_turns, (const GaugeStore& links))

/// The same on the backend of the links.
inline std::unique_ptr<TurnWork> make_turn_work(const GaugeStore& links) {
  return QUADRILLE_OF_BACKEND(links.backend().name(), make_turns)(links);
}

}  // namespace quadrille::gauge_fixing
