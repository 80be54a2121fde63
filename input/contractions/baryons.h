// Baryon correlators of quarks from one source.
#pragma once

#include "input/contractions/space_sums.h"
#include "input/contractions/spin_matrix.h"

#include <string>
#include <vector>

namespace quadrille {

/// "nucleon", "nucleon_negative", "nucleon_nr", "delta", "delta_negative".
QUADRILLE_API const std::vector<std::string>& baryon_names();

/// sum A_ab B_a'b' P_c'c [d E(U_aa', D_bb', U_cc') + e E(U_ac', D_bb', U_ca')] with E(X, Y, Z) = eps_ijk eps_i'j'k'
/// X_ii' Y_jj' Z_kk' over colors: a correlator, or a part of one, of two quarks U and one quark D.
struct BaryonOperator {
  SpinMatrix sink;          ///< A
  SpinMatrix source;        ///< B = gt A^* gt^T
  SpinMatrix projector;     ///< P
  double direct, exchange;  ///< d, e
};

/// What baryon_correlators() adds up for a name. ErrorCode::internal for a name that is not one.
QUADRILLE_API std::vector<BaryonOperator> baryon_operators(const std::string& name);

/// C(p, t) = sum_x exp(-i p (x - x0)) tr[P <B(x) Bbar(x0)>], Bbar = B^+ gt, for baryons (the outputs) by name, with P =
/// (1 + gt) / 2, or (1 - gt) / 2 for the negative ones, and C = gy gt:
///
///   nucleon: B = eps_ijk (u_i^T C g5 d_j) u_k, u the `like` quarks and d the other one
///   nucleon_nr: the same of quarks of positive parity, B = eps_ijk (u_i^T C g5 (1 + gt) / 2 d_j) u_k
///   delta:   B = eps_ijk (u_i^T C g- u_j) u_k of the `like` quarks alone with g+- = (gx +- i gy) / 2 and spin up in P,
///            the state of J_z = 3/2, and with g+ and spin down that of -3/2: the mean of the two
///
/// ErrorCode::internal for another name. The same bits for any number of threads; collective.
QUADRILLE_API SpaceSums baryon_correlators(const ReadablePropagator& like, const ReadablePropagator& other,
                                           const std::vector<std::string>& names, const std::vector<Momentum>& momenta,
                                           const Dims& x0);

}  // namespace quadrille
