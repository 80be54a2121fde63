// Stages and steps of smearing on the GPU: the links in the device's memory.
#include "modules/flow/steps/steps_cuda.h"
#include "core/backend/cuda/device_array.h"
#include "core/field/halo_torus.h"
#include "core/gauge/around/grouped_links.h"
#include "modules/flow/steps/link_steps.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace quadrille::flow {

namespace {

constexpr int algebra_numbers = 8;

/// Links that a stage reads or writes, with those of other ranks. They stay where they are: the rest refers to them.
struct DeviceLinks {
  Field field;
  std::optional<HaloTorus> halo;  ///< of several ranks
  GroupedLinks around{};

  explicit DeviceLinks(const GaugeStore& from)
      : field(FieldDesc::links(from.lattice(), Precision::Double, Reconstruct::R18, from.backend())) {
    from.copy_to(field);
    if (from.lattice().communicator().size() > 1) halo.emplace(field);
    around = grouped_links(halo ? halo->field() : field, field.lattice());
  }
  DeviceLinks(const DeviceLinks&) = delete;
  DeviceLinks& operator=(const DeviceLinks&) = delete;
};

class CudaSteps final : public LinkSteps {
 public:
  explicit CudaSteps(const GaugeStore& links) : links_{{DeviceLinks(links), DeviceLinks(links)}} {}

  std::string architecture() const override {
    const FieldDesc& desc = links_[0].field.desc();
    return desc.backend->architecture(desc.layout, desc.precision);
  }
  void run(const Stage& stage) override {
    if (y_.count() == 0) {
      const std::int64_t numbers = links_[0].field.lattice().volume() * 4 * algebra_numbers;
      y_ = cuda::DeviceArray<double>(numbers, "the gradient flow", "use more ranks");
    }
    launch_stage(links_[now_].around, links_[1 - now_].around, stage, y_.get());
    moved();
  }
  void run(const Projection& projection) override {
    launch_projection(links_[now_].around, links_[1 - now_].around, projection);
    moved();
  }
  const Field& links() override {
    if (links_[now_].halo) links_[now_].halo->copy_back();
    return links_[now_].field;
  }

 private:
  void moved() {
    now_ = 1 - now_;
    if (links_[now_].halo) links_[now_].halo->exchange_all();
  }

  std::array<DeviceLinks, 2> links_;
  std::size_t now_ = 0;
  cuda::DeviceArray<double> y_;  ///< of stages
};

}  // namespace

std::unique_ptr<LinkSteps> make_steps_cuda(const GaugeStore& links) { return std::make_unique<CudaSteps>(links); }

}  // namespace quadrille::flow
