// What GradientFlow asks of a backend: stages of the integrator and steps of smearing on the links in its memory.
#pragma once

#include "core/backend/of_backend.h"
#include "core/field/field.h"
#include "core/gauge/gauge_store.h"
#include "modules/flow/steps/hyp_levels.h"
#include "modules/flow/steps/kernels.h"

#include <memory>
#include <string>

namespace quadrille::flow {

/// Work on a field of links in double with 18 numbers. Calls may return before their work is done; it is done in their
/// order. Over several ranks calls are collective.
class LinkSteps {
 public:
  virtual ~LinkSteps() = default;

  /// What its kernels are compiled for: "avx2", "sm_90".
  virtual std::string architecture() const = 0;
  /// All links at once; the staples are those of the links before.
  virtual void run(const Stage& stage) = 0;
  virtual void run(const Projection& projection) = 0;
  virtual void run(const HypStep& step) = 0;
  /// The links as they are now; until the next stage.
  virtual const Field& links() = 0;
};

/// Steps on a copy of `links`.
QUADRILLE_DECLARE_FOR_BACKENDS(std::unique_ptr<LinkSteps>, make_steps, (const GaugeStore& links))

/// The same on the backend of the links.
inline std::unique_ptr<LinkSteps> make_link_steps(const GaugeStore& links) {
  return QUADRILLE_OF_BACKEND(links.backend().name(), make_steps)(links);
}

}  // namespace quadrille::flow
