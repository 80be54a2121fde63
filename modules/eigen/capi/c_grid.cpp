// Matrices on the ranks of a host: c_api.h.
#include "core/backend/of_backend.h"
#include "core/comm/agreement.h"
#include "core/error.h"
#include "modules/eigen/capi/c_objects.h"
#include "modules/eigen/ranks/gpus.h"
#include "modules/eigen/ranks/redistribute.h"
#include "modules/eigen/ranks/spread.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace quadrille::eigen {
namespace {

using c_calls::demand;
using c_calls::refuse;

constexpr const char* rule = "all ranks of a grid must make the same call, one after the other in the same order";

/// Runs `check` on all ranks before a collective call goes on, which it describes: the same on all.
void agree(const HostGrid& grid, const std::function<std::string()>& check) {
  if (const std::string why = grid.ranks->obstacle(); grid.all->size() == 1 && !why.empty()) refuse(why);
  std::string call;
  c_calls::together(grid.ranks.get(), *grid.all, call, rule, [&] { call = check(); });
}

bool by_columns(char order) { return order == 'C' || order == 'c'; }

/// The number of a rank in a grid that is filled column by column, where places are numbered row by row.
int number_by_columns(int rank, const Layout& layout) {
  return layout.has(rank) ? rank % layout.rows * layout.columns + rank / layout.rows : rank;
}

Layout layout_of(std::int64_t n, const quadrille_eigen_distribution& wanted, int ranks) {
  if (n < 1) refuse(fmt::format("n = {}: it must be at least 1", n));
  if (std::string("RrCc").find(wanted.order == 0 ? 'R' : wanted.order) == std::string::npos) {
    refuse(std::string("order = '") + wanted.order + "': it must be 'R' (row by row) or 'C' (column by column)");
  }
  if (wanted.rows < 0 || wanted.columns < 0 || (wanted.rows == 0) != (wanted.columns == 0)) {
    refuse(fmt::format("a grid of {} x {} ranks: give both numbers, or 0 for both", wanted.rows, wanted.columns));
  }
  if (wanted.block < 0) refuse(fmt::format("block = {}: it must be positive, or 0", wanted.block));
  Layout layout = layout_for(n, ranks);
  if (wanted.rows > 0) {
    layout.rows = wanted.rows;
    layout.columns = wanted.columns;
  }
  if (wanted.block > 0) layout.block = std::min(wanted.block, n);
  if (std::int64_t(layout.rows) * layout.columns > ranks) {
    refuse(fmt::format("a grid of {} x {} ranks: the communicator has {}", layout.rows, layout.columns, ranks));
  }
  return layout;
}

std::string library_name(const char* given) {
  const std::string name = given == nullptr ? "auto" : given;
  if (name != "auto" && name != "elpa" && name != "scalapack" && name != "cuda") {
    refuse(fmt::format("library = \"{}\": it must be auto, elpa, scalapack or cuda", name));
  }
  return name;
}

quadrille_eigen_grid* grid_over(const HostCommunicator& communicator, std::int64_t n,
                                const quadrille_eigen_distribution* given, const void* handle) {
  auto grid = std::make_shared<HostGrid>();
  grid->ranks = quadrille::ranks_of(communicator);
  grid->all = grid->ranks->communicator({1, 1, 1, grid->ranks->size()});
  std::string library;
  char order = 0;
  agree(*grid, [&] {
    demand(handle, "grid");
    const auto wanted = given == nullptr ? quadrille_eigen_distribution{} : c_calls::known_options(given);
    library = library_name(wanted.library);
    order = wanted.order;
    grid->layout = layout_of(n, wanted, grid->ranks->size());
    return fmt::format("quadrille_eigen_grid_create for {} rows in blocks of {} on {} x {} ranks, {}, by {}", n,
                       grid->layout.block, grid->layout.rows, grid->layout.columns,
                       by_columns(order) ? "column by column" : "row by row", library);
  });
  if (by_columns(order)) {
    grid->all.reset();
    grid->ranks = grid->ranks->numbered(number_by_columns(grid->ranks->rank(), grid->layout));
    grid->all = grid->ranks->communicator({1, 1, 1, grid->ranks->size()});
  }
  if (library == "cuda") {
    all_or_none(*grid->all, [&] { grid->gpu = &find_backend("cuda", device_in_turn(grid->ranks->local_rank())); });
  } else {
    grid->library = load_spread_library(*grid->all, library);
    grid->real = grid->library->steps<double>(grid->layout);
    grid->complex = grid->library->steps<Complex>(grid->layout);
  }
  return c_calls::handle_of<quadrille_eigen_grid>(std::move(grid));
}

/// This rank's part with leading dimension ld, whose numbers the call `name`s.
void check_part(const HostGrid& grid, const char* name, const double* part, std::int64_t ld) {
  const Layout& layout = grid.layout;
  const int rank = grid.all->rank();
  if (layout.local_size(rank) == 0) return;
  demand(part, name);
  if (ld < layout.local_rows(rank)) {
    refuse(fmt::format("the leading dimension of this rank's part of {} is {}: it must be at least its rows, {}", name,
                       ld, layout.local_rows(rank)));
  }
}

/// A copy of it, of which the lower triangle counts. Collective.
template <class T>
std::vector<T> copy_of_part(HostGrid& grid, Triangle triangle, const double* part, std::int64_t ld) {
  const Layout& layout = grid.layout;
  const int rank = grid.all->rank();
  const std::int64_t rows = layout.local_rows(rank);
  std::vector<T> out;
  all_or_none(*grid.all, [&] {
    out.resize(std::size_t(layout.local_size(rank)));
    for (std::int64_t j = 0; rows > 0 && j < layout.local_columns(rank); ++j) {
      std::copy_n(reinterpret_cast<const T*>(part) + j * ld, rows, out.data() + j * rows);
    }
  });
  if (triangle == Triangle::upper) grid.steps<T>().transpose(out.data());
  return out;
}

/// The columns that this rank's GPU has of a matrix. Collective.
template <class T>
std::vector<T> columns_for_gpu(const HostGrid& grid, Triangle triangle, const double* part, std::int64_t ld) {
  return columns_of_part(*grid.all, grid.layout, triangle, reinterpret_cast<const T*>(part), ld,
                         columns_on_gpus(grid.layout.n, grid.all->size()));
}

template <class T>
FactorOnGpus<T> factor_on_gpus(const HostGrid& grid, Triangle triangle, const double* b, std::int64_t ldb) {
  const Communicator& all = *grid.all;
  const Layout columns = columns_on_gpus(grid.layout.n, all.size());
  const c_calls::Work work(*grid.gpu);
  return with_cuda<FactorOnGpus<T>>([&](auto) {
    require_memory_of_ranks(all, gpu_ranks_of_host(all),
                            double(columns.local_size(0)) * sizeof(T) + redistribution_bytes, "a Cholesky factor");
    const std::vector<T> part = columns_for_gpu<T>(grid, triangle, b, ldb);
    // Its memory is given back on the GPU that it is on.
    return FactorOnGpus<T>(new GpuFactor<T>(all, columns, part.data()), [gpu = grid.gpu](const GpuFactor<T>* factor) {
      const c_calls::Work there(*gpu);
      delete factor;
    });
  });
}

template <class T>
SpreadFactor<T> factor_by_library(HostGrid& grid, Triangle triangle, const double* b, std::int64_t ldb) {
  require_memory_of_ranks(*grid.all, grid.library->ranks_of_host(), double(grid.layout.local_size(0)) * sizeof(T),
                          "a Cholesky factor");
  return factor_on_ranks(*grid.all, grid.layout, grid.steps<T>(), copy_of_part<T>(grid, triangle, b, ldb));
}

template <class T>
void create_on(const quadrille_eigen_grid* handle, char triangle, const double* b, std::int64_t ldb,
               quadrille_eigen_factor** factor) {
  const auto grid = c_calls::find<HostGrid>(handle);
  Triangle half = Triangle::lower;
  agree(*grid, [&] {
    demand(factor, "factor");
    half = triangle_of(triangle);
    check_part(*grid, "b", b, ldb);
    return fmt::format("quadrille_eigen_factor_create_{}_on, triangle {}", is_complex<T> ? "complex" : "double",
                       half == Triangle::lower ? 'L' : 'U');
  });
  HostFactor made = grid->gpu != nullptr ? HostFactor{grid, factor_on_gpus<T>(*grid, half, b, ldb)}
                                         : HostFactor{grid, factor_by_library<T>(*grid, half, b, ldb)};
  *factor = c_calls::handle_of<quadrille_eigen_factor>(std::make_shared<HostFactor>(std::move(made)));
}

/// Throws where the factor is of the other type of numbers.
template <class T>
void check_numbers(const HostFactor& factor) {
  if (factor.grid->gpu != nullptr) {
    (void)numbers_of<T, FactorOnGpus>(factor);
  } else {
    (void)numbers_of<T, SpreadFactor>(factor);
  }
}

/// What a call asks of a problem on a grid.
struct Wanted {
  quadrille_eigen_options options{};
  Triangle triangle = Triangle::lower;
  Fraction fraction;

