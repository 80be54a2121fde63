// How far the product of the small elements in parts (forms.h) may be from the exact one.
//
// With a = u_a x, |x| <= the form's `largest`, and x = sum_r x_r + e as in modules/shared/dense/narrow_parts.h, the
// product is u_a u_b sum of x_r y_s over r + s < parts. Let S = |A_S| |B_S| <= (largest 2-norm of a row) (of a column),
// s = 2^-p (1 + 2^(2-p)), t = tiny u, and N the 2-norms. Three errors add up:
//
//   representation   (2 s^R + s^2R) S + (1 + s^R) sqrt(k) (t_a N_b + t_b N_a) + k t_a t_b,    R = parts;
//   what is left out  sum over r + s >= R of |x_r| |y_s| <= (1 + s)^2 s^(r+s) S + tinies;
//   the sums          of order o = r + s: c(d_o) + gamma of what adds the calls up, times (o + 1) such terms.
//
// c(d) is gamma_d(2^-24) for sums that are rounded. Matrix units align a block of products and the sum before to their
// largest exponent, cut what is below the last bit of single precision (or one to three bits further) and cut the sum
// again (Fasi, Higham, Mikaitis, Pranesh, PeerJ Comput. Sci. 7 (2021) e330, doi:10.7717/peerj-cs.330): a block of b
// products errs by (b + 2) 2^-23 of the sum of magnitudes at most, and blocks have at least four products: c(d) = 3 d
// 2^-24 / (1 - 3 d 2^-24). Such errors are not of mean zero: there is no probable bound below the certain one.
//
// Digits: t = u 2^(1 - 8 R); what is left out is at most k u_a u_b (R - 1) 2^(2 - 8 R) (1 + 2^-7); sums are exact.
#pragma once

#include "core/api.h"
#include "modules/mgemm/choice/error_bound.h"
#include "modules/mgemm/choice/forms.h"

#include <cstddef>
#include <cstdint>

namespace quadrille::mgemm {

/// The bound of the whole product for cutoff number `cutoff` of the profiles. Infinite where there is none.
QUADRILLE_API ErrorBound form_error_bound(const AnalysedProduct& product, std::size_t cutoff, const FormTraits& form,
                                          std::int64_t depth);

/// The power of two u, as an exponent, such that small elements are at most u times the form's `largest`.
QUADRILLE_API int unit_exponent(const FormTraits& form, double delta, double max_abs);

}  // namespace quadrille::mgemm
