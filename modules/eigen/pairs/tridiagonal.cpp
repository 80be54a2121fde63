#include "modules/eigen/pairs/tridiagonal.h"

#include "core/error.h"
#include "modules/eigen/lapack.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace quadrille::eigen {
namespace {

constexpr double eps = std::numeric_limits<double>::epsilon();
constexpr std::int64_t share = 4;  ///< of n: fewer vectors are found one by one

bool one_by_one(std::int64_t n, std::int64_t count) { return count * share <= n || n > lapack::longest_stedc; }

void demand(int info, const char* routine) {
  if (info == 0) return;
  throw Error(ErrorCode::numerical,
              fmt::format("the tridiagonal eigenproblem: LAPACK's {} found no solution (info = {})", routine, info));
}

/// Whether |T z - lambda z| of each vector is within 10 n eps |T|, and |Z^T Z - 1| (1-norm) within 10 n eps.
bool accurate(const std::vector<double>& d, const std::vector<double>& e, const TridiagonalPairs& pairs) {
  const auto n = std::int64_t(d.size()), count = std::int64_t(pairs.values.size());
  const double most = 10 * eps * double(n);
  double norm = std::numeric_limits<double>::min(), residual = 0;
  for (std::size_t i = 0; i < d.size(); ++i) {
    norm = std::max(norm, std::abs(d[i]) + (i > 0 ? std::abs(e[i - 1]) : 0) + (i + 1 < d.size() ? std::abs(e[i]) : 0));
  }
  for (std::int64_t k = 0; k < count; ++k) {
    const double* const z = pairs.vectors.data() + k * n;
    double squares = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      double r = (d[std::size_t(i)] - pairs.values[std::size_t(k)]) * z[i];
      if (i > 0) r += e[std::size_t(i - 1)] * z[i - 1];
      if (i + 1 < n) r += e[std::size_t(i)] * z[i + 1];
      squares += r * r;
    }
    residual = std::max(residual, std::sqrt(squares / (norm * norm)));
  }
  if (!(residual <= most)) return false;
  constexpr std::int64_t panel = 128;
  std::vector<double> products(std::size_t(count * std::min(panel, count))), sums(std::size_t(count), 0.0);
  for (std::int64_t first = 0; first < count; first += panel) {  // upper halves of Z^T Z
    const std::int64_t width = std::min(panel, count - first), rows = first + width;
    lapack::multiply_adjoint(n, rows, width, pairs.vectors.data(), pairs.vectors.data() + first * n, products.data());
    for (std::int64_t j = 0; j < width; ++j) {
      for (std::int64_t i = 0; i <= first + j; ++i) {
        const double off = std::abs(products[std::size_t(i + j * rows)] - (i == first + j ? 1 : 0));
        sums[std::size_t(first + j)] += off;
        if (i != first + j) sums[std::size_t(i)] += off;
      }
    }
  }
  return std::all_of(sums.begin(), sums.end(), [&](double sum) { return sum <= most; });
}

/// Vectors of the eigenvalues that are known; false where MRRR does not find them.
bool find_one_by_one(const std::vector<double>& d, const std::vector<double>& e, TridiagonalPairs& out) {
  std::vector<double> diagonal = d, beside = e, near;
  out.vectors.resize(d.size() * std::size_t(out.range.count));
  const int info = lapack::stemr(diagonal, beside, out.range.first, out.range.count, near, out.vectors.data());
  out.form = "MRRR";
  return info == 0 && accurate(d, e, out);
}

void divide_and_conquer(const std::vector<double>& d, const std::vector<double>& e, TridiagonalPairs& out) {
  const std::size_t n = d.size(), first = std::size_t(out.range.first), count = std::size_t(out.range.count);
  out.values = d;
  std::vector<double> beside = e;
  out.vectors.assign(n * n, 0);
  demand(lapack::stedc(out.values, beside, out.vectors.data()), "dstedc");
  out.form = "divide and conquer";
  out.all = out.values;
  if (count == n) return;
  std::copy_n(out.vectors.begin() + std::ptrdiff_t(first * n), count * n, out.vectors.begin());
  out.vectors.resize(count * n);
  out.vectors.shrink_to_fit();
  out.values = std::vector<double>(out.values.begin() + std::ptrdiff_t(first),
                                   out.values.begin() + std::ptrdiff_t(first + count));
}

}  // namespace

TridiagonalPairs solve_tridiagonal(const std::vector<double>& d, const std::vector<double>& e, Fraction::Kind kind,
                                   const std::function<IndexRange(const std::vector<double>&)>& range_of) {
  const auto n = std::int64_t(d.size());
  TridiagonalPairs out;
  out.range = {0, n};
  if (kind != Fraction::Kind::all || n > lapack::longest_stedc) {
    out.all = d;
    std::vector<double> beside = e;
    demand(lapack::sterf(out.all, beside), "dsterf");
    out.form = "QR without vectors";
    out.range = range_of(out.all);
    const auto first = out.all.begin() + std::ptrdiff_t(out.range.first);
    out.values.assign(first, first + std::ptrdiff_t(out.range.count));
    if (kind == Fraction::Kind::none) return out;
    if (one_by_one(n, out.range.count) && find_one_by_one(d, e, out)) return out;
  }
  if (n > lapack::longest_stedc) {
    throw Error(
        ErrorCode::numerical,
        fmt::format("LAPACK's dstemr finds no {} orthonormal eigenvectors of {} rows, and its divide and conquer "
                    "takes {} rows at most",
                    out.range.count, n, lapack::longest_stedc));
  }
  divide_and_conquer(d, e, out);
  return out;
}

double tridiagonal_bytes(std::int64_t n, std::int64_t most) {
  const double rows = double(n), numbers = most == 0                                          ? 8 * rows
                                           : n > lapack::longest_stedc || one_by_one(n, most) ? rows * double(most)
                                                                                              : 2 * rows * rows;
  return sizeof(double) * (numbers + 32 * rows);
}

}  // namespace quadrille::eigen
