// The command `quadrille bench WHAT`: how fast this machine's memory, the kernels and the solvers are, and how exact.
#pragma once

#include "core/numbers/precision.h"
#include "input/job/rank_grid.h"

#include <array>
#include <iosfwd>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace quadrille {

struct BenchOptions {
  std::string what;  ///< a name in bench_names()
  /// Lattices x y z t; empty: 8 8 8 16 (in cache), 16 16 16 32 and 24 24 24 48; the first alone for "accuracy".
  std::vector<std::array<int, 4>> dims;
  std::optional<Precision> precision;      ///< all when not given
  std::optional<Reconstruct> reconstruct;  ///< all when not given
  int rhs = 1;                             ///< right-hand sides of a call of "dslash" or "operator", 1 or more
  std::string backend = "auto";
  int threads = 0;       ///< 0: what OpenMP would use
  RankGrid grid;         ///< that lattices are divided over
  std::string json;      ///< file to write; empty: none
  int memory_mib = 256;  ///< size of each array that the memory's rates are measured on
};

/// "memory", "dslash", "dslash_same", "dslash_full", "blas", "solver", "generate", "links", "accuracy".
std::vector<std::string> bench_names();
/// Each name with what it measures.
std::vector<std::pair<std::string, std::string>> bench_help();

/// Does what the options name, prints a table and writes the JSON file. All but "accuracy" (bench/accuracy.h) measure
/// the machine's memory first; their results are medians (bench/timing.h) of the figures in bench/table.h. Errors:
/// extents that make no lattice, right-hand sides where none are measured, a file that cannot be written (all found
/// before anything is measured).
void run_bench(const BenchOptions& options, std::ostream& out);

}  // namespace quadrille
