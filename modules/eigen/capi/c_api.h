/* The eigenproblem A x = lambda B x for C, and for what calls C. Every call returns a status; no exception leaves.
 * Matrices are n x n by columns as in LAPACK, in the memory of the host; of A and B one triangle is read. Complex
 * numbers are pairs of doubles, real and imaginary part.
 *
 * On a GPU (backend "cuda") each array may be in the host's memory or in the device's, where it must be complete before
 * the call; results are there when the call returns. On a grid all arrays are in the host's memory.
 *
 * Ranks. On a grid (quadrille_eigen_grid_create) each rank of an MPI communicator has a part of a matrix, as in
 * ScaLAPACK. All ranks make the calls that are marked "collective" in the same order with the same arguments, but for
 * arrays and leading dimensions. One that fails on one rank fails on all, with QUADRILLE_FAILED_ELSEWHERE where nothing
 * was wrong. Exceptions, in which the other ranks wait forever: on one rank the communicator or the grid is not valid,
 * or another one; the call comes from a thread that may not use MPI; or memory runs out inside of the library. The host
 * initializes and finalizes MPI, and destroys factors and grids before that. The library must be built with the same
 * MPI, and with ScaLAPACK unless the grid's library is "cuda". */
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
 * message says which leading submatrix is not); QUADRILLE_UNSUPPORTED for a backend that is not there, and sizes beyond
 * what LAPACK or the GPU takes; QUADRILLE_NO_MEMORY, with the number of bytes.
 */

/* The Cholesky factor of B, for all problems with the same B. */
typedef struct quadrille_eigen_factor quadrille_eigen_factor;

/* triangle: 'L' or 'U', of B. B is copied. */
__attribute__((visibility("default"))) quadrille_status quadrille_eigen_factor_create_double(
    char triangle, int64_t n, const double* b, int64_t ldb, quadrille_eigen_factor** factor);
__attribute__((visibility("default"))) quadrille_status quadrille_eigen_factor_create_complex(
    char triangle, int64_t n, const double* b, int64_t ldb, quadrille_eigen_factor** factor);
/* The same in the memory of a backend, "cpu", "cuda" or "auto", for problems that are solved there. */
__attribute__((visibility("default"))) quadrille_status quadrille_eigen_factor_create_double_at(
    const char* backend, char triangle, int64_t n, const double* b, int64_t ldb, quadrille_eigen_factor** factor);
__attribute__((visibility("default"))) quadrille_status quadrille_eigen_factor_create_complex_at(
    const char* backend, char triangle, int64_t n, const double* b, int64_t ldb, quadrille_eigen_factor** factor);
/* For a factor that is null or destroyed nothing happens. Collective for one on a grid. */
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
  int64_t room;   /* for 'V': pairs that the arrays have room for; 0: n */
  int64_t refine; /* steps at most that improve pairs where B is ill-conditioned (modules/eigen/METHODS.md), on the CPU
                     of one process, else QUADRILLE_UNSUPPORTED; 0: none */
  const char* backend; /* "cpu", "cuda" or "auto"; null: that of the factor, or the CPU; not read on a grid */
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
  double refinement_seconds;
  int64_t refinements;          /* steps that were kept */
  double defect_before, defect; /* of the steps: METHODS.md */
} quadrille_eigen_report;

/* A is left as it is. factor: of B, of the same type and size; null: B is the identity. values: room for the
 * eigenvalues, in rising order. vectors: n rows by columns with leading dimension ldv, one column for each value, with
 * X^H B X = 1, the largest component of each real and positive; not read for 'N'. report may be null. On an error
 * values and vectors are as they were. The calls on a GPU run one after the other. */
__attribute__((visibility("default"))) quadrille_status quadrille_eigen_double(
    const quadrille_eigen_options* options, int64_t n, const double* a, int64_t lda,
    const quadrille_eigen_factor* factor, double* values, double* vectors, int64_t ldv, quadrille_eigen_report* report);
__attribute__((visibility("default"))) quadrille_status quadrille_eigen_complex(
    const quadrille_eigen_options* options, int64_t n, const double* a, int64_t lda,
    const quadrille_eigen_factor* factor, double* values, double* vectors, int64_t ldv, quadrille_eigen_report* report);

