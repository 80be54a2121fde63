#include "core/backend/cuda/device_channel.h"

#include "core/backend/cuda/device_array.h"
#include "core/backend/cuda/owned.h"
#include "core/backend/cuda/peer_channel.h"
#include "core/comm/agreement.h"
#include "core/error.h"
#include "core/system/log.h"

#include <fmt/format.h>

#include <cstdlib>
#include <utility>

namespace quadrille::cuda {
namespace {

constexpr const char* variable = "QUADRILLE_TRANSPORT";
constexpr const char* what = "data sent between ranks";

constexpr std::size_t aligned(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

/// Where each message begins in one piece of memory, and last the bytes of all.
std::vector<std::size_t> places_of(const std::vector<DeviceMessage>& messages) {
  std::vector<std::size_t> places{0};
  for (const DeviceMessage& message : messages) places.push_back(places.back() + aligned(message.bytes));
  return places;
}

class PinnedChannel final : public DeviceChannel {
 public:
  PinnedChannel(const Communicator& communicator, const std::vector<DeviceMessage>& messages)
      : places_(places_of(messages)),
        packed_(make_event()),
        arrived_(make_event()),
        copies_(make_stream()),
        sent_(make_pinned(places_.back(), cudaHostAllocMapped, what)),
        received_(make_pinned(places_.back(), cudaHostAllocDefault, what)),
        ghosts_(std::int64_t(places_.back()), what, "use more ranks, or a smaller lattice") {
    std::vector<Message> all;
    for (std::size_t k = 0; k < messages.size(); ++k) {
      all.push_back({messages[k].direction, sent_.get() + places_[k], received_.get() + places_[k], messages[k].bytes});
    }
    channel_ = communicator.channel(std::move(all));
  }
  ~PinnedChannel() override { (void)cudaStreamSynchronize(copies_.get()); }

  std::string transport() const override { return "pinned"; }
  void* outgoing(std::size_t k) override { return sent_.get() + places_[k]; }
  const void* incoming(std::size_t k) override { return ghosts_.get() + places_[k]; }
  void start() override { QUADRILLE_CUDA_CHECK(cudaEventRecord(packed_.get(), stream())); }
  // Packing comes after all that has read the ghosts before, so that once it is done those may be overwritten, and what
  // has come to the host before has been copied.
  void finish() override {
    QUADRILLE_CUDA_CHECK(cudaEventSynchronize(packed_.get()));
    channel_->start();
    channel_->finish();
    QUADRILLE_CUDA_CHECK(
        cudaMemcpyAsync(ghosts_.get(), received_.get(), places_.back(), cudaMemcpyHostToDevice, copies_.get()));
    QUADRILLE_CUDA_CHECK(cudaEventRecord(arrived_.get(), copies_.get()));
    QUADRILLE_CUDA_CHECK(cudaStreamWaitEvent(stream(), arrived_.get(), 0));
  }

 private:
  std::vector<std::size_t> places_;
  OwnedEvent packed_, arrived_;
  OwnedStream copies_;
  PinnedMemory sent_, received_;
  DeviceArray<std::byte> ghosts_;
  std::unique_ptr<Channel> channel_;
};

std::unique_ptr<DeviceChannel> make_pinned_channel(const Communicator& communicator,
                                                   const std::vector<DeviceMessage>& messages, std::string&) {
  return std::make_unique<PinnedChannel>(communicator, messages);
}

struct Transport {
  const char* name;
  /// Null with a reason when some rank cannot use it. Collective.
  std::unique_ptr<DeviceChannel> (*make)(const Communicator&, const std::vector<DeviceMessage>&, std::string& reason);
};

/// The first that can be used is.
constexpr Transport transports[] = {{"peer", &make_peer_channel}, {"pinned", &make_pinned_channel}};

/// Of rank 0's environment; null: any.
const Transport* forced_transport(const Communicator& communicator) {
  const char* const text = std::getenv(variable);
  const std::string wanted = share(communicator, text != nullptr ? text : "");
  if (wanted.empty()) return nullptr;
  std::string known;
  for (const Transport& transport : transports) {
    if (wanted == transport.name) return &transport;
    known += (known.empty() ? "" : ", ") + std::string(transport.name);
  }
  throw Error(ErrorCode::invalid_input,
              fmt::format("{}: unknown transport '{}'; the transports are {}", variable, wanted, known));
}

}  // namespace

std::unique_ptr<DeviceChannel> make_device_channel(const Communicator& communicator,
                                                   const std::vector<DeviceMessage>& messages) {
  const Transport* const forced = forced_transport(communicator);
  for (const Transport& transport : transports) {
    if (forced != nullptr && forced != &transport) continue;
    std::string reason;
    if (std::unique_ptr<DeviceChannel> channel = transport.make(communicator, messages, reason)) return channel;
    if (forced != nullptr) {
      throw Error(ErrorCode::unsupported,
                  fmt::format("{}={}: this transport cannot be used: {}", variable, transport.name, reason));
    }
    log().debug("transport {} cannot be used for data between ranks: {}", transport.name, reason);
  }
  throw Error(ErrorCode::internal, "no transport between devices works here");
}

}  // namespace quadrille::cuda
