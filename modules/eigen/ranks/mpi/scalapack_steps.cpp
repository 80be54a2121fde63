#include "modules/eigen/ranks/mpi/scalapack_steps.h"

#include "core/comm/agreement.h"
#include "core/error.h"
#include "modules/eigen/phases.h"
#include "modules/eigen/ranks/mpi/sturm.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace quadrille::eigen {
namespace {

constexpr int one = 1, ask = -1;

/// How long a routine wants its work space, which it writes as a number of its kind.
template <class T>
std::size_t wanted(T answer) {
  return std::size_t(std::max(1.0, std::real(answer)));
}

/// Numbers at the columns of a matrix, that the first row of the grid has parts of: all of them, on all ranks.
std::vector<double> gathered_columns(const RankGrid& grid, const std::vector<double>& part) {
  const Communicator& ranks = grid.ranks();
  const Layout& layout = grid.layout();
  constexpr std::int64_t most = std::int64_t(1) << 14;
  std::vector<double> all(std::size_t(layout.n), 0.0);
  if (layout.has(ranks.rank()) && layout.row_of(ranks.rank()) == 0) {
    for (std::int64_t j = 0; j < layout.local_columns(ranks.rank()); ++j) {
      all[std::size_t(layout.column(ranks.rank(), j))] = part[std::size_t(j)];
    }
  }
  for (std::int64_t first = 0; first < layout.n; first += most) {
    ranks.sum(all.data() + first, std::size_t(std::min(most, layout.n - first)));
  }
  return all;
}

/// pzhengst leaves rounding in the imaginary parts of the diagonal, which pzhetrd takes for zero.
void make_diagonal_real(const RankGrid&, double*) {}
void make_diagonal_real(const RankGrid& grid, Complex* a) {
  const Layout& layout = grid.layout();
  for (std::int64_t i = 0; i < layout.n; ++i) {
    if (layout.owner(i, i) == grid.ranks().rank()) a[layout.place(i, i)].imag(0);
  }
}

}  // namespace

template <class T>
double ScalapackSteps<T>::work_bytes(bool vectors) const {
  const Layout& layout = grid_.layout();
  const double blocks = 4.0 * double(layout.block) * double(layout.local_rows(0)) * sizeof(T),
               rows = 32.0 * double(layout.n) * sizeof(double);
  const double divided = (is_complex<T> ? 3 : 2) * double(layout.local_size(0)) * sizeof(double);
  return blocks + rows + (vectors ? divided : 0);
}

template <class T>
void ScalapackSteps<T>::transpose(T* a) {
  const int n = int(grid_.layout().n), *const of = grid_.descriptor();
  const T unit = 1, zero = 0;
  std::vector<T> given;
  all_or_none(grid_.ranks(), [&] { given.assign(a, a + grid_.layout().local_size(grid_.ranks().rank())); });
  if (grid_.here()) Routines<T>::tranc(&n, &n, &unit, given.data(), &one, &one, of, &zero, a, &one, &one, of);
}

template <class T>
std::int64_t ScalapackSteps<T>::cholesky(T* b) {
  const int n = int(grid_.layout().n);
  return grid_.run([] {},
                   [&] {
                     int info = 0;
                     Routines<T>::potrf("L", &n, b, &one, &one, grid_.descriptor(), &info);
                     return info;
                   });
}

template <class T>
void ScalapackSteps<T>::to_standard(T* a, const T* l) {
  const int n = int(grid_.layout().n), *const of = grid_.descriptor();
  std::vector<T> work(1);
  const auto call = [&](int length) {
    double scale = 1;
    int info = 0;
    Routines<T>::hengst(&one, "L", &n, a, &one, &one, of, l, &one, &one, of, &scale, work.data(), &length, &info);
    return info;
  };
  const auto prepare = [&] {
    call(ask);
    work.resize(wanted(work[0]));
  };
  grid_.demand(is_complex<T> ? "ScaLAPACK's pzhengst" : "ScaLAPACK's pdsyngst", prepare,
               [&] { return call(int(work.size())); });
  make_diagonal_real(grid_, a);
}

