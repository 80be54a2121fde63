#include "modules/quenched/updates/link_halo_cuda.h"

#include "core/backend/cuda/runtime.h"
#include "modules/quenched/updates/updates_cuda.h"

#include <cstddef>

namespace quadrille::quenched {
namespace {

constexpr int backward = 4;

Divided divided(const Communicator& ranks) {
  return {ranks.splits(0), ranks.splits(1), ranks.splits(2), ranks.splits(3)};
}

FieldDesc on(const Lattice& torus, const FieldDesc& links) {
  return FieldDesc::links(torus, links.precision, links.reconstruct, *links.backend);
}

}  // namespace

Dims torus_around(const Lattice& part) { return torus_of(part.dims(), divided(part.communicator())); }

CudaLinkHalo::CudaLinkHalo(Field& links)
    : torus_(torus_around(links.lattice())),
      field_(on(torus_, links.desc())),
      own_(grouped_links(links)),
      with_ghosts_(with_ghosts(field_, own_)) {
  const Communicator& ranks = links.lattice().communicator();
  for (const GhostAxis& layers : ghost_axes(links.lattice().dims(), divided(ranks))) {
    const std::size_t bytes =
        std::size_t(layers.leave[0].sites.sites) * std::size_t(own_.of.numbers) * std::size_t(own_.of.bytes);
    axes_.push_back(
        {layers, cuda::make_device_channel(ranks, {{layers.axis + backward, bytes}, {layers.axis, bytes}})});
  }
  launch_copy(with_ghosts_, own_);
  exchange_all();
}

void CudaLinkHalo::exchange(int mu, int parity) {
  for (auto& [layers, channel] : axes_) {
    for (std::size_t k = 0; k < 2; ++k) layers.leave[k].buffer = channel->outgoing(k);
    launch_pack(with_ghosts_, layers.leave, mu, parity);
    channel->start(cuda::stream());
    channel->finish(cuda::stream());
    for (std::size_t k = 0; k < 2; ++k) layers.come[k].buffer = const_cast<void*>(channel->incoming(k));
    launch_unpack(with_ghosts_, layers.come, mu, parity);
  }
}

void CudaLinkHalo::exchange_all() {
  for (int mu = 0; mu < 4; ++mu) {
    for (const int parity : {0, 1}) exchange(mu, parity);
  }
}

void CudaLinkHalo::copy_back() const { launch_copy(own_, with_ghosts_); }

}  // namespace quadrille::quenched
