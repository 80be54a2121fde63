#include "modules/block_dft/model_system.h"

#include "core/random/random.h"
#include "modules/block_dft/block_algebra.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace quadrille::block_dft {
namespace {

using Matrix = BlockMatrix<double>;

class Lattice {
 public:
  explicit Lattice(std::int32_t sites) {
    while (std::int64_t(length_) * length_ * length_ < sites) ++length_;
  }
  AtomPositions positions(std::int32_t sites) const {
    AtomPositions out{.at = {}, .cell = {double(length_), double(length_), double(length_)}};
    for (std::int32_t a = 0; a < sites; ++a) {
      out.at.push_back({double(a % length_), double(a / length_ % length_), double(a / (length_ * length_))});
    }
    return out;
  }
  /// Sites b > a no farther than `reach` along any axis, in ascending order.
  std::vector<std::int32_t> later_neighbours(std::int32_t a, double reach, std::int32_t sites) const {
    std::array<std::vector<int>, 3> near;
    for (int axis = 0, step = 1; axis < 3; ++axis, step *= length_) {
      const int at = a / step % length_, most = int(std::min(reach, double(length_)));
      for (int x = 0; x < length_; ++x) {
        const int d = std::abs(x - at);
        if (std::min(d, length_ - d) <= most) near[std::size_t(axis)].push_back(x);
      }
    }
    std::vector<std::int32_t> out;
    for (const int z : near[2]) {
      for (const int y : near[1]) {
        for (const int x : near[0]) {
          const std::int32_t b = (z * length_ + y) * length_ + x;
          if (b > a && b < sites) out.push_back(b);
        }
      }
    }
    return out;
  }
  double distance(std::int32_t a, std::int32_t b) const {
    double squares = 0;
    for (int axis = 0, step = 1; axis < 3; ++axis, step *= length_) {
      const int d = std::abs(a / step % length_ - b / step % length_);
      const int nearest = std::min(d, length_ - d);
      squares += double(nearest) * nearest;
    }
    return std::sqrt(squares);
  }

 private:
  int length_ = 1;
};

/// Elements between atoms, scaled so that no row has more than `radius` of them, in magnitudes.
Matrix couplings(const ModelOptions& options, std::uint32_t which, double radius) {
  const std::int32_t atoms = options.sizes.count();
  const Lattice lattice(atoms);
  Matrix out(options.sizes, options.sizes, Symmetry::symmetric);
  std::vector<BlockPlace> places;
  for (std::int32_t i = 0; i < atoms; ++i) {
    for (const std::int32_t j : lattice.later_neighbours(i, options.cutoff, atoms)) {
      if (out.owns(i, j) && lattice.distance(i, j) <= options.cutoff) places.push_back({i, j});
    }
  }
  out.reserve(places);
  out.for_each([&](std::int32_t i, std::int32_t j, std::int64_t slot) {
    SiteRandom random(options.seed, RandomPurpose::RandomBlocks, std::int64_t(i) * atoms + j, which);
    const double size = std::exp(-options.decay * lattice.distance(i, j));
    for (std::int64_t k = 0; k < std::int64_t(options.sizes.size(i)) * options.sizes.size(j); ++k) {
      out.block(slot)[k] = size * (2 * random.uniform() - 1);
    }
  });
  const Interval rows = gershgorin(out);
  if (rows.high > 0) scale(out, radius / rows.high);
  return out;
}

}  // namespace

ModelSystem model_system(const ModelOptions& options) {
  constexpr std::uint32_t of_h = 2, of_s = 3, of_levels = 4;
  constexpr double s_radius = 0.4;
  ModelSystem out{couplings(options, of_h, options.coupling), couplings(options, of_s, s_radius), 0, {}, {}};
  out.positions = Lattice(options.sizes.count()).positions(options.sizes.count());
  add_identity(out.s, 1.0);
  add_identity(out.h, 0.0);
  for (std::int32_t i = 0; i < options.sizes.count(); ++i) {
    SiteRandom random(options.seed, RandomPurpose::RandomBlocks, i, of_levels);
    const std::int32_t orbitals = options.sizes.size(i), below = (orbitals + 1) / 2;
    const std::int64_t slot = out.h.find(i, i);
    for (std::int64_t p = 0; p < orbitals; ++p) {
      const double level = (p < below ? -1 : 1) + 0.2 * (random.uniform() - 0.5);
      if (slot >= 0) out.h.block(slot)[p * (orbitals + 1)] = level;
    }
    out.electrons += below;
    out.neutral.push_back(below + options.polarity * (2 * random.uniform() - 1));
  }
  return out;
}

}  // namespace quadrille::block_dft
