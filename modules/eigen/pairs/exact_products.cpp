#include "modules/eigen/pairs/exact_products.h"

#include "modules/eigen/lapack.h"
#include "modules/eigen/problem.h"
#include "modules/eigen/triangle.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <utility>
#include <vector>

namespace quadrille::eigen {
namespace {

constexpr std::int64_t most_rows = 256, most_columns = 128;  ///< of a tile

/// Bits of a slice: products of two of them, n real terms added up, fit into the 53 bits of a double.
template <class T>
int bits_of_slice(std::int64_t n) {
  const double terms = double(is_complex<T> ? 2 * n : n);
  return int((53 - std::ceil(std::log2(terms))) / 2);
}

/// Slices of `rows` rows of a matrix with `columns` columns, one matrix after the other: multiples of units that belong
/// to the largest element of a row (of_rows) or column.
template <class T>
std::vector<T> slices_of(const T* from, std::int64_t ld, std::int64_t rows, std::int64_t columns, bool of_rows,
                         int slices, int bits) {
  constexpr std::int64_t parts = is_complex<T> ? 2 : 1;
  const std::int64_t height = rows * parts;
  std::vector<double> largest(std::size_t(of_rows ? height : columns), 0.0), shift(std::size_t(height), 0.0);
  for (std::int64_t j = 0; j < columns; ++j) {
    for (std::int64_t i = 0; i < height; ++i) {
      double& most = largest[std::size_t(of_rows ? i / parts * parts : j)];
      most = std::max(most, magnitude(from[i / parts + j * ld]));
    }
  }
  const auto unit = [&](std::size_t of, int k) {
    return largest[of] == 0 ? 0 : std::ldexp(1.0, std::ilogb(largest[of]) + 1 - (k + 1) * bits);
  };
  std::vector<T> out(std::size_t(rows * columns * slices)), rest(std::size_t(rows * columns));
  for (std::int64_t j = 0; j < columns; ++j) std::copy_n(from + j * ld, rows, rest.data() + j * rows);
  double* const left = reinterpret_cast<double*>(rest.data());
  for (int k = 0; k < slices; ++k) {
    double* const to = reinterpret_cast<double*>(out.data() + k * rows * columns);
    // A sum with 3 2^51 units has the unit as its last bit.
    for (std::int64_t i = 0; of_rows && i < height; ++i) {
      shift[std::size_t(i)] = std::ldexp(3 * unit(std::size_t(i / parts * parts), k), 51);
    }
    for (std::int64_t j = 0; j < columns; ++j) {
      if (!of_rows) std::fill(shift.begin(), shift.end(), std::ldexp(3 * unit(std::size_t(j), k), 51));
      for (std::int64_t i = 0; i < height; ++i) {
        const double by = shift[std::size_t(i)], sum = left[i + j * height] + by;
        to[i + j * height] = sum - by;
        left[i + j * height] -= to[i + j * height];
      }
    }
  }
  return out;
}

/// A sum that is kept in two numbers.
struct LongSum {
  std::vector<double> high, low;

  explicit LongSum(std::size_t size) : high(size, 0.0), low(size, 0.0) {}
  void add(std::size_t i, double x) {
    const double sum = high[i] + x, part = sum - high[i];
    low[i] += (high[i] - (sum - part)) + (x - part);
    high[i] = sum;
  }
};

/// A tile of a product of matrices in slices.
template <class T>
void add_products(std::int64_t rows, std::int64_t n, std::int64_t columns, const std::vector<T>& a,
                  const std::vector<T>& x, int slices, std::vector<T>& product, LongSum& sum) {
  for (int both = slices - 1; both >= 0; --both) {  // the smallest ones first
    for (int k = 0; k <= both; ++k) {
      lapack::multiply(rows, n, columns, a.data() + k * rows * n, rows, x.data() + (both - k) * n * columns, n,
                       product.data(), rows);
      const double* const terms = reinterpret_cast<const double*>(product.data());
      for (std::size_t i = 0; i < sum.high.size(); ++i) sum.add(i, terms[i]);
    }
  }
}

template <class T>
void add_exact(std::int64_t rows, std::int64_t columns, const T* x, std::int64_t ldx, LongSum& sum) {
  constexpr std::int64_t parts = is_complex<T> ? 2 : 1;
  for (std::int64_t j = 0; j < columns; ++j) {
    const double* const column = reinterpret_cast<const double*>(x + j * ldx);
    for (std::int64_t i = 0; i < rows * parts; ++i) sum.add(std::size_t(i + j * rows * parts), column[i]);
  }
}

}  // namespace

template <class T>
int slices_for(std::int64_t n, double bits) {
  return std::max(1, int(std::ceil(bits / bits_of_slice<T>(n))));
}

template <class T>
void ResidualWork<T>::run(std::int64_t count, const T* x, const double* lambda, T* r, T* s) const {
  constexpr std::int64_t parts = is_complex<T> ? 2 : 1;
  const int bits = bits_of_slice<T>(n);
  for (std::int64_t first = 0; first < count; first += most_columns) {
    const std::int64_t columns = std::min(most_columns, count - first);
    const std::vector<T> of_x = slices_of(x + first * n, n, n, columns, false, slices, bits);
    for (std::int64_t top = 0; top < n; top += most_rows) {
      const std::int64_t rows = std::min(most_rows, n - top);
      const auto size = std::size_t(rows * columns * parts);
      std::vector<T> product(std::size_t(rows * columns));
      LongSum ax(size), bx(size);
      add_products(rows, n, columns, slices_of(a + top, n, rows, n, true, slices, bits), of_x, slices, product, ax);
      if (b == nullptr) {
        add_exact(rows, columns, x + first * n + top, n, bx);
      } else {
        add_products(rows, n, columns, slices_of(b + top, n, rows, n, true, slices, bits), of_x, slices, product, bx);
      }
      for (std::int64_t j = 0; j < columns; ++j) {
        const double value = lambda[first + j];
        double* const to_r = reinterpret_cast<double*>(r + (first + j) * n + top);
        double* const to_s = reinterpret_cast<double*>(s + (first + j) * n + top);
        for (std::int64_t k = 0; k < rows * parts; ++k) {
          const auto i = std::size_t(k + j * rows * parts);
          const double high = value * bx.high[i], rest = std::fma(value, bx.high[i], -high) + value * bx.low[i];
          ax.add(i, -high);
          to_r[k] = ax.high[i] + (ax.low[i] - rest);
          to_s[k] = bx.high[i] + bx.low[i];
        }
      }
    }
  }
}

template <class T>
double residual_bytes(std::int64_t n, int slices) {
  const double of_slices = double((slices + 1) * most_rows + slices * most_columns),
               of_tile = 5.0 * most_rows * most_columns;
  return (of_slices * double(n) + of_tile) * sizeof(T);
}

template int slices_for<double>(std::int64_t, double);
template double residual_bytes<double>(std::int64_t, int);
template double residual_bytes<std::complex<double>>(std::int64_t, int);
template int slices_for<std::complex<double>>(std::int64_t, double);
template struct ResidualWork<double>;
template struct ResidualWork<std::complex<double>>;

}  // namespace quadrille::eigen
