/* blocks_on_ranks_c H S SIZES METHOD ELECTRONS EPS CYCLE OUT, under mpirun: the density matrix of H and S in ELSI's
 * CSC. Each rank has some of their columns: CYCLE of them in turn, or for 0 a part that follows on that of the rank
 * before. Rank 0 writes P to OUT as the library does, and says tr(P H), mu and tr(P S), whether P is converged, tr(S^1/2),
 * and how far S^-1/2 is from that. */
#include <modules/block_dft/capi/c_api.h>
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>

enum { head_length = 16 };

typedef struct {
  int64_t head[head_length], count;
  int64_t* starts;
  int32_t *columns, *rows;
  double* values;
} part;

static int rank, ranks;

static void failed(const char* what) {
  fprintf(stderr, "%s: %s\n", what, quadrille_block_message());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void* room(size_t bytes) {
  void* made = malloc(bytes + 1);
  if (made == NULL) failed("memory");
  return made;
}

static void get(FILE* file, int64_t at, void* to, size_t bytes) {
  if (fseek(file, (long)at, SEEK_SET) != 0 || (bytes != 0 && fread(to, bytes, 1, file) != 1)) failed("read");
}

/* Which columns this rank has, from 1. */
static void choose(part* mine, int64_t n, int64_t cycle) {
  int64_t column;
  mine->count = 0;
  mine->columns = room((size_t)n * sizeof *mine->columns);
  for (column = 0; column < n; ++column) {
    const int64_t of = cycle == 0 ? column * ranks / n : column / cycle % ranks;
    if (of == rank) mine->columns[mine->count++] = (int32_t)(column + 1);
  }
}

static part read_part(const char* path, int64_t cycle) {
  part mine;
  FILE* file = fopen(path, "rb");
  int64_t n, k, *all;
  if (file == NULL) failed(path);
  get(file, 0, mine.head, sizeof mine.head);
  n = mine.head[3];
  choose(&mine, n, cycle);
  all = room((size_t)(n + 1) * sizeof *all);
  get(file, 128, all, (size_t)n * sizeof *all);
  all[n] = mine.head[5] + 1;
  mine.starts = room((size_t)(mine.count + 1) * sizeof *mine.starts);
  mine.starts[0] = 1;
  for (k = 0; k < mine.count; ++k) {
    mine.starts[k + 1] = mine.starts[k] + all[mine.columns[k]] - all[mine.columns[k] - 1];
  }
  mine.rows = room((size_t)mine.starts[mine.count] * sizeof *mine.rows);
  mine.values = room((size_t)mine.starts[mine.count] * sizeof *mine.values);
  for (k = 0; k < mine.count; ++k) {
    const int64_t from = all[mine.columns[k] - 1] - 1, to = mine.starts[k] - 1;
    const size_t elements = (size_t)(mine.starts[k + 1] - mine.starts[k]);
    get(file, 128 + 8 * n + 4 * from, mine.rows + to, 4 * elements);
    get(file, 128 + 8 * n + 4 * mine.head[5] + 8 * from, mine.values + to, 8 * elements);
  }
  fclose(file);
  free(all);
  return mine;
}

static void release(part* mine) {
  free(mine->columns);
  free(mine->starts);
  free(mine->rows);
  free(mine->values);
}

/* Rank after rank, each writes its own columns where they belong; starts of all are known to all. */
static void write_part(const char* path, const part* mine, int64_t electrons) {
  const int64_t n = mine->head[3];
  int64_t *counts = room((size_t)(n + 1) * sizeof *counts), k, head[head_length] = {170915, -910910, 0};
  int turn;
  for (k = 0; k <= n; ++k) counts[k] = 0;
  for (k = 0; k < mine->count; ++k) counts[mine->columns[k]] = mine->starts[k + 1] - mine->starts[k];
  MPI_Allreduce(MPI_IN_PLACE, counts, (int)(n + 1), MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  counts[0] = 1;
  for (k = 0; k < n; ++k) counts[k + 1] += counts[k];
  head[3] = n;
  head[4] = electrons;
  head[5] = counts[n] - 1;
  for (turn = 0; turn < ranks; ++turn) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (turn == rank) {
      FILE* file = fopen(path, turn == 0 ? "wb" : "r+b");
      if (file == NULL) failed(path);
      fwrite(head, sizeof head, 1, file);
      fwrite(counts, sizeof *counts, (size_t)n, file);
      for (k = 0; k < mine->count; ++k) {
        const int64_t to = counts[mine->columns[k] - 1] - 1, from = mine->starts[k] - 1;
        const size_t elements = (size_t)(mine->starts[k + 1] - mine->starts[k]);
        fseek(file, (long)(128 + 8 * n + 4 * to), SEEK_SET);
        fwrite(mine->rows + from, 4, elements, file);
        fseek(file, (long)(128 + 8 * n + 4 * head[5] + 8 * to), SEEK_SET);
        fwrite(mine->values + from, 8, elements, file);
      }
      if (fclose(file) != 0) failed(path);
    }
  }
  free(counts);
}

/* tr(A B), of the blocks that are here and then of all ranks. */
static double trace_of_product(const quadrille_block_grid* grid, const quadrille_block_matrix* a,
                               const quadrille_block_matrix* b, int32_t blocks, const int32_t* sizes) {
  quadrille_block_matrix* c;
  double sum = 0;
  int32_t i, owner;
  if (quadrille_block_matrix_create_on(grid, blocks, sizes, blocks, sizes, QUADRILLE_BLOCK_GENERAL, &c))
    failed("create");
  if (quadrille_block_multiply('N', 'N', 1, a, b, 0, c, 0, 0, NULL)) failed("multiply");
  for (i = 0; i < blocks; ++i) {
    int32_t k;
    double* block = room((size_t)sizes[i] * (size_t)sizes[i] * sizeof *block);
    if (quadrille_block_matrix_owner(c, i, i, &owner)) failed("owner");
    if (owner == rank) {
      if (quadrille_block_matrix_get(c, i, i, block, NULL)) failed("get");
      for (k = 0; k < sizes[i]; ++k) sum += block[k * sizes[i] + k];
    }
    free(block);
  }
  quadrille_block_matrix_destroy(c);
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return sum;
}

static quadrille_block_matrix* matrix_of(const quadrille_block_grid* grid, int32_t blocks, const int32_t* sizes,
                                         const part* mine, int successive) {
  quadrille_block_matrix* made;
  if (quadrille_block_matrix_from_columns(grid, blocks, sizes, 1, mine->count, successive ? NULL : mine->columns,
                                          mine->starts, mine->rows, mine->values, &made)) {
    failed("from_columns");
  }
  return made;
}

/* tr(S^-1/2 S), and |S^-1/2 S S^-1/2 - 1| / |1|. */
static double trace_of_root(const quadrille_block_grid* grid, const quadrille_block_matrix* s, int32_t blocks,
                            const int32_t* sizes, double* residual) {
  quadrille_block_matrix* f;
  double trace;
  if (quadrille_block_function(s, "inverse_square_root", 1e-10, 0, 100, &f, NULL)) failed("function");
  if (quadrille_block_function_check(f, s, "inverse_square_root", 1e-12, residual, NULL)) failed("check");
  trace = trace_of_product(grid, f, s, blocks, sizes);
  quadrille_block_matrix_destroy(f);
  return trace;
}

static void run(char** words) {
  const MPI_Comm everybody = MPI_COMM_WORLD;
  const int64_t cycle = atol(words[7]);
  const double electrons = atof(words[5]);
  int32_t blocks = 0, *sizes, converged = 0;
  double energy = 0, mu = 0, within, root, residual;
  quadrille_block_grid* grid;
  quadrille_block_matrix *h, *s, *p;
  part of_h = read_part(words[1], cycle), of_s = read_part(words[2], cycle);
  FILE* file = fopen(words[3], "r");
  sizes = room((size_t)of_h.head[3] * sizeof *sizes);
  while (file != NULL && fscanf(file, "%d", &sizes[blocks]) == 1) ++blocks;
  fclose(file);
  if (quadrille_block_grid_create(&everybody, 0, 0, &grid)) failed("grid");
  h = matrix_of(grid, blocks, sizes, &of_h, cycle == 0);
  s = matrix_of(grid, blocks, sizes, &of_s, cycle == 0);
  if (quadrille_block_density(h, s, words[4], electrons, &mu, atof(words[6]), &p, &energy, &converged))
    failed("density");
  within = trace_of_product(grid, p, s, blocks, sizes);
  root = trace_of_root(grid, s, blocks, sizes, &residual);
  free(of_h.rows);
  free(of_h.values);
  if (quadrille_block_matrix_to_columns(p, 1, of_h.count, of_h.columns, of_h.starts, 0, NULL, NULL)) failed("count");
  of_h.rows = room((size_t)of_h.starts[of_h.count] * sizeof *of_h.rows);
  of_h.values = room((size_t)of_h.starts[of_h.count] * sizeof *of_h.values);
  if (quadrille_block_matrix_to_columns(p, 1, of_h.count, of_h.columns, of_h.starts, of_h.starts[of_h.count] - 1,
                                        of_h.rows, of_h.values)) {
    failed("to_columns");
  }
  write_part(words[8], &of_h, (int64_t)(electrons + 0.5));
  if (rank == 0) printf("%.17g %.17g %.17g %d %.17g %.17g\n", energy, mu, within, (int)converged, root, residual);
  quadrille_block_matrix_destroy(h);
  quadrille_block_matrix_destroy(s);
  quadrille_block_grid_destroy(grid); /* P keeps what it needs */
  quadrille_block_matrix_destroy(p);
  release(&of_h);
  release(&of_s);
  free(sizes);
}

int main(int count, char** words) {
  if (count != 9) return 2;
  MPI_Init(&count, &words);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  run(words);
  MPI_Finalize();
  return 0;
}
