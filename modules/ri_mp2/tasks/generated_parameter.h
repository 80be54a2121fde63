// The parameter `generated` of the tasks of ri_mp2: a made-up system (generated_system.h) instead of one in a file.
#pragma once

#include "core/backend/backend.h"
#include "modules/ri_mp2/tasks/generated_system.h"
#include "modules/shared/plugin/parameters.h"
#include "modules/shared/plugin/task.h"

namespace quadrille::ri_mp2 {

constexpr quadrille_parameter generated_size(const char* name, const char* help) {
  return parameter::required(parameter::integer(name, help, nullptr, parameter::within(1, 1 << 16)));
}
inline constexpr quadrille_parameter generated_members[] = {
    generated_size("occupied", "orbitals"), generated_size("virtual", "orbitals"),
    generated_size("auxiliary", "functions"),
    parameter::integer("seed", "seed of the integrals", "1", parameter::at_least(0))};
constexpr quadrille_parameter generated_parameter = parameter::group(
    "generated", "a system of these sizes, with made-up integrals of realistic magnitudes", generated_members);

/// That of the job, which must have the parameter.
inline System generated_system(const TaskContext& context) {
  return generated_system(context.integer("generated.occupied"), context.integer("generated.virtual"),
                          context.integer("generated.auxiliary"), std::uint64_t(context.integer("generated.seed")),
                          &find_backend(context.backend()));
}

/// The same, whose (ia|P) is made orbital by orbital, by the CPU, when it is asked for.
inline System generated_on_demand(const TaskContext& context) {
  return generated_on_demand(context.integer("generated.occupied"), context.integer("generated.virtual"),
                             context.integer("generated.auxiliary"), std::uint64_t(context.integer("generated.seed")));
}

}  // namespace quadrille::ri_mp2
