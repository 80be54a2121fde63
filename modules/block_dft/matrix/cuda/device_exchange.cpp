#include "modules/block_dft/matrix/cuda/device_exchange.h"

#include "core/backend/cuda/channels/peer_memory.h"
#include "core/comm/transport_name.h"
#include "core/error.h"
#include "core/system/log.h"
#include "modules/block_dft/matrix/cuda/device_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace quadrille::block_dft {
namespace {

constexpr std::int64_t chunk = 32 << 20;  ///< bytes that MPI carries at a time

/// Windows of grids that are no more. Other ranks may have had them mapped a moment longer, so they are freed when all
/// have met again.
std::vector<std::byte*>& given_up() {
  static std::vector<std::byte*> the;
  return the;
}

template <class T>
std::vector<T> gathered(const Communicator& ranks, const T& mine) {
  std::vector<T> all(std::size_t(ranks.size()));
  ranks.gather(&mine, sizeof mine, all.data());
  return all;
}

}  // namespace

/// Two pieces of pinned memory on each side, which take turns.
struct DeviceExchange::Pinned {
  std::array<cuda::PinnedMemory, 2> out, in;
  std::array<cuda::OwnedEvent, 2> fetched, placed;

  Pinned() {
    for (std::size_t n = 0; n < 2; ++n) {
      out[n] = cuda::make_pinned(std::size_t(chunk), cudaHostAllocDefault, device_what);
      in[n] = cuda::make_pinned(std::size_t(chunk), cudaHostAllocDefault, device_what);
      fetched[n] = cuda::make_event();
      placed[n] = cuda::make_event();
    }
  }
};

DeviceExchange& DeviceExchange::of(const MatrixGrid& grid) {
  if (!grid.of_devices()) grid.of_devices() = std::shared_ptr<DeviceExchange>(new DeviceExchange(grid));
  return *static_cast<DeviceExchange*>(grid.of_devices().get());
}

void release_windows(const std::shared_ptr<const MatrixGrid>& grid) {
  if (grid && grid->of_devices() && DeviceExchange::of(*grid).has_windows()) DeviceExchange::of(*grid).release();
}

DeviceExchange::DeviceExchange(const MatrixGrid& grid)
    : ranks_(grid.ranks()),
      wanted_(shared_transport(ranks_)),
      sizes_(std::size_t(ranks_.size())),
      theirs_(std::size_t(ranks_.size())),
      reach_(std::size_t(ranks_.size()) * std::size_t(ranks_.size())) {
  const cuda::DevicePlace mine = on_every_rank(ranks_, [&] {
    leaving_ = cuda::make_stream();
    coming_ = cuda::make_stream();
    return cuda::this_place();
  });
  places_ = cuda::places_of_ranks(ranks_, mine);
  sharing_ = int(std::count_if(places_.begin(), places_.end(),
                               [&](const cuda::DevicePlace& one) { return one.device == mine.device; }));
}

// Not collective: other ranks may have the window open a moment longer.
DeviceExchange::~DeviceExchange() {
  (void)cudaStreamSynchronize(leaving_.get());
  (void)cudaStreamSynchronize(coming_.get());
  close();
  if (window_ != nullptr) given_up().push_back(window_);
}

void DeviceExchange::close() {
  for (int rank = 0; rank < ranks_.size(); ++rank) {
    std::byte*& there = theirs_[std::size_t(rank)];
    if (there != nullptr && rank != ranks_.rank()) (void)cudaIpcCloseMemHandle(there);
    there = nullptr;
  }
}

bool DeviceExchange::has_windows() const {
  return std::any_of(sizes_.begin(), sizes_.end(), [](std::int64_t bytes) { return bytes > 0; });
}

double DeviceExchange::most_bytes() const {
  constexpr double share = 0.25;
  std::size_t free = 0, total = 0;
  QUADRILLE_CUDA_CHECK(cudaMemGetInfo(&free, &total));
  return share * double(total) / sharing_;
}

void DeviceExchange::release() {
  close();
  ranks_.barrier();  // nobody has them open any more
  if (window_ != nullptr) given_up().push_back(std::exchange(window_, nullptr));
  for (std::byte* const memory : std::exchange(given_up(), {})) (void)cudaFree(memory);
  std::fill(sizes_.begin(), sizes_.end(), 0);
}

