// The box cut into columns along x, at least as wide as a radius, and each column into short cells; and which cells are
// near a cell. One source for CPU and devices.
#pragma once

#include "core/host_device.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace quadrille::md {

class CellGrid {
 public:
  CellGrid() = default;
  /// Of a box with so many particles: where it is nearly empty cells are wider.
  CellGrid(std::int64_t particles, const std::array<double, 3>& box, double radius) {
    constexpr double shortness = 4;  // cells are a quarter of the radius along x
    const double most_cells = 4 * double(particles) + 64;
    const double wanted[3] = {box[0] / radius * shortness, box[1] / radius, box[2] / radius};
    const double crowding = std::max(1.0, std::cbrt(wanted[0] * wanted[1] * wanted[2] / most_cells));
    for (std::size_t k = 0; k < 3; ++k) {
      count_[k] = std::int64_t(std::max(1.0, std::min(std::floor(wanted[k] / crowding), most_cells)));
      reach_[k] = std::int64_t(std::ceil(radius / box[k] * double(count_[k])));
    }
  }

  QUADRILLE_HOST_DEVICE std::int64_t cells() const { return count_[0] * count_[1] * count_[2]; }
  /// The cell of a place, whose coordinates are in 2^-32 of the edges.
  QUADRILLE_HOST_DEVICE std::int32_t cell_at(std::uint32_t x, std::uint32_t y, std::uint32_t z) const {
    const std::int64_t at[3] = {std::int64_t(x) * count_[0] >> 32, std::int64_t(y) * count_[1] >> 32,
                                std::int64_t(z) * count_[2] >> 32};
    return std::int32_t((at[2] * count_[1] + at[1]) * count_[0] + at[0]);
  }

  /// Calls body(first cell, cell after the last) for stretches of cells that together are all those within the radius
  /// of any place in `cell`, each once.
  template <class Body>
  QUADRILLE_HOST_DEVICE void near(std::int32_t cell, Body&& body) const {
    const std::int32_t columns = std::int32_t(cell / count_[0]);
    const Wrapped x = wrapped(cell - columns * count_[0], 0), y = wrapped(columns % count_[1], 1),
                  z = wrapped(columns / count_[1], 2);
    for (std::int64_t nz = 0; nz < z.count; ++nz) {
      const std::int64_t cz = z.first + nz < count_[2] ? z.first + nz : z.first + nz - count_[2];
      for (std::int64_t ny = 0; ny < y.count; ++ny) {
        const std::int64_t cy = y.first + ny < count_[1] ? y.first + ny : y.first + ny - count_[1];
        const std::int64_t row = (cz * count_[1] + cy) * count_[0], beyond = x.first + x.count - count_[0];
        if (beyond > 0) body(std::int32_t(row), std::int32_t(row + beyond));
        body(std::int32_t(row + x.first), std::int32_t(row + (beyond > 0 ? count_[0] : x.first + x.count)));
      }
    }
  }

 private:
  /// `count` cells along an axis, from `first` on around the end.
  struct Wrapped {
    std::int64_t first, count;
  };
  QUADRILLE_HOST_DEVICE Wrapped wrapped(std::int64_t middle, int axis) const {
    const std::int64_t reach = reach_[axis], count = count_[axis];
    if (2 * reach + 1 >= count) return {0, count};
    return {middle < reach ? middle - reach + count : middle - reach, 2 * reach + 1};
  }

  std::int64_t count_[3] = {0, 0, 0}, reach_[3] = {0, 0, 0};  ///< cells along an edge, and how many each way are near
};

}  // namespace quadrille::md
