// Meson contractions, compiled once for each instruction set, with QUADRILLE_ISA its name.
#include "input/contractions/meson_kernels.h"

#include "input/contractions/plane_loop.h"
#include "input/contractions/propagator_lanes.h"

namespace quadrille {
inline namespace QUADRILLE_ISA {
namespace {

using simd::DoubleStorage;
using simd::load;
using simd::store;

/// sum_{ij} S[ai,bj] conj(S'[ci,dj]) of one block, as [re, im][lane]. Both blocks as load_block() leaves them.
template <int lanes>
QUADRILLE_INLINE void sum_colors(double* out, const ColorSum& sum, const double* quark, const double* antiquark) {
  using Numbers = simd::Vec<double, lanes>;
  Numbers re{}, im{}, re_of_im{}, im_of_re{};
  for (int j = 0; j < 3; ++j) {
    const double* s = quark + ((3 * sum.b + j) * column_numbers + 6 * sum.a) * lanes;
    const double* r = antiquark + ((3 * sum.d + j) * column_numbers + 6 * sum.c) * lanes;
    for (int i = 0; i < 3; ++i, s += 2 * lanes, r += 2 * lanes) {
      const Numbers s_re = load<DoubleStorage, lanes>(s), s_im = load<DoubleStorage, lanes>(s + lanes);
      const Numbers r_re = load<DoubleStorage, lanes>(r), r_im = load<DoubleStorage, lanes>(r + lanes);
      re += s_re * r_re;
      re_of_im += s_im * r_im;
      im += s_im * r_re;
      im_of_re += s_re * r_im;
    }
  }
  store<double, lanes>(out, re + re_of_im);
  store<double, lanes>(out + lanes, im - im_of_re);
}

/// out = the sum of a channel's terms.
template <int lanes>
QUADRILLE_INLINE void add_terms(double* out, const MesonTerm* terms, const double* sums) {
  using Numbers = simd::Vec<double, lanes>;
  Numbers re{}, im{};
  for (int k = 0; k < meson_terms; ++k) {
    const double* sum = sums + 2 * terms[k].sum * lanes;
    const Numbers a = load<DoubleStorage, lanes>(sum), b = load<DoubleStorage, lanes>(sum + lanes);
    switch (terms[k].power) {
      case 0:
        re += a;
        im += b;
        break;
      case 1:
        re -= b;
        im += a;
        break;
      case 2:
        re -= a;
        im -= b;
        break;
      default: re += b; im -= a;
    }
  }
  store<double, lanes>(out, re);
  store<double, lanes>(out + lanes, im);
}

template <int lanes>
void contract_mesons(const MesonProblem& problem, const Plane& plane, double* scratch) {
  const bool same = problem.quark == problem.antiquark;
  double *const quark = scratch, *const other = quark + block_numbers * lanes;
  double *const antiquark = same ? quark : other, *const sums = other + block_numbers * lanes;
  sum_plane<lanes>(plane, [&](double* out, int parity, std::int64_t block) {
    load_block<lanes>(quark, *problem.quark, parity, block);
    if (!same) load_block<lanes>(antiquark, *problem.antiquark, parity, block);
    for (int n = 0; n < problem.sum_count; ++n)
      sum_colors<lanes>(sums + 2 * n * lanes, problem.sums[n], quark, antiquark);
    for (int n = 0; n < plane.outputs; ++n)
      add_terms<lanes>(out + 2 * n * lanes, problem.terms + n * meson_terms, sums);
  });
}

}  // namespace
}  // namespace QUADRILLE_ISA

#define QUADRILLE_JOIN_(a, b) a##b
#define QUADRILLE_JOIN(a, b) QUADRILLE_JOIN_(a, b)

MesonKernel QUADRILLE_JOIN(meson_kernel_, QUADRILLE_ISA)(int lanes) {
  constexpr int native = QUADRILLE_ISA_BYTES / 8;
  if (lanes == native) return &contract_mesons<native>;
  if (native == 2 && lanes == 1) return &contract_mesons<1>;
  return nullptr;
}

}  // namespace quadrille
