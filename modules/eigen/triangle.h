// What is done to the triangle of a Hermitian matrix before LAPACK has it; matrices are stored by columns.
#pragma once

#include "modules/eigen/problem.h"

#include <complex>
#include <cstdint>
#include <string>
#include <vector>

namespace quadrille::eigen {

/// Fills the lower triangle from the upper one where that is the one that counts.
template <class T>
void fill_lower(std::int64_t n, T* a, std::int64_t lda, Triangle triangle);

/// Fills the upper triangle from the lower one.
template <class T>
void fill_upper(std::int64_t n, T* a, std::int64_t lda);

/// Scales the lower triangle by a power of 2 such that no product in what follows leaves the range of doubles, and
/// returns its exponent e: A was 2^e times what it is now. e is 0 for all but extreme matrices, and even, so that 2^e
/// has a root. Errors: ErrorCode::numerical, naming `name` and the place, for an element that is not finite;
/// ErrorCode::invalid_input for a diagonal element that is not real. `given`: the half that the caller had, in which
/// the place is.
template <class T>
int scale_lower(std::int64_t n, T* a, std::int64_t lda, const std::string& name, Triangle given = Triangle::lower);

/// The exponent of the above for a triangle whose largest number has this magnitude.
int extreme_exponent(double largest);
/// x times 2^exponent.
double times_power(double x, int exponent);
std::complex<double> times_power(std::complex<double> x, int exponent);
/// Eigenvalues times 2^exponent. Errors: ErrorCode::numerical for those beyond the largest double.
void scale_back(std::vector<double>& values, int exponent);

/// The larger of the magnitudes of the parts; NaN and infinity stay what they are.
double magnitude(double x);
double magnitude(std::complex<double> x);
inline double conjugate(double x) { return x; }
inline std::complex<double> conjugate(std::complex<double> x) { return std::conj(x); }

/// The errors for elements x of `name` that are not finite, and on the diagonal not real.
template <class T>
[[noreturn]] void refuse_infinite(std::int64_t i, std::int64_t j, const std::string& name, T x);
template <class T>
[[noreturn]] void refuse_diagonal(std::int64_t j, const std::string& name, T x);

}  // namespace quadrille::eigen
