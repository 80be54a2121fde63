#include "modules/eigen/cuda/ranks/standard_form.h"

#include "modules/eigen/cuda/launch.h"
#include "modules/eigen/cuda/products.h"
#include "modules/eigen/cuda/ranks/panels.h"
#include "modules/eigen/cuda/standard_form.h"
#include "modules/eigen/cuda/triangles.h"

#include <utility>

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
cuda::OwnedEvent send_panel(Exchange& exchange, const Columns<T>& a, std::int64_t j, T* panel) {
  const std::int64_t rows = a.n() - j, width = a.width(j);
  if (a.has(j)) copy_panel(rows, width, a.at(j, j), a.n(), panel);
  const DevicePiece piece{a.owner(j), panel, std::size_t(rows * width) * sizeof(T)};
  return exchange.share_beside({&piece, 1});
}

template <class T>
std::int64_t factor_cholesky(Exchange& exchange, const Columns<T>& b, T* room) {
  const std::int64_t n = b.n(), block = b.layout.block;
  const MinorFinder failed;
  const auto factor = [&](std::int64_t j) {
    const std::int64_t width = b.width(j), below = n - j - width;
    factor_cholesky(width, b.at(j, j), n, j, failed);
    solve_triangle(Side::right, lower, Op::adjoint, below, width, b.at(j, j), n, b.at(j + width, j), n);
  };
  T *here = room, *other = room + n * block;
  if (b.has(0)) factor(0);
  cuda::OwnedEvent arrived = block < n ? send_panel(exchange, b, 0, here) : cuda::OwnedEvent();
  for (std::int64_t j = 0, next = block; next < n; j = next, next += block) {
    const auto update = [&](std::int64_t k) {
      const T* const from = here + (k - j);
      product(Op::none, Op::adjoint, n - k, b.width(k), block, -1, from, n - j, from, n - j, 1, b.at(k, k), n);
    };
    Exchange::wait_for(arrived);
    if (b.has(next)) {
      update(next);
      factor(next);
    }
    if (next + block < n) arrived = send_panel(exchange, b, next, other);
    b.for_blocks(next + block, update);
    std::swap(here, other);
  }
  // The first one: what comes behind it is not factored rightly.
  const std::int64_t mine = failed.minor();
  double first = mine == 0 ? -double(n + 1) : -double(mine);
  exchange.ranks().maximum(&first, 1);
  return first < -double(n) ? 0 : std::int64_t(-first);
}

template <class T>
void to_standard_form(Exchange& exchange, const Columns<T>& a, const Columns<T>& l, T* room) {
  const std::int64_t n = a.n(), block = a.layout.block, numbers = n * block;
  // [panel of A, panel of L, panel of A]: the first two and the last two are the factors of the rank-2k update.
  T *here = room, *other = room + 3 * numbers;
  const auto send_l = [&](std::int64_t j, T* to) { return send_panel(exchange, l, j, to + (n - j) * l.width(j)); };
  const auto begin = [&](std::int64_t j) {
    begin_panel(a, l, j);
    subtract_half(a, l, j);
  };
  cuda::OwnedEvent l_arrived = send_l(0, here);
  if (a.has(0)) begin(0);
  cuda::OwnedEvent a_arrived = send_panel(exchange, a, 0, here);
  for (std::int64_t j = 0; j < n; j += block) {
    const std::int64_t rows = n - j, width = a.width(j), below = rows - width, next = j + width;
    T *const of_a = here, *const of_l = here + rows * width, *const again = here + 2 * rows * width;
    Exchange::wait_for(l_arrived);
    Exchange::wait_for(a_arrived);
    if (below > 0) {
      l_arrived = send_l(next, other);
      copy_panel(rows, width, of_a, rows, again);
      const auto update = [&](std::int64_t k) {
        product(Op::none, Op::adjoint, n - k, a.width(k), 2 * width, -1, of_a + (k - j), rows, of_l + (k - j), rows, 1,
                a.at(k, k), n);
      };
      if (a.has(next)) {
        update(next);
        begin(next);
      }
      a_arrived = send_panel(exchange, a, next, other);
      a.for_blocks(next + block, update);
      if (a.has(j)) subtract_half(a, l, j);
    }
    const std::int64_t before = a.before(j);  // columns that lack the solve with this panel of L
    solve_triangle(Side::left, lower, Op::none, width, before, of_l, rows, a.part + j, n);
    product(Op::none, Op::none, below, before, width, -1, of_l + width, rows, a.part + j, n, 1, a.part + next, n);
    std::swap(here, other);
  }
}

template <class T>
void to_general_vectors(Exchange& exchange, const Columns<T>& l, T* x, std::int64_t count, T* room) {
  const std::int64_t n = l.n(), block = l.layout.block;
  const auto send = [&](std::int64_t j, T* panel) { return send_panel(exchange, l, j, panel); };
  for_panels((n - 1) / block * block, -block, n, room, room + n * block, send, [&](std::int64_t j, const T* panel) {
    const std::int64_t rows = n - j, width = l.width(j), below = rows - width;
    if (below > 0) {
      product(Op::adjoint, Op::none, width, count, below, -1, panel + width, rows, x + j + width, n, 1, x + j, n);
    }
    solve_triangle(Side::left, lower, Op::adjoint, width, count, panel, rows, x + j, n);
  });
}

template <class T>
void fill_upper_half(Exchange& exchange, const Columns<T>& a, T* room) {
  const std::int64_t n = a.n(), block = a.layout.block;
  const auto send = [&](std::int64_t j, T* panel) { return send_panel(exchange, a, j, panel); };
  for_panels(0, block, n, room, room + n * block, send, [&](std::int64_t j, const T* panel) {
    const std::int64_t width = a.width(j);
    if (a.has(j)) fill_upper_half(width, a.at(j, j), n);
    a.for_blocks(j + width,
                 [&](std::int64_t k) { copy_adjoint(a.width(k), width, panel + (k - j), n - j, a.at(j, k), n); });
  });
}

#define QUADRILLE_RANKS_STANDARD_FORM(T)                                                \
  template cuda::OwnedEvent send_panel(Exchange&, const Columns<T>&, std::int64_t, T*); \
  template std::int64_t factor_cholesky(Exchange&, const Columns<T>&, T*);              \
  template void to_standard_form(Exchange&, const Columns<T>&, const Columns<T>&, T*);  \
  template void to_general_vectors(Exchange&, const Columns<T>&, T*, std::int64_t, T*); \
  template void fill_upper_half(Exchange&, const Columns<T>&, T*);
QUADRILLE_RANKS_STANDARD_FORM(double)
QUADRILLE_RANKS_STANDARD_FORM(Complex)
#undef QUADRILLE_RANKS_STANDARD_FORM

}  // namespace quadrille::eigen
