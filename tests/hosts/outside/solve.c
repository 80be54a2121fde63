/* solve_c FIELD OPERATOR SOLVER OUT: the twelve point-source solutions at the origin, as raw doubles, DeGrand-Rossi,
 * [column][site][spin][color]. The links go through memory of this program, in MILC's order. */
#include <quadrille.h>

#include <stdio.h>
#include <stdlib.h>

static int failed(const char* what) {
  fprintf(stderr, "%s: %s\n", what, quadrille_message(NULL));
  return 1;
}

int main(int count, char** words) {
  quadrille_context* context = NULL;
  quadrille_gauge *read = NULL, *gauge = NULL;
  quadrille_operator* op = NULL;
  quadrille_solver* solver = NULL;
  int dims[4], k;
  char text[4096];
  double *links, *b, *x;
  FILE* out;
  size_t sites;
  if (count != 5) return 2;
  const char* backend = getenv("QUADRILLE_TEST_BACKEND");
  snprintf(text, sizeof text, "{backend: %s, threads: 1}", backend == NULL ? "cpu" : backend);
  if (quadrille_context_create(text, &context)) return failed("context");
  snprintf(text, sizeof text, "{file: '%s'}", words[1]);
  if (quadrille_gauge_create(context, text, &read)) return failed("gauge");
  if (quadrille_gauge_dims(read, dims)) return failed("dims");
  sites = (size_t)dims[0] * dims[1] * dims[2] * dims[3];
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
  out = fopen(words[4], "wb");
  for (k = 0; k < 12; ++k) {
    const void* from[1];
    void* to[1];
    quadrille_report report = QUADRILLE_REPORT_INIT;
    from[0] = b;
    to[0] = x;
    b[2 * k] = 1;
    if (quadrille_solver_solve(solver, "{}", from, to, 1, &report)) return failed("solve");
    b[2 * k] = 0;
    printf("%d %.17g\n", (int)report.iterations, report.residual);
    if (fwrite(x, sizeof *x, sites * 24, out) != sites * 24) return 3;
  }
  fclose(out);
  free(b);
  free(x);
  if (quadrille_context_destroy(context)) return failed("destroy");
  return 0;
}
