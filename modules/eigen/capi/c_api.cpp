#include "modules/eigen/capi/c_objects.h"

#include "core/backend/backend.h"
#include "core/backend/of_backend.h"
#include "core/error.h"
#include "core/system/memory.h"
#include "modules/eigen/solve.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace quadrille::eigen {
namespace {

using c_calls::demand;
using c_calls::refuse;

void check_matrix(const char* name, std::int64_t n, const double* numbers, std::int64_t ld) {
  demand(numbers, name);
  if (n < 1) refuse(fmt::format("n = {}: it must be at least 1", n));
  if (ld < n) refuse(fmt::format("the leading dimension of {} is {}: it must be at least n = {}", name, ld, n));
}

template <class T>
std::vector<T> copy_of(const char* name, std::int64_t n, const double* numbers, std::int64_t ld) {
  require_memory(double(n) * double(n) * sizeof(T), fmt::format("the copy of {}, {} x {},", name, n, n));
  std::vector<T> out(std::size_t(n) * std::size_t(n));
  for (std::int64_t j = 0; j < n; ++j) {
    std::memcpy(out.data() + j * n, reinterpret_cast<const T*>(numbers) + j * ld, std::size_t(n) * sizeof(T));
  }
  return out;
}

template <class T>
void create(const char* backend, char triangle, std::int64_t n, const double* b, std::int64_t ldb,
            quadrille_eigen_factor** factor) {
  demand(factor, "factor");
  demand(backend, "backend");
  const Triangle half = triangle_of(triangle);
  check_matrix("b", n, b, ldb);
  Backend& where = find_backend(backend);
  const c_calls::Work work(where);
  auto made = std::make_shared<HostFactor>([&]() -> HostFactor {
    if (where.host_memory()) return {{}, Factor<T>(n, copy_of<T>("b", n, b, ldb), half)};
    return with_cuda<HostFactor>([&](auto) -> HostFactor {
      return {{}, FactorThere<T>(std::make_shared<DeviceFactor<T>>(n, reinterpret_cast<const T*>(b), ldb, half))};
    });
  }());
  *factor = c_calls::handle_of<quadrille_eigen_factor>(std::move(made));
}

template <class T>
const Factor<T>* factor_of(const HostFactor* factor) {
  if (factor == nullptr) return nullptr;
  if (factor->grid != nullptr) refuse("factor is of a matrix on a grid of ranks, and A is on this process alone");
  if (factor->on_device()) refuse("factor is in the memory of a GPU: set the backend to \"cuda\", or to null");
  return &numbers_of<T, Factor>(*factor);
}
template <class T>
const DeviceFactor<T>* factor_there(const HostFactor* factor) {
  if (factor == nullptr) return nullptr;
  if (factor->grid != nullptr) refuse("factor is of a matrix on a grid of ranks, and A is on this process alone");
  if (!factor->on_device()) {
    refuse("factor is in the host's memory: for a problem on a GPU make it with backend \"cuda\"");
  }
  return numbers_of<T, FactorThere>(*factor).get();
}

/// What a caller wants, and where it goes.
template <class T>
struct CallHere {
  const quadrille_eigen_options& options;
  Fraction fraction;
  int refine;
  Triangle triangle;
  std::int64_t n;
  const T* a;
  std::int64_t lda;
  const HostFactor* factor;
  double* values;
  T* vectors;
  std::int64_t ldv;
  quadrille_eigen_report* report;
};

template <class T>
void solve_there(const CallHere<T>& w) {
  if (w.refine > 0) {
    throw Error(ErrorCode::unsupported, "refine: pairs are refined on a CPU: set the backend to \"cpu\"");
  }
  with_cuda([&](auto) {
    const PairsThere<T> pairs =
        solve_and_stay(DeviceProblem<T>{w.n, w.a, w.lda, w.triangle, factor_there<T>(w.factor), w.fraction, {}});
    const std::int64_t count = pairs.found.range.count;
    check_room(w.options, count);
    copy_columns(count, 1, pairs.found.values.data(), count, w.values, count);
    if (pairs.vectors) copy_columns(w.n, count, pairs.vectors.get(), w.n, w.vectors, w.ldv);
    write_report(pairs.found.range, pairs.found.phases, {}, w.report);
  });
}

template <class T>
void solve_here(const CallHere<T>& w) {
  const Factor<T>* const factor = factor_of<T>(w.factor);
  std::vector<T> copy = copy_of<T>("a", w.n, reinterpret_cast<const double*>(w.a), w.lda);
  const Pairs<T> pairs = solve(Problem<T>{w.n, copy.data(), w.n, w.triangle, factor, w.fraction, {}, w.refine});
  check_room(w.options, pairs.range.count);
  std::copy(pairs.values.begin(), pairs.values.end(), w.values);
  for (std::int64_t k = 0; !pairs.vectors.empty() && k < pairs.range.count; ++k) {
    std::copy_n(pairs.vectors.data() + k * w.n, w.n, w.vectors + k * w.ldv);
  }
  write_report(pairs.range, pairs.phases, pairs.refinements, w.report);
}

template <class T>
void solve(const quadrille_eigen_options* given, std::int64_t n, const double* a, std::int64_t lda,
           const quadrille_eigen_factor* factor, double* values, double* vectors, std::int64_t ldv,
           quadrille_eigen_report* report) {
  demand(given, "options");
  const quadrille_eigen_options options = c_calls::known_options(given);
  check_report(report);
  demand(values, "values");
  check_matrix("a", n, a, lda);
  const Fraction fraction = fraction_of(options);
  fraction.check(n);
  if (fraction.kind() != Fraction::Kind::none) {
    demand(vectors, "vectors");
    if (ldv < n) refuse(fmt::format("the leading dimension of vectors is {}: it must be at least n = {}", ldv, n));
  }
  const auto kept = factor == nullptr ? nullptr : c_calls::find<HostFactor>(factor);
  const char* const own = kept && kept->on_device() ? "cuda" : "cpu";
  Backend& backend = find_backend(options.backend == nullptr ? own : options.backend);
  const c_calls::Work work(backend);
  const CallHere<T> call{options,
                         fraction,
                         refinement_of(options),
                         triangle_of(options.triangle == 0 ? 'L' : options.triangle),
                         n,
                         reinterpret_cast<const T*>(a),
                         lda,
                         kept.get(),
                         values,
                         reinterpret_cast<T*>(vectors),
                         ldv,
                         report};
  backend.host_memory() ? solve_here(call) : solve_there(call);
}

}  // namespace
}  // namespace quadrille::eigen

