#include "modules/eigen/tasks/lapack_drivers.h"

#include "core/error.h"
#include "modules/mgemm/product/blas.h"

#include <fmt/format.h>

#include <algorithm>
#include <complex>
#include <limits>

extern "C" {
using quadrille_complex = std::complex<double>;
void dsygvd_(const int*, const char*, const char*, const int*, double*, const int*, double*, const int*, double*,
             double*, const int*, int*, const int*, int*);
void zhegvd_(const int*, const char*, const char*, const int*, quadrille_complex*, const int*, quadrille_complex*,
             const int*, double*, quadrille_complex*, const int*, double*, const int*, int*, const int*, int*);
void dsygvx_(const int*, const char*, const char*, const char*, const int*, double*, const int*, double*, const int*,
             const double*, const double*, const int*, const int*, const double*, int*, double*, double*, const int*,
             double*, const int*, int*, int*, int*);
void zhegvx_(const int*, const char*, const char*, const char*, const int*, quadrille_complex*, const int*,
             quadrille_complex*, const int*, const double*, const double*, const int*, const int*, const double*, int*,
             double*, quadrille_complex*, const int*, quadrille_complex*, const int*, double*, int*, int*, int*);
void dsygv_2stage_(const int*, const char*, const char*, const int*, double*, const int*, double*, const int*, double*,
                   double*, const int*, int*);
void zhegv_2stage_(const int*, const char*, const char*, const int*, quadrille_complex*, const int*, quadrille_complex*,
                   const int*, double*, quadrille_complex*, const int*, double*, int*);
}

namespace quadrille::eigen {
namespace {

constexpr int kind = 1;

std::size_t length_of(double asked) {
  if (asked > double(std::numeric_limits<int>::max())) {
    throw Error(ErrorCode::unsupported,
                fmt::format("LAPACK's driver needs work space of {:.3g} numbers: it counts in 32 bits", asked));
  }
  return std::size_t(std::max(1.0, asked));
}
std::size_t length_of(std::complex<double> asked) { return length_of(asked.real()); }

int all_vectors(int n, std::vector<double>& a, std::vector<double>& b, std::vector<double>& values) {
  const double rows = n;
  std::vector<double> work(length_of(1 + 6 * rows + 2 * rows * rows));
  std::vector<int> integers(length_of(3 + 5 * rows));
  const int length = int(work.size()), count = int(integers.size());
  int info = 0;
  dsygvd_(&kind, "V", "L", &n, a.data(), &n, b.data(), &n, values.data(), work.data(), &length, integers.data(), &count,
          &info);
  return info;
}
int all_vectors(int n, std::vector<std::complex<double>>& a, std::vector<std::complex<double>>& b,
                std::vector<double>& values) {
  const double rows = n;
  std::vector<std::complex<double>> work(length_of(2 * rows + rows * rows));
  std::vector<double> reals(length_of(1 + 5 * rows + 2 * rows * rows));
  std::vector<int> integers(length_of(3 + 5 * rows));
  const int length = int(work.size()), real_length = int(reals.size()), count = int(integers.size());
  int info = 0;
  zhegvd_(&kind, "V", "L", &n, a.data(), &n, b.data(), &n, values.data(), work.data(), &length, reals.data(),
          &real_length, integers.data(), &count, &info);
  return info;
}

template <class T>
int some_vectors(int n, int last, std::vector<T>& a, std::vector<T>& b, std::vector<double>& values) {
  const int first = 1;
  const double unused = 0;
  std::vector<T> vectors(std::size_t(n) * std::size_t(last)), work(length_of(80.0 * n));
  std::vector<int> integers(5 * std::size_t(n)), failed(static_cast<std::size_t>(n));
  const int length = int(work.size());
  int found = 0, info = 0;
  if constexpr (is_complex<T>) {
    std::vector<double> reals(7 * std::size_t(n));
    zhegvx_(&kind, "V", "I", "L", &n, a.data(), &n, b.data(), &n, &unused, &unused, &first, &last, &unused, &found,
            values.data(), vectors.data(), &n, work.data(), &length, reals.data(), integers.data(), failed.data(),
            &info);
  } else {
    dsygvx_(&kind, "V", "I", "L", &n, a.data(), &n, b.data(), &n, &unused, &unused, &first, &last, &unused, &found,
            values.data(), vectors.data(), &n, work.data(), &length, integers.data(), failed.data(), &info);
  }
  values.resize(std::size_t(found));
  return info;
}

template <class T>
int no_vectors(int n, std::vector<T>& a, std::vector<T>& b, std::vector<double>& values) {
  std::vector<T> work(1);
  std::vector<double> reals(3 * std::size_t(n));
  int length = -1, info = 0;
  for (int pass = 0; pass < 2 && info == 0; ++pass) {  // the first asks for the length
    if constexpr (is_complex<T>) {
      zhegv_2stage_(&kind, "N", "L", &n, a.data(), &n, b.data(), &n, values.data(), work.data(), &length, reals.data(),
                    &info);
    } else {
      dsygv_2stage_(&kind, "N", "L", &n, a.data(), &n, b.data(), &n, values.data(), work.data(), &length, &info);
    }
    if (pass == 0) work.resize(length_of(work[0]));
    length = int(work.size());
  }
  return info;
}

}  // namespace

template <class T>
std::string driver_name(std::int64_t n, std::int64_t count) {
  const std::string prefix = is_complex<T> ? "zhe" : "dsy";
  return prefix + (count == 0 ? "gv_2stage" : count == n ? "gvd" : "gvx");
}

template <class T>
std::vector<double> solve_by_driver(std::int64_t n, std::int64_t count, std::vector<T>& a, std::vector<T>& b) {
  const mgemm::AllBlasThreads all;
  std::vector<double> values(static_cast<std::size_t>(n));
  const int rows = int(n);
  const int info = count == 0   ? no_vectors(rows, a, b, values)
                   : count == n ? all_vectors(rows, a, b, values)
                                : some_vectors(rows, int(count), a, b, values);
  if (info != 0) {
    throw Error(ErrorCode::numerical, fmt::format("LAPACK's {} returned info = {}", driver_name<T>(n, count), info));
  }
  return values;
}

template std::string driver_name<double>(std::int64_t, std::int64_t);
template std::string driver_name<std::complex<double>>(std::int64_t, std::int64_t);
template std::vector<double> solve_by_driver(std::int64_t, std::int64_t, std::vector<double>&, std::vector<double>&);
template std::vector<double> solve_by_driver(std::int64_t, std::int64_t, std::vector<std::complex<double>>&,
                                             std::vector<std::complex<double>>&);

}  // namespace quadrille::eigen
