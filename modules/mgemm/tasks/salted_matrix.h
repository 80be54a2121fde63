// Matrices of small numbers with a few large ones among them, as the papers of mgemm.h study them.
#pragma once

#include "core/api.h"

#include <cstdint>
#include <vector>

namespace quadrille::mgemm {

/// A background uniform in [-1, 1), of which each element is with probability `fraction` replaced by a number uniform
/// in [low, high).
struct Salt {
  double fraction = 0, low = 0, high = 0;
};

/// `count` elements. Each is a function of the seed, `stream` (another one for each matrix) and its place alone: the
/// background of a seed is the same for all salts, and what is large in one fraction is so in a larger one.
QUADRILLE_API std::vector<double> salted_matrix(std::int64_t count, const Salt& salt, std::uint64_t seed,
                                                std::uint32_t stream);

}  // namespace quadrille::mgemm
