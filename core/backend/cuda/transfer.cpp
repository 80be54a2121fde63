#include "core/backend/cuda/transfer.h"

#include "core/backend/cuda/device_array.h"
#include "core/backend/cuda/owned.h"

#include <cstdint>

namespace quadrille::cuda {
namespace {

constexpr const char* what = "a transfer buffer to and from the GPU";

class PinnedBuffer final : public TransferBuffer {
 public:
  explicit PinnedBuffer(std::size_t bytes)
      : used_(make_event()),
        host_(make_pinned(bytes, cudaHostAllocDefault, what)),
        device_(std::int64_t(bytes), what, "end other programs on this GPU, or use a smaller lattice") {}
  ~PinnedBuffer() override { (void)cudaEventSynchronize(used_.get()); }

  std::byte* host() override { return host_.get(); }
  void* device() override { return device_.get(); }
  void send(std::size_t bytes) override {
    QUADRILLE_CUDA_CHECK(cudaMemcpyAsync(device_.get(), host_.get(), bytes, cudaMemcpyHostToDevice, stream()));
    record_use();
  }
  void fetch(std::size_t bytes) override {
    QUADRILLE_CUDA_CHECK(cudaMemcpyAsync(host_.get(), device_.get(), bytes, cudaMemcpyDeviceToHost, stream()));
    record_use();
  }
  void record_use() override { QUADRILLE_CUDA_CHECK(cudaEventRecord(used_.get(), stream())); }
  void wait() override { QUADRILLE_CUDA_CHECK(cudaEventSynchronize(used_.get())); }

 private:
  OwnedEvent used_;
  PinnedMemory host_;
  DeviceArray<std::byte> device_;
};

}  // namespace

std::unique_ptr<TransferBuffer> make_transfer_buffer(std::size_t bytes) {
  return std::make_unique<PinnedBuffer>(bytes);
}

}  // namespace quadrille::cuda
