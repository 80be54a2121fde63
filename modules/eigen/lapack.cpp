#include "modules/eigen/lapack.h"

#include "core/error.h"

#include <cblas.h>
#include <fmt/format.h>

#include <algorithm>

extern "C" {
using quadrille_complex = std::complex<double>;
void dpotrf_(const char*, const int*, double*, const int*, int*);
void zpotrf_(const char*, const int*, quadrille_complex*, const int*, int*);
void dsygst_(const int*, const char*, const int*, double*, const int*, const double*, const int*, int*);
void zhegst_(const int*, const char*, const int*, quadrille_complex*, const int*, const quadrille_complex*, const int*,
             int*);
void dsytrd_(const char*, const int*, double*, const int*, double*, double*, double*, double*, const int*, int*);
void zhetrd_(const char*, const int*, quadrille_complex*, const int*, double*, double*, quadrille_complex*,
             quadrille_complex*, const int*, int*);
void dsytrd_2stage_(const char*, const char*, const int*, double*, const int*, double*, double*, double*, double*,
                    const int*, double*, const int*, int*);
void zhetrd_2stage_(const char*, const char*, const int*, quadrille_complex*, const int*, double*, double*,
                    quadrille_complex*, quadrille_complex*, const int*, quadrille_complex*, const int*, int*);
void dormtr_(const char*, const char*, const char*, const int*, const int*, const double*, const int*, const double*,
             double*, const int*, double*, const int*, int*);
void zunmtr_(const char*, const char*, const char*, const int*, const int*, const quadrille_complex*, const int*,
             const quadrille_complex*, quadrille_complex*, const int*, quadrille_complex*, const int*, int*);
void dsterf_(const int*, double*, double*, int*);
void dstedc_(const char*, const int*, double*, double*, double*, const int*, double*, const int*, int*, const int*,
             int*);
void dstemr_(const char*, const char*, const int*, double*, double*, const double*, const double*, const int*,
             const int*, int*, double*, double*, const int*, const int*, int*, int*, double*, const int*, int*,
             const int*, int*);
}

namespace quadrille::eigen::lapack {
namespace {

int extent(std::int64_t n) {
  if (n <= longest) return int(std::max<std::int64_t>(n, 0));
  throw Error(ErrorCode::unsupported,
              fmt::format("{} rows: LAPACK, as OpenBLAS has it, counts in 32 bits, up to {}", n, longest));
}
int leading(std::int64_t ld) { return std::max(extent(ld), 1); }

void demand(int info, const char* routine) {
  if (info != 0) throw Error(ErrorCode::internal, fmt::format("LAPACK's {} returned info = {}", routine, info));
}

double real_of(double x) { return x; }
double real_of(Complex x) { return x.real(); }

/// Calls call(work, length, info) once to ask for the length of its work space, and once with it.
template <class T, class Call>
void with_work(const char* routine, Call call) {
  int info = 0, length = -1;
  std::vector<T> work(1);
  call(work.data(), &length, &info);
  demand(info, routine);
  length = std::max(1, int(real_of(work[0])));
  work.resize(std::size_t(length));
  call(work.data(), &length, &info);
  demand(info, routine);
}

template <class T>
Tridiagonal<T> made_for(std::int64_t n) {
  const auto size = std::size_t(std::max<std::int64_t>(n, 1));
  return {std::vector<double>(size), std::vector<double>(size), std::vector<T>(size)};
}

template <class T, class Routine>
Tridiagonal<T> reduce(const char* name, Routine routine, std::int64_t rows, T* a, std::int64_t lda) {
  Tridiagonal<T> out = made_for<T>(rows);
  const int n = extent(rows), ld = leading(lda);
  with_work<T>(name, [&](T* work, const int* length, int* info) {
    routine("L", &n, a, &ld, out.diagonal.data(), out.off_diagonal.data(), out.tau.data(), work, length, info);
  });
  return out;
}

template <class T, class Routine>
Tridiagonal<T> reduce_by_band(const char* name, Routine routine, std::int64_t rows, T* a, std::int64_t lda) {
  Tridiagonal<T> out = made_for<T>(rows);
  const int n = extent(rows), ld = leading(lda);
  std::vector<T> reflectors(1), work(1);
  int length = -1, work_length = -1, info = 0;
  for (int pass = 0; pass < 2; ++pass) {  // the first asks for lengths
    routine("N", "L", &n, a, &ld, out.diagonal.data(), out.off_diagonal.data(), out.tau.data(), reflectors.data(),
            &length, work.data(), &work_length, &info);
    demand(info, name);
    if (pass == 1) break;
    length = std::max(1, int(real_of(reflectors[0])));
    work_length = std::max(1, int(real_of(work[0])));
    reflectors.resize(std::size_t(length));
    work.resize(std::size_t(work_length));
  }
  return out;
}

template <class T, class Routine>
void apply(const char* name, Routine routine, std::int64_t rows, std::int64_t columns, const T* a, std::int64_t lda,
           const std::vector<T>& tau, T* z, std::int64_t ldz) {
  const int n = extent(rows), k = extent(columns), ld = leading(lda), ld_z = leading(ldz);
  with_work<T>(name, [&](T* work, const int* length, int* info) {
    routine("L", "L", "N", &n, &k, a, &ld, tau.data(), z, &ld_z, work, length, info);
  });
}

}  // namespace

int potrf(std::int64_t rows, double* a, std::int64_t lda) {
  const int n = extent(rows), ld = leading(lda);
  int info = 0;
  dpotrf_("L", &n, a, &ld, &info);
  return info;
}
int potrf(std::int64_t rows, Complex* a, std::int64_t lda) {
  const int n = extent(rows), ld = leading(lda);
  int info = 0;
  zpotrf_("L", &n, a, &ld, &info);
  return info;
}

void sygst(std::int64_t rows, double* a, std::int64_t lda, const double* l, std::int64_t ldl) {
  const int kind = 1, n = extent(rows), ld = leading(lda), ld_l = leading(ldl);
  int info = 0;
  dsygst_(&kind, "L", &n, a, &ld, l, &ld_l, &info);
  demand(info, "dsygst");
}
void sygst(std::int64_t rows, Complex* a, std::int64_t lda, const Complex* l, std::int64_t ldl) {
  const int kind = 1, n = extent(rows), ld = leading(lda), ld_l = leading(ldl);
  int info = 0;
  zhegst_(&kind, "L", &n, a, &ld, l, &ld_l, &info);
  demand(info, "zhegst");
}

void solve_with_transpose(std::int64_t n, std::int64_t k, const double* l, std::int64_t ldl, double* x,
                          std::int64_t ldx) {
  cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasTrans, CblasNonUnit, extent(n), extent(k), 1.0, l,
              leading(ldl), x, leading(ldx));
}
void solve_with_transpose(std::int64_t n, std::int64_t k, const Complex* l, std::int64_t ldl, Complex* x,
                          std::int64_t ldx) {
  const Complex one = 1;
  cblas_ztrsm(CblasColMajor, CblasLeft, CblasLower, CblasConjTrans, CblasNonUnit, extent(n), extent(k), &one, l,
              leading(ldl), x, leading(ldx));
}

