#include "input/tasks/at_once.h"

#include "core/comm/communicator.h"
#include "core/error.h"
#include "core/system/log.h"
#include "core/system/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace quadrille {

Parameter batch_parameter(const std::string& what) {
  Parameter batch;
  batch.name = "batch";
  batch.type = ParameterType::number_or_word;
  batch.help = "how many " + what + " are solved for at once, as far as memory suffices";
  batch.default_text = "auto";
  batch.choices = {"auto"};
  batch.minimum = 1;
  batch.maximum = 1024;
  return batch;
}

std::optional<int> batch_of(const Parameters& parameters) {
  const std::optional<double> batch = parameters.number("batch");
  if (!batch) return std::nullopt;
  if (*batch == std::floor(*batch)) return int(*batch);
  throw Error(ErrorCode::invalid_input, fmt::format("batch: expected auto or a whole number, got {}", *batch),
              parameters.where("batch"));
}

namespace {

/// On a CPU those that the caches hold, where they hold one: more would only drive each other out.
int at_most(int most, const SystemSolver& solver, const Backend& backend) {
  const std::size_t one = std::max<std::size_t>(solver.bytes_of_one(), 1), caches = backend.cache_bytes();
  return backend.host_memory() && one <= caches ? std::min(most, int(caches / one)) : most;
}

}  // namespace

int solved_at_once(const std::string& who, const SystemSolver& solver, const FieldDesc& full, std::optional<int> asked,
                   int most, int left, std::size_t kept) {
  if (left <= 1 || asked.value_or(most) <= 1) return 1;
  constexpr double buffers = double(std::size_t(64) << 20);  // for data on their way, sums
  const Communicator& ranks = full.lattice->communicator();
  const Backend& backend = *full.backend;
  const double free = backend.host_memory() ? memory_here().free / ranks.size() : double(backend.available_bytes());
  const double of_one = double(solver.bytes_of_one() + 2 * full.bytes());
  // Ranks may have unlike hosts: what one of them lacks counts for all.
  double agreed[] = {-double(std::min(left, asked.value_or(at_most(most, solver, backend)))),
                     -std::floor((free - double(kept) - buffers) / of_one)};
  ranks.maximum(agreed, 2);
  const int wanted = int(-agreed[0]), count = int(std::clamp(-agreed[1], 1.0, double(wanted)));
  if (wanted == 1) return 1;
  log().info("{}: right-hand sides at once: {}, which take {}{}", who, count, bytes_text(count * of_one),
             count < wanted ? fmt::format("; {} are free, too few for {}", bytes_text(free), wanted) : "");
  return count;
}

}  // namespace quadrille
