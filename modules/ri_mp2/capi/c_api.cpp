#include "modules/ri_mp2/capi/c_api.h"

#include "core/backend/backend.h"
#include "core/system/memory.h"
#include "modules/ri_mp2/ri_mp2.h"
#include "modules/shared/plugin/c_calls.h"
#include "modules/shared/study/take_turns.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace {

namespace mp2 = quadrille::ri_mp2;
namespace mg = quadrille::mgemm;
using quadrille::c_calls::demand;
using quadrille::c_calls::refuse;

thread_local std::string last_message;

void check_size(const char* name, std::int64_t size) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if (size >= 1 && size <= most) return;
  refuse(std::string(name) + " = " + std::to_string(size) + ": it must be 1 to " + std::to_string(most));
}

mg::ProductPrecision precision_named(const char* name) {
  const std::string given = name == nullptr ? "double" : name;
  if (given == "double") return mg::ProductPrecision::double_;
  if (given == "single") return mg::ProductPrecision::single;
  if (given == "mgemm") return mg::ProductPrecision::mgemm;
  refuse("options: precision = '" + given + "': it must be double, single or mgemm");
}

mg::Assurance assurance_named(const char* name) {
  const std::string given = name == nullptr ? "measured" : name;
  if (given == "measured") return mg::Assurance::measured;
  if (given == "certain") return mg::Assurance::certain;
  refuse("options: assurance = '" + given + "': it must be certain or measured");
}

mp2::Options options_of(const quadrille_ri_mp2_options& given) {
  mp2::Options options;
  const mg::Assurance assurance = assurance_named(given.assurance);
  options.products.precision = precision_named(given.precision);
  options.products.always_split = given.always_split != 0;
  options.products.cutoff =
      given.target_error != 0 ? mg::Cutoff::for_error(given.target_error, assurance) : mg::Cutoff::at(given.delta);
  options.step3 = options.products.cutoff;
  if (given.memory != 0) options.memory = given.memory;
  options.memory_cap = given.memory_cap;
  if (given.scratch != nullptr) options.scratch = given.scratch;
  if (options.memory < 0) refuse("options: memory = " + std::to_string(options.memory) + ": it must not be negative");
  options.backend = &quadrille::find_backend(given.backend == nullptr ? "cpu" : given.backend);
  return options;
}

std::vector<double> unit_matrix(std::int64_t n) {
  std::vector<double> out(std::size_t(n * n));
  for (std::int64_t k = 0; k < n; ++k) out[std::size_t(k * (n + 1))] = 1;
  return out;
}

double expected_error(const mp2::Energy& energy) {
  if (energy.step4.energy_error > 0) return energy.step4.energy_error;
  const bool in_double = energy.step3.form.starts_with("double") && energy.step4.form.starts_with("double");
  return in_double ? 0 : std::numeric_limits<double>::quiet_NaN();
}

void fill(const mp2::Energy& from, double seconds, quadrille_ri_mp2_energy* to) {
  quadrille_ri_mp2_energy out{};
  out.struct_size = to->struct_size;
  out.correlation = from.correlation;
  out.opposite_spin = from.opposite_spin;
  out.same_spin = from.same_spin;
  out.error = expected_error(from);
  out.seconds = seconds;
  out.batch = from.batch;
  const std::string& form = from.step4.form;
  out.streamed = from.step3.streamed + from.step4.streamed;
  std::copy_n(form.data(), std::min(form.size(), sizeof(out.form) - 1), out.form);
  std::memcpy(to, &out, out.struct_size);
}

}  // namespace

extern "C" {

quadrille_status quadrille_ri_mp2(int64_t occupied, int64_t virtuals, int64_t auxiliary, const double* ia_p,
                                  const double* p_q, const double* eps_occupied, const double* eps_virtual,
                                  const quadrille_ri_mp2_options* options, quadrille_ri_mp2_energy* energy) {
  return quadrille::c_calls::guarded(
      last_message, "quadrille_ri_mp2",
      [&] {
        demand(energy, "energy");
        if (energy->struct_size < sizeof energy->struct_size || energy->struct_size > sizeof *energy) {
          refuse("energy: struct_size = " + std::to_string(energy->struct_size) +
                 ": it must be the size of the struct, " + std::to_string(sizeof *energy) + " in this version");
        }
        check_size("occupied", occupied);
        check_size("virtuals", virtuals);
        check_size("auxiliary", auxiliary);
        demand(ia_p, "ia_p");
        demand(eps_occupied, "eps_occupied");
        demand(eps_virtual, "eps_virtual");
        mp2::Options how =
            options_of(options == nullptr ? quadrille_ri_mp2_options{} : quadrille::c_calls::known_options(options));
        const double n = double(auxiliary);
        const double began = quadrille::now();
        const bool in_parts = how.memory_cap > 0 && how.backend->host_memory();
        quadrille::require_memory(sizeof(double) * n * ((in_parts ? 0 : double(occupied) * double(virtuals)) + n),
                                  in_parts ? "a copy of (P|Q)" : "a copy of (ia|P) and (P|Q)");
        const std::int64_t orbital = virtuals * auxiliary, numbers = in_parts ? 0 : occupied * orbital;
        mp2::System system{
            occupied,
            virtuals,
            auxiliary,
            {ia_p, ia_p + numbers},
            p_q == nullptr ? unit_matrix(auxiliary) : std::vector<double>(p_q, p_q + auxiliary * auxiliary),
            {eps_occupied, eps_occupied + occupied},
            {eps_virtual, eps_virtual + virtuals}};
        if (in_parts) {
          system.read_ia_p = [=](std::int64_t first, std::int64_t count, double* to) {
            std::copy_n(ia_p + first * orbital, count * orbital, to);
          };
        }
        if (p_q == nullptr) how.root = &system.p_q;
        const quadrille::c_calls::Work work(*how.backend);
        const mp2::Energy found = mp2::correlation_energy(system, how);
        fill(found, quadrille::now() - began, energy);
      },
      "; give a smaller `memory`");
}

const char* quadrille_ri_mp2_message(void) { return last_message.c_str(); }

}  // extern "C"
