#include "modules/shared/dense/cuda/host_link.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <utility>

namespace quadrille::cuda {
namespace {

constexpr std::size_t buffer_bytes = std::size_t(16) << 20;
constexpr std::size_t buffers_each_way = 3;
/// Buffers that are kept while nobody uses them.
constexpr std::size_t most_kept = 3 * buffers_each_way;
/// Pieces below this many numbers are copied by one thread: waking others takes longer.
constexpr std::int64_t worth_threads = 1 << 14;

/// Shorter lines, in bytes, travel slower than threads copy them (33 GB/s where long ones have 55, H200).
constexpr std::int64_t shortest_line = 8192;
/// The driver's longest distance of lines.
constexpr std::int64_t longest_pitch = std::numeric_limits<std::int32_t>::max();

/// Calls copy(line, first, count, at) for the parts of lines that elements [begin, end) of a matrix without gaps are.
template <class Copy>
void for_each_part(std::int64_t length, std::int64_t begin, std::int64_t end, Copy copy) {
  const std::int64_t first_line = begin / length, last_line = (end - 1) / length;
#pragma omp parallel for schedule(static) if (end - begin > worth_threads)
  for (std::int64_t line = first_line; line <= last_line; ++line) {
    const std::int64_t from = std::max(begin, line * length), to = std::min(end, (line + 1) * length);
    copy(line, from - line * length, to - from, from - begin);
  }
}

/// Pinned buffers that nobody uses.
class KeptBuffers {
 public:
  static KeptBuffers& shared() {
    static KeptBuffers kept;
    return kept;
  }
  PinnedMemory take() {
    {
      const std::lock_guard lock(mutex_);
      if (!kept_.empty()) {
        PinnedMemory memory = std::move(kept_.back());
        kept_.pop_back();
        return memory;
      }
    }
    return make_pinned(buffer_bytes, cudaHostAllocDefault, "a buffer for matrices on their way to and from the GPU");
  }
  void keep(PinnedMemory memory) {
    const std::lock_guard lock(mutex_);
    if (kept_.size() < most_kept) kept_.push_back(std::move(memory));
  }

