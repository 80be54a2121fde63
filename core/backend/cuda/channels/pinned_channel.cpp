#include "core/backend/cuda/channels/pinned_channel.h"

#include "core/backend/cuda/channels/transport.h"
#include "core/backend/cuda/device_array.h"
#include "core/backend/cuda/owned.h"

namespace quadrille::cuda {
namespace {

class PinnedChannel final : public DeviceChannel {
 public:
  explicit PinnedChannel(const ChannelRequest& request)
      : leaving_(places_of(request.messages, request.sides, leaves)),
        coming_(places_of(request.messages, request.sides, comes)),
        packed_(make_event()),
        arrived_(make_event()),
        copies_(make_stream()),
        sent_(make_pinned(leaving_.back(), cudaHostAllocMapped, sent_data)),
        received_(make_pinned(coming_.back(), cudaHostAllocDefault, sent_data)),
        ghosts_(std::int64_t(coming_.back()), sent_data, sent_data_advice) {
    std::vector<Message> all;
    for (std::size_t k = 0; k < request.messages.size(); ++k) {
      const DeviceMessage& message = request.messages[k];
      all.push_back({message.direction, leaves(message, request.sides) ? sent_.get() + leaving_[k] : nullptr,
                     comes(message, request.sides) ? received_.get() + coming_[k] : nullptr, message.bytes});
    }
    channel_ = request.communicator.channel(std::move(all));
  }
  ~PinnedChannel() override { (void)cudaStreamSynchronize(copies_.get()); }

  std::string transport() const override { return "pinned"; }
  void* outgoing(std::size_t k) override { return sent_.get() + leaving_[k]; }
  const void* incoming(std::size_t k) override { return ghosts_.get() + coming_[k]; }
  void start(cudaStream_t stream) override { QUADRILLE_CUDA_CHECK(cudaEventRecord(packed_.get(), stream)); }
  // Packing comes after all that has read the ghosts before, so that once it is done those may be overwritten, and what
  // has come to the host before has been copied.
  void finish(cudaStream_t stream) override {
    QUADRILLE_CUDA_CHECK(cudaEventSynchronize(packed_.get()));
    channel_->start();
    channel_->finish();
    QUADRILLE_CUDA_CHECK(
        cudaMemcpyAsync(ghosts_.get(), received_.get(), coming_.back(), cudaMemcpyHostToDevice, copies_.get()));
    QUADRILLE_CUDA_CHECK(cudaEventRecord(arrived_.get(), copies_.get()));
    QUADRILLE_CUDA_CHECK(cudaStreamWaitEvent(stream, arrived_.get(), 0));
  }

 private:
  std::vector<std::size_t> leaving_, coming_;
  OwnedEvent packed_, arrived_;
  OwnedStream copies_;
  PinnedMemory sent_, received_;
  DeviceArray<std::byte> ghosts_;
  std::unique_ptr<Channel> channel_;
};

}  // namespace

ChannelPart make_pinned_channel(const ChannelRequest& request, std::string&) {
  return {any(request.sides) ? std::make_unique<PinnedChannel>(request) : nullptr, request.sides};
}

}  // namespace quadrille::cuda
