// Baryon correlators of quarks from one source.
#pragma once

#include "input/contractions/space_sums.h"

#include <string>
#include <vector>

namespace quadrille {

/// "nucleon", "nucleon_negative", "delta", "delta_negative".
QUADRILLE_API const std::vector<std::string>& baryon_names();

/// C(p, t) = sum_x exp(-i p (x - x0)) tr[P <B(x) Bbar(x0)>], Bbar = B^+ gt, for baryons (the outputs) by name, with P =
/// (1 + gt) / 2, or (1 - gt) / 2 for the negative ones, and C = gy gt:
///
///   nucleon: B = eps_ijk (u_i^T C g5 d_j) u_k, u the `like` quarks and d the other one
///   delta:   B = eps_ijk (u_i^T C g- u_j) u_k of the `like` quarks alone with g+- = (gx +- i gy) / 2 and spin up in P,
///            the state of J_z = 3/2, and with g+ and spin down that of -3/2: the mean of the two
///
/// ErrorCode::internal for another name. The same bits for any number of threads; collective.
QUADRILLE_API SpaceSums baryon_correlators(const ReadablePropagator& like, const ReadablePropagator& other,
                                           const std::vector<std::string>& names, const std::vector<Momentum>& momenta,
                                           const Dims& x0);

}  // namespace quadrille
