#include "modules/flow/smearing.h"

#include "modules/flow/steps/link_steps.h"

#include <bit>

namespace quadrille::flow {

namespace {

template <class Step>
GaugeStore repeated(const GaugeStore& links, int count, const Step& step) {
  const auto steps = make_link_steps(links);
  for (int k = 0; k < count; ++k) steps->run(step);
  return GaugeStore(steps->links());
}

}  // namespace

GaugeStore smeared(const GaugeStore& links, const StoutSmearing& smearing) {
  return repeated(links, smearing.steps, Stage{.z = smearing.rho, .directions = smearing.directions});
}

GaugeStore smeared(const GaugeStore& links, const ApeSmearing& smearing) {
  const int staples = 2 * (std::popcount(smearing.directions) - 1);
  return repeated(
      links, smearing.steps,
      Projection{.own = 1 - smearing.alpha, .staples = smearing.alpha / staples, .directions = smearing.directions});
}

GaugeStore smeared(const GaugeStore& links, const HypSmearing& smearing) {
  return repeated(links, smearing.steps,
                  HypStep{smearing.alpha1, smearing.alpha2, smearing.alpha3, smearing.directions});
}

}  // namespace quadrille::flow
