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
  batch.help = "how many " + what +
               " are solved for at once, as far as memory suffices; auto: on a CPU one, which is faster there";
  batch.default_text = "auto";
  batch.choices = {"auto"};
  batch.minimum = 1;
  batch.maximum = 1024;
  batch.whole = true;
  return batch;
}

std::optional<int> batch_of(const Parameters& parameters) {
  const std::optional<double> batch = parameters.number("batch");
  return batch ? std::optional<int>(int(*batch)) : std::nullopt;
}

namespace {

/// On a CPU one: fields of many leave the caches between two passes over those of one, which costs more than shared
/// links save (a propagator on 16^3 x 32 took 1.5 times as long).
int at_most(int most, const Backend& backend) { return backend.host_memory() ? 1 : most; }

}  // namespace

int solved_at_once(const std::string& who, const SystemSolver& solver, const FieldDesc& full, std::optional<int> asked,
                   int most, int left, std::size_t kept) {
  const int wanted = std::min(left, asked.value_or(at_most(most, *full.backend)));
  if (wanted <= 1) return 1;
  constexpr double buffers = double(std::size_t(64) << 20);  // for data on their way, sums
  const Communicator& ranks = full.lattice->communicator();
  const Backend& backend = *full.backend;
  const double free = backend.host_memory() ? memory_here().free / ranks.size() : double(backend.available_bytes());
  // x, b, and what operators keep between two hops of each right-hand side.
  const double of_one = double(solver.bytes_of_one() + 3 * full.bytes());
  double fewer = -std::clamp(std::floor((free - double(kept) - buffers) / of_one), 1.0, double(wanted));
  ranks.maximum(&fewer, 1);
  const int count = int(-fewer);
  log().info("{}: right-hand sides at once: {}, which take {}{}", who, count, bytes_text(count * of_one),
             count < wanted ? fmt::format("; {} are free, too few for {}", bytes_text(free), wanted) : "");
  return count;
}

}  // namespace quadrille
