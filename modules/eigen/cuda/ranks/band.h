// Reduction of a Hermitian matrix on the GPUs of ranks to a band. Collective, in the order of the backend's stream.
#pragma once

#include "modules/eigen/cuda/band/band.h"
#include "modules/eigen/cuda/ranks/columns.h"
#include "modules/eigen/cuda/ranks/exchange.h"

#include <cstdint>

namespace quadrille::eigen {

/// Ranks that reduce_to_band() can tell apart.
constexpr int most_band_ranks = 64;

/// As the other reduce_to_band(), with the same band and tau on all ranks. The owner of a block of columns factors its
/// panels; every rank multiplies its own columns of A by W, which gives its rows of A W, as A is Hermitian, and updates
/// them, both halves, by a block's Y Z^H + Z Y^H.
template <class T>
Band<T> reduce_to_band(Exchange& exchange, const Columns<T>& a);

/// Bytes that it takes besides A on each rank.
template <class T>
double band_bytes(const Layout& layout);

/// E (n x count, columns of this rank alone) := Q1 E; `room`: that of standard_form.h.
template <class T>
void apply_q1(Exchange& exchange, const Columns<T>& a, const T* tau, T* e, std::int64_t count, T* room);

}  // namespace quadrille::eigen
