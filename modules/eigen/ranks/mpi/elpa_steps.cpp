#include "modules/eigen/ranks/mpi/elpa_steps.h"

#ifdef QUADRILLE_HAVE_ELPA
#include "core/error.h"
#include "modules/eigen/phases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace quadrille::eigen {
namespace {

// ELPA's own header is for C, or for one version's idea of C++.
extern "C" {
struct elpa_struct;
int elpa_init(int api_version);
elpa_struct* elpa_allocate(int* status);
void elpa_deallocate(elpa_struct* handle, int* status);
int elpa_setup(elpa_struct* handle);
void elpa_set_integer(elpa_struct* handle, const char* name, int value, int* status);
void elpa_eigenvectors_a_h_a_d(elpa_struct* handle, double* a, double* values, double* z, int* status);
void elpa_eigenvectors_a_h_a_dc(elpa_struct* handle, Complex* a, double* values, Complex* z, int* status);
void elpa_eigenvalues_a_h_a_d(elpa_struct* handle, double* a, double* values, int* status);
void elpa_eigenvalues_a_h_a_dc(elpa_struct* handle, Complex* a, double* values, int* status);
}
constexpr int elpa_ok = 0, elpa_one_stage = 1;
constexpr int api_version = 20210430;  // the first with all of these

/// A solver of one size, on the ranks of a grid.
class Elpa {
 public:
  Elpa(const RankGrid& grid, std::int64_t most) {
    const Layout& layout = grid.layout();
    const int rank = grid.ranks().rank();
    int status = elpa_ok;
    handle_ = elpa_allocate(&status);
    note(status);
    set("na", int(layout.n));
    set("nev", int(most));
    set("nblk", int(layout.block));
    set("local_nrows", int(layout.local_rows(rank)));
    set("local_ncols", int(layout.local_columns(rank)));
    set("process_row", layout.row_of(rank));
    set("process_col", layout.column_of(rank));
    set("mpi_comm_parent", int(MPI_Comm_c2f(grid.comm())));
    if (status_ == elpa_ok) note(elpa_setup(handle_));
    set("solver", elpa_one_stage);
  }
  ~Elpa() {
    int status = elpa_ok;
    elpa_deallocate(handle_, &status);
  }
  Elpa(const Elpa&) = delete;
  Elpa& operator=(const Elpa&) = delete;

  template <class T>
  int solve(T* a, double* values, T* z) {
    int status = status_;
    if (status != elpa_ok) return status;
    if constexpr (is_complex<T>) {
      z != nullptr ? elpa_eigenvectors_a_h_a_dc(handle_, a, values, z, &status)
                   : elpa_eigenvalues_a_h_a_dc(handle_, a, values, &status);
    } else {
      z != nullptr ? elpa_eigenvectors_a_h_a_d(handle_, a, values, z, &status)
                   : elpa_eigenvalues_a_h_a_d(handle_, a, values, &status);
    }
    return status;
  }

 private:
  void set(const char* name, int value) {
    int status = elpa_ok;
    if (status_ == elpa_ok) elpa_set_integer(handle_, name, value, &status);
    note(status);
  }
  void note(int status) {
    if (status_ == elpa_ok) status_ = status;
  }
  elpa_struct* handle_ = nullptr;
  int status_ = elpa_ok;
};

/// The upper triangle becomes that of the Hermitian matrix; `room`: as many numbers.
template <class T>
void fill_upper(const RankGrid& grid, T* a, T* room) {
  const Layout& layout = grid.layout();
  const int n = int(layout.n), one = 1, rank = grid.ranks().rank(), *const of = grid.descriptor();
  const T unit = 1, zero = 0;
  Routines<T>::tranc(&n, &n, &unit, a, &one, &one, of, &zero, room, &one, &one, of);
  const std::int64_t rows = layout.local_rows(rank);
  for (std::int64_t l = 0; l < layout.local_columns(rank); ++l) {
    const std::int64_t j = layout.column(rank, l);
    for (std::int64_t k = 0; k < rows && layout.row(rank, k) < j; ++k) a[k + l * rows] = room[k + l * rows];
  }
}

}  // namespace

void begin_elpa() {
  static const int status = elpa_init(api_version);
  if (status == elpa_ok) return;
  throw Error(ErrorCode::unsupported,
              fmt::format("ELPA has no interface {}: install another version of it", api_version));
}

template <class T>
ElpaSteps<T>::ElpaSteps(const Communicator& ranks, const Layout& layout) : ScalapackSteps<T>(ranks, layout) {
  if (layout.block * (std::max(layout.rows, layout.columns) - 1) < layout.n) return;
  throw Error(ErrorCode::unsupported,
              fmt::format("ELPA wants a part of the matrix on each rank of the grid: {} rows in blocks of {} do not "
                          "reach all of {} x {}; take smaller blocks, or ScaLAPACK",
                          layout.n, layout.block, layout.rows, layout.columns));
}

template <class T>
double ElpaSteps<T>::work_bytes(bool vectors) const {
  // Without vectors those of the tridiagonal matrix are computed nevertheless.
  const double part = double(this->grid_.layout().local_size(0)),
               besides = part * (sizeof(T) + (is_complex<T> ? 0 : sizeof(double)));
  return ScalapackSteps<T>::work_bytes(true) + (vectors ? 0 : besides);
}

template <class T>
StandardSolution ElpaSteps<T>::solve(const StandardProblem<T>& problem) {
  const RankGrid& grid = this->grid_;
  const std::int64_t n = grid.layout().n;
  StandardSolution out;
  std::vector<T> room;
  const double share = double(problem.most) / double(n);
  problem.run(phase::standard_problem, cube<T>(n, 4.0 / 3 + 2 * share) + cube<double>(n, share * 4 / 3), [&] {
    const auto prepare = [&] {
      out.values.assign(std::size_t(n), 0);
      if (problem.z == nullptr) room.resize(std::size_t(grid.layout().local_size(grid.ranks().rank())));
    };
    const auto step = [&] {
      fill_upper(grid, problem.a, problem.z != nullptr ? problem.z : room.data());
      room = {};
      return std::abs(
          Elpa(grid, std::max<std::int64_t>(1, problem.most)).solve(problem.a, out.values.data(), problem.z));
    };
    grid.demand("ELPA", prepare, step);
    out.values.resize(std::size_t(n));
    grid.ranks().broadcast(out.values.data(), out.values.size() * sizeof(double), 0);
    out.range = problem.choose(out.values);
  });
  out.form = problem.most > 0 ? "divide and conquer (ELPA)" : "without vectors (ELPA)";
  return out;
}

template class ElpaSteps<double>;
template class ElpaSteps<Complex>;

}  // namespace quadrille::eigen
#endif
