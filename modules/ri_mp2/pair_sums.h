// What a pair of integrals adds to the energy, on the host and on a GPU.
#pragma once

#include "core/host_device.h"

#include <cmath>

namespace quadrille::ri_mp2 {

/// Sums of x^2 / D and x (x - y) / D, x = (ia|jb), y = (ib|ja).
struct SpinSums {
  double opposite = 0, same = 0;
};

/// (ia|jb) and (ib|ja), a != b, both orders: D = e_i + e_j - e_a - e_b is the same.
QUADRILLE_HOST_DEVICE void add_pair(SpinSums& sums, double one, double other, double d) {
  const double inverse = 1 / d;
  const double difference = one - other;
  sums.opposite += (one * one + other * other) * inverse;
  sums.same += difference * difference * inverse;
}

/// (ia|ja).
QUADRILLE_HOST_DEVICE void add_diagonal(SpinSums& sums, double one, double d) { sums.opposite += one * one / d; }

/// The derivative of the energy by x = (ia|jb), y = (ib|ja): (4 x - 2 y) / D, D = -(gap of ia + gap of jb).
QUADRILLE_HOST_DEVICE double energy_derivative(double x, double y, double gaps) { return (2 * y - 4 * x) / gaps; }

/// What errors of the integrals of one row do to the energy, in first and second order, and the largest of them.
struct MovedEnergy {
  double first = 0, second = 0;
  double largest = 0;
};

/// An integral that is wrong by `error`.
QUADRILLE_HOST_DEVICE void add_error(MovedEnergy& moved, double derivative, double error, double gaps) {
  moved.first += derivative * error;
  moved.second += 3 * error * error / gaps;
  moved.largest = fmax(moved.largest, fabs(error));
}

/// Square tiles of the integrals of one pair i, j: row `a` of tiles and column `b` <= a.
struct TilePlace {
  unsigned a, b;
};

/// The tiles on and below the diagonal, `tiles` in a row.
QUADRILLE_HOST_DEVICE unsigned tiles_below(unsigned tiles) { return tiles * (tiles + 1) / 2; }

/// Tile `number` of tiles_below(tiles): the triangle is folded into a rectangle, whose row r is row tiles - 1 - r of
/// the triangle and behind it row r, or r - 1 where there is an odd number of them.
QUADRILLE_HOST_DEVICE TilePlace tile_of(unsigned tiles, unsigned number) {
  const unsigned odd = tiles % 2, length = tiles + 1 - odd;
  const unsigned row = number / length, column = number % length, first = tiles - row;
  return column < first ? TilePlace{tiles - 1 - row, column} : TilePlace{row - odd, column - first};
}

}  // namespace quadrille::ri_mp2
