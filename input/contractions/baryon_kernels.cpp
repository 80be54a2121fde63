// Baryon contractions, compiled once for each instruction set, with QUADRILLE_ISA its name.
#include "input/contractions/baryon_kernels.h"

#include "input/contractions/plane_loop.h"
#include "input/contractions/propagator_lanes.h"

namespace quadrille {
inline namespace QUADRILLE_ISA {
namespace {

using simd::DoubleStorage;
using simd::load;
using simd::store;

/// Complex numbers, one in each lane.
template <int lanes>
struct ComplexLanes {
  simd::Vec<double, lanes> re, im;

  QUADRILLE_INLINE void add_product(const ComplexLanes& a, const ComplexLanes& b) {
    re += a.re * b.re - a.im * b.im;
    im += a.re * b.im + a.im * b.re;
  }
  QUADRILLE_INLINE void subtract_product(const ComplexLanes& a, const ComplexLanes& b) {
    re -= a.re * b.re - a.im * b.im;
    im -= a.re * b.im + a.im * b.re;
  }
  QUADRILLE_INLINE void add(double factor_re, double factor_im, const ComplexLanes& a) {
    re += factor_re * a.re - factor_im * a.im;
    im += factor_re * a.im + factor_im * a.re;
  }
};

/// A color matrix for spins of the sink and the source of a block as load_block() leaves it: element (i, j) is number
/// column_numbers j + 2 i from the start.
template <int lanes>
struct ColorMatrix {
  double* start;

  static ColorMatrix of(double* block, int sink, int source) {
    return {block + (3 * source * column_numbers + 6 * sink) * lanes};
  }
  QUADRILLE_INLINE double* place(int i, int j) const { return start + (column_numbers * j + 2 * i) * lanes; }
  QUADRILLE_INLINE ComplexLanes<lanes> operator()(int i, int j) const {
    return {load<DoubleStorage, lanes>(place(i, j)), load<DoubleStorage, lanes>(place(i, j) + lanes)};
  }
  QUADRILLE_INLINE void set(int i, int j, const ComplexLanes<lanes>& value) const {
    store<double, lanes>(place(i, j), value.re);
    store<double, lanes>(place(i, j) + lanes, value.im);
  }
};

/// A color matrix of its own.
template <int lanes>
struct OwnColorMatrix {
  ComplexLanes<lanes> numbers[9];
  QUADRILLE_INLINE const ComplexLanes<lanes>& operator()(int i, int j) const { return numbers[3 * i + j]; }
};

/// Two quarks as an antiquark: Q_jj' += factor eps_ijk eps_i'j'k' X_ii' Z_kk'.
template <int lanes, class Matrix>
QUADRILLE_INLINE void add_diquark(OwnColorMatrix<lanes>& q, double factor, const ColorMatrix<lanes>& x,
                                  const Matrix& z) {
  for (int j = 0; j < 3; ++j) {
    const int i = (j + 2) % 3, k = (j + 1) % 3;
    for (int jj = 0; jj < 3; ++jj) {
      const int ii = (jj + 2) % 3, kk = (jj + 1) % 3;
      ComplexLanes<lanes> sum{};
      sum.add_product(x(i, ii), z(k, kk));
      sum.subtract_product(x(i, kk), z(k, ii));
      sum.subtract_product(x(k, ii), z(i, kk));
      sum.add_product(x(k, kk), z(i, ii));
      q.numbers[3 * j + jj].re += factor * sum.re;
      q.numbers[3 * j + jj].im += factor * sum.im;
    }
  }
}

/// to = P U in spin.
template <int lanes>
void project(double* to, const BaryonTerm& term, double* quark) {
  for (int n = 0; n < block_numbers * lanes; ++n) to[n] = 0;
  for (int n = 0; n < term.projector_count; ++n) {
    const SpinNumber& p = term.projector[n];
    for (int source = 0; source < 4; ++source) {
      const auto from = ColorMatrix<lanes>::of(quark, p.column, source);
      const auto into = ColorMatrix<lanes>::of(to, p.row, source);
      for (int k = 0; k < 9; ++k) {
        ComplexLanes<lanes> sum = into(k / 3, k % 3);
        sum.add(p.re, p.im, from(k / 3, k % 3));
        into.set(k / 3, k % 3, sum);
      }
    }
  }
}

template <int lanes>
OwnColorMatrix<lanes> spin_trace(double* block) {
  OwnColorMatrix<lanes> out{};
  for (int spin = 0; spin < 4; ++spin)
    for (int k = 0; k < 9; ++k) out.numbers[k].add(1, 0, ColorMatrix<lanes>::of(block, spin, spin)(k / 3, k % 3));
  return out;
}

/// The color sums of a term for spins a of the sink and a' of the source of its first quark, but for D:
/// Q_jj' = d eps eps U_aa' tr(P U) + e eps eps sum_c' U_ac' (P U)_c'a'.
template <int lanes>
OwnColorMatrix<lanes> two_quarks(const BaryonTerm& term, int sink, int source, double* quark, double* projected,
                                 const OwnColorMatrix<lanes>& trace) {
  OwnColorMatrix<lanes> q{};
  add_diquark<lanes>(q, term.direct, ColorMatrix<lanes>::of(quark, sink, source), trace);
  for (int spin = 0; spin < 4; ++spin)
    add_diquark<lanes>(q, term.exchange, ColorMatrix<lanes>::of(quark, sink, spin),
                       ColorMatrix<lanes>::of(projected, spin, source));
  return q;
}

/// out += the term, summed over the numbers of its spin matrices.
template <int lanes>
void add_term(double* out, const BaryonTerm& term, double* like, double* other, double* projected) {
  project<lanes>(projected, term, like);
  const OwnColorMatrix<lanes> trace = spin_trace<lanes>(projected);
  ComplexLanes<lanes> total{};
  for (int m = 0; m < term.sink_count; ++m) {
    for (int n = 0; n < term.source_count; ++n) {
      const SpinNumber &a = term.sink[m], &b = term.source[n];
      const OwnColorMatrix<lanes> q = two_quarks<lanes>(term, a.row, b.row, like, projected, trace);
      const auto third = ColorMatrix<lanes>::of(other, a.column, b.column);
      ComplexLanes<lanes> sum{};
      for (int k = 0; k < 9; ++k) sum.add_product(q.numbers[k], third(k / 3, k % 3));
      total.add(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re, sum);
    }
  }
  double* const place = out + 2 * term.output * lanes;
  store<double, lanes>(place, load<DoubleStorage, lanes>(place) + total.re);
  store<double, lanes>(place + lanes, load<DoubleStorage, lanes>(place + lanes) + total.im);
}

template <int lanes>
void contract_baryons(const BaryonProblem& problem, const Plane& plane, double* scratch) {
  const bool same = problem.like == problem.other;
  double *const like = scratch, *const second = like + block_numbers * lanes;
  double *const other = same ? like : second, *const projected = second + block_numbers * lanes;
  sum_plane<lanes>(plane, [&](double* out, int parity, std::int64_t block) {
    load_block<lanes>(like, *problem.like, parity, block);
    if (!same) load_block<lanes>(other, *problem.other, parity, block);
    for (int n = 0; n < 2 * plane.outputs * lanes; ++n) out[n] = 0;
    for (int n = 0; n < problem.term_count; ++n) add_term<lanes>(out, problem.terms[n], like, other, projected);
  });
}

}  // namespace
}  // namespace QUADRILLE_ISA

#define QUADRILLE_JOIN_(a, b) a##b
#define QUADRILLE_JOIN(a, b) QUADRILLE_JOIN_(a, b)

BaryonKernel QUADRILLE_JOIN(baryon_kernel_, QUADRILLE_ISA)(int lanes) {
  constexpr int native = QUADRILLE_ISA_BYTES / 8;
  if (lanes == native) return &contract_baryons<native>;
  if (native == 2 && lanes == 1) return &contract_baryons<1>;
  return nullptr;
}

}  // namespace quadrille
