#include "modules/flow/gradient_flow.h"

#include "core/gauge/clover_leaves.h"
#include "core/tuning/kernel_log.h"

namespace quadrille::flow {

namespace {

/// A stage reads each link once, and writes it, and reads and writes an element of the algebra for each.
constexpr double bytes_per_site = 4 * (2 * 18 + 2 * 8) * sizeof(double);
/// Besides, with rectangles, three staples each ahead and behind of four directions are written and read.
constexpr double staple_bytes_per_site = 2 * 2 * 4 * 3 * 18 * sizeof(double);

}  // namespace

GradientFlow::GradientFlow(const GaugeStore& links, const FlowAction& action)
    : steps_(make_link_steps(links)), action_(action) {}

// W1 = exp(Z0 / 4) W0, W2 = exp(8/9 Z1 - 17/36 Z0) W1, W3 = exp(3/4 Z2 - 8/9 Z1 + 17/36 Z0) W2 (Luescher's C.2): each
// exponent is made of the new Z and the exponent before.
void GradientFlow::step(double epsilon) {
  const Lattice& lattice = steps_->links().lattice();
  const Backend& backend = *steps_->links().desc().backend;
  KernelRecord& record = action_.c1 == 0 ? kernel_record("gradient_flow_double", steps_->architecture(), bytes_per_site)
                                         : kernel_record("gradient_flow_rectangles_double", steps_->architecture(),
                                                         bytes_per_site + staple_bytes_per_site);
  for (Stage stage : {Stage{0.25 * epsilon}, Stage{8.0 / 9 * epsilon, -17.0 / 9}, Stage{0.75 * epsilon, -1}}) {
    stage.plaquette = 1 - 8 * action_.c1;
    stage.rectangle = action_.c1;
    const KernelTimer timer(record, lattice.volume(), backend.host_memory());
    steps_->run(stage);
  }
}

FlowPoint GradientFlow::measure() {
  const GaugeStore now = links();
  const GaugeObservables seen = now.observables();
  const FieldStrengths strengths = FieldStrengths::of(now);
  const double sites = double(volume(now.lattice().global_dims()));
  return {.plaquette = seen.plaquette,
          .energy_plaquette = 2 * 6 * 3 * (1 - seen.plaquette),
          .energy_clover = strengths.energy / sites,
          .charge = strengths.charge};
}

}  // namespace quadrille::flow
