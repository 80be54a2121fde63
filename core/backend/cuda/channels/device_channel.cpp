#include "core/backend/cuda/channels/device_channel.h"

#include "core/backend/cuda/channels/nccl_channel.h"
#include "core/backend/cuda/channels/peer_channel.h"
#include "core/backend/cuda/channels/pinned_channel.h"
#include "core/backend/cuda/runtime.h"
#include "core/comm/transport_name.h"
#include "core/error.h"
#include "core/system/host_name.h"
#include "core/system/log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <mutex>
#include <set>
#include <utility>

namespace quadrille::cuda {
namespace {

struct Transport {
  const char* name;
  ChannelPart (*make)(const ChannelRequest&, std::string& reason);
};

/// A side has the first that carries it.
constexpr Transport transports[] = {
    {"peer", &make_peer_channel}, {"nccl", &make_nccl_channel}, {"pinned", &make_pinned_channel}};

/// The messages of a channel by their transports.
class ChannelOfParts final : public DeviceChannel {
 public:
  ChannelOfParts(const std::vector<DeviceMessage>& messages, std::vector<ChannelPart> parts)
      : parts_(std::move(parts)), leaving_(messages.size()), coming_(messages.size()) {
    for (const ChannelPart& part : parts_) {
      for (std::size_t k = 0; k < messages.size(); ++k) {
        if (leaves(messages[k], part.sides)) leaving_[k] = part.channel.get();
        if (comes(messages[k], part.sides)) coming_[k] = part.channel.get();
      }
    }
  }

  std::string transport() const override {
    std::string names;
    for (const ChannelPart& part : parts_) {
      if (any(part.sides)) names += (names.empty() ? "" : ", ") + part.channel->transport();
    }
    return names;
  }
  void* outgoing(std::size_t k) override { return leaving_[k]->outgoing(k); }
  const void* incoming(std::size_t k) override { return coming_[k]->incoming(k); }
  void start(cudaStream_t stream) override {
    for (const ChannelPart& part : parts_) part.channel->start(stream);
  }
  void finish(cudaStream_t stream) override {
    for (const ChannelPart& part : parts_) part.channel->finish(stream);
  }

 private:
  std::vector<ChannelPart> parts_;
  std::vector<DeviceChannel*> leaving_, coming_;  ///< by message
};

/// null: any.
const Transport* forced_transport(const Communicator& communicator) {
  const std::string wanted = shared_transport(communicator);
  for (const Transport& transport : transports) {
    if (wanted == transport.name) return &transport;
  }
  return nullptr;
}

/// Over which messages leave; they come over the same ones.
Sides sides_of(const std::vector<DeviceMessage>& messages) {
  Sides sides{};
  for (const DeviceMessage& message : messages) sides[std::size_t(message.direction)] = true;
  for (const DeviceMessage& message : messages) {
    if (!comes(message, sides)) throw Error(ErrorCode::internal, "messages between devices go to one direction only");
  }
  return sides;
}

Sides without(Sides sides, const Sides& these) {
  for (std::size_t d = 0; d < sides.size(); ++d) sides[d] = sides[d] && !these[d];
  return sides;
}

/// How many sides all ranks have.
int count(const Communicator& communicator, const Sides& sides) {
  double number = double(std::count(sides.begin(), sides.end(), true));
  communicator.sum(&number, 1);
  return int(number);
}

}  // namespace

DevicePlace this_place() {
  std::string boot, uuid;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;  // tells apart hosts of one name
  int device = 0;
  cudaDeviceProp properties{};
  QUADRILLE_CUDA_CHECK(cudaGetDevice(&device));
  QUADRILLE_CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
  for (const char byte : properties.uuid.bytes) uuid += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  const char* const host_for_nccl = std::getenv("NCCL_HOSTID");
  if (host_for_nccl != nullptr) uuid += fmt::format(" {}", host_for_nccl);
  return {host_name() + " " + boot, uuid};
}

std::vector<DevicePlace> places_of_ranks(const Communicator& communicator, const DevicePlace& mine) {
  struct Texts {
    char host[256], device[256];
  };
  Texts texts{};
  mine.host.copy(texts.host, sizeof texts.host - 1);
  mine.device.copy(texts.device, sizeof texts.device - 1);
  std::vector<Texts> all(std::size_t(communicator.size()));
  communicator.gather(&texts, sizeof texts, all.data());
  std::vector<DevicePlace> places;
  for (const Texts& theirs : all) places.push_back({theirs.host, theirs.device});
  return places;
}

void log_once(const std::string& text) {
  static std::mutex mutex;
  static std::set<std::string> logged;
  const std::lock_guard lock(mutex);
  if (logged.insert(text).second) log().info("{}", text);
}

std::unique_ptr<DeviceChannel> make_device_channel(const Communicator& communicator,
                                                   const std::vector<DeviceMessage>& messages,
                                                   const DevicePlace& place) {
  const Transport* const forced = forced_transport(communicator);
  const std::vector<DevicePlace> places = places_of_ranks(communicator, place);
  Sides left = sides_of(messages);
  std::vector<ChannelPart> parts;
  std::string chosen, reasons;
  for (const Transport& transport : transports) {
    if (forced != nullptr && forced != &transport) continue;
    if (!any_anywhere(communicator, left)) break;
    std::string reason;
    ChannelPart part = transport.make({communicator, messages, places, left}, reason);
    left = without(left, part.sides);
    if (const int sides = count(communicator, part.sides); sides > 0)
      chosen += fmt::format("{}{} for {} faces", chosen.empty() ? "" : ", ", transport.name, sides);
    if (!reason.empty()) reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", transport.name, reason);
    if (part.channel != nullptr) parts.push_back(std::move(part));
  }
  if (any_anywhere(communicator, left)) {
    throw Error(ErrorCode::unsupported, fmt::format("{}={}: this transport cannot be used: {}", transport_variable,
                                                    forced != nullptr ? forced->name : "", reasons));
  }
  log_once(fmt::format("data between the GPUs of ranks: {}{}", chosen, reasons.empty() ? "" : " (" + reasons + ")"));
  return std::make_unique<ChannelOfParts>(messages, std::move(parts));
}

}  // namespace quadrille::cuda
