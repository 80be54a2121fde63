#include "modules/eigen/cuda/ranks/exchange.h"

#include "core/backend/cuda/channels/device_channel.h"
#include "core/backend/cuda/cuda_backend.h"
#include "core/backend/cuda/runtime.h"
#include "core/comm/transport_name.h"
#include "core/error.h"

#include <fmt/format.h>

#include <algorithm>

namespace quadrille::eigen {
namespace {

constexpr std::size_t piece_of_host = std::size_t(16) << 20;

std::shared_ptr<DeviceLinks> links_between(const Communicator& ranks) {
  const std::string wanted = shared_transport(ranks);
  if (ranks.size() == 1 || wanted == "pinned") return nullptr;
  double sharing = ranks_beside(ranks).on_gpu;
  ranks.maximum(&sharing, 1);
  std::string reason = sharing > 1 ? "ranks share a GPU" : "";
  std::shared_ptr<DeviceLinks> links = reason.empty() ? ranks.device_links(reason) : nullptr;
  if (links == nullptr && wanted == "nccl") {
    throw Error(ErrorCode::unsupported,
                fmt::format("QUADRILLE_TRANSPORT=nccl: this transport cannot be used: {}", reason));
  }
  if (links == nullptr) {
    cuda::log_once(fmt::format("matrices on several GPUs travel through the host's memory, which is slow: {}", reason));
  }
  return links;
}

}  // namespace

Beside ranks_beside(const Communicator& ranks) {
  const cuda::DevicePlace mine = cuda::this_place();
  Beside out;
  for (const cuda::DevicePlace& place : cuda::places_of_ranks(ranks, mine)) {
    out.on_host += place.host == mine.host;
    out.on_gpu += place.device == mine.device;
  }
  return out;
}

Exchange::Exchange(const Communicator& ranks) : ranks_(ranks), links_(links_between(ranks)) {}

void Exchange::share(std::span<const DevicePiece> pieces) {
  if (ranks_.size() == 1) return;
  if (links_ == nullptr) return share_by_host(pieces);
  send_.clear();
  receive_.clear();
  for (const DevicePiece& piece : pieces) {
    if (piece.bytes == 0) continue;
    if (piece.rank != ranks_.rank()) {
      receive_.push_back(piece);
      continue;
    }
    for (int to = 0; to < ranks_.size(); ++to) {
      if (to != piece.rank) send_.push_back({to, piece.memory, piece.bytes});
    }
  }
  links_->start(send_, receive_, cuda::stream());
  links_->finish();
}

void Exchange::share_by_host(std::span<const DevicePiece> pieces) {
  for (const DevicePiece& piece : pieces) {
    for (std::size_t at = 0; at < piece.bytes; at += piece_of_host) {
      const std::size_t bytes = std::min(piece_of_host, piece.bytes - at);
      staging_.resize(std::max(staging_.size(), bytes));
      auto* const there = static_cast<std::byte*>(piece.memory) + at;
      if (piece.rank == ranks_.rank()) cuda_backend().copy_out(staging_.data(), there, bytes);
      ranks_.broadcast(staging_.data(), bytes, piece.rank);
      if (piece.rank != ranks_.rank()) cuda_backend().copy_in(there, staging_.data(), bytes);
    }
  }
}

}  // namespace quadrille::eigen
