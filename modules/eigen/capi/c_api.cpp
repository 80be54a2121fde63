#include "modules/eigen/capi/c_objects.h"

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
void create(char triangle, std::int64_t n, const double* b, std::int64_t ldb, quadrille_eigen_factor** factor) {
  demand(factor, "factor");
  const Triangle half = triangle_of(triangle);
  check_matrix("b", n, b, ldb);
  auto made = std::make_shared<HostFactor>(HostFactor{{}, Factor<T>(n, copy_of<T>("b", n, b, ldb), half)});
  *factor = c_calls::handle_of<quadrille_eigen_factor>(std::move(made));
}

template <class T>
const Factor<T>* factor_of(const HostFactor* factor) {
  if (factor == nullptr) return nullptr;
  if (factor->grid != nullptr) refuse("factor is of a matrix on a grid of ranks, and A is on this process alone");
  return &numbers_of<T, Factor>(*factor);
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
  Problem<T> problem;
  problem.n = problem.lda = n;
  problem.triangle = triangle_of(options.triangle == 0 ? 'L' : options.triangle);
  problem.fraction = fraction_of(options);
  problem.fraction.check(n);
  problem.refine = refinement_of(options);
  const auto host_factor = factor == nullptr ? nullptr : c_calls::find<HostFactor>(factor);
  problem.b = factor_of<T>(host_factor.get());
  if (problem.fraction.kind() != Fraction::Kind::none) {
    demand(vectors, "vectors");
    if (ldv < n) refuse(fmt::format("the leading dimension of vectors is {}: it must be at least n = {}", ldv, n));
  }
  std::vector<T> copy = copy_of<T>("a", n, a, lda);
  problem.a = copy.data();
  const Pairs<T> pairs = solve(problem);
  check_room(options, pairs.range.count);
  std::copy(pairs.values.begin(), pairs.values.end(), values);
  for (std::int64_t k = 0; !pairs.vectors.empty() && k < pairs.range.count; ++k) {
    std::copy_n(pairs.vectors.data() + k * n, n, reinterpret_cast<T*>(vectors) + k * ldv);
  }
  write_report(pairs.range, pairs.phases, pairs.refinements, report);
}

}  // namespace
}  // namespace quadrille::eigen

using namespace quadrille::eigen;

extern "C" {

quadrille_status quadrille_eigen_factor_create_double(char triangle, int64_t n, const double* b, int64_t ldb,
                                                      quadrille_eigen_factor** factor) {
  return guarded("quadrille_eigen_factor_create_double", [&] { create<double>(triangle, n, b, ldb, factor); });
}
quadrille_status quadrille_eigen_factor_create_complex(char triangle, int64_t n, const double* b, int64_t ldb,
                                                       quadrille_eigen_factor** factor) {
  return guarded("quadrille_eigen_factor_create_complex", [&] { create<Complex>(triangle, n, b, ldb, factor); });
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
