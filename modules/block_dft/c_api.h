/* Block-sparse matrices of the module block_dft for C, and for what calls C. Numbers are doubles; blocks are stored row
 * by row. Every call returns a status; no exception leaves. */
#ifndef QUADRILLE_MODULES_BLOCK_DFT_C_API_H
#define QUADRILLE_MODULES_BLOCK_DFT_C_API_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum quadrille_block_status {
  QUADRILLE_BLOCK_OK = 0,
  QUADRILLE_BLOCK_INVALID_ARGUMENT = 1,
  QUADRILLE_BLOCK_NUMERICAL = 2, /* not finite, not positive definite, no gap */
  QUADRILLE_BLOCK_OUT_OF_MEMORY = 3,
  QUADRILLE_BLOCK_UNSUPPORTED = 4, /* not possible on this machine or in this build */
  QUADRILLE_BLOCK_INTERNAL = 5
};

enum quadrille_block_symmetry {
  QUADRILLE_BLOCK_GENERAL = 0,
  QUADRILLE_BLOCK_SYMMETRIC = 1,
  QUADRILLE_BLOCK_ANTISYMMETRIC = 2
};

typedef struct quadrille_block_matrix quadrille_block_matrix;

#define QUADRILLE_BLOCK_CALL __attribute__((visibility("default"))) int

/* A matrix of zeros, without blocks. Sizes are copied. */
QUADRILLE_BLOCK_CALL quadrille_block_matrix_create(int32_t block_rows, const int32_t* row_sizes, int32_t block_columns,
                                                   const int32_t* column_sizes, int32_t symmetry,
                                                   quadrille_block_matrix** matrix);
__attribute__((visibility("default"))) void quadrille_block_matrix_destroy(quadrille_block_matrix* matrix);

/* Zero blocks at places [count][row, column], where there are none yet: once for many, before put. */
QUADRILLE_BLOCK_CALL quadrille_block_matrix_reserve(quadrille_block_matrix* matrix, int64_t count,
                                                    const int32_t* places);
/* Replaces a block, or adds to it; with a symmetry the mirror image goes with it. */
QUADRILLE_BLOCK_CALL quadrille_block_matrix_put(quadrille_block_matrix* matrix, int32_t row, int32_t column,
                                                const double* block, int32_t add);
/* Fills `block`, with zeros where there is none; `found`, which may be null, says whether there is one. */
QUADRILLE_BLOCK_CALL quadrille_block_matrix_get(const quadrille_block_matrix* matrix, int32_t row, int32_t column,
                                                double* block, int32_t* found);
/* How many blocks are stored, and their places and numbers one after the other by rows; arrays may be null, and then
 * only the counts are set. */
QUADRILLE_BLOCK_CALL quadrille_block_matrix_export(const quadrille_block_matrix* matrix, int64_t* blocks,
                                                   int64_t* numbers, int32_t* places, double* data);

/* What a product did: modules/block_dft/multiply.h. */
typedef struct quadrille_block_report {
  uint32_t struct_size; /* set by the caller: the size of the struct */
  uint32_t padding;
  int64_t products, skipped, filtered_blocks;
  double flops, bound, seconds;
} quadrille_block_report;

/* C = alpha op(A) op(B) + beta C. trans: 'N' or 'T'. Products and blocks of C with norms below eps are left out;
 * `report` may be null. C may be A or B. */
QUADRILLE_BLOCK_CALL quadrille_block_multiply(char trans_a, char trans_b, double alpha, const quadrille_block_matrix* a,
                                              const quadrille_block_matrix* b, double beta, quadrille_block_matrix* c,
                                              double eps, int32_t retain_sparsity, quadrille_block_report* report);

/* P, which is made, of symmetric H and S. method: "sign", "trs4" or "dense". `electrons` (tr(P S)) counts where it is
 * above 0, and `mu`, which gets the value that was found, otherwise. `energy` (tr(P H)) and `converged` may be null. */
QUADRILLE_BLOCK_CALL quadrille_block_density(const quadrille_block_matrix* h, const quadrille_block_matrix* s,
                                             const char* method, double electrons, double* mu, double eps,
                                             quadrille_block_matrix** p, double* energy, int32_t* converged);

/* What the last call of this thread that failed had to say; "" when none did. Valid until the next one fails. */
__attribute__((visibility("default"))) const char* quadrille_block_message(void);

#ifdef __cplusplus
}
#endif

#endif
