/* The eigenproblem A x = lambda B x for C, and for what calls C. Every call returns a status; no exception leaves.
 * Matrices are in the memory of the host, n x n by columns as in LAPACK; of A and B one triangle is read. Complex
 * numbers are pairs of doubles, real and imaginary part. */
#ifndef QUADRILLE_MODULES_EIGEN_C_API_H
#define QUADRILLE_MODULES_EIGEN_C_API_H

#include "modules/shared/plugin/handles.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Statuses (modules/shared/plugin/handles.h): QUADRILLE_INVALID_HANDLE for a factor that has been destroyed;
 * QUADRILLE_INVALID_INPUT for a null pointer, sizes that do not match, an unknown letter, an interval without an
 * eigenvalue; QUADRILLE_NUMERICAL for a NaN or an infinity in A or B, and a B that is not positive definite (the
 * message says which leading submatrix is not); QUADRILLE_NO_MEMORY, with the number of bytes.
 */

/* The Cholesky factor of B, for all problems with the same B. */
typedef struct quadrille_eigen_factor quadrille_eigen_factor;

/* triangle: 'L' or 'U', of B. B is copied. */
__attribute__((visibility("default"))) quadrille_status quadrille_eigen_factor_create_double(
    char triangle, int64_t n, const double* b, int64_t ldb, quadrille_eigen_factor** factor);
__attribute__((visibility("default"))) quadrille_status quadrille_eigen_factor_create_complex(
    char triangle, int64_t n, const double* b, int64_t ldb, quadrille_eigen_factor** factor);
/* For a factor that is null or destroyed nothing happens. */
__attribute__((visibility("default"))) void quadrille_eigen_factor_destroy(quadrille_eigen_factor* factor);

/* Which pairs are wanted. Zero the struct, then set `struct_size` to its size: all pairs, of the lower triangle. */
typedef struct quadrille_eigen_options {
  uint32_t struct_size;
  char triangle; /* of A: 'L' or 'U'; 0: 'L' */
  char vectors;  /* 'A' all, 'N' none, 'I' those with numbers first to last, 'V' those with low <= lambda <= high; 0:
                    'A' */
  char padding[2];
  int64_t first; /* from 1, the lowest */
  int64_t last;
  double low;
  double high;
  int64_t room; /* for 'V': pairs that the arrays have room for; 0: n */
} quadrille_eigen_options;

/* What was found. Set `struct_size` to the size of the struct before the call: no more than that is written. */
typedef struct quadrille_eigen_report {
  uint32_t struct_size;
  int32_t padding;
  int64_t first;                /* number of the first eigenvalue, from 1 */
  int64_t count;                /* of eigenvalues */
  double standard_form_seconds; /* L^-1 A L^-H */
  double tridiagonalization_seconds;
  double tridiagonal_seconds;
  double back_transformation_seconds;
} quadrille_eigen_report;

/* A is left as it is. factor: of B, of the same type and size; null: B is the identity. values: room for the
 * eigenvalues, in rising order. vectors: n rows by columns with leading dimension ldv, one column for each value, with
 * X^H B X = 1, the largest component of each real and positive; not read for 'N'. report may be null. On an error
 * values and vectors are as they were. */
__attribute__((visibility("default"))) quadrille_status quadrille_eigen_double(
    const quadrille_eigen_options* options, int64_t n, const double* a, int64_t lda,
    const quadrille_eigen_factor* factor, double* values, double* vectors, int64_t ldv, quadrille_eigen_report* report);
__attribute__((visibility("default"))) quadrille_status quadrille_eigen_complex(
    const quadrille_eigen_options* options, int64_t n, const double* a, int64_t lda,
    const quadrille_eigen_factor* factor, double* values, double* vectors, int64_t ldv, quadrille_eigen_report* report);

/* What the last call of this thread that failed had to say; "" when none did. Valid until the next one fails. */
__attribute__((visibility("default"))) const char* quadrille_eigen_message(void);

#ifdef __cplusplus
}
#endif

#endif
