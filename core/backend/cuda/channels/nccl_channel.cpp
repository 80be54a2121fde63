#include "core/backend/cuda/channels/nccl_channel.h"

#include "core/backend/cuda/channels/transport.h"
#include "core/backend/cuda/device_array.h"
#include "core/backend/cuda/owned.h"
#include "core/comm/device_links.h"

#include <fmt/format.h>

#include <map>
#include <utility>

namespace quadrille::cuda {
namespace {

class NcclChannel final : public DeviceChannel {
 public:
  NcclChannel(const ChannelRequest& request, std::shared_ptr<DeviceLinks> links)
      : links_(std::move(links)),
        leaving_(places_of(request.messages, request.sides, leaves)),
        coming_(places_of(request.messages, request.sides, comes)),
        packed_(make_event()),
        arrived_(make_event()),
        exchanges_(make_urgent_stream()),
        sent_(std::int64_t(leaving_.back()), sent_data, sent_data_advice),
        ghosts_(std::int64_t(coming_.back()), sent_data, sent_data_advice) {
    for (std::size_t k = 0; k < request.messages.size(); ++k) {
      const auto& [direction, bytes] = request.messages[k];
      const int to = request.communicator.neighbour(direction);
      const int from = request.communicator.neighbour(opposite_direction(direction));
      if (leaves(request.messages[k], request.sides)) send_.push_back({to, sent_.get() + leaving_[k], bytes});
      if (comes(request.messages[k], request.sides)) receive_.push_back({from, ghosts_.get() + coming_[k], bytes});
    }
  }
  // What has been started and not waited for goes on in the memory that is given back: others may never come to it.
  ~NcclChannel() override {
    if (!under_way_) return;
    links_->abort("an exchange was given up");
    (void)cudaStreamSynchronize(exchanges_.get());
  }

  std::string transport() const override { return "nccl"; }
  void* outgoing(std::size_t k) override { return sent_.get() + leaving_[k]; }
  const void* incoming(std::size_t k) override { return ghosts_.get() + coming_[k]; }
  // Packing comes after all that has read the ghosts before, so that they may be overwritten.
  void start(cudaStream_t stream) override {
    QUADRILLE_CUDA_CHECK(cudaEventRecord(packed_.get(), stream));
    QUADRILLE_CUDA_CHECK(cudaStreamWaitEvent(exchanges_.get(), packed_.get(), 0));
    under_way_ = true;
    links_->start(send_, receive_, exchanges_.get());
  }
  void finish(cudaStream_t stream) override {
    links_->finish();
    QUADRILLE_CUDA_CHECK(cudaEventRecord(arrived_.get(), exchanges_.get()));
    QUADRILLE_CUDA_CHECK(cudaStreamWaitEvent(stream, arrived_.get(), 0));
    under_way_ = false;
  }

 private:
  std::shared_ptr<DeviceLinks> links_;
  std::vector<std::size_t> leaving_, coming_;
  OwnedEvent packed_, arrived_;
  OwnedStream exchanges_;
  DeviceArray<std::byte> sent_, ghosts_;
  std::vector<DevicePiece> send_, receive_;
  bool under_way_ = false;
};

/// Empty when every rank has a device of its own.
std::string shared_devices(const std::vector<DevicePlace>& places) {
  std::map<std::string, std::size_t> first;
  for (std::size_t rank = 0; rank < places.size(); ++rank) {
    const auto [found, is_new] = first.emplace(places[rank].device, rank);
    if (!is_new) {
      return fmt::format("ranks {} and {} share a GPU, and NCCL needs one for each: use as many ranks as GPUs",
                         found->second, rank);
    }
  }
  return "";
}

}  // namespace

ChannelPart make_nccl_channel(const ChannelRequest& request, std::string& reason) {
  reason = shared_devices(request.places);
  if (!reason.empty()) return {};
  std::shared_ptr<DeviceLinks> links = request.communicator.device_links(reason);
  if (links == nullptr) return {};
  return {any(request.sides) ? std::make_unique<NcclChannel>(request, std::move(links)) : nullptr, request.sides};
}

}  // namespace quadrille::cuda