/* How n x n matrices lie on ranks: in blocks of block x block, which the rows and columns of a grid of ranks take in
 * turns, the first ones at place (0, 0): ScaLAPACK's descriptor with MB = NB = block and RSRC = CSRC = 0. Zero the
 * struct, then set `struct_size` to its size: everything is chosen. */
typedef struct quadrille_eigen_distribution {
  uint32_t struct_size;
  int32_t rows; /* of the grid; ranks beyond rows x columns have no part; 0 and 0: chosen for n */
  int32_t columns;
  char order; /* the places of ranks 0, 1, 2 ...: 'R' row by row, 'C' column by column, as in BLACS; 0: 'R' */
  char padding[3];
  int64_t block; /* 0: chosen, 64 for large matrices */
  /* "elpa", "scalapack"; "auto" or null: ELPA where Quadrille is built with it; "cuda": a GPU for each rank, also of
   * those without a part, to which parts are brought; where memory ends while vectors come back, some may have come */
  const char* library;
} quadrille_eigen_distribution;

/* What a rank has. Set `struct_size` to the size of the struct before the call: no more than that is written. */
typedef struct quadrille_eigen_part {
  uint32_t struct_size;
  int32_t rows; /* of the grid */
  int32_t columns;
  int32_t row; /* this rank's place, from 0; -1: it has none */
  int32_t column;
  int32_t padding;
  int64_t block;
  int64_t local_rows; /* of its part of an n x n matrix */
  int64_t local_columns;
} quadrille_eigen_part;

/* `communicator`: the address of an MPI_Comm, of which the library uses a copy; in Fortran its integer handle.
 * distribution: null for all that is chosen. Factors keep the grid that they are on. Collective. */
typedef struct quadrille_eigen_grid quadrille_eigen_grid;
__attribute__((visibility("default"))) quadrille_status quadrille_eigen_grid_create(
    const void* communicator, int64_t n, const quadrille_eigen_distribution* distribution, quadrille_eigen_grid** grid);
__attribute__((visibility("default"))) quadrille_status quadrille_eigen_grid_create_fortran(
    int communicator, int64_t n, const quadrille_eigen_distribution* distribution, quadrille_eigen_grid** grid);
/* For a grid that is null or destroyed nothing happens. Collective. */
__attribute__((visibility("default"))) void quadrille_eigen_grid_destroy(quadrille_eigen_grid* grid);
__attribute__((visibility("default"))) quadrille_status quadrille_eigen_grid_part(const quadrille_eigen_grid* grid,
                                                                                  quadrille_eigen_part* part);

/* As quadrille_eigen_factor_create_*, of the part of B that this rank has. Collective. */
__attribute__((visibility("default"))) quadrille_status quadrille_eigen_factor_create_double_on(
    const quadrille_eigen_grid* grid, char triangle, const double* b, int64_t ldb, quadrille_eigen_factor** factor);
__attribute__((visibility("default"))) quadrille_status quadrille_eigen_factor_create_complex_on(
    const quadrille_eigen_grid* grid, char triangle, const double* b, int64_t ldb, quadrille_eigen_factor** factor);

/* As quadrille_eigen_double and _complex, of parts of matrices. factor: on the same grid, or null. values: the wanted
 * ones, on every rank. vectors: this rank's part of an n x n matrix in which column j is the vector of eigenvalue
 * number j, counted from 1; columns of other vectors are left as they are. An element that is not finite is named as
 * one of the lower triangle. Of ELPA tridiagonal_seconds has all that finds X from L^-1 A L^-H. Collective. */
__attribute__((visibility("default"))) quadrille_status quadrille_eigen_double_on(
    const quadrille_eigen_grid* grid, const quadrille_eigen_options* options, const double* a, int64_t lda,
    const quadrille_eigen_factor* factor, double* values, double* vectors, int64_t ldv, quadrille_eigen_report* report);
__attribute__((visibility("default"))) quadrille_status quadrille_eigen_complex_on(
    const quadrille_eigen_grid* grid, const quadrille_eigen_options* options, const double* a, int64_t lda,
    const quadrille_eigen_factor* factor, double* values, double* vectors, int64_t ldv, quadrille_eigen_report* report);

/* What the last call of this thread that failed had to say; "" when none did. Valid until the next one fails. */
__attribute__((visibility("default"))) const char* quadrille_eigen_message(void);

#ifdef __cplusplus
}
#endif

#endif
