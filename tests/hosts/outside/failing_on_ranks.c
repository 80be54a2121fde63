/* failing_on_ranks, under mpirun -n 2: mistakes of one rank, and of all. Each call must end on both ranks, with the
 * code of the mistake where it was made and QUADRILLE_FAILED_ELSEWHERE on the other, and a message on each. Prints the
 * number of calls. */
#include <mpi.h>
#include <quadrille.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of LeakSanitizer, in builds with it: asked before the end of MPI, whose own leaks have no names when it has unloaded
 * its parts; those of its beginning are not looked at. */
extern int __lsan_do_recoverable_leak_check(void) __attribute__((weak));
extern void __lsan_disable(void) __attribute__((weak));
extern void __lsan_enable(void) __attribute__((weak));

static int calls = 0, wrong = 0, rank = 0;

/* The message of another mistake: what a call says must be its own. */
static void mark(void) {
  quadrille_context* none = NULL;
  (void)quadrille_context_create("{mark: 1}", &none);
}

static void expect(quadrille_status wanted, quadrille_status got, const char* line, int number) {
  const char* message = quadrille_message(NULL);
  ++calls;
  if (got == wanted && (got == QUADRILLE_DONE || (strlen(message) > 0 && strstr(message, "'mark'") == NULL))) return;
  ++wrong;
  printf("rank %d, line %d: %s gives %d, not %d: %s\n", rank, number, line, (int)got, (int)wanted, message);
}
#define EXPECT(status, call) (mark(), expect(status, call, #call, __LINE__))
/* The mistake is rank 1's: `call` is what it does wrong, and what both say afterwards is right again. */
#define ON_ONE(status, call) \
  (mark(), expect(rank == 1 ? status : QUADRILLE_FAILED_ELSEWHERE, call, #call, __LINE__))

enum { V = 4 * 4 * 4 * 4 }; /* of each rank */

static const char* const job =
    "{operator: {type: wilson, mass: 1, boundary: [periodic, periodic, periodic, antiperiodic]}, solver: {type: cg}, "
    "run: [{task: propagator, source: {type: point, site: [0, 0, 0, 0]}}]}";
static int stop_at_second_on_one(void* user, size_t solve, size_t solves, int iteration, double residual) {
  (void)user, (void)solves, (void)iteration, (void)residual;
  return rank == 1 && solve == 1;
}

static int iterations = 0, called = 0;
static int stop_on_one(void* user, size_t solve, size_t solves, int iteration, double residual) {
  (void)user, (void)solve, (void)solves, (void)residual;
  iterations = iteration;
  return rank == 1 && iteration >= 3;
}

static int stop_at_the_end_on_one(void* user, size_t solve, size_t solves, int iteration, double residual) {
  (void)user, (void)solve, (void)solves, (void)iteration;
  ++called;
  return rank == 1 && residual <= 1e-9;
}

static int count_only(void* user, size_t solve, size_t solves, int iteration, double residual) {
  (void)user, (void)solve, (void)solves, (void)iteration, (void)residual;
  ++called;
  return 0;
}

int main(int count, char** words) {
  const MPI_Comm everybody = MPI_COMM_WORLD, nobody = MPI_COMM_NULL;
  quadrille_context *context = NULL, *other = NULL;
  quadrille_gauge *gauge = NULL, *fresh_gauge = NULL;
  quadrille_operator *op = NULL, *fresh_op = NULL;
  quadrille_solver *solver = NULL, *fresh_solver = NULL;
  const char *wilson = "{type: wilson, mass: 1, boundary: [periodic, periodic, periodic, antiperiodic]}", *text = NULL;
  double* b = calloc(V * 24, sizeof *b);
  double* x = calloc(V * 24, sizeof *x);
  double* links = calloc(V * 72, sizeof *links);
  const void *from[1], *from_links[1];
  void *to[1], *to_links[1], *no_to[1] = {NULL};
  double plaquettes[7];
  int dims[4], origin[4];
  from[0] = b;
  to[0] = x;
  from_links[0] = links;
  to_links[0] = links;

  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_context_create_mpi("{}", &everybody, &context)); /* MPI has not begun */
  if (__lsan_disable) __lsan_disable();
  MPI_Init(&count, &words);
  if (__lsan_enable) __lsan_enable();
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);

  /* contexts */
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_context_create_mpi("{}", NULL, &other));
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_context_create_mpi("{}", &nobody, &other));
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_context_create_mpi_fortran("{}", -7, &other));
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_context_create_mpi("{grid: [1, 1, 1, 3]}", &everybody, &other));
  EXPECT(QUADRILLE_INVALID_INPUT,
         quadrille_context_create_mpi("{grid: [1, 1, 1, 2], place: [0, 0, 0, 1]}", &everybody, &other));
  ON_ONE(QUADRILLE_INVALID_INPUT,
         quadrille_context_create_mpi(rank == 1 ? "{place: [0, 0, 0, 1]}" : "{}", &everybody, &other)); /* no grid */
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_context_create("{grid: [1, 1, 1, 2]}", &other));
  ON_ONE(QUADRILLE_INVALID_INPUT, quadrille_context_create_mpi(rank == 1 ? "{threads: 0}" : "{}", &everybody, &other));
  ON_ONE(
      QUADRILLE_INVALID_INPUT,
      quadrille_context_create_mpi(rank == 1 ? "{grid: [1, 1, 1, 2], place: [0, 0, 0, 2]}" : "{}", &everybody, &other));
  EXPECT(QUADRILLE_INVALID_INPUT,
         quadrille_context_create_mpi(rank == 1 ? "{grid: [1, 1, 2, 1]}" : "{grid: [1, 1, 1, 2]}", &everybody, &other));
  EXPECT(QUADRILLE_INVALID_INPUT,
         quadrille_context_create_mpi(rank == 1 ? "{grid: [1, 1, 1, 2]}" : "{grid: [1, 1, 1, 2], place: [0, 0, 0, 1]}",
                                      &everybody, &other));
  EXPECT(QUADRILLE_DONE, quadrille_context_create_mpi_fortran("{threads: 1, grid: [1, 1, 1, 2]}",
                                                              (int)MPI_Comm_c2f(MPI_COMM_WORLD), &context));

  /* gauge fields */
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_gauge_create(context, "{start: hot, dims: [4, 4, 4, 6]}", &gauge));
  ON_ONE(QUADRILLE_INVALID_INPUT,
         quadrille_gauge_create(context, rank == 1 ? "{start: luke}" : "{start: hot, dims: [4, 4, 4, 8]}", &gauge));
  ON_ONE(QUADRILLE_FILE_ERROR,
         quadrille_gauge_create(context, rank == 1 ? "{file: /nowhere}" : "{start: hot, dims: [4, 4, 4, 8]}", &gauge));
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_gauge_create(context,
                                                         rank == 1 ? "{start: hot, dims: [4, 4, 4, 8], seed: 3}"
                                                                   : "{start: hot, dims: [4, 4, 4, 8], seed: 4}",
                                                         &gauge));
  EXPECT(QUADRILLE_DONE, quadrille_gauge_create(context, "{start: hot, dims: [4, 4, 4, 8]}", &gauge));
  EXPECT(QUADRILLE_DONE, quadrille_gauge_part(gauge, dims, origin));
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_gauge_part(gauge, NULL, origin));
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_gauge_part(gauge, dims, NULL));
  if (dims[3] != 4 || origin[3] != 4 * rank) ++wrong;
  ON_ONE(QUADRILLE_INVALID_INPUT, quadrille_gauge_to_memory(gauge, "{}", rank == 1 ? no_to : to_links, 1));
  EXPECT(QUADRILLE_DONE, quadrille_gauge_to_memory(gauge, "{bytes: 147456}", to_links, 1));
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_gauge_to_memory(gauge, "{bytes: 294912}", to_links, 1));
  ON_ONE(QUADRILLE_INVALID_INPUT,
         quadrille_gauge_from_memory(context, "{dims: [4, 4, 4, 8]}", rank == 1 ? NULL : from_links, 1, &fresh_gauge));
  EXPECT(QUADRILLE_INVALID_INPUT,
         quadrille_gauge_from_memory(context, "{dims: [4, 4, 4, 8], order: openqcd}", from_links, 1, &fresh_gauge));
  ON_ONE(QUADRILLE_INVALID_INPUT, quadrille_gauge_plaquettes(gauge, rank == 1 ? NULL : plaquettes));
  ON_ONE(QUADRILLE_INVALID_INPUT, quadrille_gauge_json(gauge, rank == 1 ? NULL : &text));
  EXPECT(QUADRILLE_INVALID_INPUT,
         rank == 1 ? quadrille_gauge_plaquettes(gauge, plaquettes) : quadrille_gauge_json(gauge, &text));
  if (rank == 1) links[99] = 7; /* not in SU(3) on one rank: both see the same links */
  EXPECT(QUADRILLE_NUMERICAL,
         quadrille_gauge_from_memory(context, "{dims: [4, 4, 4, 8]}", from_links, 1, &fresh_gauge));
  EXPECT(QUADRILLE_NUMERICAL, quadrille_gauge_update(gauge, "{}", from_links, 1));
  EXPECT(QUADRILLE_DONE, quadrille_gauge_create(context, "{start: hot, dims: [4, 4, 4, 8]}", &fresh_gauge));
  EXPECT(QUADRILLE_DONE, quadrille_gauge_to_memory(fresh_gauge, "{}", to_links, 1));
  EXPECT(QUADRILLE_DONE, quadrille_gauge_update(gauge, "{}", from_links, 1));
  if (quadrille_gauge_save(gauge, "{file: /nowhere/a.lime}") == QUADRILLE_DONE) ++wrong;

  /* operators and solvers */
  ON_ONE(QUADRILLE_INVALID_INPUT, quadrille_operator_create(gauge, rank == 1 ? "{type: none}" : wilson, &fresh_op));
  EXPECT(QUADRILLE_DONE, quadrille_operator_create(gauge, wilson, &op));
  ON_ONE(QUADRILLE_INVALID_INPUT, quadrille_solver_create(op, rank == 1 ? "{type: sor}" : "{type: cg}", &fresh_solver));
  EXPECT(QUADRILLE_DONE, quadrille_solver_create(op, "{type: cg, tolerance: 1e-9}", &solver));
  ON_ONE(QUADRILLE_INVALID_INPUT, quadrille_operator_create(gauge, wilson, rank == 1 ? NULL : &fresh_op));
  ON_ONE(QUADRILLE_INVALID_INPUT, quadrille_solver_create(op, "{type: cg}", rank == 1 ? NULL : &fresh_solver));
  ON_ONE(QUADRILLE_INVALID_INPUT,
         quadrille_gauge_create(context, "{start: hot, dims: [4, 4, 4, 8]}", rank == 1 ? NULL : &fresh_gauge));
  ON_ONE(QUADRILLE_INVALID_INPUT, quadrille_operator_apply(op, QUADRILLE_M, "{}", from, rank == 1 ? no_to : to, 1));
  EXPECT(QUADRILLE_INVALID_INPUT,
         quadrille_operator_apply(op, rank == 1 ? QUADRILLE_M : QUADRILLE_M_DAGGER, "{}", from, to, 1));
  ON_ONE(QUADRILLE_INVALID_INPUT, quadrille_solver_solve(solver, "{}", from, rank == 1 ? no_to : to, 1, NULL));
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_solver_solve(solver, "{}", from, to, rank == 1 ? 1 : 0, NULL));
  if (rank == 1) b[7] = NAN;
  EXPECT(QUADRILLE_NUMERICAL, quadrille_solver_solve(solver, "{}", from, to, 1, NULL));
  b[7] = 1;
  EXPECT(QUADRILLE_DONE, quadrille_context_set_progress(context, stop_on_one, NULL));
  EXPECT(QUADRILLE_STOPPED, quadrille_solver_solve(solver, "{}", from, to, 1, NULL));
  if (iterations < 3 || iterations > 4) ++wrong;
  /* a stop in the last iteration, where one solve ends, counts too, and the next solve begins anew */
  EXPECT(QUADRILLE_DONE, quadrille_context_set_progress(context, stop_at_the_end_on_one, NULL));
  EXPECT(QUADRILLE_STOPPED, quadrille_solver_solve(solver, "{}", from, to, 1, NULL));
  /* nothing of it is left: the job that follows is done */
  called = 0;
  EXPECT(QUADRILLE_DONE, quadrille_context_set_progress(context, count_only, NULL));
  EXPECT(QUADRILLE_DONE, quadrille_job_run(context, gauge, job, "after", &text));
  if (called < 12) ++wrong;
  EXPECT(QUADRILLE_DONE, quadrille_context_set_progress(context, NULL, NULL));

  /* jobs */
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_job_run(context, gauge, rank == 1 ? "{run: []}" : job, "never", &text));
  ON_ONE(QUADRILLE_INVALID_INPUT,
         quadrille_job_run(context, gauge, rank == 1 ? "{run: [{task: none}]}" : job, "never", &text));
  ON_ONE(QUADRILLE_INVALID_INPUT, quadrille_job_run(context, gauge, job, rank == 1 ? NULL : "never", &text));
  ON_ONE(QUADRILLE_INVALID_HANDLE,
         quadrille_job_run(context, rank == 1 ? (quadrille_gauge*)context : gauge, job, "never", &text));
  EXPECT(QUADRILLE_UNSUPPORTED,
         quadrille_job_run(context, NULL, "{run: [{task: matrix_product_study}]}", "never", &text));
  EXPECT(QUADRILLE_DONE, quadrille_context_set_progress(context, stop_at_second_on_one, NULL));
  EXPECT(QUADRILLE_STOPPED, quadrille_job_run(context, gauge, job, "stopped", &text));
  called = 0;
  EXPECT(QUADRILLE_DONE, quadrille_context_set_progress(context, count_only, NULL));
  EXPECT(QUADRILLE_DONE, quadrille_job_run(context, gauge, job, "stopped", &text));
  if (strstr(text, "\"solves\"") == NULL || called < 10) ++wrong;
  EXPECT(QUADRILLE_DONE, quadrille_context_set_progress(context, NULL, NULL));

  /* and it goes on */
  EXPECT(QUADRILLE_DONE, quadrille_solver_solve(solver, "{}", from, to, 1, NULL));
  EXPECT(QUADRILLE_DONE, quadrille_context_destroy(context));
  EXPECT(QUADRILLE_DONE, quadrille_context_create_mpi("{threads: 1}", &everybody, &context));
  EXPECT(QUADRILLE_DONE, quadrille_gauge_create(context, "{start: hot, dims: [4, 4, 4, 8]}", &gauge));
  if (__lsan_do_recoverable_leak_check && __lsan_do_recoverable_leak_check()) ++wrong;
  MPI_Finalize();
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_gauge_plaquettes(gauge, plaquettes));
  EXPECT(QUADRILLE_DONE, quadrille_context_destroy(context));
  free(b);
  free(x);
  free(links);
  if (rank == 0 || wrong > 0) printf("%d calls, %d wrong\n", calls, wrong);
  return wrong > 0;
}
