#include "modules/eigen/cuda/ranks/exchange.h"

#include "core/backend/cuda/channels/device_channel.h"
#include "core/backend/cuda/cuda_backend.h"
#include "core/backend/cuda/runtime.h"
#include "core/comm/transport_name.h"
#include "core/error.h"
#include "modules/shared/dense/cuda/host_link.h"

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

Exchange::Exchange(const Communicator& ranks)
    : ranks_(ranks), links_(links_between(ranks)), beside_(cuda::make_urgent_stream()) {}

void Exchange::share(std::span<const DevicePiece> pieces) {
  if (ranks_.size() == 1) return;
  links_ == nullptr ? share_by_host(pieces) : share_by_links(pieces, cuda::stream());
}

cuda::OwnedEvent Exchange::share_beside(std::span<const DevicePiece> pieces) {
  cuda::OwnedEvent arrived = cuda::make_event();
  if (links_ == nullptr) {
    share(pieces);
    QUADRILLE_CUDA_CHECK(cudaEventRecord(arrived.get(), cuda::stream()));
  } else {
    cuda::pass(arrived, cuda::stream(), beside_.get());
    share_by_links(pieces, beside_.get());
    QUADRILLE_CUDA_CHECK(cudaEventRecord(arrived.get(), beside_.get()));
  }
  return arrived;
}

void Exchange::wait_for(const cuda::OwnedEvent& arrived) {
  QUADRILLE_CUDA_CHECK(cudaStreamWaitEvent(cuda::stream(), arrived.get()));
}

void Exchange::share_by_links(std::span<const DevicePiece> pieces, cudaStream_t stream) {
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
  links_->start(send_, receive_, stream);
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
