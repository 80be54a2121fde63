// Names that belong to the program: blocks of results.json that it writes itself (no task may be named so in a job, nor
// a module's task report there), and its own kinds of tasks.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace quadrille {

inline constexpr std::array<std::string_view, 20> program_blocks = {
    "schema_version", "version", "ranks",           "backend",         "isa",
    "threads",        "job",     "lattice",         "gauge",           "solves",
    "warnings",       "timing",  "memory",          "correlators",     "studies",
    "averages",       "fits",    "critical_masses", "correlator_file", "configurations"};

inline constexpr std::array<std::string_view, 7> program_tasks = {
    "propagator", "mesons", "baryons", "three_point", "critical_mass", "solver_study", "shifted_solves"};

constexpr bool is_program_task(std::string_view name) {
  return std::find(program_tasks.begin(), program_tasks.end(), name) != program_tasks.end();
}
constexpr bool is_program_block(std::string_view name) {
  return std::find(program_blocks.begin(), program_blocks.end(), name) != program_blocks.end();
}

}  // namespace quadrille
