// What a halo on a torus (core/field/halo_torus.h) asks of a backend.
#pragma once

#include "core/backend/of_backend.h"
#include "core/comm/communicator.h"
#include "core/field/site_groups.h"
#include "core/layout/site_layers.h"

#include <cstddef>
#include <memory>

namespace quadrille {

/// Layers as a message: [group][item].
inline SiteGroups message_of(const SiteLayers& layers, const SiteGroups& of, void* memory) {
  return {static_cast<std::byte*>(memory), nullptr, layers.items(), 0, of.site_bytes, of.group_bytes};
}

/// Layers along one axis, of sections of as many bytes a site, exchanged with the neighbours again and again.
class LayerExchange {
 public:
  virtual ~LayerExchange() = default;
  /// Overwrites the layers that come. Collective; asked for on the backend's stream.
  virtual void run(const SiteSection& torus, int parity) = 0;
};

QUADRILLE_DECLARE_FOR_BACKENDS(std::unique_ptr<LayerExchange>, make_layer_exchange,
                               (const Communicator& ranks, const GhostAxis& layers, std::size_t site_bytes))

/// to = from at all sites of `own`, on tori that are at least as large.
QUADRILLE_DECLARE_FOR_BACKENDS(void, copy_own_sites,
                               (const SiteSection& to, const SiteSection& from, const Extents& own, int parity))

}  // namespace quadrille