  /// What counts of the options.
  std::string text() const {
    const std::string half = triangle == Triangle::lower ? "lower triangle" : "upper triangle";
    switch (fraction.kind()) {
      case Fraction::Kind::none: return half + ", no vectors";
      case Fraction::Kind::range: return fmt::format("{}, vectors {} to {}", half, options.first, options.last);
      case Fraction::Kind::interval:
        return fmt::format("{}, vectors in [{}, {}], room for {}", half, options.low, options.high, options.room);
      default: return half + ", all vectors";
    }
  }
};

Wanted wanted_of(const quadrille_eigen_options* given, std::int64_t n) {
  demand(given, "options");
  Wanted out;
  out.options = c_calls::known_options(given);
  out.triangle = triangle_of(out.options.triangle == 0 ? 'L' : out.options.triangle);
  out.fraction = fraction_of(out.options);
  out.fraction.check(n);
  if (refinement_of(out.options) > 0) {
    throw Error(ErrorCode::unsupported, "refine: pairs on a grid are not refined; set it to 0");
  }
  return out;
}

/// A problem on a grid, and where its solution goes.
template <class T>
struct CallOn {
  HostGrid& grid;
  Wanted wanted;
  const double* a;
  std::int64_t lda;
  const HostFactor* factor;  ///< null: B is 1
  double* values;
  T* vectors;
  std::int64_t ldv;
  quadrille_eigen_report* report;

