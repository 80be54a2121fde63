/* Block-sparse matrices of the module block_dft for C and for languages that can call C. Numbers are doubles; blocks
 * are stored row by row. Every call returns a status and throws no exception.
 *
 * Ranks. Matrices on a grid (quadrille_block_grid_create) are shared by the ranks of an MPI communicator, each of which
 * has some of the blocks. All ranks make the calls that are marked "collective" in the same order with the same
 * arguments, but for arrays of blocks and columns. One that fails on one rank fails on all, with
 * QUADRILLE_FAILED_ELSEWHERE where nothing was wrong; so do calls that differ, also in the blocks or the grids of their
 * matrices. Exceptions, in which the other ranks wait forever: on one rank all handles of the call are not valid, or of
 * matrices of other communicators, or of this process alone; the call comes from a thread that may not use MPI; or
 * memory runs out in the middle of the work. The host initializes and finalizes MPI, and destroys matrices and grids
 * before that. The library must be built with the same MPI. */
#ifndef QUADRILLE_MODULES_BLOCK_DFT_C_API_H
#define QUADRILLE_MODULES_BLOCK_DFT_C_API_H

#include "modules/shared/plugin/handles.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Statuses (modules/shared/plugin/handles.h): QUADRILLE_NUMERICAL for what is not finite or not positive definite, or
 * has no gap; QUADRILLE_INVALID_HANDLE for a matrix or grid that is null, destroyed or another handle. */

enum quadrille_block_symmetry {
  QUADRILLE_BLOCK_GENERAL = 0,
  QUADRILLE_BLOCK_SYMMETRIC = 1,
  QUADRILLE_BLOCK_ANTISYMMETRIC = 2
};

typedef struct quadrille_block_matrix quadrille_block_matrix;

#define QUADRILLE_BLOCK_CALL __attribute__((visibility("default"))) quadrille_status

/* The ranks of a communicator as a grid of rows x columns; 0 x 0: the one that is nearest to a square. `communicator`:
 * the address of an MPI_Comm, of which the library uses a copy; in Fortran its integer handle. Matrices keep what they
 * need of a grid that is destroyed. Collective. */
typedef struct quadrille_block_grid quadrille_block_grid;
QUADRILLE_BLOCK_CALL quadrille_block_grid_create(const void* communicator, int32_t rows, int32_t columns,
                                                 quadrille_block_grid** grid);
QUADRILLE_BLOCK_CALL quadrille_block_grid_create_fortran(int communicator, int32_t rows, int32_t columns,
                                                         quadrille_block_grid** grid);
/* Destroying a handle that is null or destroyed does nothing. */
__attribute__((visibility("default"))) void quadrille_block_grid_destroy(quadrille_block_grid* grid);

/* Creates a matrix of zeros, without blocks. The sizes are copied. */
QUADRILLE_BLOCK_CALL quadrille_block_matrix_create(int32_t block_rows, const int32_t* row_sizes, int32_t block_columns,
                                                   const int32_t* column_sizes, int32_t symmetry,
                                                   quadrille_block_matrix** matrix);
/* The same on a grid; null: on this process alone. Collective. */
QUADRILLE_BLOCK_CALL quadrille_block_matrix_create_on(const quadrille_block_grid* grid, int32_t block_rows,
                                                      const int32_t* row_sizes, int32_t block_columns,
                                                      const int32_t* column_sizes, int32_t symmetry,
                                                      quadrille_block_matrix** matrix);
__attribute__((visibility("default"))) void quadrille_block_matrix_destroy(quadrille_block_matrix* matrix);

/* The rank that stores a block. On a grid only this rank may reserve and put it; get and export find it only there.
 */
QUADRILLE_BLOCK_CALL quadrille_block_matrix_owner(const quadrille_block_matrix* matrix, int32_t row, int32_t column,
                                                  int32_t* rank);

/* A symmetric matrix of the columns that each rank has, in compressed form, as in ELSI's CSC. Column k of the
 * `count` columns of this rank has the elements starts[k] to starts[k + 1] of `rows` and `values`, in any order;
 * columns, rows and elements count from `base`, 0 or 1, the same on all ranks. `columns` says which they are in the
 * whole matrix; null: successive ones, rank after rank. All ranks together give each column once. Elements that differ
 * from those of the transpose by more than 1e-8 of the largest are QUADRILLE_INVALID_INPUT, smaller differences are
 * averaged. Collective.
 */
QUADRILLE_BLOCK_CALL quadrille_block_matrix_from_columns(const quadrille_block_grid* grid, int32_t blocks,
                                                         const int32_t* sizes, int32_t base, int64_t count,
                                                         const int32_t* columns, const int64_t* starts,
                                                         const int32_t* rows, const double* values,
                                                         quadrille_block_matrix** matrix);
/* Columns of a symmetric matrix in the same form, by rows, without zeros: writes starts[0 .. count], and, if `rows` and
 * `values` are not null, the elements; the arrays have room for `capacity` of them. A column goes to one rank, or to
 * none. Collective; all ranks that have elements give `rows` and `values`, or no rank does. */
QUADRILLE_BLOCK_CALL quadrille_block_matrix_to_columns(const quadrille_block_matrix* matrix, int32_t base,
                                                       int64_t count, const int32_t* columns, int64_t* starts,
                                                       int64_t capacity, int32_t* rows, double* values);

/* Adds zero blocks at places [count][row, column] that have none yet: call it once for many blocks, before put. */
QUADRILLE_BLOCK_CALL quadrille_block_matrix_reserve(quadrille_block_matrix* matrix, int64_t count,
                                                    const int32_t* places);
/* Replaces a block, or adds to it; in a matrix with a symmetry its mirror image changes with it. Elements that are not
 * finite are QUADRILLE_NUMERICAL. */
