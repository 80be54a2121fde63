/* RI-MP2 correlation energies of the module ri_mp2 for C and for languages that can call C, from arrays in memory.
 * Every call returns a status and throws no exception. */
#ifndef QUADRILLE_MODULES_RI_MP2_C_API_H
#define QUADRILLE_MODULES_RI_MP2_C_API_H

#include "modules/shared/plugin/handles.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Statuses (modules/shared/plugin/handles.h): QUADRILLE_INVALID_INPUT for a null pointer, a size below 1, a gap e_a -
 * e_i that is not positive; QUADRILLE_NUMERICAL for numbers that are not finite and for a (P|Q) that is not positive
 * definite; QUADRILLE_NO_MEMORY. */

/* Zero the struct, then set `struct_size` to its size. */
typedef struct quadrille_ri_mp2_options {
  uint32_t struct_size;
  int32_t always_split;  /* 1: mgemm splits products even where it expects no gain */
  const char* backend;   /* "cpu", "cuda" or "auto"; null: the CPU */
  const char* precision; /* of the products: "double", "single" or "mgemm"; null: double */
  const char* assurance; /* how mgemm keeps target_error: "certain" or "measured"; null: measured */
  int64_t memory;        /* bytes for a batch of integrals; 0: 1 GiB */
  double delta;          /* of mgemm: larger elements are multiplied in double; counts where target_error is 0 */
  double target_error;   /* of mgemm, above 0: delta is chosen so that the energy changes by less than this, Hartree */
  /* Bytes for B and the integrals, of a GPU's memory or of the host's: where it is less than they take, blocks of B
   * pass through, on the CPU from a file without a name in the folder `scratch`. 0: what is free. */
  int64_t memory_cap;
  const char* scratch; /* a folder, or a file in it; null: the current folder, where memory_cap is not 0 */
} quadrille_ri_mp2_options;

/* Set `struct_size` to the size of the struct before the call: no more than that is written. Energies in Hartree. */
typedef struct quadrille_ri_mp2_energy {
  uint32_t struct_size;
  int32_t padding;
  double correlation; /* opposite_spin + same_spin */
  double opposite_spin;
  double same_spin;
  /* What the precision of the products is not expected to change the energy by more than: 0 in double, known of mgemm
   * with a target_error, otherwise not-a-number. */
  double error;
  double seconds;
  int64_t batch;    /* occupied orbitals of a batch of integrals */
  char form[64];    /* how (ia|jb) were made: "double", "single", "mgemm ..." */
  int64_t streamed; /* bytes that passed to and from the disk or the GPU where B did not fit; 0: it did */
} quadrille_ri_mp2_energy;

/* The closed-shell MP2 correlation energy in the resolution of the identity. ia_p: (ia|P),
 * [occupied][virtual][auxiliary]; p_q: (P|Q), [auxiliary][auxiliary], or null where ia_p holds B_ia^P = sum_Q (ia|Q)
 * (Q|P)^-1/2; orbital energies of the orbitals to be correlated, in Hartree. The arrays are copied, ia_p on a CPU with
 * a memory_cap in parts. `options` may be null. */
__attribute__((visibility("default"))) quadrille_status quadrille_ri_mp2(int64_t occupied, int64_t virtuals,
                                                                         int64_t auxiliary, const double* ia_p,
                                                                         const double* p_q, const double* eps_occupied,
                                                                         const double* eps_virtual,
                                                                         const quadrille_ri_mp2_options* options,
                                                                         quadrille_ri_mp2_energy* energy);

/* The message of the last failed call of this thread, "" if none has failed. Valid until the next call fails. */
__attribute__((visibility("default"))) const char* quadrille_ri_mp2_message(void);

#ifdef __cplusplus
}
#endif

#endif
