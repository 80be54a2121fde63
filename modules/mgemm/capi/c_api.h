/* The matrix products of the module mgemm for C, and for what calls C. Every call returns a status; no exception
 * leaves. Matrices are as in BLAS: C = alpha op(A) op(B) + beta C with op(A) m x k, op(B) k x n. */
#ifndef QUADRILLE_MODULES_MGEMM_C_API_H
#define QUADRILLE_MODULES_MGEMM_C_API_H

#include "modules/shared/plugin/handles.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Statuses (modules/shared/plugin/handles.h): QUADRILLE_INVALID_INPUT for a null pointer, a negative size, a leading
 * dimension that is too small, an unknown letter; QUADRILLE_NUMERICAL for a NaN or an infinity in alpha, beta, A, B, or
 * in C when beta
 * != 0. */

/* What mgemm did. `reason` is cut to the length of the array. Set `struct_size` to the size of the struct before the
 * call: no more than that is written. */
typedef struct quadrille_mgemm_report {
  uint32_t struct_size;
  int32_t split;    /* 1: large elements in double, small ones in single; 0: everything in double */
  int32_t analysed; /* 1: the fractions are known */
  int32_t padding;
  double delta;   /* the cutoff */
  int64_t depth;  /* longest sum in single precision */
  double large_a; /* fractions of large elements */
  double large_b;
  double bound;          /* no element of op(A) op(B) has a larger absolute error */
  double probable_bound; /* nor a larger one than this, with probability 1 - 1e-6 in the usual model of rounding */
  double measured;       /* what a sample of the product showed, where the target was to be kept so; else 0 */
  double expected_speedup;
  int64_t panel_bytes; /* taken by panels */
  char reason[256];
} quadrille_mgemm_report;

/* order: 'C' (matrices stored by columns) or 'R' (by rows). trans_a, trans_b: 'N', 'T' or 'C'. memory_cap: bytes that
 * panels may take, 0 for no limit. backend: "cpu", "cuda" or "auto", null for the CPU; on "cuda" panels pass through
 * the memory of the GPU, and the cap is of that. beta = 0 does not read C. On an error C is as it was. */
__attribute__((visibility("default"))) quadrille_status quadrille_cleaver_double(
    const char* backend, char order, char trans_a, char trans_b, int64_t m, int64_t n, int64_t k, double alpha,
    const double* a, int64_t lda, const double* b, int64_t ldb, double beta, double* c, int64_t ldc,
    int64_t memory_cap);
__attribute__((visibility("default"))) quadrille_status quadrille_cleaver_single(
    const char* backend, char order, char trans_a, char trans_b, int64_t m, int64_t n, int64_t k, float alpha,
    const float* a, int64_t lda, const float* b, int64_t ldb, float beta, float* c, int64_t ldc, int64_t memory_cap);

/* What mgemm may be told. Zero the struct, then set `struct_size` to its size. */
typedef struct quadrille_mgemm_options {
  uint32_t struct_size;
  int32_t on_device;    /* 1: A, B and C are in the memory of the GPU, and the result is there when the call returns */
  const char* backend;  /* "cpu", "cuda" or "auto"; null: the CPU, or the GPU where on_device is 1 */
  const char* form;     /* of the small product, as in the job's parameter `form`; null: automatic */
  int64_t memory_cap;   /* bytes of panels, on a GPU of its own memory; 0: no limit */
  int64_t depth;        /* longest sum in single precision; 0: chosen */
  double delta;         /* the cutoff; counts where target_error is 0 */
  double target_error;  /* above 0: the cutoff is chosen such that no absolute error is larger */
  int32_t always_split; /* 1: also where no gain is expected */
  int32_t measured;     /* how the target is kept: 0 by a bound of all errors, 1 as a sample of the
                           product shows (CPU only), 2 by the bound of independent errors */
} quadrille_mgemm_options;

/* Elements with |a| > delta are multiplied in double, the others in less; `report` may be null. */
__attribute__((visibility("default"))) quadrille_status quadrille_mgemm(const quadrille_mgemm_options* options,
                                                                        char order, char trans_a, char trans_b,
                                                                        int64_t m, int64_t n, int64_t k, double alpha,
                                                                        const double* a, int64_t lda, const double* b,
                                                                        int64_t ldb, double beta, double* c,
                                                                        int64_t ldc, quadrille_mgemm_report* report);

/* What the last call of this thread that failed had to say; "" when none did. Valid until the next one fails. */
__attribute__((visibility("default"))) const char* quadrille_mgemm_message(void);

#ifdef __cplusplus
}
#endif

#endif