void solve_from_right(std::int64_t m, std::int64_t n, const double* l, std::int64_t ldl, double* z, std::int64_t ldz) {
  cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, extent(m), extent(n), 1.0, l,
              leading(ldl), z, leading(ldz));
}
void solve_from_right(std::int64_t m, std::int64_t n, const Complex* l, std::int64_t ldl, Complex* z,
                      std::int64_t ldz) {
  const Complex one = 1;
  cblas_ztrsm(CblasColMajor, CblasRight, CblasLower, CblasConjTrans, CblasNonUnit, extent(m), extent(n), &one, l,
              leading(ldl), z, leading(ldz));
}

Tridiagonal<double> sytrd(std::int64_t n, double* a, std::int64_t lda) {
  return reduce<double>("dsytrd", dsytrd_, n, a, lda);
}
Tridiagonal<Complex> sytrd(std::int64_t n, Complex* a, std::int64_t lda) {
  return reduce<Complex>("zhetrd", zhetrd_, n, a, lda);
}
Tridiagonal<double> sytrd_2stage(std::int64_t n, double* a, std::int64_t lda) {
  return reduce_by_band<double>("dsytrd_2stage", dsytrd_2stage_, n, a, lda);
}
Tridiagonal<Complex> sytrd_2stage(std::int64_t n, Complex* a, std::int64_t lda) {
  return reduce_by_band<Complex>("zhetrd_2stage", zhetrd_2stage_, n, a, lda);
}

void apply_q(std::int64_t n, std::int64_t k, const double* a, std::int64_t lda, const std::vector<double>& tau,
             double* z, std::int64_t ldz) {
  apply("dormtr", dormtr_, n, k, a, lda, tau, z, ldz);
}
void apply_q(std::int64_t n, std::int64_t k, const Complex* a, std::int64_t lda, const std::vector<Complex>& tau,
             Complex* z, std::int64_t ldz) {
  apply("zunmtr", zunmtr_, n, k, a, lda, tau, z, ldz);
}

int sterf(std::vector<double>& d, std::vector<double>& e) {
  const int n = extent(std::int64_t(d.size()));
  int info = 0;
  dsterf_(&n, d.data(), e.data(), &info);
  return info;
}