void DeviceExchange::reserve(std::int64_t bytes) {
  const std::vector<std::int64_t> needed = gathered(ranks_, bytes);
  bool all_fit = true;
  for (std::size_t rank = 0; rank < needed.size(); ++rank) all_fit = all_fit && needed[rank] <= sizes_[rank];
  if (all_fit) return;
  std::int64_t size = sizes_[std::size_t(ranks_.rank())];
  release();
  if (bytes > size) size = std::max(bytes, size / 4 * 5);  // seldom again
  try {                                                    // what throws does so on all ranks
    const std::string reason = shortage(ranks_, [&] { size = make_window(bytes, size); });
    if (!reason.empty()) throw NotEnoughMemory(reason);
    sizes_ = gathered(ranks_, size);
    find_reach();
  } catch (...) {
    release();
    throw;
  }
}

/// Memory of the device beside the backend's pool, which gives back what it keeps. Gives its bytes: as many as wanted,
/// or else as are needed.
std::int64_t DeviceExchange::make_window(std::int64_t needed, std::int64_t wanted) {
  if (wanted == 0) return 0;
  void* memory = nullptr;
  const auto ask = [&](std::int64_t bytes) {
    const cudaError_t status = cudaMalloc(&memory, std::size_t(bytes));
    if (status != cudaSuccess) (void)cudaGetLastError();
    return status;
  };
  std::int64_t bytes = wanted;
  cudaError_t status = ask(bytes);
  if (status == cudaErrorMemoryAllocation) {
    cuda::trim();
    status = ask(bytes);
  }
  if (status == cudaErrorMemoryAllocation && needed < wanted) {
    bytes = needed;
    status = bytes > 0 ? ask(bytes) : cudaSuccess;
  }
  cuda::check_memory(status, "cudaMalloc",
                     {.bytes = std::size_t(bytes), .what = "blocks of other ranks", .advice = device_advice});
  window_ = static_cast<std::byte*>(memory);
  return bytes;
}

void DeviceExchange::find_reach() {
  const auto me = std::size_t(ranks_.rank()), count = std::size_t(ranks_.size());
  cuda::PeerOffer mine;
  std::string trouble;
  if (wanted_ != "pinned" && window_ != nullptr) {
    trouble = cuda::trouble_with([&] { QUADRILLE_CUDA_CHECK(cudaIpcGetMemHandle(&mine.handle, window_)); });
    mine.is_there = trouble.empty();
  }
  const std::vector<cuda::PeerOffer> offers = gathered(ranks_, mine);
  std::vector<char> reached(count);
  for (std::size_t rank = 0; rank < count; ++rank) {
    if (rank == me) theirs_[rank] = window_;
    if (rank != me && offers[rank].is_there && places_[rank].host == places_[me].host) {
      const std::string here = cuda::trouble_with([&] { theirs_[rank] = cuda::opened(offers[rank]); });
      if (trouble.empty()) trouble = here;
    }
    reached[rank] = char(rank == me || theirs_[rank] != nullptr);
  }
  ranks_.gather(reached.data(), count, reach_.data());
  const auto pairs = std::count(reach_.begin(), reach_.end(), char(1)) - std::int64_t(count);
  const bool all = pairs == std::int64_t(count * (count - 1));
  if (wanted_ == "peer") {
    const std::string reason = first_reason(ranks_, trouble);
    if (!reason.empty()) throw Error(ErrorCode::unsupported, fmt::format("{}=peer: {}", transport_variable, reason));
  }
  const std::string reason = shortage(ranks_, [&] {
    if (!all && !pinned_) pinned_ = std::make_unique<Pinned>();
  });
  if (!reason.empty()) throw NotEnoughMemory(reason);
  log().debug("blocks between the GPUs of ranks: peer for {} of {} pairs", pairs, count * (count - 1));
}

/// Waits for a word from each of `from`, and gives one to each of `to`.
void DeviceExchange::signal(const std::set<int>& to, const std::set<int>& from) const {
  char word = 0;
  std::vector<char> words(from.size());
  std::vector<quadrille::Piece> send, receive;
  for (const int rank : to) send.push_back({rank, &word, 1});
  for (const int rank : from) receive.push_back({rank, &words[receive.size()], 1});
  const std::unique_ptr<Channel> channel = ranks_.channel(send, receive);
  channel->start();
  channel->finish();
}

