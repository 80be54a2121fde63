#include "modules/md/capi/c_api.h"

#include "core/backend/backend.h"
#include "modules/md/lists/list_forces.h"
#include "modules/shared/plugin/c_calls.h"
#include "modules/shared/plugin/handle_table.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <string>

namespace {

/// One of the two.
struct HostForces {
  static constexpr quadrille::c_calls::Kind kind = quadrille::c_calls::Kind::pair_forces;
  std::optional<quadrille::md::PairForces> all_pairs;
  std::optional<quadrille::md::ListForces> lists;
  bool on_device;
  quadrille::Backend* backend;

  std::int64_t size() const { return lists ? lists->size() : all_pairs->size(); }
};

namespace md = quadrille::md;
using quadrille::c_calls::demand;
using quadrille::c_calls::refuse;

thread_local std::string last_message;

template <class Call>
quadrille_status guarded(const char* name, Call call) noexcept {
  return quadrille::c_calls::guarded(last_message, name, call);
}

void check_count(const char* name, std::int64_t count, std::int64_t least) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if (count >= least && count <= most) return;
  refuse(std::string(name) + " = " + std::to_string(count) + ": it must be " + std::to_string(least) + " to " +
         std::to_string(most));
}

md::ForceOptions force_options(const quadrille_md_options& given) {
  md::ForceOptions options;
  if (given.method != nullptr) options.method = md::method_named(given.method);
  if (given.coulomb != nullptr) options.coulomb = value_of(md::coulomb_names, given.coulomb, "coulomb");
  options.cutoff = given.cutoff;
  if (given.dielectric != 0) options.dielectric = given.dielectric;
  if (given.afterwards != 0) options.exclusions = md::ExclusionWay::afterwards;
  if (given.backend != nullptr) options.backend = &quadrille::find_backend(given.backend);
  return options;
}

md::Truncation truncation_of(const quadrille_md_options& given) {
  return value_of(md::truncation_names, given.truncation == nullptr ? "cut" : given.truncation, "truncation");
}

}  // namespace

extern "C" {

quadrille_status quadrille_md_forces_create(int64_t particles, const int32_t* types, const double* charges,
                                            int32_t type_count, const double* c12, const double* c6,
                                            const quadrille_md_options* options, quadrille_md_forces** handle) {
  return guarded("quadrille_md_forces_create", [&] {
    demand(handle, "handle");
    demand(types, "types");
    demand(c12, "c12");
    demand(c6, "c6");
    check_count("particles", particles, 1);
    check_count("type_count", type_count, 1);
    const quadrille_md_options known =
        options == nullptr ? quadrille_md_options{} : quadrille::c_calls::known_options(options);
    check_count("options: exclusion_count", known.exclusion_count, 0);
    md::System system;
    system.types.assign(types, types + particles);
    if (charges != nullptr) system.charges.assign(charges, charges + particles);
    const std::ptrdiff_t pairs = std::ptrdiff_t(type_count) * type_count;
    system.table = {type_count, {c12, c12 + pairs}, {c6, c6 + pairs}};
    if (known.coulomb_constant != 0) system.coulomb_constant = known.coulomb_constant;
    if (known.exclusion_count > 0) demand(known.exclusions, "options: exclusions");
    for (int64_t n = 0; n < known.exclusion_count; ++n) {
      system.exclusions.emplace_back(known.exclusions[2 * n], known.exclusions[2 * n + 1]);
    }
    const md::ForceOptions force = force_options(known);
    auto made = std::make_shared<HostForces>();
    made->on_device = known.on_device != 0;
    made->backend = force.backend == nullptr ? &quadrille::cpu_backend() : force.backend;
    const quadrille::c_calls::Work work(*made->backend);
    if (known.skin != 0) {
      made->lists.emplace(system, md::ListOptions{force, truncation_of(known), known.skin});
    } else {
      if (truncation_of(known) != md::Truncation::cut)
        refuse("this truncation needs a skin: it is for neighbour lists");
      made->all_pairs.emplace(system, force);
    }
    *handle = quadrille::c_calls::handle_of<quadrille_md_forces>(std::move(made));
  });
}

quadrille_status quadrille_md_forces_compute(quadrille_md_forces* handle, const double* positions, const double* box,
                                             double* forces, double* energy, double* virial) {
  return guarded("quadrille_md_forces_compute", [&] {
    const auto found = quadrille::c_calls::find<HostForces>(handle);
    demand(positions, "positions");
    demand(forces, "forces");
    std::array<double, 3> edges{};
    if (box != nullptr) std::copy_n(box, 3, edges.begin());
    const bool all = energy != nullptr || virial != nullptr;
    const auto count = std::size_t(found->size()) * 3;
    const quadrille::c_calls::Work work(*found->backend);
    md::ForceResult result;
    if (found->lists && found->on_device) {
      result = found->lists->compute_there(positions, edges, forces, all);
    } else if (found->lists) {
      result = found->lists->compute_into({positions, count}, edges, {forces, count}, all);
    } else if (found->on_device) {
      result = found->all_pairs->compute_there(positions, edges, forces, all);
    } else {
      result = found->all_pairs->compute({positions, count}, edges, all);
      std::copy(result.forces.begin(), result.forces.end(), forces);
    }
    if (energy != nullptr) *energy = result.energy;
    if (virial != nullptr) std::copy(result.virial.begin(), result.virial.end(), virial);
  });
}

void quadrille_md_forces_destroy(quadrille_md_forces* handle) {
  quadrille::c_calls::destroy_if_valid<HostForces>(handle);
}

const char* quadrille_md_message(void) { return last_message.c_str(); }

}  // extern "C"
