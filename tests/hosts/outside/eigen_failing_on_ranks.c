/* Mistakes of one of two ranks in eigenproblems on them: each ends the call on both, with a status and a message; says
 * "N calls, M wrong". */
#include <modules/eigen/capi/c_api.h>
#include <mpi.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { n = 4, block = 2 }; /* rank r has the columns 2 r and 2 r + 1 */

static int rank, calls, wrong;

/* What each rank must get: the one with the mistake `status`, the other FAILED_ELSEWHERE; by = -1: both `status`. */
static void expect(const char* what, quadrille_status got, int by, quadrille_status status, const char* message) {
  const int mine = by < 0 || by == rank;
  const quadrille_status wanted = mine ? status : QUADRILLE_FAILED_ELSEWHERE;
  ++calls;
  if (got == wanted && (!mine || status == QUADRILLE_DONE || strstr(quadrille_eigen_message(), message) != NULL))
    return;
  ++wrong;
  fprintf(stderr, "rank %d, %s: status %d instead of %d: %s\n", rank, what, (int)got, (int)wanted,
          quadrille_eigen_message());
}

static quadrille_eigen_distribution distribution(void) {
  quadrille_eigen_distribution of = {0};
  of.struct_size = sizeof of;
  of.rows = 1;
  of.columns = 2;
  of.block = block;
  return of;
}

static void grids(int by) {
  const int mine = by == rank;
  MPI_Comm world = MPI_COMM_WORLD;
  quadrille_eigen_grid* made = NULL;
  quadrille_eigen_distribution of = distribution();
  expect("place", quadrille_eigen_grid_create(&world, n, &of, mine ? NULL : &made), by, QUADRILLE_INVALID_INPUT,
         "grid is a null pointer");
  expect("rows", quadrille_eigen_grid_create(&world, mine ? 0 : n, &of, &made), by, QUADRILLE_INVALID_INPUT, "n = 0");
  expect("other", quadrille_eigen_grid_create(&world, mine ? n + 1 : n, &of, &made), -1, QUADRILLE_INVALID_INPUT,
         "all ranks of a grid must make the same call");
  of.struct_size = mine ? 1000 : sizeof of;
  expect("struct", quadrille_eigen_grid_create(&world, n, &of, &made), by, QUADRILLE_INVALID_INPUT,
         "struct_size = 1000");
  of = distribution();
  of.library = mine ? "lapack" : "auto";
  expect("library", quadrille_eigen_grid_create(&world, n, &of, &made), by, QUADRILLE_INVALID_INPUT,
         "library = \"lapack\": it must be auto, elpa, scalapack or cuda");
  of = distribution();
  of.order = mine ? 'X' : 'R';
  expect("order", quadrille_eigen_grid_create(&world, n, &of, &made), by, QUADRILLE_INVALID_INPUT,
         "order = 'X': it must be 'R' (row by row) or 'C' (column by column)");
  of = distribution();
  of.rows = mine ? 2 : 1;
  expect("many", quadrille_eigen_grid_create(&world, n, &of, &made), by, QUADRILLE_INVALID_INPUT,
         "a grid of 2 x 2 ranks: the communicator has 2");
  of.rows = mine ? 0 : 1;
  expect("half", quadrille_eigen_grid_create(&world, n, &of, &made), by, QUADRILLE_INVALID_INPUT,
         "a grid of 0 x 2 ranks: give both numbers, or 0 for both");
  of = distribution();
  of.block = mine ? -3 : block;
  expect("block", quadrille_eigen_grid_create(&world, n, &of, &made), by, QUADRILLE_INVALID_INPUT, "block = -3");
  if (made != NULL) ++wrong;
}

