/* Mistakes of one of two ranks in the calls of block-sparse matrices: each ends the call on both, with a status and a
 * message; says "N calls, M wrong". */
#include <modules/block_dft/capi/c_api.h>
#include <mpi.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

static int rank, calls, wrong;

/* What each rank must get: the one with the mistake `status`, the other FAILED_ELSEWHERE; by = -1: both `status`. */
static void expect(const char* what, quadrille_status got, int by, quadrille_status status, const char* message) {
  const int mine = by < 0 || by == rank;
  const quadrille_status wanted = mine ? status : QUADRILLE_FAILED_ELSEWHERE;
  ++calls;
  if (got == wanted && (!mine || status == QUADRILLE_DONE || strstr(quadrille_block_message(), message) != NULL))
    return;
  ++wrong;
  fprintf(stderr, "rank %d, %s: status %d instead of %d: %s\n", rank, what, (int)got, (int)wanted,
          quadrille_block_message());
}

/* Rank r has column r of a 2 x 2 matrix. */
static quadrille_status columns(const quadrille_block_grid* grid, int32_t base, int32_t column, int32_t row,
                                double value, quadrille_block_matrix** made) {
  const int32_t sizes[] = {1, 1};
  const int64_t starts[] = {base, base + 1};
  return quadrille_block_matrix_from_columns(grid, 2, sizes, base, 1, &column, starts, &row, &value, made);
}

/* Matrices whose blocks, storage or grid are not the same on both ranks, or do not fit the others of the call. */
static void other_matrices(const quadrille_block_grid* grid, quadrille_block_matrix* h) {
  const int32_t sizes[] = {1, 1}, larger[] = {2, 1};
  quadrille_block_matrix *of_others, *general, *alone, *p = NULL, *wrong_one[3];
  const char* const same = "the same calls in the same order, with the same arguments";
  const int32_t me = rank;
  int64_t starts[3];
  double mu = 0;
  int by, which;
  quadrille_block_matrix_create_on(grid, 2, larger, 2, larger, QUADRILLE_BLOCK_SYMMETRIC, &of_others);
  quadrille_block_matrix_create_on(grid, 2, sizes, 2, sizes, QUADRILLE_BLOCK_GENERAL, &general);
  quadrille_block_matrix_create(2, sizes, 2, sizes, QUADRILLE_BLOCK_SYMMETRIC, &alone);
  wrong_one[0] = of_others;
  wrong_one[1] = general;
  wrong_one[2] = alone;
  for (by = 0; by < 2; ++by) {
    for (which = 0; which < 3; ++which) {
      quadrille_block_matrix* const x = by == rank ? wrong_one[which] : h;
      expect("A", quadrille_block_multiply('N', 'N', 1, x, h, 0, h, 0, 0, NULL), -1, QUADRILLE_INVALID_INPUT, same);
      expect("B", quadrille_block_multiply('N', 'T', 1, h, x, 0, h, 0, 0, NULL), -1, QUADRILLE_INVALID_INPUT, same);
      expect("C", quadrille_block_multiply('N', 'N', 1, h, h, 1, x, 0, 0, NULL), -1, QUADRILLE_INVALID_INPUT, same);
      expect("H", quadrille_block_density(x, h, "sign", 0, &mu, 1e-6, &p, NULL, NULL), -1, QUADRILLE_INVALID_INPUT,
             same);
      expect("S", quadrille_block_density(h, x, "sign", 0, &mu, 1e-6, &p, NULL, NULL), -1, QUADRILLE_INVALID_INPUT,
             same);
    }
    expect("columns", quadrille_block_matrix_to_columns(by == rank ? of_others : h, 0, 1, &me, starts, 0, NULL, NULL),
           -1, QUADRILLE_INVALID_INPUT, same);
  }
  expect("A", quadrille_block_multiply('N', 'N', 1, of_others, h, 0, h, 0, 0, NULL), -1, QUADRILLE_INVALID_INPUT,
         "columns of op(A) and rows of op(B) must be divided into the same blocks: block 0 has size 2 and 1");
  expect("C", quadrille_block_multiply('N', 'N', 1, h, h, 0, of_others, 0, 0, NULL), -1, QUADRILLE_INVALID_INPUT,
         "rows of op(A) and rows of C must be divided into the same blocks: block 0 has size 1 and 2");
  expect("S", quadrille_block_density(h, of_others, "sign", 0, &mu, 1e-6, &p, NULL, NULL), -1, QUADRILLE_INVALID_INPUT,
         "H and S must be divided into the same blocks: block 0 has size 1 and 2");
  expect("H", quadrille_block_density(general, h, "sign", 0, &mu, 1e-6, &p, NULL, NULL), -1, QUADRILLE_INVALID_INPUT,
         "H must be stored as a symmetric matrix");
  expect("alone", quadrille_block_density(h, alone, "sign", 0, &mu, 1e-6, &p, NULL, NULL), -1, QUADRILLE_INVALID_INPUT,
         "H and S must be on the same grid of ranks: they are on a grid of 1 x 2 ranks and on one rank");
  quadrille_block_matrix_destroy(of_others);
  quadrille_block_matrix_destroy(general);
  quadrille_block_matrix_destroy(alone);
}