void DeviceExchange::run(const std::vector<SentPiece>& sent, const std::vector<ReceivedPiece>& received) {
  const int me = ranks_.rank();
  std::set<int> to, from;  // of peers
  for (const SentPiece& piece : sent) {
    if (piece.rank != me && reaches(me, piece.rank)) to.insert(piece.rank);
  }
  for (const ReceivedPiece& piece : received) {
    if (piece.rank != me && reaches(piece.rank, me)) from.insert(piece.rank);
  }
  signal(from, to);  // that the window may be written to
  error_.keep([&] {
    for (const SentPiece& piece : sent) {
      if (!reaches(me, piece.rank) || piece.bytes == 0) continue;
      QUADRILLE_CUDA_CHECK(cudaMemcpyAsync(theirs_[std::size_t(piece.rank)] + piece.to, piece.from,
                                           std::size_t(piece.bytes), cudaMemcpyDefault, leaving_.get()));
    }
  });
  carry_all(sent, received);
  for (const cuda::OwnedStream* const stream : {&leaving_, &coming_}) {  // after an error, too: memory is in use
    const cudaError_t status = cudaStreamSynchronize(stream->get());
    error_.keep([&] { cuda::check(status, "cudaStreamSynchronize"); });
  }
  signal(to, from);  // that it has been
}

/// By distance between ranks, so that no two wait for each other: what goes to the n-th rank behind this one, and comes
/// from the n-th before.
void DeviceExchange::carry_all(const std::vector<SentPiece>& sent, const std::vector<ReceivedPiece>& received) {
  const int me = ranks_.rank(), count = ranks_.size();
  for (int distance = 1; distance < count; ++distance) {
    std::vector<const SentPiece*> out;
    std::vector<const ReceivedPiece*> in;
    for (const SentPiece& piece : sent) {
      if ((piece.rank - me + count) % count == distance && !reaches(me, piece.rank)) out.push_back(&piece);
    }
    for (const ReceivedPiece& piece : received) {
      if ((me - piece.rank + count) % count == distance && !reaches(piece.rank, me)) in.push_back(&piece);
    }
    for (std::size_t n = 0; n < std::max(out.size(), in.size()); ++n) {
      carry(n < out.size() ? out[n] : nullptr, n < in.size() ? in[n] : nullptr);
    }
  }
}

/// Chunk by chunk: one is fetched from the device and one placed there while MPI carries the one between.
void DeviceExchange::carry(const SentPiece* sent, const ReceivedPiece* received) {
  const auto chunks = [](std::int64_t bytes) { return (bytes + chunk - 1) / chunk; };
  const auto length = [](std::int64_t bytes, std::int64_t n) {
    return std::size_t(std::min(chunk, bytes - n * chunk));
  };
  const std::int64_t out = sent != nullptr ? chunks(sent->bytes) : 0;
  const std::int64_t in = received != nullptr ? chunks(received->bytes) : 0;
  if (out == 0 && in == 0) return;
  Pinned& pinned = *pinned_;
  const auto fetch = [&](std::int64_t n) {
    if (n >= out) return;
    const auto turn = std::size_t(n % 2);
    error_.keep([&] {
      const auto* const from = static_cast<const std::byte*>(sent->from) + n * chunk;
      QUADRILLE_CUDA_CHECK(cudaMemcpyAsync(pinned.out[turn].get(), from, length(sent->bytes, n), cudaMemcpyDeviceToHost,
                                           leaving_.get()));
      QUADRILLE_CUDA_CHECK(cudaEventRecord(pinned.fetched[turn].get(), leaving_.get()));
    });
  };
  fetch(0);
  for (std::int64_t n = 0; n < std::max(out, in); ++n) {
    const auto turn = std::size_t(n % 2);
    std::vector<quadrille::Piece> send, receive;
    if (n < out) {
      error_.keep([&] { QUADRILLE_CUDA_CHECK(cudaEventSynchronize(pinned.fetched[turn].get())); });
      send.push_back({sent->rank, pinned.out[turn].get(), length(sent->bytes, n)});
    }
    if (n < in) {
      error_.keep([&] { QUADRILLE_CUDA_CHECK(cudaEventSynchronize(pinned.placed[turn].get())); });
      receive.push_back({received->rank, pinned.in[turn].get(), length(received->bytes, n)});
    }
    const std::unique_ptr<Channel> channel = ranks_.channel(send, receive);
    channel->start();
    fetch(n + 1);
    channel->finish();
    if (n >= in) continue;
    error_.keep([&] {
      QUADRILLE_CUDA_CHECK(cudaMemcpyAsync(window_ + received->at + n * chunk, pinned.in[turn].get(),
                                           length(received->bytes, n), cudaMemcpyHostToDevice, coming_.get()));
      QUADRILLE_CUDA_CHECK(cudaEventRecord(pinned.placed[turn].get(), coming_.get()));
    });
  }
}

}  // namespace quadrille::block_dft