  void finish(const Pairs<T>& pairs) const {
    std::copy(pairs.values.begin(), pairs.values.end(), values);
    write_report(pairs.range, pairs.phases, {}, report);
  }
};

template <class T>
void solve_by_library(const CallOn<T>& w) {
  HostGrid& grid = w.grid;
  const Communicator& all = *grid.all;
  const Layout& layout = grid.layout;
  const SpreadFactor<T>* const b = w.factor != nullptr ? &numbers_of<T, SpreadFactor>(*w.factor) : nullptr;
  require_memory_of_ranks(all, grid.library->ranks_of_host(),
                          bytes_on_rank(layout, grid.steps<T>(), w.wanted.fraction, b != nullptr, false),
                          problem_text<T>(layout.n, b != nullptr));
  const SpreadPairs<T> found = solve_on_ranks(SpreadProblem<T>{
      all, layout, grid.steps<T>(), copy_of_part<T>(grid, w.wanted.triangle, w.a, w.lda), b, w.wanted.fraction, {}});
  check_room(w.wanted.options, found.pairs.range.count);
  if (!found.vectors.empty()) {
    const std::int64_t rows = layout.local_rows(all.rank()), first = found.pairs.range.first,
                       end = layout.columns_before(all.rank(), first + found.pairs.range.count);
    for (std::int64_t j = layout.columns_before(all.rank(), first); j < end; ++j) {
      std::copy_n(found.vectors.data() + j * rows, rows, w.vectors + j * w.ldv);
    }
  }
  w.finish(found.pairs);
}

template <class T>
void solve_by_gpus(const CallOn<T>& w) {
  const Communicator& all = *w.grid.all;
  const std::int64_t n = w.grid.layout.n;
  const Layout columns = columns_on_gpus(n, all.size());
  const GpuFactor<T>* const b = w.factor != nullptr ? numbers_of<T, FactorOnGpus>(*w.factor).get() : nullptr;
  const double share = double((w.wanted.fraction.most(n) + all.size() - 1) / all.size());
  const c_calls::Work work(*w.grid.gpu);
  with_cuda([&](auto) {
    require_memory_of_ranks(all, gpu_ranks_of_host(all),
                            (double(columns.local_size(0)) + double(n) * share) * sizeof(T) + redistribution_bytes,
                            problem_text<T>(n, b != nullptr));
    require_gpus<T>(all, columns, w.wanted.fraction, false);
    const std::vector<T> a = columns_for_gpu<T>(w.grid, w.wanted.triangle, w.a, w.lda);
    const SpreadPairs<T> found = solve_on_gpus(GpuProblem<T>{all, columns, a.data(), b, w.wanted.fraction, {}});
    check_room(w.wanted.options, found.pairs.range.count);
    if (w.wanted.fraction.kind() != Fraction::Kind::none) {
      vectors_to_part(all, found.layout, found.vectors.data(), found.pairs.range.first, found.pairs.range.count,
                      w.grid.layout, w.vectors, w.ldv);
    }
    w.finish(found.pairs);
  });
}

template <class T>
void solve_on(const quadrille_eigen_grid* handle, const quadrille_eigen_options* given, const double* a,
              std::int64_t lda, const quadrille_eigen_factor* factor_handle, double* values, double* vectors,
              std::int64_t ldv, quadrille_eigen_report* report) {
  const auto grid = c_calls::find<HostGrid>(handle);
  std::shared_ptr<HostFactor> factor;
  Wanted wanted;
  agree(*grid, [&] {
    wanted = wanted_of(given, grid->layout.n);
    check_report(report);
    demand(values, "values");
    check_part(*grid, "a", a, lda);
    if (wanted.fraction.kind() != Fraction::Kind::none) check_part(*grid, "vectors", vectors, ldv);
    if (factor_handle != nullptr) factor = c_calls::find<HostFactor>(factor_handle);
    if (factor != nullptr && factor->grid != grid) refuse("factor is not of a matrix on this grid");
    if (factor != nullptr) check_numbers<T>(*factor);
    return fmt::format("quadrille_eigen_{}_on, {}, {}", is_complex<T> ? "complex" : "double", wanted.text(),
                       factor == nullptr ? "B = 1" : "with a factor");
  });
  const CallOn<T> call{*grid, wanted, a, lda, factor.get(), values, reinterpret_cast<T*>(vectors), ldv, report};
  grid->gpu != nullptr ? solve_by_gpus(call) : solve_by_library(call);
}

void describe(const quadrille_eigen_grid* handle, quadrille_eigen_part* part) {
  const auto grid = c_calls::find<HostGrid>(handle);
  demand(part, "part");
  if (part->struct_size < sizeof part->struct_size || part->struct_size > sizeof *part) {
    refuse(fmt::format("part: struct_size = {}: it must be the size of the struct, {} in this version",
                       part->struct_size, sizeof *part));
  }
  const Layout& layout = grid->layout;
  const int rank = grid->all->rank();
  const bool here = layout.has(rank);
  const quadrille_eigen_part out{part->struct_size,
                                 layout.rows,
                                 layout.columns,
                                 here ? layout.row_of(rank) : -1,
                                 here ? layout.column_of(rank) : -1,
                                 0,
                                 layout.block,
                                 layout.local_rows(rank),
                                 layout.local_columns(rank)};
  std::memcpy(part, &out, out.struct_size);
}

}  // namespace
}  // namespace quadrille::eigen

