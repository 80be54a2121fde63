// Compiled once for each instruction set, with QUADRILLE_ISA its name.
#include "core/gauge/link_tiles.h"

#include "core/gauge/link_lanes.h"

namespace quadrille {
inline namespace QUADRILLE_ISA {
namespace {

template <int V>
using Lanes = simd::Vec<double, V>;

template <int V>
QUADRILLE_INLINE void find_defects(const Lanes<V>* u, double* squares) {
  Lanes<V> square[18] = {}, third[6], largest{}, sum{};
  for (int i = 0; i < 3; ++i) square[8 * i] -= 1.0;
  link_lanes::add_times_adjoint<double, V>(square, u, u);
  for (int n = 0; n < 18; n += 2) {
    const Lanes<V> size = square[n] * square[n] + square[n + 1] * square[n + 1];
    largest = size > largest ? size : largest;
    sum += size;
  }
  largest = sum == sum ? largest : sum;  // a comparison passes over what is not a number, a sum does not
  link_lanes::third_row<double, V>(third, u);
  Lanes<V> re = simd::broadcast<double, V>(-1.0), im{};
  for (int j = 0; j < 6; j += 2) {
    re += u[12 + j] * third[j] + u[13 + j] * third[j + 1];
    im += u[13 + j] * third[j] - u[12 + j] * third[j + 1];
  }
  simd::store<double, V>(squares, largest);
  simd::store<double, V>(squares + V, re * re + im * im);
}

template <int V>
void defects(const double* links, double* squares) {
  Lanes<V> u[18];
  for (int n = 0; n < 18; ++n) u[n] = simd::load<simd::DoubleStorage, V>(links + n * V);
  find_defects<V>(u, squares);
}

template <class Real, int V, bool columns, bool stream>
QUADRILLE_INLINE void read_tile(const LinkTile& tile) {
  alignas(64) double gathered[18 * V];
  for (int lane = 0; lane < V; ++lane) {
    const Real* const from = static_cast<const Real*>(tile.from[lane]);
    for (int i = 0; i < 9; ++i) {
      const int n = 2 * (columns ? i % 3 * 3 + i / 3 : i);
      gathered[2 * i * V + lane] = double(from[n]);
      gathered[(2 * i + 1) * V + lane] = double(from[n + 1]);
    }
  }
  Lanes<V> u[18];
  for (int n = 0; n < 18; ++n) u[n] = simd::load<simd::DoubleStorage, V>(gathered + n * V);
  if (tile.factors != nullptr) {
    const Lanes<V> re = simd::load<simd::DoubleStorage, V>(tile.factors);
    const Lanes<V> im = simd::load<simd::DoubleStorage, V>(tile.factors + V);
    for (int n = 0; n < 18; n += 2) {
      const Lanes<V> a = u[n], b = u[n + 1];
      u[n] = re * a - im * b;
      u[n + 1] = re * b + im * a;
    }
  }
  if (tile.defects != nullptr) find_defects<V>(u, tile.defects);
  for (int n = 0; n < 18; ++n) simd::store<stream, double, V>(tile.links + n * V, u[n]);
}

template <class Real, int V, bool columns>
QUADRILLE_INLINE void read_tiles(const LinkTile* tiles, int count, bool stream) {
  if (stream) {
    for (int k = 0; k < count; ++k) read_tile<Real, V, columns, true>(tiles[k]);
    simd::stream_fence();
  } else {
    for (int k = 0; k < count; ++k) read_tile<Real, V, columns, false>(tiles[k]);
  }
}

template <int V>
void read(const LinkTile* tiles, int count, int bits, bool columns, bool stream) {
  if (bits == 64) {
    columns ? read_tiles<double, V, true>(tiles, count, stream) : read_tiles<double, V, false>(tiles, count, stream);
  } else {
    columns ? read_tiles<float, V, true>(tiles, count, stream) : read_tiles<float, V, false>(tiles, count, stream);
  }
}

template <int V>
constexpr TileKernels kernels{&defects<V>, &read<V>};

}  // namespace
}  // namespace QUADRILLE_ISA

#define QUADRILLE_JOIN_(a, b) a##b
#define QUADRILLE_JOIN(a, b) QUADRILLE_JOIN_(a, b)

const TileKernels* QUADRILLE_JOIN(find_tile_kernels_, QUADRILLE_ISA)(int lanes) {
  constexpr int native = QUADRILLE_ISA_BYTES / int(sizeof(double));
  if (lanes == native) return &kernels<native>;
#if QUADRILLE_ISA_BYTES == 16
  if (lanes == 1) return &kernels<1>;  // lattices that cannot be cut
#endif
  return nullptr;
}

}  // namespace quadrille