 private:
  std::mutex mutex_;
  std::vector<PinnedMemory> kept_;
};

}  // namespace

void record(const OwnedEvent& event, cudaStream_t stream) {
  QUADRILLE_CUDA_CHECK(cudaEventRecord(event.get(), stream));
}

void wait(cudaStream_t stream, const OwnedEvent& event) {
  QUADRILLE_CUDA_CHECK(cudaStreamWaitEvent(stream, event.get(), 0));
}

void pass(const OwnedEvent& event, cudaStream_t from, cudaStream_t to) {
  record(event, from);
  wait(to, event);
}

HostLink::HostLink() {
  up_ = make_stream();
  down_ = make_stream();
}

HostLink::~HostLink() {
  (void)cudaStreamSynchronize(up_.get());
  (void)cudaStreamSynchronize(down_.get());
  keep_buffers(up_buffers_);
  keep_buffers(down_buffers_);
}

void HostLink::make_buffers(std::vector<Buffer>& buffers) {
  while (buffers.size() < buffers_each_way) {
    Buffer buffer;
    buffer.memory = KeptBuffers::shared().take();
    buffer.travelled = make_event();
    buffers.push_back(std::move(buffer));
  }
}

void HostLink::keep_buffers(std::vector<Buffer>& buffers) {
  for (Buffer& buffer : buffers) KeptBuffers::shared().keep(std::move(buffer.memory));
}

template <class T>
bool HostLink::is_direct(DenseView<const T> matrix) {
  const auto bytes = [](std::int64_t count) { return count * std::int64_t(sizeof(T)); };
  const bool short_lines = matrix.lines() > 1 && bytes(matrix.line_length()) < shortest_line;
  return !short_lines && bytes(matrix.ld) <= longest_pitch && is_pinned(matrix.data);
}

template <class T>
void HostLink::send(DenseView<const T> matrix, T* panel) {
  const std::int64_t length = matrix.line_length(), total = matrix.rows * matrix.cols;
  if (total == 0) return;
  if (is_direct(matrix)) {
    QUADRILLE_CUDA_CHECK(cudaMemcpy2DAsync(panel, std::size_t(length) * sizeof(T), matrix.data,
                                           std::size_t(matrix.ld) * sizeof(T), std::size_t(length) * sizeof(T),
                                           std::size_t(matrix.lines()), cudaMemcpyHostToDevice, up_.get()));
    return;
  }
  make_buffers(up_buffers_);
  const std::int64_t each = std::int64_t(buffer_bytes / sizeof(T));
  for (std::int64_t begin = 0; begin < total; begin += each) {
    progress();
    const std::int64_t end = std::min(total, begin + each);
    Buffer& buffer = up_buffers_[up_turn_++ % buffers_each_way];
    QUADRILLE_CUDA_CHECK(cudaEventSynchronize(buffer.travelled.get()));
    T* to = reinterpret_cast<T*>(buffer.memory.get());
    for_each_part(length, begin, end, [&](std::int64_t line, std::int64_t first, std::int64_t count, std::int64_t at) {
      std::copy_n(matrix.line(line) + first, count, to + at);
    });
    QUADRILLE_CUDA_CHECK(
        cudaMemcpyAsync(panel + begin, to, std::size_t(end - begin) * sizeof(T), cudaMemcpyHostToDevice, up_.get()));
    QUADRILLE_CUDA_CHECK(cudaEventRecord(buffer.travelled.get(), up_.get()));
  }
}

template <class T>
void HostLink::receive(const T* panel, DenseView<T> matrix) {
  const std::int64_t length = matrix.line_length(), total = matrix.rows * matrix.cols;
  if (total == 0) return;
  if (is_direct(matrix.constant())) {
    QUADRILLE_CUDA_CHECK(cudaMemcpy2DAsync(matrix.data, std::size_t(matrix.ld) * sizeof(T), panel,
                                           std::size_t(length) * sizeof(T), std::size_t(length) * sizeof(T),
                                           std::size_t(matrix.lines()), cudaMemcpyDeviceToHost, down_.get()));
    return;
  }
  make_buffers(down_buffers_);
  const std::int64_t each = std::int64_t(buffer_bytes / sizeof(T));
  for (std::int64_t begin = 0; begin < total; begin += each) {
    const std::int64_t end = std::min(total, begin + each);
    const auto unpack = [matrix, length, begin, end](const std::byte* memory) {
      const T* from = reinterpret_cast<const T*>(memory);
      for_each_part(length, begin, end,
                    [&](std::int64_t line, std::int64_t first, std::int64_t count, std::int64_t at) {
                      std::copy_n(from + at, count, matrix.line(line) + first);
                    });
    };
    waiting_.push_back(
        {reinterpret_cast<const std::byte*>(panel + begin), std::size_t(end - begin) * sizeof(T), unpack});
  }
  progress();
}

void HostLink::ask(Piece& piece, Buffer& buffer) {
  QUADRILLE_CUDA_CHECK(
      cudaMemcpyAsync(buffer.memory.get(), piece.from, piece.bytes, cudaMemcpyDeviceToHost, down_.get()));
  QUADRILLE_CUDA_CHECK(cudaEventRecord(buffer.travelled.get(), down_.get()));
  buffer.unpack = std::move(piece.unpack);
}

void HostLink::take_out(Buffer& buffer) {
  buffer.unpack(buffer.memory.get());
  buffer.unpack = nullptr;
}

void HostLink::progress() {
  while (oldest_down_ < down_turn_) {
    Buffer& oldest = down_buffers_[oldest_down_ % buffers_each_way];
    const cudaError_t status = cudaEventQuery(oldest.travelled.get());
    if (status == cudaErrorNotReady) {
      (void)cudaGetLastError();  // else the next kernel would be blamed
      break;
    }
    check(status, "cudaEventQuery");
    take_out(oldest);
    ++oldest_down_;
  }
  while (first_waiting_ < waiting_.size() && down_turn_ - oldest_down_ < buffers_each_way) {
    ask(waiting_[first_waiting_++], down_buffers_[down_turn_++ % buffers_each_way]);
  }
  if (first_waiting_ == waiting_.size()) {
    waiting_.clear();
    first_waiting_ = 0;
  }
}

void HostLink::finish_asking() {
  progress();
  while (!waiting_.empty()) {
    QUADRILLE_CUDA_CHECK(cudaEventSynchronize(down_buffers_[oldest_down_ % buffers_each_way].travelled.get()));
    progress();
  }
}

void HostLink::finish_receiving() {
  finish_asking();
  QUADRILLE_CUDA_CHECK(cudaStreamSynchronize(down_.get()));
  progress();
}

template bool HostLink::is_direct(DenseView<const double>);
template bool HostLink::is_direct(DenseView<const float>);
template void HostLink::send(DenseView<const double>, double*);
template void HostLink::send(DenseView<const float>, float*);
template void HostLink::receive(const double*, DenseView<double>);
template void HostLink::receive(const float*, DenseView<float>);

}  // namespace quadrille::cuda
