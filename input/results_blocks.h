// The names of results.json that are taken.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace quadrille {

/// What the program writes itself. No task of a module may report here, nor be named so.
inline constexpr std::array<std::string_view, 15> program_blocks = {
    "schema_version", "version",  "backend",         "isa",  "threads", "job",   "lattice", "gauge", "solves",
    "correlators",    "warnings", "critical_masses", "pion", "timing",  "memory"};

/// Maps by task that tasks report under, those of modules too.
inline constexpr std::array<std::string_view, 6> task_blocks = {
    "block_products", "chains", "studies", "pair_forces", "matrix_product_studies", "ri_mp2_studies"};

constexpr bool is_program_block(std::string_view name) {
  return std::find(program_blocks.begin(), program_blocks.end(), name) != program_blocks.end();
}

/// Whether a task of that name would stand in the way of a block.
constexpr bool is_results_block(std::string_view name) {
  return is_program_block(name) || std::find(task_blocks.begin(), task_blocks.end(), name) != task_blocks.end();
}

}  // namespace quadrille
