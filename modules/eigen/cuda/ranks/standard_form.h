// The generalized problem's B = L L^H on the GPUs of ranks. All is collective, in the order of the backend's stream.
#pragma once

#include "modules/eigen/cuda/numbers.h"
#include "modules/eigen/cuda/ranks/columns.h"
#include "modules/eigen/cuda/ranks/exchange.h"

#include <cstdint>

namespace quadrille::eigen {

/// Numbers of `room` in the functions below: six panels of the widest block.
inline std::int64_t panels_room(const Layout& layout) { return 6 * layout.n * layout.block; }

/// As factor_cholesky(), block by block: its owner factors a panel, all take it into theirs behind it, the next one
/// first, which is factored and travels meanwhile. The number is the same on all ranks.
template <class T>
std::int64_t factor_cholesky(Exchange& exchange, const Columns<T>& b, T* room);

/// A := L^-1 A L^-H, of which the lower half is read and written: LAPACK's sygst by blocks, whose triangular solve with
/// the rest of L is put off until the panels of L come by (Haidar et al., ISC 2013): it needs no other rank's columns
/// of A.
template <class T>
void to_standard_form(Exchange& exchange, const Columns<T>& a, const Columns<T>& l, T* room);

/// X (n x count, columns of this rank alone) := L^-H X.
template <class T>
void to_general_vectors(Exchange& exchange, const Columns<T>& l, T* x, std::int64_t count, T* room);

/// The upper half from the lower one.
template <class T>
void fill_upper_half(Exchange& exchange, const Columns<T>& a, T* room);

/// Rows j.. of the block at column j, without gaps, on their way from its owner to all; wait_for() before they are
/// used.
template <class T>
[[nodiscard]] cuda::OwnedEvent send_panel(Exchange& exchange, const Columns<T>& a, std::int64_t j, T* panel);

}  // namespace quadrille::eigen
