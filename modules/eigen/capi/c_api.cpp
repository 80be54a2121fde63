#include "modules/eigen/capi/c_api.h"

#include "core/system/memory.h"
#include "modules/eigen/factor.h"
#include "modules/eigen/solve.h"
#include "modules/shared/plugin/c_calls.h"
#include "modules/shared/plugin/handle_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <variant>
#include <vector>

using Complex = std::complex<double>;

namespace {

namespace eigen = quadrille::eigen;

using quadrille::c_calls::demand;
using quadrille::c_calls::refuse;

struct HostFactor {
  static constexpr quadrille::c_calls::Kind kind = quadrille::c_calls::Kind::eigen_factor;
  std::variant<eigen::Factor<double>, eigen::Factor<Complex>> factor;
};

thread_local std::string last_message;

template <class Call>
quadrille_status guarded(const char* name, Call call) noexcept {
  return quadrille::c_calls::guarded(last_message, name, call);
}

eigen::Triangle triangle_of(char letter) {
  if (letter == 'L' || letter == 'l') return eigen::Triangle::lower;
  if (letter == 'U' || letter == 'u') return eigen::Triangle::upper;
  refuse(std::string("triangle = '") + letter + "': it must be 'L' (lower) or 'U' (upper)");
}

eigen::Fraction fraction_of(const quadrille_eigen_options& options) {
  switch (options.vectors) {
    case 0:
    case 'A':
    case 'a': return eigen::Fraction::all();
    case 'N':
    case 'n': return eigen::Fraction::none();
    case 'I':
    case 'i': return eigen::Fraction::range(options.first, options.last);
    case 'V':
    case 'v': return eigen::Fraction::interval(options.low, options.high);
    default:
      refuse(std::string("vectors = '") + options.vectors +
             "': it must be 'A' (all), 'N' (none), 'I' (by numbers) or 'V' (by an interval)");
  }
}

void check_matrix(const char* name, std::int64_t n, const double* numbers, std::int64_t ld) {
  demand(numbers, name);
  if (n < 1) refuse(fmt::format("n = {}: it must be at least 1", n));
  if (ld < n) refuse(fmt::format("the leading dimension of {} is {}: it must be at least n = {}", name, ld, n));
}

template <class T>
std::vector<T> copy_of(const char* name, std::int64_t n, const double* numbers, std::int64_t ld) {
  quadrille::require_memory(double(n) * double(n) * sizeof(T), fmt::format("the copy of {}, {} x {},", name, n, n));
  std::vector<T> out(std::size_t(n) * std::size_t(n));
  for (std::int64_t j = 0; j < n; ++j) {
    std::memcpy(out.data() + j * n, reinterpret_cast<const T*>(numbers) + j * ld, std::size_t(n) * sizeof(T));
  }
  return out;
}

template <class T>
void create(char triangle, std::int64_t n, const double* b, std::int64_t ldb, quadrille_eigen_factor** factor) {
  demand(factor, "factor");
  const eigen::Triangle half = triangle_of(triangle);
  check_matrix("b", n, b, ldb);
  auto made = std::make_shared<HostFactor>(eigen::Factor<T>(n, copy_of<T>("b", n, b, ldb), half));
  *factor = quadrille::c_calls::handle_of<quadrille_eigen_factor>(std::move(made));
}

template <class T>
const eigen::Factor<T>* factor_of(const HostFactor* factor) {
  if (factor == nullptr) return nullptr;
  const auto* const found = std::get_if<eigen::Factor<T>>(&factor->factor);
  if (found == nullptr) refuse(eigen::is_complex<T> ? "A is complex, but B is real" : "A is real, but B is complex");
  return found;
}

void check_report(const quadrille_eigen_report* report) {
  if (report == nullptr) return;
  if (report->struct_size >= sizeof report->struct_size && report->struct_size <= sizeof *report) return;
  refuse(fmt::format("report: struct_size = {}: it must be the size of the struct, {} in this version",
                     report->struct_size, sizeof *report));
}

template <class T>
void fill(const eigen::Pairs<T>& pairs, quadrille_eigen_report* to) {
  if (to == nullptr) return;
  quadrille_eigen_report out{};
  out.struct_size = to->struct_size;
  out.first = pairs.range.first + 1;
  out.count = pairs.range.count;
  for (const eigen::Phase& phase : pairs.phases) {
    double& seconds = phase.name == eigen::phase::standard_form        ? out.standard_form_seconds
                      : phase.name == eigen::phase::tridiagonalization ? out.tridiagonalization_seconds
                      : phase.name == eigen::phase::tridiagonal        ? out.tridiagonal_seconds
                                                                       : out.back_transformation_seconds;
    seconds += phase.seconds;
  }
  std::memcpy(to, &out, out.struct_size);
}

template <class T>
void solve(const quadrille_eigen_options* given, std::int64_t n, const double* a, std::int64_t lda,
           const quadrille_eigen_factor* factor, double* values, double* vectors, std::int64_t ldv,
           quadrille_eigen_report* report) {
  demand(given, "options");
  const quadrille_eigen_options options = quadrille::c_calls::known_options(given);
  check_report(report);
  demand(values, "values");
  check_matrix("a", n, a, lda);
  eigen::Problem<T> problem;
  problem.n = problem.lda = n;
  problem.triangle = triangle_of(options.triangle == 0 ? 'L' : options.triangle);
  problem.fraction = fraction_of(options);
  problem.fraction.check(n);
  const auto host_factor = factor == nullptr ? nullptr : quadrille::c_calls::find<HostFactor>(factor);
  problem.b = factor_of<T>(host_factor.get());
  if (problem.fraction.kind() != eigen::Fraction::Kind::none) {
    demand(vectors, "vectors");
    if (ldv < n) refuse(fmt::format("the leading dimension of vectors is {}: it must be at least n = {}", ldv, n));
  }
  std::vector<T> copy = copy_of<T>("a", n, a, lda);
  problem.a = copy.data();
  const eigen::Pairs<T> pairs = eigen::solve(problem);
  const bool by_interval = problem.fraction.kind() == eigen::Fraction::Kind::interval;
  if (by_interval && options.room != 0 && pairs.range.count > options.room) {
    refuse(fmt::format("room = {}: the interval has {} eigenvalues", options.room, pairs.range.count));
  }
  std::copy(pairs.values.begin(), pairs.values.end(), values);
  for (std::int64_t k = 0; !pairs.vectors.empty() && k < pairs.range.count; ++k) {
    std::copy_n(pairs.vectors.data() + k * n, n, reinterpret_cast<T*>(vectors) + k * ldv);
  }
  fill(pairs, report);
}

}  // namespace

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

const char* quadrille_eigen_message(void) { return last_message.c_str(); }

}  // extern "C"