static void mistakes(const quadrille_block_grid* grid) {
  const int32_t sizes[] = {1, 1}, other[] = {2, 1};
  quadrille_block_matrix *h = NULL, *s = NULL, *p = NULL, *none = NULL, *gone = NULL;
  const int32_t me = rank;
  int64_t starts[3];
  int32_t rows[4], owner = -1;
  double values[4], mu = 0, energy = 0, block = 1;
  int by;
  expect("H", columns(grid, 0, me, me, me == 0 ? -1 : 1, &h), -1, QUADRILLE_DONE, "");
  expect("S", columns(grid, 1, me + 1, me + 1, 1, &s), -1, QUADRILLE_DONE, "");
  quadrille_block_matrix_create_on(grid, 2, sizes, 2, sizes, QUADRILLE_BLOCK_SYMMETRIC, &gone);
  quadrille_block_matrix_destroy(gone);
  for (by = 0; by < 2; ++by) {
    const int mine = by == rank;
    expect("row", columns(grid, 0, me, mine ? 2 : me, 1, &none), by, QUADRILLE_INVALID_INPUT,
           "is in row 2: with base 0 rows are 0 to 1");
    expect("nan", columns(grid, 0, me, me, mine ? NAN : 1, &none), by, QUADRILLE_NUMERICAL, "it must be finite");
    expect("base", columns(grid, mine ? 5 : 0, me, me, 1, &none), by, QUADRILLE_INVALID_INPUT, "base = 5");
    expect("column", columns(grid, 0, mine ? 7 : me, me, 1, &none), by, QUADRILLE_INVALID_INPUT,
           "columns[0] = 7: with base 0 columns are 0 to 1");
    expect("place", columns(grid, 0, me, me, 1, mine ? NULL : &none), by, QUADRILLE_INVALID_INPUT, "matrix is a null");
    if (!mine) quadrille_block_matrix_destroy(none);
    none = NULL;
    expect("sizes", quadrille_block_matrix_create_on(grid, 2, mine ? other : sizes, 2, sizes, 0, &none), -1,
           QUADRILLE_INVALID_INPUT, "the same calls in the same order");
    expect("product", quadrille_block_multiply('N', mine ? 'X' : 'N', 1, h, s, 0, h, 0, 0, NULL), by,
           QUADRILLE_INVALID_INPUT, "");
    expect("method", quadrille_block_density(h, s, mine ? "luck" : "trs4", 1, &mu, 1e-6, &p, &energy, NULL), by,
           QUADRILLE_INVALID_INPUT, "unknown method 'luck'");
    expect("methods", quadrille_block_density(h, s, mine ? "sign" : "trs4", 1, &mu, 1e-6, &p, &energy, NULL), -1,
           QUADRILLE_INVALID_INPUT, "the same calls in the same order");
    expect("null", quadrille_block_density(mine ? NULL : h, s, "trs4", 1, &mu, 1e-6, &p, &energy, NULL), by,
           QUADRILLE_INVALID_HANDLE, "the block matrix h is null");
    expect("gone", quadrille_block_density(h, mine ? gone : s, "trs4", 1, &mu, 1e-6, &p, &energy, NULL), by,
           QUADRILLE_INVALID_HANDLE, "the block matrix s has been destroyed");
    expect("gone", quadrille_block_multiply('N', 'N', 1, h, s, 0, mine ? gone : h, 0, 0, NULL), by,
           QUADRILLE_INVALID_HANDLE, "the block matrix c has been destroyed");
    expect("identity", quadrille_block_density(h, mine ? NULL : s, "trs4", 1, &mu, 1e-6, &p, &energy, NULL), -1,
           QUADRILLE_INVALID_INPUT, "the same calls in the same order");
  }
  expect("twice", columns(grid, 0, 0, 0, 1, &none), -1, QUADRILLE_INVALID_INPUT, "column 0 is given twice");
  expect("skew", columns(grid, 0, me, 1, 1, &none), -1, QUADRILLE_INVALID_INPUT, "the matrix must be symmetric");
  other_matrices(grid, h);
  expect("electrons", quadrille_block_density(h, s, "sign", 7, &mu, 1e-6, &p, &energy, NULL), -1,
         QUADRILLE_INVALID_INPUT, "7 electrons");
  expect("indefinite", quadrille_block_density(s, h, "sign", 1, &mu, 1e-6, &p, &energy, NULL), -1, QUADRILLE_NUMERICAL,
         "S is not positive definite");
  expect("owner", quadrille_block_matrix_owner(h, 0, 1, &owner), -1, QUADRILLE_DONE, "");
  if (owner != rank) {
    ++calls;
    if (quadrille_block_matrix_put(h, 0, 1, &block, 0) != QUADRILLE_INVALID_INPUT) ++wrong;
  }
  expect("density", quadrille_block_density(h, s, "trs4", 1, &mu, 1e-6, &p, &energy, NULL), -1, QUADRILLE_DONE, "");
  if (fabs(energy + 1) > 1e-9) ++wrong;
  expect("capacity", quadrille_block_matrix_to_columns(p, 0, 1, &me, starts, rank == 0 ? 0 : 4, rows, values), 0,
         QUADRILLE_INVALID_INPUT, "capacity = 0: it must be at least 1, the number of elements");
  expect("columns", quadrille_block_matrix_to_columns(p, 0, 1, &me, starts, 4, rows, values), -1, QUADRILLE_DONE, "");
  if (rank == 0 && (starts[1] != 1 || rows[0] != 0 || fabs(values[0] - 1) > 1e-9)) ++wrong;
  if (rank == 1 && starts[1] > 0 && fabs(values[0]) > 1e-9) ++wrong;
  expect("no arrays", quadrille_block_matrix_to_columns(p, 0, 1, &me, starts, 4, rank == 0 ? NULL : rows, values), 0,
         QUADRILLE_INVALID_INPUT, "rows is a null");
  /* A rank without elements needs none. */
  expect("nothing",
         quadrille_block_matrix_to_columns(p, 0, rank == 0, &me, starts, 4, rank == 0 ? rows : NULL,
                                           rank == 0 ? values : NULL),
         -1, QUADRILLE_DONE, "");
  quadrille_block_matrix_destroy(h);
  quadrille_block_matrix_destroy(s);
  quadrille_block_matrix_destroy(p);
}

int main(int count, char** words) {
  const MPI_Comm everybody = MPI_COMM_WORLD;
  quadrille_block_grid *grid = NULL, *none = NULL;
  MPI_Init(&count, &words);
  MPI_Comm_rank(everybody, &rank);
  expect("grid", quadrille_block_grid_create(&everybody, 3, 1, &none), -1, QUADRILLE_INVALID_INPUT,
         "a grid of 3 x 1 has 3 ranks, but there are 2");
  expect("grid", quadrille_block_grid_create(&everybody, rank + 1, 1, &none), -1, QUADRILLE_INVALID_INPUT,
         "the same calls in the same order");
  expect("handle", quadrille_block_grid_create(&everybody, 0, 0, rank == 0 ? NULL : &none), 0, QUADRILLE_INVALID_INPUT,
         "grid is a null");
  expect("grid", quadrille_block_grid_create(&everybody, 0, 0, &grid), -1, QUADRILLE_DONE, "");
  mistakes(grid);
  quadrille_block_grid_destroy(grid);
  MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, everybody);
  if (rank == 0) printf("%d calls, %d wrong\n", calls, wrong);
  MPI_Finalize();
  return 0;
}
