// The kernels of solvers/multigrid/dense_kernels.h for one instruction set: compiled once for each, with QUADRILLE_ISA
// its name.
#include "solvers/multigrid/dense_kernels.h"

#include "core/simd/simd.h"

#include <utility>

namespace quadrille::multigrid {
inline namespace QUADRILLE_ISA {
namespace {

using simd::Vec;

template <class T>
constexpr int lanes = QUADRILLE_ISA_BYTES / int(sizeof(T));

/// [re, im] pairs exchanged.
template <class T, int V>
QUADRILLE_INLINE Vec<T, V> swapped(Vec<T, V> v) {
  using Places = Vec<simd::IntOf<T>, V>;
  Places places{};
  for (int i = 0; i < V; ++i) places[i] = i ^ 1;
  return __builtin_shuffle(v, places);
}

/// 1, -1, 1, -1 ...
template <class T, int V>
QUADRILLE_INLINE Vec<T, V> alternating() {
  Vec<T, V> signs{};
  for (int i = 0; i < V; ++i) signs[i] = i % 2 == 0 ? T(1) : T(-1);
  return signs;
}

template <class T, int V>
QUADRILLE_INLINE Vec<T, V>& at(T* p) {
  return *reinterpret_cast<Vec<T, V>*>(p);
}
template <class T, int V>
QUADRILLE_INLINE const Vec<T, V>& at(const T* p) {
  return *reinterpret_cast<const Vec<T, V>*>(p);
}

/// `tile` registers of rows from number `first` on, for R right-hand sides: a = sum M re x, b = sum M im x, and of
/// these M x = a + i b, conj(M) x = conj(a - i b).
template <class T, int tile, int R>
QUADRILLE_INLINE void column_tile(const ColumnSum<T>& s, int first) {
  constexpr int V = lanes<T>;
  Vec<T, V> a[R][tile] = {}, b[R][tile] = {};
  const std::int64_t matrix = std::int64_t(2) * s.columns * s.rows;
  for (int i = 0; i < s.count; ++i) {
    const T* m = s.matrices + s.chosen[i] * matrix + first;
    const std::int64_t begin = std::int64_t(2) * i * s.columns;
    for (int j = 0; j < s.columns; ++j, m += 2 * s.rows) {
      Vec<T, V> column[tile];
      for (int t = 0; t < tile; ++t) column[t] = at<T, V>(m + t * V);
      for (int r = 0; r < R; ++r) {
        const T re = s.x[r][begin + 2 * j], im = s.x[r][begin + 2 * j + 1];
        for (int t = 0; t < tile; ++t) {
          a[r][t] += column[t] * re;
          b[r][t] += column[t] * im;
        }
      }
    }
  }
  const Vec<T, V> signs = alternating<T, V>();
  for (int r = 0; r < R; ++r) {
    for (int t = 0; t < tile; ++t) {
      Vec<T, V> sum = s.conjugate ? signs * a[r][t] + swapped<T, V>(b[r][t]) : a[r][t] - signs * swapped<T, V>(b[r][t]);
      const int place = first + t * V;
      if (s.subtract) sum = -sum;
      if (s.z[r] != nullptr) sum += at<T, V>(s.z[r] + place);
      at<T, V>(s.y[r] + place) = sum;
    }
  }
}

template <class T, int R>
void column_sum_of(const ColumnSum<T>& s) {
  constexpr int V = lanes<T>;
  int first = 0;
  for (; first + 2 * V <= 2 * s.rows; first += 2 * V) column_tile<T, 2, R>(s, first);
  for (; first < 2 * s.rows; first += V) column_tile<T, 1, R>(s, first);
}

template <class T>
void column_sum(const ColumnSum<T>& s) {
  switch (s.rhs) {
    case 1: return column_sum_of<T, 1>(s);
    case 2: return column_sum_of<T, 2>(s);
    case 3: return column_sum_of<T, 3>(s);
    default: return column_sum_of<T, 4>(s);
  }
}

template <class T, int V, int... i>
QUADRILLE_INLINE Vec<T, V / 2> sum_of_halves(Vec<T, V> v, std::integer_sequence<int, i...>) {
  return Vec<T, V / 2>(__builtin_shufflevector(v, v, i...)) +
         Vec<T, V / 2>(__builtin_shufflevector(v, v, (i + V / 2)...));
}

/// The sum of all lanes, halves first.
template <class T, int V>
QUADRILLE_INLINE T lane_sum(Vec<T, V> v) {
  if constexpr (V == 2) {
    return v[0] + v[1];
  } else {
    return lane_sum<T, V / 2>(sum_of_halves<T, V>(v, std::make_integer_sequence<int, V / 2>{}));
  }
}

template <class T, int R>
void row_sum_of(const RowSum<T>& s) {
  constexpr int V = lanes<T>, longest = 2 * 128;
  alignas(64) T re[R][longest], im[R][longest];  // M . re = Re(M x), M . im = Im(M x)
  for (int r = 0; r < R; ++r) {
    for (int k = 0; k < s.length; ++k) {
      re[r][2 * k] = im[r][2 * k + 1] = s.x[r][2 * k];
      im[r][2 * k] = s.x[r][2 * k + 1];
      re[r][2 * k + 1] = -s.x[r][2 * k + 1];
    }
  }
  for (std::int64_t j = 0; j < s.count; ++j) {
    const T* row = s.matrix + 2 * j * s.length;
    Vec<T, V> a[R] = {}, b[R] = {};
    for (int k = 0; k < 2 * s.length; k += V) {
      const Vec<T, V> m = at<T, V>(row + k);
      for (int r = 0; r < R; ++r) {
        a[r] += m * at<T, V>(re[r] + k);
        b[r] += m * at<T, V>(im[r] + k);
      }
    }
    for (int r = 0; r < R; ++r) {
      s.y[r][2 * j] = lane_sum<T, V>(a[r]);
      s.y[r][2 * j + 1] = lane_sum<T, V>(b[r]);
    }
  }
}

template <class T>
void row_sum(const RowSum<T>& s) {
  switch (s.rhs) {
    case 1: return row_sum_of<T, 1>(s);
    case 2: return row_sum_of<T, 2>(s);
    case 3: return row_sum_of<T, 3>(s);
    default: return row_sum_of<T, 4>(s);
  }
}

struct Sum {
  double re, im;
};

/// <v, w>
QUADRILLE_INLINE Sum inner_product(const double* v, const double* w, std::int64_t length) {
  constexpr int V = lanes<double>;
  Vec<double, V> re{}, im{};
  std::int64_t i = 0;
  for (; i + V <= 2 * length; i += V) {
    Vec<double, V> a, b;
    __builtin_memcpy(&a, v + i, sizeof a);
    __builtin_memcpy(&b, w + i, sizeof b);
    re += a * b;
    im += a * swapped<double, V>(b);
  }
  double real = lane_sum<double, V>(re), imaginary = lane_sum<double, V>(alternating<double, V>() * im);
  for (; i < 2 * length; i += 2) {
    real += v[i] * w[i] + v[i + 1] * w[i + 1];
    imaginary += v[i] * w[i + 1] - v[i + 1] * w[i];
  }
  return {real, imaginary};
}

/// w -= s v
QUADRILLE_INLINE void take_away(double* w, const double* v, Sum s, std::int64_t length) {
  for (std::int64_t i = 0; i < 2 * length; i += 2) {
    w[i] -= s.re * v[i] - s.im * v[i + 1];
    w[i + 1] -= s.re * v[i + 1] + s.im * v[i];
  }
}

double orthonormalise_here(const Orthonormalise& o) {
  constexpr double nothing = 1e-12;
  double least = 1;
  for (int k = 0; k < o.count; ++k) {
    double* w = o.vectors + 2 * o.length * k;
    const double before = inner_product(w, w, o.length).re;
    for (int pass = 0; pass < 2; ++pass) {
      for (int j = 0; j < k; ++j) {
        const double* v = o.vectors + 2 * o.length * j;
        take_away(w, v, inner_product(v, w, o.length), o.length);
      }
    }
    const double after = inner_product(w, w, o.length).re;
    const double kept = before > 0 ? __builtin_sqrt(after / before) : 0;
    if (!(kept >= least)) least = kept;
    const double scale = kept > nothing ? 1 / __builtin_sqrt(after) : 0;
    for (std::int64_t i = 0; i < 2 * o.length; ++i) w[i] *= scale;
  }
  return least;
}

}  // namespace
}  // namespace QUADRILLE_ISA

#define QUADRILLE_JOIN_(a, b) a##b
#define QUADRILLE_JOIN(a, b) QUADRILLE_JOIN_(a, b)
#define QUADRILLE_OF(name) QUADRILLE_JOIN(name##_, QUADRILLE_ISA)
DenseKernels<float> QUADRILLE_OF(dense_single)() { return {column_sum<float>, row_sum<float>}; }
DenseKernels<double> QUADRILLE_OF(dense_double)() { return {column_sum<double>, row_sum<double>}; }
double QUADRILLE_OF(orthonormalise)(const Orthonormalise& what) { return orthonormalise_here(what); }
#undef QUADRILLE_OF

}  // namespace quadrille::multigrid
