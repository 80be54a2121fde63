// Updates on the GPU: the links in the device's memory, and what its kernels count.
#include "modules/quenched/updates/updates_cuda.h"

#include "core/backend/cuda/device_array.h"
#include "core/field/halo_torus.h"
#include "core/gauge/around/grouped_links.h"
#include "modules/quenched/polyakov.h"
#include "modules/quenched/updates/link_updates.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace quadrille::quenched {

namespace {

class CudaUpdates final : public LinkUpdates {
 public:
  explicit CudaUpdates(Field& links)
      : field_(links),
        backend_(*links.desc().backend),
        architecture_(backend_.architecture(links.desc().layout, links.desc().precision)),
        tally_(1, "counts of gauge updates", "use a smaller lattice") {
    if (ranks().size() > 1) halo_.emplace(links);
    links_ = grouped_links(halo_ ? halo_->field() : links, links.lattice());
    const DeviceTally nothing{};
    backend_.copy_in(tally_.get(), &nothing, sizeof nothing);
  }

  std::string architecture() const override { return architecture_; }
  void heatbath(const SweepPart& part) override {
    launch_heatbath(links_, part, tally_.get());
    if (halo_) halo_->exchange(part.direction, Parity(part.parity));
  }
  void overrelax(const SweepPart& part) override {
    launch_overrelaxation(links_, part);
    if (halo_) halo_->exchange(part.direction, Parity(part.parity));
  }
  HeatbathCounts counts() const override {
    const DeviceTally seen = tally();
    const auto whole = [](unsigned long long n) { return std::int64_t(n); };
    return {whole(seen.attempts), whole(seen.draws), whole(seen.creutz_attempts), whole(seen.creutz_draws)};
  }

  std::array<double, 6> plane_sums() const override {
    std::array<double, 6> sums{};
    sum_planes(links_, sums.data());
    return sums;
  }
  std::array<double, 2> loop_sum() const override {
    std::array<double, 2> sums{};
    if (ranks().splits(3)) return loop_traces(time_products(), ranks());
    sum_loops(links_, sums.data());
    return sums;
  }
  double reunitarize() override {
    const double nothing = 0;
    backend_.copy_in(&tally_.get()->largest_change, &nothing, sizeof nothing);
    launch_reunitarization(links_, tally_.get());
    if (halo_) halo_->exchange_all();
    return tally().largest_change;
  }
  void sync() override {
    if (halo_) halo_->copy_back();
  }

 private:
  const Communicator& ranks() const { return field_.lattice().communicator(); }
  std::vector<Matrix3> time_products() const {
    std::vector<Matrix3> products(std::size_t(links_.own.x) * std::size_t(links_.own.y) * std::size_t(links_.own.z));
    static_assert(sizeof(Matrix3) == 18 * sizeof(double));
    const cuda::DeviceArray<double> there(std::int64_t(products.size()) * 18, "Polyakov loops", "use more ranks");
    launch_time_products(links_, there.get());
    backend_.copy_out(products.data(), there.get(), products.size() * sizeof(Matrix3));
    return products;
  }
  /// Waits for all queued work.
  DeviceTally tally() const {
    DeviceTally seen{};
    backend_.copy_out(&seen, tally_.get(), sizeof seen);
    return seen;
  }

  Field& field_;
  Backend& backend_;
  std::string architecture_;
  cuda::DeviceArray<DeviceTally> tally_;
  std::optional<HaloTorus> halo_;  ///< of several ranks
  GroupedLinks links_{};
};

}  // namespace

std::unique_ptr<LinkUpdates> make_updates_cuda(Field& links) { return std::make_unique<CudaUpdates>(links); }

}  // namespace quadrille::quenched
