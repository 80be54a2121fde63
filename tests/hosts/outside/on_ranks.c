/* on_ranks_c FIELD OPERATOR SOLVER GRID OUT, under mpirun: as solve.c on all ranks. Each writes OUT.RANK: the extents
 * of its part of the lattice and the place of its first site, eight ints, and its part of the twelve solutions. */
#include <mpi.h>
#include <quadrille.h>

#include <stdio.h>
#include <stdlib.h>

static int failed(const char* what) {
  fprintf(stderr, "%s: %s\n", what, quadrille_message(NULL));
  return 1;
}

static int run(char** words, int rank) {
  const MPI_Comm everybody = MPI_COMM_WORLD;
  quadrille_context* context = NULL;
  quadrille_gauge *read = NULL, *gauge = NULL;
  quadrille_operator* op = NULL;
  quadrille_solver* solver = NULL;
  int dims[4], part[8], k;
  char text[4096];
  double *links, *b, *x;
  FILE* out;
  size_t sites;
  const char* backend = getenv("QUADRILLE_TEST_BACKEND");
  snprintf(text, sizeof text, "{backend: %s, threads: 1, grid: %s}", backend == NULL ? "cpu" : backend, words[4]);
  if (quadrille_context_create_mpi(text, &everybody, &context)) return failed("context");
  snprintf(text, sizeof text, "{file: '%s'}", words[1]);
  if (quadrille_gauge_create(context, text, &read)) return failed("gauge");
  if (quadrille_gauge_dims(read, dims)) return failed("dims");
  if (quadrille_gauge_part(read, part, part + 4)) return failed("part");
  sites = (size_t)part[0] * part[1] * part[2] * part[3];
  links = malloc(sites * 72 * sizeof *links);
  b = calloc(sites * 24, sizeof *b);
  x = malloc(sites * 24 * sizeof *x);
  {
    void* to[1];
    const void* from[1];
    to[0] = links;
    from[0] = links;
    if (quadrille_gauge_to_memory(read, "{order: milc}", to, 1)) return failed("to_memory");
    snprintf(text, sizeof text, "{order: milc, dims: [%d, %d, %d, %d], bytes: %lu}", dims[0], dims[1], dims[2], dims[3],
             (unsigned long)(sites * 72 * sizeof *links));
    if (quadrille_gauge_from_memory(context, text, from, 1, &gauge)) return failed("from_memory");
  }
  free(links);
  if (quadrille_gauge_destroy(read)) return failed("destroy");
  if (quadrille_operator_create(gauge, words[2], &op)) return failed("operator");
  if (quadrille_solver_create(op, words[3], &solver)) return failed("solver");
  snprintf(text, sizeof text, "%s.%d", words[5], rank);
  out = fopen(text, "wb");
  if (fwrite(part, sizeof *part, 8, out) != 8) return 3;
  for (k = 0; k < 12; ++k) {
    const void* from[1];
    void* to[1];
    quadrille_report report = QUADRILLE_REPORT_INIT;
    const int source_is_here = part[4] + part[5] + part[6] + part[7] == 0;
    from[0] = b;
    to[0] = x;
    b[2 * k] = source_is_here;
    if (quadrille_solver_solve(solver, "{}", from, to, 1, &report)) return failed("solve");
    b[2 * k] = 0;
    if (rank == 0) printf("%d %.17g\n", (int)report.iterations, report.residual);
    if (fwrite(x, sizeof *x, sites * 24, out) != sites * 24) return 3;
  }
  fclose(out);
  free(b);
  free(x);
  if (quadrille_context_destroy(context)) return failed("destroy");
  return 0;
}

int main(int count, char** words) {
  int rank = 0, status;
  if (count != 6) return 2;
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  status = run(words, rank);
  if (status != 0) MPI_Abort(MPI_COMM_WORLD, status);
  MPI_Finalize();
  return 0;
}