using namespace quadrille::eigen;
using quadrille::c_calls::demand;

extern "C" {

quadrille_status quadrille_eigen_grid_create(const void* communicator, int64_t n,
                                             const quadrille_eigen_distribution* distribution,
                                             quadrille_eigen_grid** grid) {
  return guarded("quadrille_eigen_grid_create", [&] {
    demand(communicator, "communicator");
    quadrille_eigen_grid* const made = grid_over({.address = communicator}, n, distribution, grid);
    *grid = made;
  });
}

quadrille_status quadrille_eigen_grid_create_fortran(int communicator, int64_t n,
                                                     const quadrille_eigen_distribution* distribution,
                                                     quadrille_eigen_grid** grid) {
  return guarded("quadrille_eigen_grid_create_fortran", [&] {
    quadrille_eigen_grid* const made = grid_over({.fortran = communicator}, n, distribution, grid);
    *grid = made;
  });
}

void quadrille_eigen_grid_destroy(quadrille_eigen_grid* grid) { quadrille::c_calls::destroy_if_valid<HostGrid>(grid); }

quadrille_status quadrille_eigen_grid_part(const quadrille_eigen_grid* grid, quadrille_eigen_part* part) {
  return guarded("quadrille_eigen_grid_part", [&] { describe(grid, part); });
}

quadrille_status quadrille_eigen_factor_create_double_on(const quadrille_eigen_grid* grid, char triangle,
                                                         const double* b, int64_t ldb,
                                                         quadrille_eigen_factor** factor) {
  return guarded("quadrille_eigen_factor_create_double_on", [&] { create_on<double>(grid, triangle, b, ldb, factor); });
}
quadrille_status quadrille_eigen_factor_create_complex_on(const quadrille_eigen_grid* grid, char triangle,
                                                          const double* b, int64_t ldb,
                                                          quadrille_eigen_factor** factor) {
  return guarded("quadrille_eigen_factor_create_complex_on",
                 [&] { create_on<Complex>(grid, triangle, b, ldb, factor); });
}

quadrille_status quadrille_eigen_double_on(const quadrille_eigen_grid* grid, const quadrille_eigen_options* options,
                                           const double* a, int64_t lda, const quadrille_eigen_factor* factor,
                                           double* values, double* vectors, int64_t ldv,
                                           quadrille_eigen_report* report) {
  return guarded("quadrille_eigen_double_on",
                 [&] { solve_on<double>(grid, options, a, lda, factor, values, vectors, ldv, report); });
}
quadrille_status quadrille_eigen_complex_on(const quadrille_eigen_grid* grid, const quadrille_eigen_options* options,
                                            const double* a, int64_t lda, const quadrille_eigen_factor* factor,
                                            double* values, double* vectors, int64_t ldv,
                                            quadrille_eigen_report* report) {
  return guarded("quadrille_eigen_complex_on",
                 [&] { solve_on<Complex>(grid, options, a, lda, factor, values, vectors, ldv, report); });
}

}  // extern "C"
