// Meson correlators of two propagators from one source.
#pragma once

#include "input/contractions/gamma.h"
#include "input/contractions/space_sums.h"

#include <vector>

namespace quadrille {

/// The gammas of a meson at the sink (A) and at the source (B).
struct MesonChannel {
  Gamma sink, source;
};

/// C(p, t) = sum_x exp(-i p (x - x0)) tr[A S(x) B gamma5 S'(x)^+ gamma5] for each channel (the outputs), momentum and
/// time of the whole lattice: S is the quark's propagator from the source to x, gamma5 S'^+ gamma5 that of the
/// antiquark back to the source. In the DeGrand-Rossi basis; no sign for the loop: A = B = gamma5 gives sum |S|^2 > 0.
/// The same bits for any number of threads; collective.
QUADRILLE_API SpaceSums meson_correlators(const ReadablePropagator& quark, const ReadablePropagator& antiquark,
                                          const std::vector<MesonChannel>& channels,
                                          const std::vector<Momentum>& momenta, const Dims& x0);

/// Whether S' = S makes C(p = 0, t) of the channel real on each configuration; else it is imaginary. For
/// C_AB(p)^* = s_A s_B C_AB(-p) with the signs of reversal_sign().
QUADRILLE_API bool real_at_rest(const MesonChannel& channel);

/// The sign with which C of A = B = `gamma` is <O O^+> of O = qbar' A q: gt A^+ gt = -sign A.
QUADRILLE_API int norm_sign(const Gamma& gamma);

}  // namespace quadrille
