// Hadrons at the sink without one of their quarks: what sequential propagators start from.
//
// A correlator is linear in each of its quarks, C = sum_x tr[W(x) S(x)] with W made of the others. An operator G on the
// line of that quark, S(x) -> S(x, y) G S(y), then gives tr[g5 X(y)^+ g5 G S(y)], where M X = g5 W^+ g5 at the sink: by
// gamma5-hermiticity one solve serves all y and all G (G. Martinelli and C. T. Sachrajda, Nucl. Phys. B 316 (1989)
// 355).
#pragma once

#include "input/contractions/baryons.h"
#include "input/contractions/spin_matrix.h"

#include <array>

namespace quadrille {

/// A matrix of spins and colors: number 12 r + c is in row r and column c, each 3 spin + color, in the DeGrand-Rossi
/// basis. Rows of a propagator are the sink's.
using QuarkMatrix = std::array<Complex, 144>;

/// W = B g5 S'^+ g5 A of the meson tr[A S B g5 S'^+ g5], for its quark S.
QUADRILLE_API QuarkMatrix without_quark(const SpinMatrix& sink, const SpinMatrix& source, const QuarkMatrix& antiquark);

enum class BaryonQuark { like, other };  ///< U: either of two, the sum of both; D

/// W of a baryon (BaryonOperator) for one of its quarks.
QUADRILLE_API QuarkMatrix without_quark(const BaryonOperator& baryon, BaryonQuark removed, const QuarkMatrix& like,
                                        const QuarkMatrix& other);

/// g5 W^+ g5.
QUADRILLE_API QuarkMatrix reversed(const QuarkMatrix& w);

}  // namespace quadrille
