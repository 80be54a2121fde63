/* A module in C that is not linked with the library: the job's links, operator, solver and propagators by handles,
 * whose functions come with the host structure; and states by name. */
#include "modules/shared/plugin/module.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DO(call)                                           \
  do {                                                     \
    if ((call) != QUADRILLE_DONE) return QUADRILLE_FAILED; \
  } while (0)

/* The same of a function on handles, whose reason only the context knows. */
#define CALL(call)                                                       \
  do {                                                                   \
    const quadrille_status status_ = (call);                             \
    if (status_ != QUADRILLE_DONE) {                                     \
      host->fail(run, status_, NULL, host->functions->message(context)); \
      return QUADRILLE_FAILED;                                           \
    }                                                                    \
  } while (0)

enum { most = 4 * 4 * 2 * 4 * 24 };

static double distance(const double* a, const double* b, int count) {
  double sum = 0;
  for (int k = 0; k < count; ++k) sum += (a[k] - b[k]) * (a[k] - b[k]);
  return sqrt(sum);
}

static quadrille_status solve(const quadrille_host* host, quadrille_run* run) {
  const quadrille_functions* const f = host->functions;
  static double b[most], x[most], mx[most], column_of[most];
  const void *in[1], *links[1];
  void* out[1];
  quadrille_context* context;
  quadrille_gauge* gauge;
  quadrille_operator* op;
  quadrille_solver* solver;
  quadrille_propagator* propagator;
  quadrille_report report = QUADRILLE_REPORT_INIT;
  int dims[4], ordinal, unfinished;
  double plaquettes[7], difference = -1;
  int64_t column;
  void *stream, *memory;
  const void* store = NULL;
  const char* text;
  char json[1024], message[256] = "";
  quadrille_status refused, wrong = QUADRILLE_DONE;
  DO(host->context(run, &context));
  DO(host->gauge(run, &gauge));
  DO(host->dirac_operator(run, &op));
  DO(host->solver(run, &solver));
  DO(host->integer(run, "column", 0, &column));
  DO(host->object(run, gauge, &store));
  CALL(f->help(context, "solver cg", &text));
  if (strstr(text, "tolerance") == NULL) return QUADRILLE_FAILED;
  CALL(f->schema(context, &text));
  if (strstr(text, "\"links\"") == NULL) return QUADRILLE_FAILED;
  CALL(f->gauge_dims(gauge, dims));
  CALL(f->gauge_plaquettes(gauge, plaquettes));
  memset(b, 0, sizeof b);
  b[2 * column] = 1;
  in[0] = b, out[0] = x;
  DO(host->boolean(run, "unfinished", 0, &unfinished));
  refused = f->solver_solve(solver, "{}", in, out, 1, &report);
  if (!(unfinished && refused == QUADRILLE_NOT_CONVERGED)) CALL(refused);
  in[0] = x, out[0] = mx;
  CALL(f->operator_apply(op, QUADRILLE_M, NULL, in, out, 1));
  links[0] = b;
  refused = f->gauge_update(gauge, "{}", links, 1);
  if (host->has(run, "from")) {
    DO(host->propagator(run, "from", 0, &propagator));
    CALL(f->propagator_to_memory(propagator, (int)column, "{}", column_of));
    difference = distance(x, column_of, most);
    wrong = f->propagator_to_memory(propagator, 12, "{}", column_of);
    snprintf(message, sizeof message, "%s", f->message(context));
  }
  DO(host->device(run, &ordinal, &stream));
  DO(host->allocate(run, 1000, &memory));
  snprintf(json, sizeof json,
           "{\"dims\": [%d, %d, %d, %d], \"plaquette\": %.17g, \"difference\": %.17g, \"residual\": %.17g, "
           "\"iterations\": %d,"
           " \"update_refused\": %d, \"wrong_column\": %d, \"message\": \"%s\", \"ordinal\": %d, \"stream\": %s,"
           " \"aligned\": %s, \"column\": %d, \"store\": %s}",
           dims[0], dims[1], dims[2], dims[3], plaquettes[0], difference, distance(mx, b, most), (int)report.iterations,
           (int)refused, (int)wrong, message, ordinal, stream ? "true" : "false",
           (uintptr_t)memory % 64 == 0 ? "true" : "false", (int)column, store ? "true" : "false");
  DO(host->release(run, memory));
  DO(host->allocate(run, 1000, &memory)); /* left to the end of the task */
  return host->result(run, NULL, json);
}

/* Of the links that an earlier propagator is on. The descriptor has no flags: a task that takes propagators has links.
 */
static quadrille_status links_of_propagator(const quadrille_host* host, quadrille_run* run) {
  quadrille_context* context;
  quadrille_gauge* gauge;
  double plaquettes[7];
  char json[64];
  DO(host->context(run, &context));
  DO(host->gauge(run, &gauge));
  CALL(host->functions->gauge_plaquettes(gauge, plaquettes));
  snprintf(json, sizeof json, "{\"plaquette\": %.17g}", plaquettes[0]);
  return host->result(run, NULL, json);
}

