// Updates on the GPU: the links in the device's memory, and what its kernels count.
#include "modules/quenched/updates_cuda.h"

#include "core/error.h"
#include "modules/quenched/link_updates.h"

#include <fmt/format.h>

#include <cstddef>
#include <limits>

namespace quadrille::quenched {

namespace {

class CudaUpdates final : public LinkUpdates {
 public:
  explicit CudaUpdates(Field& links)
      : backend_(*links.desc().backend),
        architecture_(backend_.architecture(links.desc().layout, links.desc().precision)),
        links_(grouped(links)),
        tally_(static_cast<DeviceTally*>(backend_.allocate(sizeof(DeviceTally)))) {
    const DeviceTally nothing{};
    backend_.copy_in(tally_, &nothing, sizeof nothing);
  }
  ~CudaUpdates() override { backend_.release(tally_, sizeof(DeviceTally)); }
  CudaUpdates(const CudaUpdates&) = delete;
  CudaUpdates& operator=(const CudaUpdates&) = delete;

  std::string architecture() const override { return architecture_; }
  void heatbath(const SweepPart& part) override { launch_heatbath(links_, part, tally_); }
  void overrelax(const SweepPart& part) override { launch_overrelaxation(links_, part); }
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
    sum_loops(links_, sums.data());
    return sums;
  }
  double reunitarize() override {
    const double nothing = 0;
    backend_.copy_in(&tally_->largest_change, &nothing, sizeof nothing);
    launch_reunitarization(links_, tally_);
    return tally().largest_change;
  }

 private:
  static GroupedLinks grouped(Field& links) {
    const Dims& dims = links.lattice().dims();
    if (links.lattice().half_volume() >= std::numeric_limits<int>::max() - 1024) {  // room for the last block
      throw Error(ErrorCode::unsupported,
                  fmt::format("a lattice of {} x {} x {} x {} sites has more than 2^32 of them: gauge updates on a GPU "
                              "do not count that far",
                              dims[0], dims[1], dims[2], dims[3]));
    }
    return {{links.numbers(Parity::Even), links.numbers(Parity::Odd)},
            {int(number_bytes(links.desc().precision)), int(links.desc().reconstruct)},
            dims[0],
            dims[1],
            dims[2],
            dims[3],
            int(links.lattice().half_volume())};
  }
  /// Waits for what has been asked for.
  DeviceTally tally() const {
    DeviceTally seen{};
    backend_.copy_out(&seen, tally_, sizeof seen);
    return seen;
  }

  Backend& backend_;
  std::string architecture_;
  GroupedLinks links_;
  DeviceTally* tally_;
};

}  // namespace

std::unique_ptr<LinkUpdates> make_cuda_updates(Field& links) { return std::make_unique<CudaUpdates>(links); }

}  // namespace quadrille::quenched