QUADRILLE_BLOCK_CALL quadrille_block_matrix_put(quadrille_block_matrix* matrix, int32_t row, int32_t column,
                                                const double* block, int32_t add);
/* Copies a block into `block`, or zeros if it is not stored; `found` (may be null) says whether it is. */
QUADRILLE_BLOCK_CALL quadrille_block_matrix_get(const quadrille_block_matrix* matrix, int32_t row, int32_t column,
                                                double* block, int32_t* found);
/* The counts of blocks and numbers that are stored here, and the places and numbers of the blocks, row by row; if the
 * arrays are null, only the counts are set. */
QUADRILLE_BLOCK_CALL quadrille_block_matrix_export(const quadrille_block_matrix* matrix, int64_t* blocks,
                                                   int64_t* numbers, int32_t* places, double* data);

/* Report of a product: modules/block_dft/product/multiply.h explains its members. */
typedef struct quadrille_block_report {
  uint32_t struct_size; /* set by the caller: the size of the struct */
  uint32_t padding;
  int64_t products, skipped, filtered_blocks;
  double flops, bound, seconds;
} quadrille_block_report;

/* C = alpha op(A) op(B) + beta C. trans: 'N' or 'T'. Products and blocks of C with norms below eps are left out;
 * `report` may be null. C may be A or B. Collective. */
QUADRILLE_BLOCK_CALL quadrille_block_multiply(char trans_a, char trans_b, double alpha, const quadrille_block_matrix* a,
                                              const quadrille_block_matrix* b, double beta, quadrille_block_matrix* c,
                                              double eps, int32_t retain_sparsity, quadrille_block_report* report);

/* Creates the density matrix P of symmetric H and S; null for S: the identity. method: "sign", "trs4", "canonical" or
 * "dense". If `electrons` (tr(P S), a whole number, half of all electrons of a closed shell) is above 0, it is used,
 * and `mu`, which may then be null, is set to the value found, or to not-a-number by trs4 and canonical, which need
 * none; otherwise `mu` is used. `energy` (tr(P H)) and `converged` may be null. With two statuses other than
 * QUADRILLE_DONE everything is written, and the message says what is wrong: QUADRILLE_NOT_CONVERGED;
 * QUADRILLE_INACCURATE if tr(P S) or |P S P S - P S| / |P S| (with products filtered by eps) are further off than eps
 * explains, or levels at the frontier are the same (dense). Collective. */
QUADRILLE_BLOCK_CALL quadrille_block_density(const quadrille_block_matrix* h, const quadrille_block_matrix* s,
                                             const char* method, double electrons, double* mu, double eps,
                                             quadrille_block_matrix** p, double* energy, int32_t* converged);

/* How far P is from a density matrix: electrons tr(P S), idempotency |P S P S - P S| / |P S|, commutation
 * |S P H - H P S| / |S P H|, with products filtered by eps; each may be null. Null for S: the identity. Collective. */
QUADRILLE_BLOCK_CALL quadrille_block_density_check(const quadrille_block_matrix* p, const quadrille_block_matrix* h,
                                                   const quadrille_block_matrix* s, double eps, double* electrons,
                                                   double* idempotency, double* commutation);

/* Report of a function of a matrix: FunctionReport of modules/block_dft/functions/matrix_functions.h. */
typedef struct quadrille_block_function_report {
  uint32_t struct_size; /* set by the caller: the size of the struct */
  int32_t iterations;
  double residual;   /* of the last test, relative */
  double occupation; /* the largest of an iterate */
  double condition;  /* about the condition number of A; of the exponential 0 */
  double flops, bound;
} quadrille_block_function_report;

/* Creates F = f(A) of a square A. function: "inverse" or "exponential", of any A; "sign", "square_root" or
 * "inverse_square_root" (positive definite A), of one with symmetric storage. F is symmetric where A is. Products are
 * filtered with eps, above 0. `order`, 2 to 5: the power of the residual that a step of sign and roots leaves; 0: 2 for
 * sign, the fastest for roots, and for the other functions. `max_iterations`: above 0; the exponential, a series, does
 * not count. `report` may be null. QUADRILLE_NUMERICAL: A is singular, not positive definite or too ill-conditioned, or
 * e^A is too large. With two statuses F and the report are written: QUADRILLE_NOT_CONVERGED, a sign after
 * max_iterations, as of an A with an eigenvalue at 0; QUADRILLE_INACCURATE, a sign of one with an eigenvalue nearer to
 * 0 than eps times the largest. Collective. */
QUADRILLE_BLOCK_CALL quadrille_block_function(const quadrille_block_matrix* a, const char* function, double eps,
                                              int32_t order, int32_t max_iterations, quadrille_block_matrix** f,
                                              quadrille_block_function_report* report);

/* How far F is from f(A), with products filtered by eps, Frobenius norms: `residual` is |A F - I| / |I| of the inverse,
 * |F e^-A - I| |I| / (|F| |e^-A|) of the exponential, |F F - I| / |I| of sign, |F F - A| / |A| of the square root, |F A
 * F - I| / |I| of the inverse square root; `commutation`, which may be null, |F A - A F| / |F A| of sign, otherwise
 * not-a-number. Collective. */
QUADRILLE_BLOCK_CALL quadrille_block_function_check(const quadrille_block_matrix* f, const quadrille_block_matrix* a,
                                                    const char* function, double eps, double* residual,
                                                    double* commutation);

/* The message of the last failed call of this thread, "" if none has failed. Valid until the next call fails. */
__attribute__((visibility("default"))) const char* quadrille_block_message(void);

#ifdef __cplusplus
}
#endif

#endif
