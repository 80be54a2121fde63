// Layers of sites between the GPUs of ranks (core/field/layer_exchange.h): a thread moves the section of one site.
#include "core/backend/cuda/channels/device_channel.h"
#include "core/backend/cuda/runtime.h"
#include "core/field/layer_exchange.h"

#include <array>

namespace quadrille {
namespace {

constexpr int threads = 128;

unsigned blocks_for(int items) { return unsigned((items + threads - 1) / threads); }

/// Two layers and their messages: a row of thread blocks for each.
struct TwoMessages {
  SiteLayers layers[2];
  SiteGroups message[2];
};

__global__ void __launch_bounds__(threads)
    pack_layers(const __grid_constant__ TwoMessages to, const __grid_constant__ SiteSection torus, int parity) {
  const int item = int(blockIdx.x * threads + threadIdx.x), which = int(blockIdx.y);
  if (item < to.layers[which].items()) pack_site(to.message[which], torus, to.layers[which], parity, item);
}

__global__ void __launch_bounds__(threads)
    unpack_layers(const __grid_constant__ SiteSection torus, const __grid_constant__ TwoMessages from, int parity) {
  const int item = int(blockIdx.x * threads + threadIdx.x), which = int(blockIdx.y);
  if (item < from.layers[which].items()) unpack_site(torus, from.message[which], from.layers[which], parity, item);
}

__global__ void __launch_bounds__(threads)
    copy_own(const __grid_constant__ SiteSection to, const __grid_constant__ SiteSection from,
             const __grid_constant__ Extents own, int parity) {
  const int item = int(blockIdx.x * threads + threadIdx.x);
  if (item < own.sites) copy_own_site(to, from, own, parity, item);
}

class CudaLayerExchange final : public LayerExchange {
 public:
  CudaLayerExchange(const Communicator& ranks, const GhostAxis& layers, std::size_t site_bytes)
      : layers_(layers),
        channel_(cuda::make_device_channel(
            ranks, {{opposite_direction(layers.axis), site_bytes * std::size_t(layers.leave[0].items())},
                    {layers.axis, site_bytes * std::size_t(layers.leave[1].items())}})) {}

  void run(const SiteSection& torus, int parity) override {
    const dim3 blocks(blocks_for(layers_.leave[0].items()), 2);
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
  copy_own<<<blocks_for(own.sites), threads, 0, cuda::stream()>>>(to, from, own, parity);
  cuda::check(cudaGetLastError(), "the launch of a copy of sites");
}

}  // namespace quadrille