using namespace quadrille::eigen;

extern "C" {

quadrille_status quadrille_eigen_factor_create_double(char triangle, int64_t n, const double* b, int64_t ldb,
                                                      quadrille_eigen_factor** factor) {
  return guarded("quadrille_eigen_factor_create_double", [&] { create<double>("cpu", triangle, n, b, ldb, factor); });
}
quadrille_status quadrille_eigen_factor_create_double_at(const char* backend, char triangle, int64_t n, const double* b,
                                                         int64_t ldb, quadrille_eigen_factor** factor) {
  return guarded("quadrille_eigen_factor_create_double_at",
                 [&] { create<double>(backend, triangle, n, b, ldb, factor); });
}
quadrille_status quadrille_eigen_factor_create_complex(char triangle, int64_t n, const double* b, int64_t ldb,
                                                       quadrille_eigen_factor** factor) {
  return guarded("quadrille_eigen_factor_create_complex", [&] { create<Complex>("cpu", triangle, n, b, ldb, factor); });
}
quadrille_status quadrille_eigen_factor_create_complex_at(const char* backend, char triangle, int64_t n,
                                                          const double* b, int64_t ldb,
                                                          quadrille_eigen_factor** factor) {
  return guarded("quadrille_eigen_factor_create_complex_at",
                 [&] { create<Complex>(backend, triangle, n, b, ldb, factor); });
}
void quadrille_eigen_factor_destroy(quadrille_eigen_factor* factor) {
  quadrille::c_calls::destroy_if_valid<HostFactor>(factor);
}

quadrille_status quadrille_eigen_double(const quadrille_eigen_options* options, int64_t n, const double* a, int64_t lda,
                                        const quadrille_eigen_factor* factor, double* values, double* vectors,
                                        int64_t ldv, quadrille_eigen_report* report) {
  return guarded("quadrille_eigen_double",
                 [&] { solve<double>(options, n, a, lda, factor, values, vectors, ldv, report); });
}
quadrille_status quadrille_eigen_complex(const quadrille_eigen_options* options, int64_t n, const double* a,
                                         int64_t lda, const quadrille_eigen_factor* factor, double* values,
                                         double* vectors, int64_t ldv, quadrille_eigen_report* report) {
  return guarded("quadrille_eigen_complex",
                 [&] { solve<Complex>(options, n, a, lda, factor, values, vectors, ldv, report); });
}

const char* quadrille_eigen_message(void) { return message_of_last_failure(); }

}  // extern "C"
