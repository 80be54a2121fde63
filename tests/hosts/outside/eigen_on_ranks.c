/* eigen_on_ranks_c LIBRARY N ROWS COLUMNS BLOCK ORDER SEED, under mpirun: random problems on a grid of ranks and on
 * each rank alone; ROWS, COLUMNS and BLOCK may be 0. Says how many problems there were, and the largest differences of
 * eigenvalues and of vectors. */
#include <modules/eigen/capi/c_api.h>
#include <mpi.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank;
static double of_values, of_vectors;

static void check(const char* what, quadrille_status status) {
  if (status == QUADRILLE_DONE) return;
  fprintf(stderr, "rank %d, %s: %d: %s\n", rank, what, (int)status, quadrille_eigen_message());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static double* room(int64_t numbers) {
  double* made = malloc((size_t)(numbers + 1) * sizeof *made);
  int64_t k;
  if (made == NULL) MPI_Abort(MPI_COMM_WORLD, 2);
  for (k = 0; k <= numbers; ++k) made[k] = NAN;
  return made;
}

/* In [-1, 1). */
static double draw(uint64_t* state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return (double)(*state >> 11) * 0x1p-52 - 1;
}

/* One triangle of a Hermitian matrix whose diagonal is raised; nothing in the other one. `parts`: 2 for a complex one.
 */
static double* matrix(int64_t n, int parts, char triangle, double raised, uint64_t* state) {
  double* a = room(n * n * parts);
  int64_t i, j;
  int part;
  for (j = 0; j < n; ++j) {
    for (i = j; i < n; ++i) {
      const int64_t at = triangle == 'L' ? i + j * n : j + i * n;
      for (part = 0; part < parts; ++part) a[at * parts + part] = draw(state);
      if (i == j) a[at * parts] += raised;
      if (i == j && parts == 2) a[at * parts + 1] = 0;
    }
  }
  return a;
}

/* The row or column of the matrix that is a part's. */
static int64_t whole(int64_t local, int64_t block, int place, int places) {
  return (local / block * places + place) * block + local % block;
}

/* This rank's part of it, with leading dimension ld. */
static double* part_of(const quadrille_eigen_part* mine, int64_t n, int parts, const double* a, int64_t ld) {
  double* part = room(ld * mine->local_columns * parts);
  int64_t i, j;
  for (j = 0; j < mine->local_columns; ++j) {
    for (i = 0; i < mine->local_rows; ++i) {
      const int64_t row = whole(i, mine->block, mine->row, mine->rows),
                    column = whole(j, mine->block, mine->column, mine->columns);
      memcpy(part + (i + j * ld) * parts, a + (row + column * n) * parts, (size_t)parts * sizeof *a);
    }
  }
  return part;
}

typedef struct {
  const quadrille_eigen_grid* grid;
  quadrille_eigen_part mine;
  int64_t n, ld;
  int parts;
  double *a, *part_of_a;
  quadrille_eigen_factor *factor, *factor_on_grid;
} problem;

/* Solves it both ways for these options and compares. */
static void compare(const problem* p, const quadrille_eigen_options* options) {
  const int64_t n = p->n, ld = p->ld;
  double *values = room(n), *vectors = room(n * n * p->parts), *values_there = room(n),
         *vectors_there = room(ld * p->mine.local_columns * p->parts);
  quadrille_eigen_report report = {0}, there = {0};
  int64_t i, j, k;
  report.struct_size = there.struct_size = sizeof report;
  if (p->parts == 2) {
    check("alone", quadrille_eigen_complex(options, n, p->a, n, p->factor, values, vectors, n, &report));
    check("on ranks", quadrille_eigen_complex_on(p->grid, options, p->part_of_a, ld, p->factor_on_grid, values_there,
                                                 vectors_there, ld, &there));
  } else {
    check("alone", quadrille_eigen_double(options, n, p->a, n, p->factor, values, vectors, n, &report));
    check("on ranks", quadrille_eigen_double_on(p->grid, options, p->part_of_a, ld, p->factor_on_grid, values_there,
                                                vectors_there, ld, &there));
  }
  if (there.first != report.first || there.count != report.count) of_values = INFINITY;
  for (k = 0; k < report.count; ++k) of_values = fmax(of_values, fabs(values_there[k] - values[k]));
  for (j = 0; options->vectors != 'N' && j < p->mine.local_columns; ++j) {
    const int64_t column = whole(j, p->mine.block, p->mine.column, p->mine.columns) - (report.first - 1);
    const int wanted = column >= 0 && column < report.count;
    for (i = 0; i < p->mine.local_rows * p->parts; ++i) {
      const int64_t row = whole(i / p->parts, p->mine.block, p->mine.row, p->mine.rows);
      const double found = vectors_there[j * ld * p->parts + i];
      if (!wanted && !isnan(found)) of_vectors = INFINITY;
      if (!wanted) continue;
      of_vectors = fmax(of_vectors, fabs(found - vectors[(row + column * n) * p->parts + i % p->parts]));
      if (isnan(found)) of_vectors = INFINITY;
    }
  }
  free(values);
  free(vectors);
  free(values_there);
  free(vectors_there);
}

/* Of a matrix with this triangle and, if generalized, a metric with that one. */
static int problems(const quadrille_eigen_grid* grid, int64_t n, int parts, char triangle, char of_metric,
                    uint64_t* state) {
  problem p = {0};
  quadrille_eigen_options options = {0};
  const char* which;
  int count = 0;
  p.grid = grid;
  p.n = n;
  p.parts = parts;
  p.mine.struct_size = sizeof p.mine;
  check("part", quadrille_eigen_grid_part(grid, &p.mine));
  p.ld = p.mine.local_rows + 3;
  p.a = matrix(n, parts, triangle, 0, state);
  p.part_of_a = part_of(&p.mine, n, parts, p.a, p.ld);
  if (of_metric != 0) {
    double *b = matrix(n, parts, of_metric, 2.0 * (double)n, state), *part_of_b = part_of(&p.mine, n, parts, b, p.ld);
    if (parts == 2) {
      check("factor", quadrille_eigen_factor_create_complex(of_metric, n, b, n, &p.factor));
      check("factor", quadrille_eigen_factor_create_complex_on(grid, of_metric, part_of_b, p.ld, &p.factor_on_grid));
    } else {
      check("factor", quadrille_eigen_factor_create_double(of_metric, n, b, n, &p.factor));
      check("factor", quadrille_eigen_factor_create_double_on(grid, of_metric, part_of_b, p.ld, &p.factor_on_grid));
    }
    free(b);
    free(part_of_b);
  }
  options.struct_size = sizeof options;
  options.triangle = triangle;
  options.first = 3;
  options.last = n / 2;
  options.low = -1;
  options.high = 1e6;
  for (which = "ANIV"; *which != 0; ++which) {
    options.vectors = *which;
    compare(&p, &options);
    ++count;
  }
  quadrille_eigen_factor_destroy(p.factor);
  quadrille_eigen_factor_destroy(p.factor_on_grid);
  free(p.a);
  free(p.part_of_a);
  return count;
}

int main(int argc, char** argv) {
  quadrille_eigen_distribution distribution = {0};
  quadrille_eigen_grid* grid = NULL;
  MPI_Comm world = MPI_COMM_WORLD;
  int64_t n;
  uint64_t state;
  int parts, count = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(world, &rank);
  if (argc != 8) MPI_Abort(world, 3);
  n = atoll(argv[2]);
  distribution.struct_size = sizeof distribution;
  distribution.library = argv[1];
  distribution.rows = atoi(argv[3]);
  distribution.columns = atoi(argv[4]);
  distribution.block = atoll(argv[5]);
  distribution.order = argv[6][0];
  state = strtoull(argv[7], NULL, 10);
  check("grid", quadrille_eigen_grid_create(&world, n, &distribution, &grid));
  for (parts = 1; parts <= 2; ++parts) {
    count += problems(grid, n, parts, 'L', 0, &state);
    count += problems(grid, n, parts, 'U', 'L', &state);
    count += problems(grid, n, parts, 'L', 'U', &state);
  }
  quadrille_eigen_grid_destroy(grid);
  MPI_Allreduce(MPI_IN_PLACE, &of_values, 1, MPI_DOUBLE, MPI_MAX, world);
  MPI_Allreduce(MPI_IN_PLACE, &of_vectors, 1, MPI_DOUBLE, MPI_MAX, world);
  if (rank == 0) printf("%d problems, values %.3g, vectors %.3g\n", count, of_values, of_vectors);
  MPI_Finalize();
  return 0;
}
