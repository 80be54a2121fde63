// Layers of sites between the GPUs of ranks (core/field/layer_exchange.h): a thread moves a group of one site.
#include "core/backend/cuda/channels/device_channel.h"
#include "core/backend/cuda/runtime.h"
#include "core/field/layer_exchange.h"

#include <array>

namespace quadrille {
namespace {

constexpr int threads = 128;

/// A thread for a group of each site, so that all are on their way at once.
__device__ __forceinline__ int item_of_thread() { return int(blockIdx.x * threads + threadIdx.x); }
dim3 blocks_for(int items, int groups, int messages) {
  return {unsigned((items + threads - 1) / threads), unsigned(groups), unsigned(messages)};
}

/// Two layers and their messages.
struct TwoMessages {
  SiteLayers layers[2];
  SiteGroups message[2];
};

__global__ void __launch_bounds__(threads)
    pack_layers(const __grid_constant__ TwoMessages to, const __grid_constant__ SiteSection torus, int parity) {
  const int item = item_of_thread(), which = int(blockIdx.z);
  if (item >= to.layers[which].items()) return;
  const int site = torus.site(to.layers[which].place(parity, item));
  copy_group(to.message[which], item, torus.groups, site, int(blockIdx.y));
}

__global__ void __launch_bounds__(threads)
    unpack_layers(const __grid_constant__ SiteSection torus, const __grid_constant__ TwoMessages from, int parity) {
  const int item = item_of_thread(), which = int(blockIdx.z);
  if (item >= from.layers[which].items()) return;
  const int site = torus.site(from.layers[which].place(parity, item));
  copy_group(torus.groups, site, from.message[which], item, int(blockIdx.y));
}

__global__ void __launch_bounds__(threads)
    copy_own(const __grid_constant__ SiteSection to, const __grid_constant__ SiteSection from,
             const __grid_constant__ Extents own, int parity) {
  const int item = item_of_thread();
  if (item >= own.sites) return;
  const SitePlace place(own, parity, item);
  copy_group(to.groups, to.site(place), from.groups, from.site(place), int(blockIdx.y));
}

class CudaLayerExchange final : public LayerExchange {
 public:
  CudaLayerExchange(const Communicator& ranks, const GhostAxis& layers, std::size_t site_bytes)
      : layers_(layers),
        channel_(cuda::make_device_channel(
            ranks, {{opposite_direction(layers.axis), site_bytes * std::size_t(layers.leave[0].items())},
                    {layers.axis, site_bytes * std::size_t(layers.leave[1].items())}})) {}

  void run(const SiteSection& torus, int parity) override {
    const dim3 blocks = blocks_for(layers_.leave[0].items(), torus.groups.groups(), 2);
    const auto messages = [&](const std::array<SiteLayers, 2>& of, auto&& memory) {
      return TwoMessages{{of[0], of[1]},
                         {message_of(of[0], torus.groups, memory(0)), message_of(of[1], torus.groups, memory(1))}};
    };
    pack_layers<<<blocks, threads, 0, cuda::stream()>>>(
        messages(layers_.leave, [&](std::size_t k) { return channel_->outgoing(k); }), torus, parity);
    cuda::check(cudaGetLastError(), "the launch of packing a halo");
    channel_->start(cuda::stream());
    channel_->finish(cuda::stream());
    unpack_layers<<<blocks, threads, 0, cuda::stream()>>>(
        torus, messages(layers_.come, [&](std::size_t k) { return const_cast<void*>(channel_->incoming(k)); }), parity);
    cuda::check(cudaGetLastError(), "the launch of unpacking a halo");
  }

 private:
  GhostAxis layers_;
  std::unique_ptr<cuda::DeviceChannel> channel_;
};

}  // namespace

std::unique_ptr<LayerExchange> make_layer_exchange_cuda(const Communicator& ranks, const GhostAxis& layers,
                                                        std::size_t site_bytes) {
  return std::make_unique<CudaLayerExchange>(ranks, layers, site_bytes);
}

void copy_own_sites_cuda(const SiteSection& to, const SiteSection& from, const Extents& own, int parity) {
  copy_own<<<blocks_for(own.sites, from.groups.groups(), 1), threads, 0, cuda::stream()>>>(to, from, own, parity);
  cuda::check(cudaGetLastError(), "the launch of a copy of sites");
}

}  // namespace quadrille