int stedc(std::vector<double>& d, std::vector<double>& e, double* z) {
  const int n = extent(std::int64_t(d.size()));
  std::vector<double> work(1);
  std::vector<int> integers(1);
  int length = -1, count = -1, info = 0;
  for (int pass = 0; pass < 2; ++pass) {  // the first asks for lengths
    dstedc_("I", &n, d.data(), e.data(), z, &n, work.data(), &length, integers.data(), &count, &info);
    if (pass == 1) break;
    demand(info, "dstedc");
    length = std::max(1, int(work[0]));
    count = std::max(1, integers[0]);
    work.resize(std::size_t(length));
    integers.resize(std::size_t(count));
  }
  return info;
}

int stemr(std::vector<double>& d, std::vector<double>& e, std::int64_t first, std::int64_t count,
          std::vector<double>& values, double* z) {
  const int n = extent(std::int64_t(d.size())), low = extent(first) + 1, high = extent(first + count);
  const int columns = extent(count), length = 18 * n, integers = 10 * n;
  const double unused = 0;
  std::vector<double> work(std::size_t(length), 0.0), found(d.size());
  std::vector<int> integer_work(std::size_t(integers), 0), support(2 * std::size_t(columns));
  int pairs = 0, relative = 1, info = 0;
  dstemr_("V", "I", &n, d.data(), e.data(), &unused, &unused, &low, &high, &pairs, found.data(), z, &n, &columns,
          support.data(), &relative, work.data(), &length, integer_work.data(), &integers, &info);
  if (info == 0 && pairs != columns) info = -1;
  found.resize(std::size_t(columns));
  values = std::move(found);
  return info;
}

void multiply_hermitian(std::int64_t n, std::int64_t k, const double* a, std::int64_t lda, const double* x,
                        std::int64_t ldx, double* y, std::int64_t ldy) {
  cblas_dsymm(CblasColMajor, CblasLeft, CblasLower, extent(n), extent(k), 1.0, a, leading(lda), x, leading(ldx), 0.0, y,
              leading(ldy));
}
void multiply_hermitian(std::int64_t n, std::int64_t k, const Complex* a, std::int64_t lda, const Complex* x,
                        std::int64_t ldx, Complex* y, std::int64_t ldy) {
  const Complex one = 1, zero = 0;
  cblas_zhemm(CblasColMajor, CblasLeft, CblasLower, extent(n), extent(k), &one, a, leading(lda), x, leading(ldx), &zero,
              y, leading(ldy));
}

namespace {

void product(CBLAS_TRANSPOSE of_a, std::int64_t m, std::int64_t k, std::int64_t n, const double* a, std::int64_t lda,
             const double* b, std::int64_t ldb, double* c, std::int64_t ldc) {
  cblas_dgemm(CblasColMajor, of_a, CblasNoTrans, extent(m), extent(n), extent(k), 1.0, a, leading(lda), b, leading(ldb),
              0.0, c, leading(ldc));
}
void product(CBLAS_TRANSPOSE of_a, std::int64_t m, std::int64_t k, std::int64_t n, const Complex* a, std::int64_t lda,
             const Complex* b, std::int64_t ldb, Complex* c, std::int64_t ldc) {
  const Complex one = 1, zero = 0;
  cblas_zgemm(CblasColMajor, of_a, CblasNoTrans, extent(m), extent(n), extent(k), &one, a, leading(lda), b,
              leading(ldb), &zero, c, leading(ldc));
}

}  // namespace

void multiply_adjoint(std::int64_t n, std::int64_t k, std::int64_t m, const double* x, const double* y, double* g) {
  product(CblasTrans, k, n, m, x, n, y, n, g, k);
}
void multiply_adjoint(std::int64_t n, std::int64_t k, std::int64_t m, const Complex* x, const Complex* y, Complex* g) {
  product(CblasConjTrans, k, n, m, x, n, y, n, g, k);
}
void multiply(std::int64_t m, std::int64_t k, std::int64_t n, const double* a, std::int64_t lda, const double* b,
              std::int64_t ldb, double* c, std::int64_t ldc) {
  product(CblasNoTrans, m, k, n, a, lda, b, ldb, c, ldc);
}
void multiply(std::int64_t m, std::int64_t k, std::int64_t n, const Complex* a, std::int64_t lda, const Complex* b,
              std::int64_t ldb, Complex* c, std::int64_t ldc) {
  product(CblasNoTrans, m, k, n, a, lda, b, ldb, c, ldc);
}
void multiply_adjoint(std::int64_t m, std::int64_t k, std::int64_t n, const double* a, std::int64_t lda,
                      const double* b, std::int64_t ldb, double* c, std::int64_t ldc) {
  product(CblasTrans, m, k, n, a, lda, b, ldb, c, ldc);
}
void multiply_adjoint(std::int64_t m, std::int64_t k, std::int64_t n, const Complex* a, std::int64_t lda,
                      const Complex* b, std::int64_t ldb, Complex* c, std::int64_t ldc) {
  product(CblasConjTrans, m, k, n, a, lda, b, ldb, c, ldc);
}

}  // namespace quadrille::eigen::lapack
