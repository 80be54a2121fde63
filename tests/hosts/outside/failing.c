/* Every function of quadrille.h with what it cannot take, in turn: a code and a message each time, nothing on stdout or
 * stderr by the library, and at the end everything still works. Prints the number of calls. */
#include <quadrille.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int calls = 0, wrong = 0;

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
  printf("line %d: %s gives %d, not %d: %s\n", number, line, (int)got, (int)wanted, message);
}
#define EXPECT(status, call) (mark(), expect(status, call, #call, __LINE__))

enum { V = 4 * 4 * 4 * 4 };

int main(void) {
  quadrille_context *context = NULL, *other = NULL, *gone_context = NULL;
  quadrille_gauge *gauge = NULL, *gone_gauge = NULL, *fresh_gauge = NULL;
  quadrille_operator *op = NULL, *gone_op = NULL, *fresh_op = NULL;
  quadrille_solver *solver = NULL, *gone_solver = NULL, *fresh_solver = NULL;
  const char *wilson = "{type: wilson, mass: 1, boundary: [periodic, periodic, periodic, antiperiodic]}", *text = NULL;
  double* b = calloc(V * 24, sizeof *b);
  double* x = calloc(V * 24, sizeof *x);
  double* links = calloc(V * 72, sizeof *links);
  const void *from[1], *from_links[1], *no_from[1] = {NULL};
  void *to[1], *to_links[1], *no_to[1] = {NULL};
  double plaquettes[7], measured[6] = {1, 2, 3, 4, 5, 6};
  int dims[4], k;
  quadrille_report report = QUADRILLE_REPORT_INIT;
  from[0] = b;
  to[0] = x;
  from_links[0] = links;
  to_links[0] = links;

  /* what works */
  EXPECT(QUADRILLE_DONE, quadrille_context_create("{threads: 1}", &context));
  EXPECT(QUADRILLE_DONE, quadrille_gauge_create(context, "{start: hot, dims: [4, 4, 4, 4]}", &gauge));
  EXPECT(QUADRILLE_DONE, quadrille_operator_create(gauge, wilson, &op));
  EXPECT(QUADRILLE_DONE, quadrille_solver_create(op, "{type: cg}", &solver));
  EXPECT(QUADRILLE_DONE, quadrille_gauge_create(context, "{start: cold, dims: [4, 4, 4, 4]}", &gone_gauge));
  EXPECT(QUADRILLE_DONE, quadrille_operator_create(gone_gauge, wilson, &gone_op));
  EXPECT(QUADRILLE_DONE, quadrille_solver_create(gone_op, "{type: cg}", &gone_solver));
  EXPECT(QUADRILLE_DONE, quadrille_gauge_destroy(gone_gauge));
  EXPECT(QUADRILLE_DONE, quadrille_operator_destroy(gone_op));
  EXPECT(QUADRILLE_DONE, quadrille_solver_destroy(gone_solver));

  EXPECT(QUADRILLE_DONE, quadrille_context_create("{}", &gone_context));
  EXPECT(QUADRILLE_DONE, quadrille_context_destroy(gone_context));

  /* handles: null, destroyed, of another kind, a pointer of this program */
  for (k = 0; k < 4; ++k) {
    quadrille_context* const no_context = k == 0 ? NULL : k == 1 ? gone_context : k == 2 ? (void*)gauge : (void*)b;
    quadrille_gauge* const no_gauge = k == 0 ? NULL : k == 1 ? gone_gauge : k == 2 ? (void*)op : (void*)x;
    quadrille_operator* const no_op = k == 0 ? NULL : k == 1 ? gone_op : k == 2 ? (void*)solver : (void*)x;
    quadrille_solver* const no_solver = k == 0 ? NULL : k == 1 ? gone_solver : k == 2 ? (void*)context : (void*)x;
    const quadrille_status wanted = QUADRILLE_INVALID_HANDLE;
    EXPECT(wanted, quadrille_context_destroy(no_context));
    EXPECT(wanted, quadrille_context_set_log(no_context, QUADRILLE_LOG_INFO, NULL, NULL));
    EXPECT(wanted, quadrille_context_set_progress(no_context, NULL, NULL));
    EXPECT(wanted, quadrille_context_set_stream(no_context, NULL));
    EXPECT(wanted, quadrille_job_run(no_context, NULL, "{run: []}", "never", &text));
    EXPECT(wanted, quadrille_statistics(no_context, "{}", measured, 3, 2, &text));
    EXPECT(wanted, quadrille_help(no_context, NULL, &text));
    EXPECT(wanted, quadrille_schema(no_context, &text));
    EXPECT(wanted, quadrille_gauge_create(no_context, "{start: hot, dims: [4, 4, 4, 4]}", &fresh_gauge));
    EXPECT(wanted, quadrille_gauge_from_memory(no_context, "{dims: [4, 4, 4, 4]}", from_links, 1, &fresh_gauge));
    EXPECT(wanted, quadrille_gauge_update(no_gauge, "{}", from_links, 1));
    EXPECT(wanted, quadrille_gauge_to_memory(no_gauge, "{}", to_links, 1));
    EXPECT(wanted, quadrille_gauge_save(no_gauge, "{file: never.lime}"));
    EXPECT(wanted, quadrille_gauge_dims(no_gauge, dims));
    EXPECT(wanted, quadrille_gauge_part(no_gauge, dims, dims));
    EXPECT(wanted, quadrille_gauge_plaquettes(no_gauge, plaquettes));
    EXPECT(wanted, quadrille_gauge_json(no_gauge, &text));
    EXPECT(wanted, quadrille_propagator_read(no_gauge, "never.lime", "{}", to, 12));
    EXPECT(wanted, quadrille_gauge_destroy(no_gauge));
    EXPECT(wanted, quadrille_operator_create(no_gauge, wilson, &fresh_op));
    EXPECT(wanted, quadrille_operator_apply(no_op, QUADRILLE_M, "{}", from, to, 1));
    EXPECT(wanted, quadrille_operator_destroy(no_op));
    EXPECT(wanted, quadrille_solver_create(no_op, "{type: cg}", &fresh_solver));
    EXPECT(wanted, quadrille_solver_solve(no_solver, "{}", from, to, 1, &report));
    EXPECT(wanted, quadrille_solver_json(no_solver, &text));
    EXPECT(wanted, quadrille_solver_destroy(no_solver));
  }

  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_propagator_read(gauge, "never.lime", "{}", to, 1));
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_propagator_read(gauge, "never.lime", "{}", NULL, 12));

  EXPECT(QUADRILLE_DONE, quadrille_statistics(context, "{}", measured, 3, 2, &text));
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_statistics(context, "{bin: 0}", measured, 3, 2, &text));
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_statistics(context, "{}", NULL, 3, 2, &text));
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_statistics(context, "{}", measured, 0, 2, &text));
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_statistics(context, "{}", measured, 3, 2, NULL));
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_statistics(context, "{effective_mass: true}", measured, 2, 3, &text));
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_statistics(context, "{fit: {window: [0, 2]}}", measured, 3, 2, &text));
  measured[3] = strtod("nan", NULL);
  EXPECT(QUADRILLE_NUMERICAL, quadrille_statistics(context, "{}", measured, 3, 2, &text));

  /* nothing to write to, nothing to read from */
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_context_create("{}", NULL));
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_help(context, NULL, NULL));
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_schema(context, NULL));
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_gauge_create(context, "{start: cold, dims: [4, 4, 4, 4]}", NULL));
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_gauge_from_memory(context, "{dims: [4, 4, 4, 4]}", NULL, 1, &fresh_gauge));
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_gauge_update(gauge, "{}", no_from, 1));
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_gauge_to_memory(gauge, "{}", no_to, 1));
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_gauge_save(gauge, NULL));
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_gauge_dims(gauge, NULL));
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_gauge_part(gauge, NULL, NULL));
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_gauge_plaquettes(gauge, NULL));
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_gauge_json(gauge, NULL));
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_operator_create(gauge, wilson, NULL));
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_operator_apply(op, QUADRILLE_M, "{}", no_from, to, 1));
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_operator_apply(op, QUADRILLE_M, "{}", from, NULL, 1));
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_solver_create(op, "{type: cg}", NULL));
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_solver_solve(solver, "{}", from, no_to, 1, &report));
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_solver_json(solver, NULL));

  /* a stream without a GPU */
  EXPECT(QUADRILLE_DONE, quadrille_context_create("{backend: cpu}", &other));
  EXPECT(QUADRILLE_UNSUPPORTED, quadrille_context_set_stream(other, b));
  EXPECT(QUADRILLE_DONE, quadrille_context_set_stream(other, NULL));
  EXPECT(QUADRILLE_DONE, quadrille_context_destroy(other));

  /* words */
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_context_create("{threads: 0}", &other));
  EXPECT(QUADRILLE_UNSUPPORTED, quadrille_context_create("{backend: cpu, device: 0}", &other));
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_context_create("[", &other));
  EXPECT(QUADRILLE_INVALID_INPUT,
         quadrille_context_set_log(context, (quadrille_log_level)9, (quadrille_log_function)abort, NULL));
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_help(context, "nothing", &text));
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_gauge_create(context, NULL, &fresh_gauge));
  EXPECT(QUADRILLE_FILE_ERROR, quadrille_gauge_create(context, "{file: /nowhere/a.lime}", &fresh_gauge));
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_gauge_from_memory(context, "{}", from_links, 1, &fresh_gauge));
  EXPECT(QUADRILLE_INVALID_INPUT,
         quadrille_gauge_from_memory(context, "{dims: [4, 4, 4, 4]}", from_links, 3, &fresh_gauge));
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_gauge_update(gauge, "{bytes: 8}", from_links, 1));
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_gauge_update(gauge, "{order: openqcd}", from_links, 1));
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_gauge_update(gauge, "{spatial_factor: 0}", from_links, 1));
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_solver_solve(solver, "{sites: openqcd}", from, to, 1, &report));
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_solver_solve(solver, "{normalization: both}", from, to, 1, &report));
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_job_run(context, gauge, "{gauge: {start: cold}}", "never", &text));
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_job_run(context, NULL, "{run: [{task: nothing}]}", "never", &text));
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_job_run(context, gauge, "{run: []}", NULL, NULL));
  EXPECT(QUADRILLE_NUMERICAL,
         quadrille_gauge_from_memory(context, "{dims: [4, 4, 4, 4]}", from_links, 1, &fresh_gauge));
  EXPECT(QUADRILLE_FILE_ERROR, quadrille_gauge_save(gauge, "{file: /nowhere/a.lime}"));
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_operator_create(gauge, "{type: wilson}", &fresh_op));
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_operator_apply(op, (quadrille_product)-1, "{}", from, to, 1));
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_operator_apply(op, QUADRILLE_M, "{subset: odd}", from, to, 1));
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_solver_create(op, "{type: sor}", &fresh_solver));
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_solver_solve(solver, "{basis: dirac}", from, to, 1, &report));
  report.struct_size = 8;
  EXPECT(QUADRILLE_INVALID_INPUT, quadrille_solver_solve(solver, "{}", from, to, 1, &report));
  report.struct_size = (uint32_t)sizeof report;

  /* numbers */
  b[7] = NAN;
  EXPECT(QUADRILLE_NUMERICAL, quadrille_solver_solve(solver, "{}", from, to, 1, &report));
  b[7] = 1;
  links[99] = INFINITY;
  EXPECT(QUADRILLE_NUMERICAL, quadrille_gauge_update(gauge, "{}", from_links, 1));
  EXPECT(QUADRILLE_DONE, quadrille_gauge_create(context, "{start: weak, dims: [4, 4, 4, 4]}", &fresh_gauge));
  EXPECT(QUADRILLE_DONE, quadrille_gauge_to_memory(fresh_gauge, "{}", to_links, 1));
  EXPECT(QUADRILLE_DONE, quadrille_gauge_update(gauge, "{}", from_links, 1));

  EXPECT(QUADRILLE_NO_MEMORY,
         quadrille_gauge_create(context, "{start: cold, dims: [4096, 4096, 4096, 4096]}", &fresh_gauge));

  /* and it goes on */
  EXPECT(QUADRILLE_DONE, quadrille_solver_solve(solver, "{}", from, to, 1, &report));
  EXPECT(QUADRILLE_DONE, quadrille_context_destroy(context));
  EXPECT(QUADRILLE_INVALID_HANDLE, quadrille_context_destroy(context));
  EXPECT(QUADRILLE_INVALID_HANDLE, quadrille_solver_destroy(solver));
  free(b);
  free(x);
  free(links);
  printf("%d calls, %d wrong\n", calls, wrong);
  return wrong > 0;
}
