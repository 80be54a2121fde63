// The routines of ScaLAPACK, PBLAS and BLACS that are called, in 32-bit integers, and one of LAPACK. Matrices are
// given by this rank's part, the first row and column (from 1) and a descriptor.
#pragma once

#include <mpi.h>

#include <array>
#include <complex>

namespace quadrille::eigen {

using Complex = std::complex<double>;
using Descriptor = std::array<int, 9>;

extern "C" {
int Csys2blacs_handle(MPI_Comm comm);
void Cfree_blacs_system_handle(int handle);
void Cblacs_gridinit(int* context, const char* order, int rows, int columns);
void Cblacs_gridexit(int context);

void dsterf_(const int* n, double* d, double* e, int* info);

void pdpotrf_(const char* half, const int* n, double* a, const int* ia, const int* ja, const int* of_a, int* info);
void pzpotrf_(const char* half, const int* n, Complex* a, const int* ia, const int* ja, const int* of_a, int* info);
void pdsyngst_(const int* kind, const char* half, const int* n, double* a, const int* ia, const int* ja,
               const int* of_a, const double* b, const int* ib, const int* jb, const int* of_b, double* scale,
               double* work, const int* length, int* info);
void pzhengst_(const int* kind, const char* half, const int* n, Complex* a, const int* ia, const int* ja,
               const int* of_a, const Complex* b, const int* ib, const int* jb, const int* of_b, double* scale,
               Complex* work, const int* length, int* info);
void pdsytrd_(const char* half, const int* n, double* a, const int* ia, const int* ja, const int* of_a, double* d,
              double* e, double* tau, double* work, const int* length, int* info);
void pzhetrd_(const char* half, const int* n, Complex* a, const int* ia, const int* ja, const int* of_a, double* d,
              double* e, Complex* tau, Complex* work, const int* length, int* info);
void pdstedc_(const char* which, const int* n, double* d, double* e, double* q, const int* iq, const int* jq,
              const int* of_q, double* work, const int* length, int* integers, const int* count, int* info);
void dsteqr2_(const char* which, const int* n, double* d, double* e, double* z, const int* leading, const int* rows,
              double* work, int* info);
void pdgemr2d_(const int* m, const int* n, const double* a, const int* ia, const int* ja, const int* of_a, double* b,
               const int* ib, const int* jb, const int* of_b, const int* context);
void pdormtr_(const char* side, const char* half, const char* op, const int* m, const int* n, const double* a,
              const int* ia, const int* ja, const int* of_a, const double* tau, double* c, const int* ic, const int* jc,
              const int* of_c, double* work, const int* length, int* info);
void pzunmtr_(const char* side, const char* half, const char* op, const int* m, const int* n, const Complex* a,
              const int* ia, const int* ja, const int* of_a, const Complex* tau, Complex* c, const int* ic,
              const int* jc, const int* of_c, Complex* work, const int* length, int* info);
void pdtrsm_(const char* side, const char* half, const char* op, const char* diagonal, const int* m, const int* n,
             const double* alpha, const double* a, const int* ia, const int* ja, const int* of_a, double* b,
             const int* ib, const int* jb, const int* of_b);
void pztrsm_(const char* side, const char* half, const char* op, const char* diagonal, const int* m, const int* n,
             const Complex* alpha, const Complex* a, const int* ia, const int* ja, const int* of_a, Complex* b,
             const int* ib, const int* jb, const int* of_b);
void pdsymm_(const char* side, const char* half, const int* m, const int* n, const double* alpha, const double* a,
             const int* ia, const int* ja, const int* of_a, const double* b, const int* ib, const int* jb,
             const int* of_b, const double* beta, double* c, const int* ic, const int* jc, const int* of_c);
void pzhemm_(const char* side, const char* half, const int* m, const int* n, const Complex* alpha, const Complex* a,
             const int* ia, const int* ja, const int* of_a, const Complex* b, const int* ib, const int* jb,
             const int* of_b, const Complex* beta, Complex* c, const int* ic, const int* jc, const int* of_c);
void pdgemm_(const char* op_a, const char* op_b, const int* m, const int* n, const int* k, const double* alpha,
             const double* a, const int* ia, const int* ja, const int* of_a, const double* b, const int* ib,
             const int* jb, const int* of_b, const double* beta, double* c, const int* ic, const int* jc,
             const int* of_c);
void pzgemm_(const char* op_a, const char* op_b, const int* m, const int* n, const int* k, const Complex* alpha,
             const Complex* a, const int* ia, const int* ja, const int* of_a, const Complex* b, const int* ib,
             const int* jb, const int* of_b, const Complex* beta, Complex* c, const int* ic, const int* jc,
             const int* of_c);
void pdtran_(const int* m, const int* n, const double* alpha, const double* a, const int* ia, const int* ja,
             const int* of_a, const double* beta, double* c, const int* ic, const int* jc, const int* of_c);
void pztranc_(const int* m, const int* n, const Complex* alpha, const Complex* a, const int* ia, const int* ja,
              const int* of_a, const Complex* beta, Complex* c, const int* ic, const int* jc, const int* of_c);
}

/// The routines for one kind of numbers.
template <class T>
struct Routines;
template <>
struct Routines<double> {
  static constexpr auto potrf = pdpotrf_;
  static constexpr auto hengst = pdsyngst_;
  static constexpr auto hetrd = pdsytrd_;
  static constexpr auto unmtr = pdormtr_;
  static constexpr auto trsm = pdtrsm_;
  static constexpr auto hemm = pdsymm_;
  static constexpr auto gemm = pdgemm_;
  static constexpr auto tranc = pdtran_;
};
template <>
struct Routines<Complex> {
  static constexpr auto potrf = pzpotrf_;
  static constexpr auto hengst = pzhengst_;
  static constexpr auto hetrd = pzhetrd_;
  static constexpr auto unmtr = pzunmtr_;
  static constexpr auto trsm = pztrsm_;
  static constexpr auto hemm = pzhemm_;
  static constexpr auto gemm = pzgemm_;
  static constexpr auto tranc = pztranc_;
};

}  // namespace quadrille::eigen
