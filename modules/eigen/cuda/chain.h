// The phases of a solution by GPUs, one after the other, for one GPU and for several.
#pragma once

#include "core/backend/cuda/device_array.h"
#include "core/comm/device_links.h"
#include "modules/eigen/cuda/band/band.h"
#include "modules/eigen/cuda/numbers.h"
#include "modules/eigen/problem.h"

#include <complex>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

namespace quadrille::eigen {

/// A number of the host as the device has it.
template <class T>
using There = std::conditional_t<is_complex<T>, Complex, double>;

/// What differs; on several GPUs all of it is collective.
template <class T>
struct Chain {
  std::int64_t n = 0;
  Fraction fraction = {};
  Progress progress = {};
  int rank = 0, ranks = 1;                ///< this GPU among those that work together
  int exponent = 0;                       ///< the A that is given stands for 2^exponent A
  std::function<int()> to_standard = {};  ///< A := L^-1 A L^-H; gives what it adds to the exponent; empty: B is 1
  std::function<Band<There<T>>()> to_band = {};
  /// Of the vectors that are wanted, those that this GPU makes.
  std::function<IndexRange(IndexRange)> share = {};
  std::function<void(const There<T>* tau, There<T>* x, std::int64_t count)> apply_q1 = {};
  std::function<void(There<T>* x, std::int64_t count)> to_general = {};  ///< L^-H x
  double scale = 1;                                                      ///< of vectors
  /// Runs a step that may fail on one GPU alone: it fails on all then, or on none. It uses no other GPU.
  std::function<void(const std::function<void()>& step)> together = [](const std::function<void()>& step) { step(); };
  /// Brings the bytes of each piece from its rank to all.
  std::function<void(const std::vector<DevicePiece>&)> exchange = {};
  /// Told how many vectors this GPU makes as soon as it is known.
  std::function<void(std::int64_t)> count_known = {};
};

/// What is found: pairs without vectors, and those that this GPU has made.
template <class T>
struct ChainEnd {
  Pairs<T> found;
  IndexRange share;  ///< among all eigenvalues
  cuda::DeviceArray<There<T>> vectors;
};

template <class T>
ChainEnd<T> run_chain(const Chain<T>& chain);

/// What a matrix of this largest magnitude is divided by, 2^exponent: a power of 4, so that its square root divides
/// vectors without rounding.
int even_exponent(double largest);

/// "the element in row 3, column 1 is not finite", of an upper half where `given` is one.
[[noreturn]] void refuse_element(const std::string& name, std::int64_t row, std::int64_t column, Triangle given);

/// The lower half of an n x columns trapezoid times 2^-exponent.
template <class Number>
void divide_lower_half(std::int64_t n, std::int64_t columns, Number* a, std::int64_t lda, int exponent);

/// Bytes of the device's memory for bulge chasing and what comes behind it, for `share` vectors; `matrices`: what A and
/// the factor of B take; `band`: what the reduction to a band takes.
template <class T>
double chain_bytes(std::int64_t n, const Fraction& fraction, std::int64_t share, double matrices, double band);

/// Waits, so that a phase's time is its own.
void finish_phase();

}  // namespace quadrille::eigen