template <class T>
typename ScalapackSteps<T>::Tridiagonal ScalapackSteps<T>::reduce(T* a) {
  const int n = int(grid_.layout().n), *const of = grid_.descriptor();
  Tridiagonal t;
  std::vector<double> d, e;  // this rank's
  std::vector<T> work(1);
  const auto call = [&](int length) {
    int info = 0;
    Routines<T>::hetrd("L", &n, a, &one, &one, of, d.data(), e.data(), t.tau.data(), work.data(), &length, &info);
    return info;
  };
  const auto prepare = [&] {
    const auto columns = std::size_t(grid_.layout().local_columns(grid_.ranks().rank()));
    d.assign(columns, 0);
    e.assign(columns, 0);
    t.tau.assign(columns, T(0));
    call(ask);
    work.resize(wanted(work[0]));
  };
  grid_.demand(is_complex<T> ? "ScaLAPACK's pzhetrd" : "ScaLAPACK's pdsytrd", prepare,
               [&] { return call(int(work.size())); });
  t.diagonal = gathered_columns(grid_, d);
  t.off_diagonal = gathered_columns(grid_, e);
  return t;
}

template <class T>
const char* ScalapackSteps<T>::find_values(Tridiagonal& t) {
  const int n = int(grid_.layout().n);
  const auto step = [&] {
    int info = 0;
    dsterf_(&n, t.diagonal.data(), t.off_diagonal.data(), &info);
    return info;
  };
  grid_.demand(
      "LAPACK's dsterf", [] {}, step);
  grid_.ranks().broadcast(t.diagonal.data(), t.diagonal.size() * sizeof(double), 0);
  return "QR without vectors";
}

void rotate_to_diagonal(const RankGrid& whole, std::vector<double>& d, std::vector<double>& e, double* q) {
  const std::int64_t size = whole.layout().n;
  const int ranks = whole.layout().rows * whole.layout().columns;
  const Layout rows{size, (size + ranks - 1) / ranks, ranks, 1};
  const RankGrid grid(whole.ranks(), rows);
  const int n = int(rows.n), rank = grid.ranks().rank(), mine = int(rows.local_rows(rank));
  std::vector<double> part, work;
  const auto prepare = [&] {
    part.assign(std::size_t(rows.local_size(rank)) + 1, 0.0);
    for (std::int64_t i = 0; i < n; ++i) {
      if (rows.owner(i, i) == rank) part[std::size_t(rows.place(i, i))] = 1;
    }
    work.resize(2 * std::size_t(n));
  };
  grid.demand("ScaLAPACK's dsteqr2", prepare, [&] {
    int info = 0;
    dsteqr2_("I", &n, d.data(), e.data(), part.data(), &grid.leading(), &mine, work.data(), &info);
    return info;
  });
  whole.ranks().broadcast(d.data(), d.size() * sizeof(double), 0);
  if (!grid.here()) return;
  const int most = int(std::max<std::int64_t>(1, (1 << 24) / rows.block));  // pdgemr2d counts its bytes in 32 bits
  for (int first = 1; first <= n; first += most) {
    const int count = std::min(most, n - first + 1);
    pdgemr2d_(&n, &count, part.data(), &one, &first, grid.descriptor(), q, &one, &first, whole.descriptor(),
              &grid.context());
  }
}

template <class T>
bool ScalapackSteps<T>::divide(Tridiagonal& t, double* q) {
  const Communicator& ranks = grid_.ranks();
  const int n = int(grid_.layout().n);
  const std::vector<double> d = t.diagonal, e = t.off_diagonal;
  std::vector<double> work(1);
  std::vector<int> integers(1);
  const auto call = [&](int length, int count) {
    int info = 0;
    pdstedc_("I", &n, t.diagonal.data(), t.off_diagonal.data(), q, &one, &one, grid_.descriptor(), work.data(), &length,
             integers.data(), &count, &info);
    return info;
  };
  const auto prepare = [&] {
    call(ask, ask);
    work.resize(wanted(work[0]));
    integers.resize(std::size_t(std::max(1, integers[0])));
  };
  grid_.demand("ScaLAPACK's pdstedc", prepare, [&] { return call(int(work.size()), int(integers.size())); });
  ranks.broadcast(t.diagonal.data(), t.diagonal.size() * sizeof(double), 0);
  double wrong = are_eigenvalues(d, e, t.diagonal, std::size_t(ranks.rank()), std::size_t(ranks.size())) ? 0 : 1;
  ranks.maximum(&wrong, 1);
  if (wrong == 0) return true;
  t.diagonal = d;
  t.off_diagonal = e;
  return false;
}

