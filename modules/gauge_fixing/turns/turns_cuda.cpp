// Gauge transformations on the GPU: links and transformation in the device's memory.
#include "modules/gauge_fixing/turns/turns_cuda.h"
#include "core/gauge/around/grouped_field.h"
#include "modules/gauge_fixing/turns/turn_work.h"

#include <array>

namespace quadrille::gauge_fixing {

namespace {

class CudaTurns final : public TurnWork {
 public:
  explicit CudaTurns(const GaugeStore& links) : source_(links), links_(links), g_(links.lattice(), links.backend()) {
    launch_start(g_.around());
    g_.exchange();
  }

  std::string architecture() const override {
    const FieldDesc& desc = links_.desc();
    return desc.backend->architecture(desc.layout, desc.precision);
  }
  Seen relax(const Relaxation& relaxation) override {
    std::array<double, 3> sums{};
    relax_sites(links_.around(), g_.around(), relaxation, sums.data());
    if (relaxation.omega != 0) g_.exchange(relaxation.parity);
    return {sums[0], sums[1], sums[2]};
  }
  std::unique_ptr<GaugeStore> transformed() override {
    const GroupedField to(source_);
    launch_transformation(links_.around(), g_.around(), to.around());
    return std::make_unique<GaugeStore>(to.field());
  }

 private:
  const GaugeStore& source_;
  GroupedField links_, g_;
};

}  // namespace

std::unique_ptr<TurnWork> make_turns_cuda(const GaugeStore& links) { return std::make_unique<CudaTurns>(links); }

}  // namespace quadrille::gauge_fixing
