#include "modules/block_dft/scf/model_system.h"

#include "core/random/random.h"
#include "core/system/team.h"
#include "modules/block_dft/matrix/block_algebra.h"
#include "modules/block_dft/matrix/every_rank.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

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
  /// Calls body(b, distance) for the sites b up to `cutoff` from a, in no particular order, each once.
  template <class Body>
  void for_each_near(std::int32_t a, double cutoff, Body body) const {
    const int reach = int(std::min(std::floor(cutoff), double(length_)));
    const int low = std::max(-reach, -((length_ - 1) / 2)), high = std::min(reach, length_ / 2);
    const auto moved = [this](int at, int by) { return (at + by + length_) % length_; };
    const int x = a % length_, y = a / length_ % length_, z = a / (length_ * length_);
    for (int dz = low; dz <= high; ++dz) {
      for (int dy = low; dy <= high; ++dy) {
        for (int dx = low; dx <= high; ++dx) {
          const double distance = std::sqrt(double(dx) * dx + double(dy) * dy + double(dz) * dz);
          if (distance <= cutoff) body((moved(z, dz) * length_ + moved(y, dy)) * length_ + moved(x, dx), distance);
        }
      }
    }
  }

 private:
  int length_ = 1;
};

/// Elements between atoms, of this rank's blocks.
Matrix couplings_here(const ModelOptions& options, std::uint32_t which) {
  const std::int32_t atoms = options.sizes.count();
  const Lattice lattice(atoms);
  const BlockPattern shape(options.sizes, options.sizes, Symmetry::symmetric);
  std::vector<std::int64_t> first{0};
  std::vector<std::int32_t> column;
  std::vector<double> size;
  for (std::int32_t i = 0; i < atoms; ++i) {
    std::vector<std::pair<std::int32_t, double>> near;
    lattice.for_each_near(i, options.cutoff, [&](std::int32_t j, double distance) {
      if (j > i && j < atoms && shape.owns(i, j)) near.emplace_back(j, std::exp(-options.decay * distance));
    });
    std::sort(near.begin(), near.end());
    for (const auto& [j, factor] : near) {
      column.push_back(j);
      size.push_back(factor);
    }
    first.push_back(std::int64_t(column.size()));
  }
  Matrix out = Matrix::with_unset_pattern(options.sizes, options.sizes, Symmetry::symmetric, std::move(first),
                                          std::move(column));
  team_for_uneven(atoms, [&](std::int32_t i) {
    for (std::int64_t slot = out.begin(i); slot < out.end(i); ++slot) {
      const std::int32_t j = out.column(slot);
      SiteRandom random(options.seed, RandomPurpose::RandomBlocks, std::int64_t(i) * atoms + j, which);
      for (std::int64_t k = 0; k < std::int64_t(options.sizes.size(i)) * options.sizes.size(j); ++k) {
        out.block(slot)[k] = size[std::size_t(slot)] * (2 * random.uniform() - 1);
      }
    }
  });
  return out;
}

/// Scaled so that no row has more than `radius` of them, in magnitudes.
Matrix couplings(const ModelOptions& options, std::uint32_t which, double radius) {
  Matrix out = on_every_rank(options.sizes.grid(), [&] { return couplings_here(options, which); });
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
