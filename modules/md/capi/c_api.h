/* Pair forces of the module md for C and for languages that can call C: a handle keeps the parameters of a system and
 * the state of its sums; a call computes forces from positions. Every call returns a status and throws no exception. */
#ifndef QUADRILLE_MODULES_MD_C_API_H
#define QUADRILLE_MODULES_MD_C_API_H

#include "modules/shared/plugin/handles.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Statuses (modules/shared/plugin/handles.h): QUADRILLE_INVALID_HANDLE for forces that are null or destroyed,
 * QUADRILLE_NUMERICAL for particles at the same place, positions that are not finite, sums beyond their range. */

/* Zero the struct, then set `struct_size` to its size. */
typedef struct quadrille_md_options {
  uint32_t struct_size;
  int32_t on_device;       /* 1: positions and forces are in the memory of the backend */
  const char* backend;     /* "cpu", "cuda" or "auto"; null: the CPU */
  const char* method;      /* "A" to "G" or "int64"; null: F */
  const char* coulomb;     /* "none", "plain" or "reaction_field"; null: none */
  double coulomb_constant; /* 0: 1 */
  double cutoff;           /* 0: none, in open space */
  double dielectric;       /* of the reaction field; 0: 78.3 */
  int32_t afterwards;      /* 1: excluded pairs are subtracted after all pairs have been summed */
  int64_t exclusion_count;
  const int32_t* exclusions; /* [exclusion][2]; particles count from 0 */
  /* Above 0: forces from neighbour lists of all pairs within cutoff + skin, which are kept from call to call until a
   * particle has moved by half the skin; with a cutoff only. 0: all pairs in every call. */
  double skin;
  const char* truncation; /* with a skin: "cut", "shifted_potential" or "shifted_force"; null: cut */
} quadrille_md_options;

typedef struct quadrille_md_forces quadrille_md_forces;

/* c12 and c6: [types][types], symmetric, for u = c12 / r^12 - c6 / r^6; charges may be null. All arrays are copied. */
__attribute__((visibility("default"))) quadrille_status quadrille_md_forces_create(
    int64_t particles, const int32_t* types, const double* charges, int32_t type_count, const double* c12,
    const double* c6, const quadrille_md_options* options, quadrille_md_forces** handle);

/* positions and forces: [particle][x, y, z]; box: three edges, used only with a cutoff (without one it may be null).
 * energy and virial (nine numbers, the sum of f_a d_b over pairs) may be null; then they are not computed. */
__attribute__((visibility("default"))) quadrille_status quadrille_md_forces_compute(quadrille_md_forces* handle,
                                                                                    const double* positions,
                                                                                    const double* box, double* forces,
                                                                                    double* energy, double* virial);

__attribute__((visibility("default"))) void quadrille_md_forces_destroy(quadrille_md_forces* handle);

/* The message of the last failed call of this thread, "" if none has failed. Valid until the next call fails. */
__attribute__((visibility("default"))) const char* quadrille_md_message(void);

#ifdef __cplusplus
}
#endif

#endif
