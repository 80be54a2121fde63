// What the transports of messages between devices have in common (core/backend/cuda/channels/device_channel.h has their
// list).
#pragma once

#include "core/backend/cuda/channels/device_channel.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <exception>
#include <memory>
#include <string>
#include <vector>

namespace quadrille::cuda {

/// Of memory that runs out.
inline constexpr const char* sent_data = "data sent between ranks";
inline constexpr const char* sent_data_advice = "use more ranks, or a smaller lattice";

/// Some of the neighbours of this rank, by direction. A message to a direction leaves over its side, and what comes
/// instead comes over the opposite side.
using Sides = std::array<bool, 8>;

inline bool leaves(const DeviceMessage& message, const Sides& sides) { return sides[std::size_t(message.direction)]; }
inline bool comes(const DeviceMessage& message, const Sides& sides) {
  return sides[std::size_t(opposite_direction(message.direction))];
}

/// Bytes after which the next message may begin.
constexpr std::size_t aligned(std::size_t bytes) { return (bytes + 255) / 256 * 256; }

/// Where in one piece of memory each of the messages that `carried` (leaves or comes) picks begins, then the bytes of
/// all.
inline std::vector<std::size_t> places_of(const std::vector<DeviceMessage>& messages, const Sides& sides,
                                          bool (*carried)(const DeviceMessage&, const Sides&)) {
  std::vector<std::size_t> places{0};
  for (const DeviceMessage& message : messages)
    places.push_back(places.back() + (carried(message, sides) ? aligned(message.bytes) : 0));
  return places;
}

/// The messages of a channel.
struct ChannelRequest {
  const Communicator& communicator;
  const std::vector<DeviceMessage>& messages;
  const std::vector<DevicePlace>& places;  ///< of all ranks
  Sides sides;                             ///< that are wanted on this rank; every rank knows its own
};

/// The channel of one transport: for the messages that leave or come over `sides`, some of those requested, the same at
/// both ends. It knows messages by their numbers among all. May be null on a rank without sides.
struct ChannelPart {
  std::unique_ptr<DeviceChannel> channel;
  Sides sides{};
};

inline bool any(const Sides& sides) {
  return std::any_of(sides.begin(), sides.end(), [](bool side) { return side; });
}
/// Whether any rank has any. Collective.
inline bool any_anywhere(const Communicator& communicator, const Sides& sides) {
  double has = any(sides) ? 1 : 0;
  communicator.maximum(&has, 1);
  return has > 0;
}

// Makers of transports are collective. Where `reason` is not empty some rank cannot use it for some sides, and the
// first such reason is given.

/// "" or what the step has thrown.
template <class Step>
std::string trouble_with(Step&& step) {
  try {
    step();
    return "";
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace quadrille::cuda
