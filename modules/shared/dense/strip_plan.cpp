#include "modules/shared/dense/strip_plan.h"

#include "core/numbers/divide_up.h"

namespace quadrille {
namespace {

/// Wider strips would only take longer to fill for the first product.
constexpr std::int64_t widest = 256, narrowest = 32;
constexpr std::int64_t most_blocks = 64;

}  // namespace

std::optional<StripPlan> plan_strips(const ProductShape& shape, std::int64_t numbers, bool read_c) {
  std::optional<StripPlan> best;
  if (shape.m < 1 || shape.n < 1 || shape.k < 1) return best;
  for (std::int64_t p = 1; p <= std::min(most_blocks, shape.m); ++p) {
    for (std::int64_t q = 1; q <= std::min(most_blocks, shape.k); ++q) {
      StripPlan plan{shape, divide_up(shape.m, p), divide_up(shape.k, q), 1};
      const std::int64_t left = numbers - plan.rows * plan.depth;
      const std::int64_t fit = left / (StripPlan::buffers * (plan.rows + plan.depth));
      if (fit < std::min(narrowest, shape.n)) continue;
      plan.columns = divide_up(shape.n, divide_up(shape.n, std::min({fit, widest, shape.n})));  // of equal width
      if (!best || plan.longest_way(read_c) < best->longest_way(read_c)) best = plan;
    }
  }
  return best;
}

}  // namespace quadrille