template <class T>
const char* ScalapackSteps<T>::find_vectors(Tridiagonal& t, T* z, const RunPhase& run) {
  const Communicator& ranks = grid_.ranks();
  std::vector<double> real;
  double* q = nullptr;
  all_or_none(ranks, [&] {
    if constexpr (is_complex<T>) {
      real.resize(std::size_t(grid_.layout().local_size(ranks.rank())));
      q = real.data();
    } else {
      q = z;
    }
  });
  std::fill_n(q, grid_.layout().local_size(ranks.rank()), 0.0);  // as pdstedc takes it for
  bool right = false;
  const std::int64_t n = grid_.layout().n;
  run(phase::tridiagonal, cube<double>(n, 4.0 / 3), [&] { right = divide(t, q); });
  // In some clusters an eigenvalue of pdstedc is off by much more than rounding.
  if (!right) {
    run(phase::tridiagonal_again, cube<double>(n, 6),
        [&] { rotate_to_diagonal(grid_, t.diagonal, t.off_diagonal, q); });
  }
  if constexpr (is_complex<T>) std::copy(real.begin(), real.end(), z);
  return right ? "divide and conquer (ScaLAPACK)" : "QR (ScaLAPACK)";
}

template <class T>
void ScalapackSteps<T>::apply_q(const T* a, const std::vector<T>& tau, T* z, IndexRange columns) {
  const int n = int(grid_.layout().n), count = int(columns.count),
            first = int(columns.first) + 1, *const of = grid_.descriptor();
  std::vector<T> work(1);
  const auto call = [&](int length) {
    int info = 0;
    Routines<T>::unmtr("L", "L", "N", &n, &count, a, &one, &one, of, tau.data(), z, &one, &first, of, work.data(),
                       &length, &info);
    return info;
  };
  const auto prepare = [&] {
    call(ask);
    work.resize(wanted(work[0]));
  };
  grid_.demand(is_complex<T> ? "ScaLAPACK's pzunmtr" : "ScaLAPACK's pdormtr", prepare,
               [&] { return call(int(work.size())); });
}

template <class T>
StandardSolution ScalapackSteps<T>::solve(const StandardProblem<T>& problem) {
  const std::int64_t n = grid_.layout().n;
  const bool vectors = problem.most > 0;
  Tridiagonal t;
  StandardSolution out;
  problem.run(phase::tridiagonalization, cube<T>(n, 4.0 / 3), [&] { t = reduce(problem.a); });
  if (vectors) {
    out.form = find_vectors(t, problem.z, problem.run);
  } else {
    problem.run(phase::tridiagonal, 0, [&] { out.form = find_values(t); });
  }
  out.values = std::move(t.diagonal);
  out.range = problem.choose(out.values);
  if (!vectors) return out;
  problem.run(phase::back_to_standard, cube<T>(n, 2 * double(out.range.count) / double(n)),
              [&] { apply_q(problem.a, t.tau, problem.z, out.range); });
  return out;
}

template <class T>
void ScalapackSteps<T>::back_to_general(const T* l, T* x, IndexRange columns) {
  const int n = int(grid_.layout().n), count = int(columns.count),
            first = int(columns.first) + 1, *const of = grid_.descriptor();
  const T unit = 1;
  if (grid_.here()) Routines<T>::trsm("L", "L", "C", "N", &n, &count, &unit, l, &one, &one, of, x, &one, &first, of);
}

template <class T>
void ScalapackSteps<T>::multiply_hermitian(const T* a, const T* x, IndexRange columns, T* y) {
  const int n = int(grid_.layout().n), count = int(columns.count),
            first = int(columns.first) + 1, *const of = grid_.descriptor();
  const T unit = 1, zero = 0;
  if (!grid_.here()) return;
  Routines<T>::hemm("L", "L", &n, &count, &unit, a, &one, &one, of, x, &one, &first, of, &zero, y, &one, &first, of);
}

template <class T>
void ScalapackSteps<T>::multiply_adjoint(const T* x, const T* y, IndexRange columns, T* g) {
  const int n = int(grid_.layout().n), count = int(columns.count),
            first = int(columns.first) + 1, *const of = grid_.descriptor();
  const T unit = 1, zero = 0;
  if (!grid_.here()) return;
  Routines<T>::gemm("C", "N", &count, &count, &n, &unit, x, &one, &first, of, y, &one, &first, of, &zero, g, &one, &one,
                    of);
}

template class ScalapackSteps<double>;
template class ScalapackSteps<Complex>;

}  // namespace quadrille::eigen
