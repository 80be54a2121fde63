/* The RI-MP2 correlation energy of arrays in a file: three sizes as int64_t, then (ia|P), (P|Q) and the orbital
 * energies as doubles. Prints the energy, its two parts and the error that is expected of the precision. */
#include <modules/ri_mp2/capi/c_api.h>
#include <stdio.h>
#include <stdlib.h>

static double* numbers(FILE* file, int64_t count) {
  double* out = malloc((size_t)count * sizeof *out);
  if (out == NULL || fread(out, sizeof *out, (size_t)count, file) != (size_t)count) exit(2);
  return out;
}

int main(int argc, char** argv) {
  FILE* const file = argc > 2 ? fopen(argv[1], "rb") : NULL;
  int64_t sizes[3];
  double *ia_p, *p_q, *occupied, *virtuals;
  quadrille_ri_mp2_options options = {0};
  quadrille_ri_mp2_energy energy = {0};
  if (file == NULL || fread(sizes, sizeof *sizes, 3, file) != 3) return 2;
  ia_p = numbers(file, sizes[0] * sizes[1] * sizes[2]);
  p_q = numbers(file, sizes[2] * sizes[2]);
  occupied = numbers(file, sizes[0]);
  virtuals = numbers(file, sizes[1]);
  fclose(file);
  options.struct_size = sizeof options;
  options.precision = argv[2];
  options.target_error = 1e-6;
  energy.struct_size = sizeof energy;
  if (quadrille_ri_mp2(sizes[0], sizes[1], sizes[2], ia_p, p_q, occupied, virtuals, &options, &energy) !=
      QUADRILLE_DONE) {
    return fprintf(stderr, "%s\n", quadrille_ri_mp2_message()), 1;
  }
  printf("%.17g %.17g %.17g %.3g\n", energy.correlation, energy.opposite_spin, energy.same_spin, energy.error);
  free(ia_p);
  free(p_q);
  free(occupied);
  free(virtuals);
  return 0;
}
