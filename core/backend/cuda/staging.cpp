#include "core/backend/cuda/staging.h"

#include "core/system/team.h"

#include <algorithm>

namespace quadrille::cuda {
namespace {
constexpr std::size_t staging_bytes = std::size_t(16) << 20;
}  // namespace

Staging::Staging(cudaStream_t stream) : stream_(stream) {
  for (Buffer& buffer : buffers_) {
    buffer.memory = make_pinned(staging_bytes, cudaHostAllocDefault, "a buffer for copies to and from the GPU");
    buffer.travelled = make_event();
  }
}

template <class F>
void Staging::for_each_piece(std::size_t bytes, F&& f) {
  for (std::size_t at = 0, turn = 0; at < bytes; at += staging_bytes, ++turn) {
    f(buffers_[turn % 2], at, std::min(staging_bytes, bytes - at));
  }
}

void Staging::in(void* to, const void* host, std::size_t bytes) {
  if (is_pinned(host)) return copy(to, host, bytes, cudaMemcpyHostToDevice);
  for_each_piece(bytes, [&](Buffer& buffer, std::size_t at, std::size_t piece) {
    QUADRILLE_CUDA_CHECK(cudaEventSynchronize(buffer.travelled.get()));
    team_copy(buffer.memory.get(), static_cast<const char*>(host) + at, piece);
    QUADRILLE_CUDA_CHECK(
        cudaMemcpyAsync(static_cast<char*>(to) + at, buffer.memory.get(), piece, cudaMemcpyHostToDevice, stream_));
    QUADRILLE_CUDA_CHECK(cudaEventRecord(buffer.travelled.get(), stream_));
  });
  QUADRILLE_CUDA_CHECK(cudaStreamSynchronize(stream_));
}

void Staging::out(void* host, const void* from, std::size_t bytes) {
  if (is_pinned(host)) return copy(host, from, bytes, cudaMemcpyDeviceToHost);
  Buffer* before = nullptr;
  std::size_t before_at = 0, before_piece = 0;
  const auto collect = [&] {
    if (before == nullptr) return;
    QUADRILLE_CUDA_CHECK(cudaEventSynchronize(before->travelled.get()));
    team_copy(static_cast<char*>(host) + before_at, before->memory.get(), before_piece);
  };
  for_each_piece(bytes, [&](Buffer& buffer, std::size_t at, std::size_t piece) {
    QUADRILLE_CUDA_CHECK(cudaMemcpyAsync(buffer.memory.get(), static_cast<const char*>(from) + at, piece,
                                         cudaMemcpyDeviceToHost, stream_));
    QUADRILLE_CUDA_CHECK(cudaEventRecord(buffer.travelled.get(), stream_));
    collect();
    before = &buffer;
    before_at = at;
    before_piece = piece;
  });
  collect();
}

void Staging::copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind way) {
  QUADRILLE_CUDA_CHECK(cudaMemcpyAsync(to, from, bytes, way, stream_));
  QUADRILLE_CUDA_CHECK(cudaStreamSynchronize(stream_));
}

}  // namespace quadrille::cuda
