#include "modules/eigen/cuda/ranks/standard_form.h"

#include "modules/eigen/cuda/launch.h"
#include "modules/eigen/cuda/products.h"
#include "modules/eigen/cuda/standard_form.h"
#include "modules/eigen/cuda/triangles.h"

#include <vector>

namespace quadrille::eigen {
namespace {

constexpr auto lower = CUBLAS_FILL_MODE_LOWER;

template <class T>
void copy_panel(std::int64_t rows, std::int64_t columns, const T* from, std::int64_t ld_from, T* to) {
  if (rows == 0 || columns == 0) return;
  QUADRILLE_CUDA_CHECK(cudaMemcpy2DAsync(to, std::size_t(rows) * sizeof(T), from, std::size_t(ld_from) * sizeof(T),
                                         std::size_t(rows) * sizeof(T), std::size_t(columns), cudaMemcpyDeviceToDevice,
                                         cuda::stream()));
}

/// The panel of A below and in its diagonal block, up to the first subtraction of 1/2 L A_jj: L has factor's panel.
template <class T>
void begin_panel(const Columns<T>& a, const Columns<T>& l, std::int64_t j) {
  const std::int64_t n = a.n(), width = a.width(j), below = n - j - width;
  T* const diagonal = a.at(j, j);
  fill_upper_half(width, diagonal, n);
  solve_triangle(Side::left, lower, Op::none, width, width, l.at(j, j), n, diagonal, n);
  solve_triangle(Side::right, lower, Op::adjoint, width, width, l.at(j, j), n, diagonal, n);
  fill_upper_half(width, diagonal, n);
  solve_triangle(Side::right, lower, Op::adjoint, below, width, l.at(j, j), n, a.at(j + width, j), n);
}
template <class T>
void subtract_half(const Columns<T>& a, const Columns<T>& l, std::int64_t j) {
  const std::int64_t n = a.n(), width = a.width(j), below = n - j - width;
  product(Op::none, Op::none, below, width, width, -0.5, l.at(j + width, j), n, a.at(j, j), n, 1, a.at(j + width, j),
          n);
}

}  // namespace

template <class T>
void broadcast_panel(Exchange& exchange, const Columns<T>& a, std::int64_t j, T* panel) {
  const std::int64_t rows = a.n() - j, width = a.width(j);
  if (a.has(j)) copy_panel(rows, width, a.at(j, j), a.n(), panel);
  exchange.broadcast(panel, rows * width, a.owner(j));
}

template <class T>
std::int64_t factor_cholesky(Exchange& exchange, const Columns<T>& b, T* room) {
  const std::int64_t n = b.n();
  const MinorFinder failed;
  for (std::int64_t j = 0; j < n; j += b.layout.block) {
    const std::int64_t rows = n - j, width = b.width(j);
    if (b.has(j)) {
      factor_cholesky(width, b.at(j, j), n, j, failed);
      solve_triangle(Side::right, lower, Op::adjoint, rows - width, width, b.at(j, j), n, b.at(j + width, j), n);
    }
    if (rows == width) break;
    broadcast_panel(exchange, b, j, room);
    b.for_blocks(j + width, [&](std::int64_t k) {
      const T* const from = room + (k - j);
      product(Op::none, Op::adjoint, n - k, b.width(k), width, -1, from, rows, from, rows, 1, b.at(k, k), n);
    });
  }
  // The first one: what comes behind it is not factored rightly.
  const std::int64_t mine = failed.minor();
  double first = mine == 0 ? -double(n + 1) : -double(mine);
  exchange.ranks().maximum(&first, 1);
  return first < -double(n) ? 0 : std::int64_t(-first);
}

template <class T>
void to_standard_form(Exchange& exchange, const Columns<T>& a, const Columns<T>& l, T* room) {
  const std::int64_t n = a.n();
  for (std::int64_t j = 0; j < n; j += a.layout.block) {
    const std::int64_t rows = n - j, width = a.width(j), below = rows - width;
    // [panel of A, panel of L, panel of A]: the first two and the last two are the factors of the rank-2k update.
    T *const of_a = room, *const of_l = room + rows * width, *const again = room + 2 * rows * width;
    broadcast_panel(exchange, l, j, of_l);
    if (a.has(j)) {
      begin_panel(a, l, j);
      subtract_half(a, l, j);
    }
    if (below > 0) {
      broadcast_panel(exchange, a, j, of_a);
      copy_panel(rows, width, of_a, rows, again);
      a.for_blocks(j + width, [&](std::int64_t k) {
        product(Op::none, Op::adjoint, n - k, a.width(k), 2 * width, -1, of_a + (k - j), rows, of_l + (k - j), rows, 1,
                a.at(k, k), n);
      });
      if (a.has(j)) subtract_half(a, l, j);
    }
    const std::int64_t before = a.before(j);  // columns that lack the solve with this panel of L
    solve_triangle(Side::left, lower, Op::none, width, before, of_l, rows, a.part + j, n);
    product(Op::none, Op::none, below, before, width, -1, of_l + width, rows, a.part + j, n, 1, a.part + j + width, n);
  }
}

template <class T>
void to_general_vectors(Exchange& exchange, const Columns<T>& l, T* x, std::int64_t count, T* room) {
  const std::int64_t n = l.n(), block = l.layout.block;
  for (std::int64_t j = (n - 1) / block * block; j >= 0; j -= block) {
    const std::int64_t rows = n - j, width = l.width(j), below = rows - width;
    broadcast_panel(exchange, l, j, room);
    if (below > 0)
      product(Op::adjoint, Op::none, width, count, below, -1, room + width, rows, x + j + width, n, 1, x + j, n);
    solve_triangle(Side::left, lower, Op::adjoint, width, count, room, rows, x + j, n);
  }
}

template <class T>
void fill_upper_half(Exchange& exchange, const Columns<T>& a, T* room) {
  const std::int64_t n = a.n();
  for (std::int64_t j = 0; j < n; j += a.layout.block) {
    const std::int64_t rows = n - j, width = a.width(j);
    if (a.has(j)) fill_upper_half(width, a.at(j, j), n);
    if (rows == width) break;
    broadcast_panel(exchange, a, j, room);
    a.for_blocks(j + width,
                 [&](std::int64_t k) { copy_adjoint(a.width(k), width, room + (k - j), rows, a.at(j, k), n); });
  }
}

#define QUADRILLE_RANKS_STANDARD_FORM(T)                                                \
  template void broadcast_panel(Exchange&, const Columns<T>&, std::int64_t, T*);        \
  template std::int64_t factor_cholesky(Exchange&, const Columns<T>&, T*);              \
  template void to_standard_form(Exchange&, const Columns<T>&, const Columns<T>&, T*);  \
  template void to_general_vectors(Exchange&, const Columns<T>&, T*, std::int64_t, T*); \
  template void fill_upper_half(Exchange&, const Columns<T>&, T*);
QUADRILLE_RANKS_STANDARD_FORM(double)
QUADRILLE_RANKS_STANDARD_FORM(Complex)
#undef QUADRILLE_RANKS_STANDARD_FORM

}  // namespace quadrille::eigen
