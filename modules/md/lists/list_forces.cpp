#include "modules/md/lists/list_forces.h"

#include "core/backend/backend.h"
#include "core/backend/of_backend.h"
#include "core/error.h"
#include "core/system/team.h"
#include "modules/md/lists/list_passes.h"

#include <fmt/format.h>

#include <atomic>
#include <cmath>

namespace quadrille::md {
namespace {

bool on_host(const ListOptions& options) {
  return options.forces.backend == nullptr || options.forces.backend->host_memory();
}

}  // namespace

struct ListForces::State {
  State(const System& given, const ListOptions& chosen)
      : system(system_of_lists(given, chosen)),
        options(chosen),
        device(on_host(options) ? nullptr : with_cuda<std::unique_ptr<DeviceListEngine>>([&](auto) {
          return make_cuda_list_engine(system, options);
        })),
        host(on_host(options) ? make_cpu_list_engine(system, options) : nullptr),
        engine(device ? *device : *host),
        passes(system, options, engine) {}

  bool stale_lists(std::span<const double> positions, const std::array<double, 3>& box) const;
  void build(std::span<const double> positions, const std::array<double, 3>& box);
  ForceResult compute(std::span<const double> positions, const std::array<double, 3>& box, std::span<double> forces,
                      bool energy, bool quanta);
  void place_on_device(const double* positions, const std::array<double, 3>& box);
  ForceResult compute_there(const double* positions, const std::array<double, 3>& box, double* forces, bool energy);
  std::vector<double> fetched(const double* there) const;

  const System system;  ///< without positions, masses and bonded terms
  const ListOptions options;
  const std::unique_ptr<DeviceListEngine> device;  ///< or
  const std::unique_ptr<ListEngine> host;
  ListEngine& engine;  ///< which of them there is
  ListPasses passes;
  std::vector<double> listed;  ///< positions that the lists were built for
  std::array<double, 3> edges{};
  std::int64_t builds = 0;
};

/// Whether lists are to be built: there are none for this box, or a particle has moved by half the skin. Checks
/// positions, too.
bool ListForces::State::stale_lists(std::span<const double> positions, const std::array<double, 3>& box) const {
  if (std::int64_t(positions.size()) != 3 * system.size()) {
    check_positions(system.size(), options.forces, positions, box);
  }
  check_box(options.forces, box);
  std::array<double, 3> most{};
  for (std::size_t k = 0; k < 3; ++k) most[k] = furthest * box[k];
  const bool none = listed.empty() || box != edges;
  const double squared_limit = options.skin * options.skin / 4;
  std::atomic<bool> moved = none, lost = false;
  team_ranges(system.size(), [&](std::int64_t begin, std::int64_t end) {
    bool far = false, bad = false;
    for (auto i = std::size_t(begin); i < std::size_t(end); ++i) {
      double squared = 0;
      for (std::size_t k = 0; k < 3; ++k) {
        const double x = positions[3 * i + k];
        bad |= !(std::abs(x) < most[k]);
        const double d = none ? 0 : x - listed[3 * i + k];
        squared += d * d;
      }
      far |= squared > squared_limit;
    }
    if (far) moved = true;
    if (bad) lost = true;
  });
  if (lost) check_places(system.size(), options.forces, positions, box);
  return moved;
}

void ListForces::State::build(std::span<const double> positions, const std::array<double, 3>& box) {
  edges = box;
  listed.assign(positions.begin(), positions.end());
  engine.build(positions, box);
  ++builds;
}

ForceResult ListForces::State::compute(std::span<const double> positions, const std::array<double, 3>& box,
                                       std::span<double> forces, bool energy, bool quanta) {
  if (stale_lists(positions, box)) {
    build(positions, box);
  } else {
    engine.place(positions);
  }
  const std::int32_t infinite = passes.run(energy, quanta);
  if (infinite >= 0) explain_infinite(system, options.forces, positions, edges, infinite);
  engine.forces(passes.unit(), forces);
  return passes.result(energy);
}

std::vector<double> ListForces::State::fetched(const double* there) const {
  std::vector<double> here(3 * std::size_t(system.size()));
  options.forces.backend->copy_out(here.data(), there, here.size() * sizeof(double));
  return here;
}

/// What compute() does before a pass, for positions in the device's memory.
void ListForces::State::place_on_device(const double* positions, const std::array<double, 3>& box) {
  check_box(options.forces, box);
  const bool none = listed.empty() || box != edges;
  const DeviceListEngine::Change change =
      device->change(positions, box, none ? std::optional<double>() : std::optional(options.skin / 2));
  if (change.lost) check_places(system.size(), options.forces, fetched(positions), box);
  if (!none && !change.moved) return device->place_there(positions);
  edges = box;
  device->build_there(positions, box);
  listed = device->listed_positions();
  ++builds;
}

ForceResult ListForces::State::compute_there(const double* positions, const std::array<double, 3>& box, double* forces,
                                             bool energy) {
  place_on_device(positions, box);
  const std::int32_t infinite = passes.run(energy, false);
  if (infinite >= 0) explain_infinite(system, options.forces, fetched(positions), edges, infinite);
  device->forces_there(passes.unit(), forces);
  ForceResult result = passes.result(energy);
  options.forces.backend->synchronize();
  return result;
}

ListForces::ListForces(const System& system, const ListOptions& options)
    : state_(std::make_unique<State>(system, options)) {}
ListForces::~ListForces() = default;
ListForces::ListForces(ListForces&&) noexcept = default;
ListForces& ListForces::operator=(ListForces&&) noexcept = default;

std::int64_t ListForces::size() const { return state_->system.size(); }

ForceResult ListForces::compute(std::span<const double> positions, const std::array<double, 3>& box, bool energy) {
  std::vector<double> forces(3 * std::size_t(size()));
  ForceResult out = state_->compute(positions, box, forces, energy, true);
  out.forces = std::move(forces);
  if (is_fixed(state_->options.forces.method)) out.quanta = state_->engine.quanta();
  return out;
}

ForceResult ListForces::compute_into(std::span<const double> positions, const std::array<double, 3>& box,
                                     std::span<double> forces, bool energy) {
  if (std::int64_t(forces.size()) != 3 * size()) {
    throw Error(ErrorCode::invalid_input,
                fmt::format("room for {} numbers for the forces on {} particles: each particle has three",
                            forces.size(), size()));
  }
  return state_->compute(positions, box, forces, energy, false);
}

ForceResult ListForces::compute_there(const double* positions, const std::array<double, 3>& box, double* forces,
                                      bool energy) {
  if (state_->device) return state_->compute_there(positions, box, forces, energy);
  const auto count = 3 * std::size_t(size());
  return compute_into({positions, count}, box, {forces, count}, energy);
}

ListStatistics ListForces::statistics() const {
  return {state_->builds, double(state_->engine.entries()) / double(size())};
}

ListForces::Memory ListForces::memory() const {
  const FixedScales& scales = state_->passes.scales();
  return {state_->listed, state_->edges, scales.exponents.force, scales.exponents.energy, scales.known};
}

void ListForces::remember(const Memory& memory) {
  if (!memory.listed_positions.empty()) {
    state_->stale_lists(memory.listed_positions, memory.box);  // checks them
    state_->build(memory.listed_positions, memory.box);
  }
  state_->passes.set_scales({memory.force_exponent, memory.energy_exponent}, memory.scaled);
}

}  // namespace quadrille::md