static void problems(const quadrille_eigen_grid* grid, const quadrille_eigen_factor* b,
                     const quadrille_eigen_factor* complex_b, const quadrille_eigen_factor* alone,
                     const quadrille_eigen_factor* gone, int by) {
  const int mine = by == rank;
  double a[n * block] = {0}, values[n], vectors[n * block], bad[n * block] = {0};
  quadrille_eigen_options all = {0}, some = {0};
  quadrille_eigen_report report = {0};
  quadrille_eigen_factor* made = NULL;
  all.struct_size = sizeof all;
  report.struct_size = sizeof report;
  a[2 * rank] = a[2 * rank + 1 + n] = 3 - rank;
  memcpy(bad, a, sizeof a);
#define SOLVE(options, part, factor, to, of, report) \
  quadrille_eigen_double_on(grid, options, part, n, factor, to, of, n, report)
  expect("right", SOLVE(&all, a, b, values, vectors, &report), -1, QUADRILLE_DONE, "");
  if (report.count != n || fabs(values[0] - 2) > 1e-14 || fabs(values[3] - 3) > 1e-14) ++wrong;
  values[0] = vectors[0] = -7;
  expect("options", SOLVE(mine ? NULL : &all, a, b, values, vectors, NULL), by, QUADRILLE_INVALID_INPUT,
         "options is a null pointer");
  expect("a", SOLVE(&all, mine ? NULL : a, b, values, vectors, NULL), by, QUADRILLE_INVALID_INPUT,
         "a is a null pointer");
  expect("values", SOLVE(&all, a, b, mine ? NULL : values, vectors, NULL), by, QUADRILLE_INVALID_INPUT,
         "values is a null pointer");
  expect("vectors", SOLVE(&all, a, b, values, mine ? NULL : vectors, NULL), by, QUADRILLE_INVALID_INPUT,
         "vectors is a null pointer");
  expect("leading", quadrille_eigen_double_on(grid, &all, a, mine ? 3 : n, b, values, vectors, n, NULL), by,
         QUADRILLE_INVALID_INPUT,
         "the leading dimension of this rank's part of a is 3: it must be at least its rows, 4");
  some = all;
  some.vectors = mine ? 'Q' : 'A';
  expect("letter", SOLVE(&some, a, b, values, vectors, NULL), by, QUADRILLE_INVALID_INPUT, "vectors = 'Q'");
  some = all;
  some.refine = mine ? 1 : 0;
  expect("refine", SOLVE(&some, a, b, values, vectors, NULL), by, QUADRILLE_UNSUPPORTED,
         "pairs on a grid are not refined");
  some.refine = 0;
  some.vectors = 'I';
  some.first = 1;
  some.last = mine ? 9 : 2;
  expect("last", SOLVE(&some, a, b, values, vectors, NULL), by, QUADRILLE_INVALID_INPUT, "the last is 4");
  some.last = mine ? 3 : 2;
  expect("different", SOLVE(&some, a, b, values, vectors, NULL), -1, QUADRILLE_INVALID_INPUT,
         "all ranks of a grid must make the same call");
  expect("factors", SOLVE(&all, a, mine ? NULL : b, values, vectors, NULL), -1, QUADRILLE_INVALID_INPUT,
         "all ranks of a grid must make the same call");
  expect("complex", SOLVE(&all, a, mine ? complex_b : b, values, vectors, NULL), by, QUADRILLE_INVALID_INPUT,
         "A is real, but B is complex");
  expect("alone", SOLVE(&all, a, mine ? alone : b, values, vectors, NULL), by, QUADRILLE_INVALID_INPUT,
         "factor is not of a matrix on this grid");
  expect("gone", SOLVE(&all, a, mine ? gone : b, values, vectors, NULL), by, QUADRILLE_INVALID_HANDLE,
         "the Cholesky factor has been destroyed");
  report.struct_size = mine ? 1 : sizeof report;
  expect("report", SOLVE(&all, a, b, values, vectors, &report), by, QUADRILLE_INVALID_INPUT, "struct_size = 1");
  some = all;
  some.vectors = 'V';
  some.low = 50;
  some.high = 60;
  expect("interval", SOLVE(&some, a, b, values, vectors, NULL), -1, QUADRILLE_INVALID_INPUT,
         "no eigenvalue is in the interval [50, 60]");
  if (mine) bad[2 * rank] = NAN;
  expect("nan", SOLVE(&all, bad, b, values, vectors, NULL), -1, QUADRILLE_NUMERICAL,
         by == 0 ? "element [0, 0] of A is nan" : "element [2, 2] of A is nan");
  if (mine) bad[2 * rank] = -1;
  expect("minor", quadrille_eigen_factor_create_double_on(grid, 'L', bad, n, &made), -1, QUADRILLE_NUMERICAL,
         by == 0 ? "B is not positive definite: its leading 1 x 1" : "B is not positive definite: its leading 3 x 3");
  expect("triangle", quadrille_eigen_factor_create_double_on(grid, mine ? 'X' : 'L', a, n, &made), by,
         QUADRILLE_INVALID_INPUT, "triangle = 'X'");
  expect("triangles", quadrille_eigen_factor_create_double_on(grid, mine ? 'U' : 'L', a, n, &made), -1,
         QUADRILLE_INVALID_INPUT, "all ranks of a grid must make the same call");
  expect("factor", quadrille_eigen_factor_create_double_on(grid, 'L', a, n, mine ? NULL : &made), by,
         QUADRILLE_INVALID_INPUT, "factor is a null pointer");
  if (made != NULL || values[0] != -7 || vectors[0] != -7) ++wrong; /* those that failed left them as they were */
}