static int exists(const char* name) {
  FILE* file = fopen(name, "r");
  if (file != NULL) fclose(file);
  return file != NULL;
}

/* Six steps, each kept: "numbers", five bytes of which the second is the step, and "field", the links. */
static quadrille_status steps(const quadrille_host* host, quadrille_run* run) {
  quadrille_context* context;
  quadrille_gauge *gauge, *kept;
  const void *bytes, *unknown;
  const char *fuse, *hash, *after, *name;
  char json[256], before[17] = "";
  unsigned char numbers[5] = {7, 0, 0, 255, 0};
  double now[7], then[7] = {-1};
  uint64_t generation, last;
  size_t size, none;
  int step, other;
  DO(host->context(run, &context));
  DO(host->gauge(run, &gauge));
  DO(host->text(run, "fuse", 0, &fuse));
  DO(host->boolean(run, "other", 0, &other));
  DO(host->state(run, &generation, &hash));
  if (hash != NULL) snprintf(before, sizeof before, "%s", hash);
  DO(host->get_state(run, "numbers", &bytes, &size));
  DO(host->get_state(run, "nothing", &unknown, &none));
  DO(host->get_state_gauge(run, "field", &kept));
  CALL(host->functions->gauge_plaquettes(gauge, now));
  if (kept != NULL) CALL(host->functions->gauge_plaquettes(kept, then));
  step = bytes == NULL ? 0 : ((const unsigned char*)bytes)[1];
  snprintf(json, sizeof json,
           "{\"began_at\": %d, \"bytes\": %d, \"unknown\": %s, \"plaquette_is_kept\": %s, \"hash\": %d}", step,
           (int)size, unknown == NULL && none == 0 ? "true" : "false", now[0] == then[0] ? "true" : "false",
           (int)strlen(before));
  DO(host->result(run, NULL, json));
  while (step < 6) {
    numbers[1] = (unsigned char)++step;
    DO(host->put_state(run, "numbers", numbers, sizeof numbers));
    DO(host->put_state_gauge(run, "field", gauge, 64));
    DO(host->keep_state(run));
    DO(host->state(run, &last, &after));
    host->progress(run, "steps", step / 6.0);
    if (step == 3 && exists(fuse)) {
      host->fail(run, QUADRILLE_UNSUPPORTED, NULL, "the fuse is there");
      return QUADRILLE_FAILED;
    }
  }
  snprintf(json, sizeof json, "{\"generation\": %d, \"same_hash\": %s}", (int)last,
           strlen(after) == 16 && strcmp(after, before) != 0 ? "true" : "false");
  DO(host->result(run, NULL, json));
  DO(host->text(run, "save", 0, &name));
  return host->write_gauge(run, other ? "other.lime" : name, gauge, 64);
}

static const char* const kinds[] = {"propagator", NULL};
static const quadrille_parameter task_name[] = {
    {.name = "task", .type = QUADRILLE_EARLIER_TASK, .help = "solved", .choices = kinds}};
static const quadrille_parameter solve_parameters[] = {
    {.name = "from", .type = QUADRILLE_LIST, .help = "compared with", .members = task_name, .member_count = 1},
    {.name = "column", .type = QUADRILLE_INTEGER, .help = "of the source", .default_text = "0"},
    {.name = "unfinished", .type = QUADRILLE_BOOLEAN, .help = "a solve need not converge", .default_text = "false"}};
static const quadrille_parameter steps_parameters[] = {
    {.name = "fuse",
     .type = QUADRILLE_TEXT,
     .help = "a file at which the third step fails",
     .flags = QUADRILLE_REQUIRED},
    {.name = "save", .type = QUADRILLE_FILE_OUT, .help = "the links", .flags = QUADRILLE_REQUIRED},
    {.name = "other", .type = QUADRILLE_BOOLEAN, .help = "write under another name", .default_text = "false"}};
static const quadrille_task tasks[] = {
    {.name = "handles",
     .help = "solves with the handles of the job",
     .parameters = solve_parameters,
     .parameter_count = 3,
     .flags = QUADRILLE_NEEDS_LINKS | QUADRILLE_NEEDS_OPERATOR | QUADRILLE_NEEDS_SOLVER,
     .run = solve},
    {.name = "steps",
     .help = "keeps states",
     .parameters = steps_parameters,
     .parameter_count = 3,
     .flags = QUADRILLE_NEEDS_LINKS,
     .run = steps},
    {.name = "links_of_propagator",
     .help = "the plaquette",
     .parameters = solve_parameters,
     .parameter_count = 1,
     .run = links_of_propagator}};

static const quadrille_module module = {.abi_version = QUADRILLE_MODULE_ABI,
                                        .struct_size = sizeof(quadrille_module),
                                        .task_size = sizeof(quadrille_task),
                                        .parameter_size = sizeof(quadrille_parameter),
                                        .name = "handles",
                                        .version = "0.1",
                                        .build_id = "",
                                        .tasks = tasks,
                                        .task_count = 3};

__attribute__((visibility("default"))) const quadrille_module* quadrille_module_descriptor(void) { return &module; }
