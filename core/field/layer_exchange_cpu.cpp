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
    each_item(layers_.leave, leaving_, torus, [&](const SiteGroups& message, const SiteLayers& layers, int item) {
      copy_site(message, item, torus.groups, torus.site(layers.place(parity, item)));
    });
    channel_->start();
    channel_->finish();
    each_item(layers_.come, coming_, torus, [&](const SiteGroups& message, const SiteLayers& layers, int item) {
      copy_site(torus.groups, torus.site(layers.place(parity, item)), message, item);
    });
  }

 private:
  using Memory = std::array<std::shared_ptr<void>, 2>;

  template <class F>
  static void each_item(const std::array<SiteLayers, 2>& two, const Memory& memory, const SiteSection& torus,
                        const F& f) {
    for (std::size_t k = 0; k < 2; ++k) {
      const SiteGroups message = message_of(two[k], torus.groups, memory[k].get());
      team_for(two[k].items(), [&](std::int64_t item) { f(message, two[k], int(item)); });
    }
  }

  GhostAxis layers_;
  Memory leaving_, coming_;
  std::unique_ptr<Channel> channel_;
};

}  // namespace

std::unique_ptr<LayerExchange> make_layer_exchange_cpu(const Communicator& ranks, const GhostAxis& layers,
                                                       std::size_t site_bytes) {
  return std::make_unique<CpuLayerExchange>(ranks, layers, site_bytes);
}

void copy_own_sites_cpu(const SiteSection& to, const SiteSection& from, const Extents& own, int parity) {
  team_for(own.sites, [&](std::int64_t item) {
    const SitePlace place(own, parity, int(item));
    copy_site(to.groups, to.site(place), from.groups, from.site(place));
  });
}

}  // namespace quadrille
