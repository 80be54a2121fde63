#pragma once

#include <cstdint>

namespace quadrille {

/// a / b rounded up, of a >= 0 and b > 0.
constexpr std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace quadrille
