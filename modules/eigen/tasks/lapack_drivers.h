// LAPACK's own drivers for A x = lambda B x, for comparison.
#pragma once

#include "modules/eigen/problem.h"

#include <cstdint>
#include <string>
#include <vector>

namespace quadrille::eigen {

/// The driver that LAPACK has for `count` of n vectors: sygvd for all, sygvx for some, sygv_2stage for none.
template <class T>
std::string driver_name(std::int64_t n, std::int64_t count);
/// Solves with it, of lower triangles of n x n matrices by columns, which are overwritten; the lowest `count` vectors.
/// Errors: ErrorCode::numerical where the driver fails; ErrorCode::unsupported where its work space is too large for 32
/// bits.
template <class T>
std::vector<double> solve_by_driver(std::int64_t n, std::int64_t count, std::vector<T>& a, std::vector<T>& b);

}  // namespace quadrille::eigen
