#include "solvers/multigrid/aggregates.h"

#include "core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace quadrille::multigrid {
namespace {

constexpr std::array<char, 4> axes = {'x', 'y', 'z', 't'};
constexpr std::array<int, 4> colour_of_direction = {1, 2, 4, 7};

bool divides(int extent, int block) { return block > 0 && extent % (2 * block) == 0 && (block > 1 || extent == 2); }

Dims coarse_dims(const Dims& fine, const Dims& block) {
  Dims coarse;
  for (std::size_t mu = 0; mu < 4; ++mu) {
    if (!divides(fine[mu], block[mu])) {
      throw Error(
          ErrorCode::invalid_input,
          fmt::format("blocks of extent {} in {} do not fit {} sites: the quotient must be even, and the extent "
                      "at least 2; {} fits",
                      block[mu], axes[mu], fine[mu], fitting_blocks(fine, block)[mu]));
    }
    coarse[mu] = fine[mu] / block[mu];
  }
  return coarse;
}

}  // namespace

Dims fitting_blocks(const Dims& dims, const Dims& wanted) {
  Dims block{};
  for (std::size_t mu = 0; mu < 4; ++mu) {
    double nearest = 0;
    for (int extent = 1; extent <= dims[mu] / 2; ++extent) {
      const double away = std::abs(std::log(double(extent) / std::max(1, wanted[mu])));
      if (!divides(dims[mu], extent) || (block[mu] > 0 && away >= nearest)) continue;
      block[mu] = extent;
      nearest = away;
    }
  }
  if (volume(block) == 1) throw Error(ErrorCode::unsupported, "a lattice of 2 sites in each direction has no blocks");
  return block;
}

Aggregates::Aggregates(const Lattice& fine, const Dims& block)
    : fine_(fine), block_(block), coarse_(std::make_unique<const Lattice>(coarse_dims(fine.dims(), block))) {
  std::array<bool, 2> known{};
  for (std::int64_t a = 0; a < count(); ++a) {
    const std::int64_t half = coarse_->half_volume();
    const Dims at = coarse_->coordinates(Parity(int(a / half)), a % half);
    Dims first;
    int colour = 0;
    for (std::size_t mu = 0; mu < 4; ++mu) {
      first[mu] = at[mu] * block[mu];
      if (at[mu] % 2 == 1) colour ^= colour_of_direction[mu];
    }
    const int kind = Lattice::parity(first);
    kind_.push_back(std::uint8_t(kind));
    colours_.push_back(std::uint8_t(colour));
    for (const int parity : {0, 1}) {
      for (std::int64_t i = 0; i < sites(); ++i) {
        Dims x;
        std::int64_t rest = i;
        for (std::size_t mu = 0; mu < 4; ++mu) {
          x[mu] = first[mu] + int(rest % block[mu]);
          rest /= block[mu];
        }
        if (Lattice::parity(x) != parity) continue;
        const std::int32_t number = std::int32_t(std::int64_t(sites_.size()) - a * sites());
        if (parity == 0 && !known[std::size_t(kind)]) ++evens_[std::size_t(kind)];
        for (std::size_t mu = 0; mu < 4 && !known[std::size_t(kind)]; ++mu) {
          const int within = x[mu] - first[mu];
          if (within == block[mu] - 1) faces_[std::size_t(kind)][mu].push_back(number);
          if (within == 0 && block[mu] > 1) faces_[std::size_t(kind)][mu + 4].push_back(number);
        }
        sites_.push_back({Parity(parity), std::int32_t(fine.even_odd_index(x))});
      }
    }
    known[std::size_t(kind)] = true;
  }
}

int Aggregates::origin(std::int64_t a, int colour) const {
  const int difference = this->colour(a) ^ colour;
  if (difference == 0) return -1;
  for (int mu = 0; mu < 4; ++mu) {
    if (difference == colour_of_direction[std::size_t(mu)]) return mu;
  }
  return -2;
}

}  // namespace quadrille::multigrid
