// Stages and steps of smearing on the GPU: the links in the device's memory.
#include "modules/flow/steps/steps_cuda.h"
#include "core/backend/cuda/device_array.h"
#include "core/gauge/around/grouped_field.h"
#include "modules/flow/steps/link_steps.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace quadrille::flow {

namespace {

constexpr int algebra_numbers = 8;

class CudaSteps final : public LinkSteps {
 public:
  explicit CudaSteps(const GaugeStore& links) : links_{{GroupedField(links), GroupedField(links)}} {}

  std::string architecture() const override {
    const FieldDesc& desc = links_[0].desc();
    return desc.backend->architecture(desc.layout, desc.precision);
  }
  void run(const Stage& stage) override {
    if (y_.count() == 0) {
      const std::int64_t numbers = links_[0].lattice().volume() * 4 * algebra_numbers;
      y_ = cuda::DeviceArray<double>(numbers, "the gradient flow", "use more ranks");
    }
    launch_stage(links_[now_].around(), links_[1 - now_].around(), stage, y_.get());
    moved();
  }
  void run(const Projection& projection) override {
    launch_projection(links_[now_].around(), links_[1 - now_].around(), projection);
    moved();
  }
  void run(const HypStep& step) override {
    const GroupedField& thin = links_[now_];
    over_hyp_levels(step, [&](const HypLevel& level, bool last) {
      GroupedBefore before{};
      for (std::size_t k = 0; k < 4; ++k) before.fields[k] = hyp_.before(level, thin)[k]->around();
      GroupedField& to = last ? links_[1 - now_] : hyp_.to(level, links_[0].field());
      launch_hyp_level(thin.around(), before, to.around(), level);
      to.exchange();
    });
    now_ = 1 - now_;
  }
  const Field& links() override { return links_[now_].field(); }

 private:
  void moved() {
    now_ = 1 - now_;
    links_[now_].exchange();
  }

  std::array<GroupedField, 2> links_;
  std::size_t now_ = 0;
  cuda::DeviceArray<double> y_;  ///< of stages
  HypFields<GroupedField> hyp_;
};

}  // namespace

std::unique_ptr<LinkSteps> make_steps_cuda(const GaugeStore& links) { return std::make_unique<CudaSteps>(links); }

}  // namespace quadrille::flow