int main(int argc, char** argv) {
  MPI_Comm world = MPI_COMM_WORLD;
  quadrille_eigen_grid* grid = NULL;
  quadrille_eigen_factor *b = NULL, *complex_b = NULL, *alone = NULL, *gone = NULL;
  quadrille_eigen_distribution of = distribution();
  quadrille_eigen_part part = {0};
  quadrille_eigen_options all = {0};
  double one[n * block] = {0}, of_complex[2 * n * block] = {0}, whole[n * n] = {0}, values[n], vectors[n * n];
  int by, k;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(world, &rank);
  for (k = 0; k < n; ++k) whole[k * (n + 1)] = 1;
  for (k = 0; k < block; ++k) one[block * rank + k * (n + 1)] = of_complex[2 * (block * rank + k * (n + 1))] = 1;
  expect("grid", quadrille_eigen_grid_create(&world, n, &of, &grid), -1, QUADRILLE_DONE, "");
  expect("b", quadrille_eigen_factor_create_double_on(grid, 'L', one, n, &b), -1, QUADRILLE_DONE, "");
  expect("b", quadrille_eigen_factor_create_complex_on(grid, 'L', of_complex, n, &complex_b), -1, QUADRILLE_DONE, "");
  expect("b", quadrille_eigen_factor_create_double_on(grid, 'L', one, n, &gone), -1, QUADRILLE_DONE, "");
  expect("b", quadrille_eigen_factor_create_double('L', n, whole, n, &alone), -1, QUADRILLE_DONE, "");
  quadrille_eigen_factor_destroy(gone);
  all.struct_size = sizeof all;
  expect("alone", quadrille_eigen_double(&all, n, whole, n, b, values, vectors, n, NULL), -1, QUADRILLE_INVALID_INPUT,
         "factor is of a matrix on a grid of ranks, and A is on this process alone");
  for (by = 0; by < 2; ++by) {
    grids(by);
    problems(grid, b, complex_b, alone, gone, by);
  }
  expect("part", quadrille_eigen_grid_part(grid, &part), -1, QUADRILLE_INVALID_INPUT, "part: struct_size = 0");
  part.struct_size = sizeof part;
  expect("part", quadrille_eigen_grid_part(grid, &part), -1, QUADRILLE_DONE, "");
  if (part.row != 0 || part.column != rank || part.local_rows != n || part.local_columns != block) ++wrong;
  quadrille_eigen_factor_destroy(b);
  quadrille_eigen_factor_destroy(complex_b);
  quadrille_eigen_factor_destroy(alone);
  quadrille_eigen_grid_destroy(grid);
  expect("gone", quadrille_eigen_grid_part(grid, &part), -1, QUADRILLE_INVALID_HANDLE, "has been destroyed");
  quadrille_eigen_grid_destroy(grid);
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, world);
  if (rank == 0) printf("%d calls, %d wrong\n", calls, wrong);
  MPI_Finalize();
  return 0;
}
