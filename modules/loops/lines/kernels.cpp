// The kernels of one instruction set: compiled once for each, with QUADRILLE_ISA its name.
#include "modules/loops/lines/kernels.h"

#include "core/gauge/around/block_surroundings.h"
#include "modules/loops/lines/line_math.h"

namespace quadrille::loops {
inline namespace QUADRILLE_ISA {
namespace {

using T = double;
template <int V>
using Links = BlockSurroundings<T, V, 18>;
template <int V>
using One = BlockSurroundings<T, V, 18, 1>;

/// Calls make(block, matrix) for each block, which is to write the matrix.
template <int V, class Make>
QUADRILLE_INLINE void over_matrices(const BlockRange& range, T* to, const Make& make) {
  for (std::int64_t block = range.begin; block < range.end; ++block) {
    make(block, reinterpret_cast<Real<T, V>*>(to + block * 18 * V));
  }
}

template <int V>
QUADRILLE_INLINE void copy_matrix(Real<T, V>* to, const Real<T, V>* from) {
  for (int n = 0; n < 18; ++n) to[n] = from[n];
}

template <int V>
void copy(const LinkBlocks& links, int mu, const BlockRange& range, T* to) {
  over_matrices<V>(range, to, [&](std::int64_t block, Real<T, V>* out) {
    copy_matrix<V>(out, Links<V>(links, range.parity, block).here(mu));
  });
}

template <int V>
void copy_ahead(const LinkBlocks& links, int mu, int nu, const BlockRange& range, T* to) {
  over_matrices<V>(range, to, [&](std::int64_t block, Real<T, V>* out) {
    Real<T, V> buffer[18];
    copy_matrix<V>(out, Links<V>(links, range.parity, block).shifted(mu, nu, buffer));
  });
}

template <int V>
void shift(const LinkBlocks& one, int mu, const BlockRange& range, T* to) {
  over_matrices<V>(range, to, [&](std::int64_t block, Real<T, V>* out) {
    Real<T, V> buffer[18];
    copy_matrix<V>(out, One<V>(one, range.parity, block).shifted(mu, 0, buffer));
  });
}

template <int V>
void extend(const LinkBlocks& links, const LinkBlocks& line, int mu, const BlockRange& range, T* to) {
  over_matrices<V>(range, to, [&](std::int64_t block, Real<T, V>* out) {
    extended_line<T, V>(out, Links<V>(links, range.parity, block), One<V>(line, range.parity, block), mu);
  });
}

template <int V>
void lift(const LinkBlocks& links, const LinkBlocks& edge, const LinkBlocks& side, const LinkBlocks& line, int nu,
          const BlockRange& range, T* to, double* sum) {
  Real<T, V> lanes{};
  over_matrices<V>(range, to, [&](std::int64_t block, Real<T, V>* out) {
    const auto one = [&](const LinkBlocks& of) { return One<V>(of, range.parity, block); };
    lanes += lifted_edge<T, V>(out, Links<V>(links, range.parity, block), one(edge), one(side), one(line), nu);
  });
  *sum = sum_of_lanes<T, V>(lanes);
}

template <int V>
void trace(const LinkBlocks& one, const BlockRange& range, double* sums) {
  Real<T, V> re{}, im{};
  for (std::int64_t block = range.begin; block < range.end; ++block) {
    const Real<T, V>* const m = One<V>(one, range.parity, block).here(0);
    re += m[0] + m[8] + m[16];
    im += m[1] + m[9] + m[17];
  }
  sums[0] = sum_of_lanes<T, V>(re);
  sums[1] = sum_of_lanes<T, V>(im);
}

template <int V>
constexpr LineKernels kernels{&copy<V>, &copy_ahead<V>, &shift<V>, &extend<V>, &lift<V>, &trace<V>};

/// Of full registers, and of the fewer lanes that smaller or uneven parts of a lattice can be cut into.
template <int V = QUADRILLE_ISA_BYTES / int(sizeof(T))>
const LineKernels* of_lanes(int lanes) {
  if (lanes == V) return &kernels<V>;
  if constexpr (V > 1) return of_lanes<(V > 2 ? V / 2 : 1)>(lanes);
  return nullptr;
}

}  // namespace
}  // namespace QUADRILLE_ISA

#define QUADRILLE_JOIN_(a, b) a##b
#define QUADRILLE_JOIN(a, b) QUADRILLE_JOIN_(a, b)

const LineKernels* QUADRILLE_JOIN(find_lines_, QUADRILLE_ISA)(int lanes) { return of_lanes(lanes); }

}  // namespace quadrille::loops
