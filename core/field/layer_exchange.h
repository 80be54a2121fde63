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
/// The section of an item of layers into their message, and out of it.
QUADRILLE_HOST_DEVICE void pack_site(const SiteGroups& message, const SiteSection& torus, const SiteLayers& layers,
                                     int parity, int item) {
  copy_site(message, item, torus.groups, layers.place(parity, item).site(torus.extents));
}
QUADRILLE_HOST_DEVICE void unpack_site(const SiteSection& torus, const SiteGroups& message, const SiteLayers& layers,
                                       int parity, int item) {
  copy_site(torus.groups, layers.place(parity, item).site(torus.extents), message, item);
}
/// One of the sites that are this rank's own, with even-odd index `item` among these.
QUADRILLE_HOST_DEVICE void copy_own_site(const SiteSection& to, const SiteSection& from, const Extents& own, int parity,
                                         int item) {
  const SitePlace place(own, parity, item);
  copy_site(to.groups, place.site(to.extents), from.groups, place.site(from.extents));
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
