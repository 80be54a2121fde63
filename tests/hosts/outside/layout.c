/* The layout of what a host compiles in: sizes and offsets of structs, values of enumerators, one a line as in
 * ../abi.txt. */
#include <quadrille.h>

#include <stddef.h>
#include <stdio.h>

#define MEMBER(type, member) \
  printf("%s.%s %zu %zu\n", #type, #member, offsetof(type, member), sizeof(((type*)0)->member))
#define VALUE(name) printf("%s %d\n", #name, (int)name)

int main(void) {
  printf("quadrille_report %zu\n", sizeof(quadrille_report));
  MEMBER(quadrille_report, struct_size);
  MEMBER(quadrille_report, stop_reason);
  MEMBER(quadrille_report, iterations);
  MEMBER(quadrille_report, reliable_updates);
  MEMBER(quadrille_report, restarts);
  MEMBER(quadrille_report, converged);
  MEMBER(quadrille_report, residual);
  MEMBER(quadrille_report, solve_seconds);
  MEMBER(quadrille_report, import_seconds);
  MEMBER(quadrille_report, export_seconds);
  MEMBER(quadrille_report, flops);
  MEMBER(quadrille_report, host_bytes);
  printf("enums %zu %zu %zu %zu\n", sizeof(quadrille_status), sizeof(quadrille_log_level), sizeof(quadrille_product),
         sizeof(quadrille_stop_reason));
  VALUE(QUADRILLE_DONE);
  VALUE(QUADRILLE_FAILED);
  VALUE(QUADRILLE_STOPPED);
  VALUE(QUADRILLE_INVALID_INPUT);
  VALUE(QUADRILLE_FILE_ERROR);
  VALUE(QUADRILLE_UNSUPPORTED);
  VALUE(QUADRILLE_NUMERICAL);
  VALUE(QUADRILLE_INTERNAL);
  VALUE(QUADRILLE_INVALID_HANDLE);
  VALUE(QUADRILLE_NO_MEMORY);
  VALUE(QUADRILLE_NOT_CONVERGED);
  VALUE(QUADRILLE_FAILED_ELSEWHERE);
  VALUE(QUADRILLE_LOG_DEBUG);
  VALUE(QUADRILLE_LOG_INFO);
  VALUE(QUADRILLE_LOG_WARNING);
  VALUE(QUADRILLE_LOG_ERROR);
  VALUE(QUADRILLE_M);
  VALUE(QUADRILLE_M_DAGGER);
  VALUE(QUADRILLE_M_DAGGER_M);
  VALUE(QUADRILLE_HOP);
  VALUE(QUADRILLE_HOP_DAGGER);
  VALUE(QUADRILLE_EVEN_ODD);
  VALUE(QUADRILLE_EVEN_ODD_DAGGER);
  VALUE(QUADRILLE_EVEN_ODD_DAGGER_EVEN_ODD);
  VALUE(QUADRILLE_CONVERGED);
  VALUE(QUADRILLE_MAX_ITERATIONS);
  VALUE(QUADRILLE_BREAKDOWN);
  VALUE(QUADRILLE_DIVERGED);
  VALUE(QUADRILLE_NOT_FINITE);
  VALUE(QUADRILLE_STAGNATED);
  return 0;
}
