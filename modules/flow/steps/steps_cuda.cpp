// Stages and steps of smearing on the GPU: the links in the device's memory.
#include "modules/flow/steps/steps_cuda.h"
#include "core/backend/cuda/device_array.h"
#include "core/gauge/around/grouped_field.h"
#include "modules/flow/steps/level_fields.h"
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
    if (stage.rectangle != 0) {
      make_staples();
      launch_stage_with_rectangles(links_[now_].around(), fields_of(staples_ahead), fields_of(staples_behind),
                                   links_[1 - now_].around(), stage, y_.get());
    } else {
      launch_stage(links_[now_].around(), links_[1 - now_].around(), stage, y_.get());
    }
    moved();
  }
  void run(const Projection& projection) override {
    launch_projection(links_[now_].around(), links_[1 - now_].around(), projection);
    moved();
  }
  void run(const HypStep& step) override {
    const GroupedField& thin = links_[now_];
    over_hyp_levels(step, [&](const HypLevel& level, bool last) {
      GroupedField& to = last ? links_[1 - now_] : levels_.to(level.level, level.excluded, links_[0].field());
      launch_hyp_level(thin.around(), fields_of(level.level - 1), to.around(), level);
      to.exchange();
    });
    now_ = 1 - now_;
  }
  const Field& links() override { return links_[now_].field(); }

 private:
  void make_staples() {
    for (const int level : {staples_ahead, staples_behind}) {
      for (int nu = 0; nu < 4; ++nu) {
        GroupedField& to = levels_.to(level, nu, links_[0].field());
        launch_staples(links_[now_].around(), to.around(), nu, level == staples_behind);
        to.exchange();
      }
    }
  }
  /// Of a level, 0: of the links as they are.
  GroupedLevel fields_of(int level) const {
    GroupedLevel found{};
    const auto fields = levels_.of(level, links_[now_]);
    for (std::size_t k = 0; k < 4; ++k) found.fields[k] = fields[k]->around();
    return found;
  }
  void moved() {
    now_ = 1 - now_;
    links_[now_].exchange();
  }

  std::array<GroupedField, 2> links_;
  std::size_t now_ = 0;
  cuda::DeviceArray<double> y_;  ///< of stages
  LevelFields<GroupedField> levels_;
};

}  // namespace

std::unique_ptr<LinkSteps> make_steps_cuda(const GaugeStore& links) { return std::make_unique<CudaSteps>(links); }

}  // namespace quadrille::flow
