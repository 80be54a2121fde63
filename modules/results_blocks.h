// The names of results.json that the program writes itself: no task of a module may be named so, nor report there.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace quadrille {

inline constexpr std::array<std::string_view, 17> program_blocks = {
    "schema_version", "version",  "ranks",           "backend", "isa",    "threads", "job",         "lattice", "gauge",
    "solves",         "warnings", "critical_masses", "pion",    "timing", "memory",  "correlators", "studies"};

constexpr bool is_program_block(std::string_view name) {
  return std::find(program_blocks.begin(), program_blocks.end(), name) != program_blocks.end();
}

}  // namespace quadrille
