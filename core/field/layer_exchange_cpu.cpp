#include "core/field/layer_exchange.h"
#include "core/system/aligned_memory.h"
#include "core/system/team.h"

#include <array>

namespace quadrille {
namespace {

class CpuLayerExchange final : public LayerExchange {
 public:
  CpuLayerExchange(const Communicator& ranks, const GhostAxis& layers, std::size_t site_bytes) : layers_(layers) {
    std::vector<Message> messages;
    for (std::size_t k = 0; k < 2; ++k) {
      const std::size_t bytes = site_bytes * std::size_t(layers.leave[k].items());
      leaving_[k] = aligned_memory(bytes);
      coming_[k] = aligned_memory(bytes);
      const int direction = k == 0 ? opposite_direction(layers.axis) : layers.axis;
      messages.push_back({direction, leaving_[k].get(), coming_[k].get(), bytes});
    }
    channel_ = ranks.channel(std::move(messages));
  }

  void run(const SiteSection& torus, int parity) override {
    for (std::size_t k = 0; k < 2; ++k) {
      const SiteLayers& leave = layers_.leave[k];
      const SiteGroups message = message_of(leave, torus.groups, leaving_[k].get());
      team_for(leave.items(), [&](std::int64_t item) { pack_site(message, torus, leave, parity, int(item)); });
    }
    channel_->start();
    channel_->finish();
    for (std::size_t k = 0; k < 2; ++k) {
      const SiteLayers& come = layers_.come[k];
      const SiteGroups message = message_of(come, torus.groups, coming_[k].get());
      team_for(come.items(), [&](std::int64_t item) { unpack_site(torus, message, come, parity, int(item)); });
    }
  }

 private:
  GhostAxis layers_;
  std::array<std::shared_ptr<void>, 2> leaving_, coming_;
  std::unique_ptr<Channel> channel_;
};

}  // namespace

std::unique_ptr<LayerExchange> make_layer_exchange_cpu(const Communicator& ranks, const GhostAxis& layers,
                                                       std::size_t site_bytes) {
  return std::make_unique<CpuLayerExchange>(ranks, layers, site_bytes);
}

void copy_own_sites_cpu(const SiteSection& to, const SiteSection& from, const Extents& own, int parity) {
  team_for(own.sites, [&](std::int64_t item) { copy_own_site(to, from, own, parity, int(item)); });
}

}  // namespace quadrille
