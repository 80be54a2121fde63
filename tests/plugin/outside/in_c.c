/* A module in C: a task that gives what it is told, one that multiplies matrices with the module mgemm, and one that
 * works on links on several ranks. */
#include "modules/mgemm/capi/c_api.h"
#include "modules/shared/plugin/module.h"

#include <stdio.h>
#include <stdlib.h>

static const quadrille_parameter echo_parameters[] = {
    {.name = "number",
     .type = QUADRILLE_INTEGER,
     .help = "to be given back; 13 to 56 and 58 call the host wrongly, 57 leaves a scratch file, 99 says that it "
             "has not converged",
     .default_text = "7"}};
static const quadrille_parameter element[] = {{.name = "element", .type = QUADRILLE_REAL, .help = "of a matrix"}};
static const quadrille_parameter product_parameters[] = {
    {.name = "a",
     .type = QUADRILLE_LIST,
     .help = "2 x 3, by rows",
     .flags = QUADRILLE_REQUIRED,
     .members = element,
     .member_count = 1},
    {.name = "b",
     .type = QUADRILLE_LIST,
     .help = "4 x 3, by rows",
     .flags = QUADRILLE_REQUIRED,
     .members = element,
     .member_count = 1},
    {.name = "delta", .type = QUADRILLE_REAL, .help = "cutoff of mixed precision", .flags = QUADRILLE_REQUIRED},
    {.name = "lda", .type = QUADRILLE_INTEGER, .default_text = "3"}};

/* As a task does that is killed. */
static void leave_scratch(const quadrille_host* host, quadrille_run* run) {
  const char* path = NULL;
  FILE* file;
  if (host->scratch_file(run, "parts/left.bin", &path) != QUADRILLE_DONE) return;
  file = fopen(path, "w");
  if (file != NULL) fclose(file);
  host->fail(run, QUADRILLE_FILE_ERROR, NULL, file == NULL ? "no scratch file" : "it leaves a scratch file");
}

/* Gives no address where the host could put its answer, or no data for other ranks. */
static void ask_for_nothing(const quadrille_host* host, quadrille_run* run, int64_t number) {
  const char* text = NULL;
  int place[4];
  switch (number) {
    case 32: (void)host->boolean(run, "number", 0, NULL); break;
    case 33: (void)host->integer(run, "number", 0, NULL); break;
    case 34: (void)host->real(run, "number", 0, NULL); break;
    case 35: (void)host->text(run, "number", 0, NULL); break;
    case 36: (void)host->input_file(run, "number", 0, NULL); break;
    case 37: (void)host->output_file(run, "number", 0, NULL); break;
    case 38: (void)host->output_named(run, "other.txt", NULL); break;
    case 39: (void)host->context(run, NULL); break;
    case 40: (void)host->gauge(run, NULL); break;
    case 41: (void)host->dirac_operator(run, NULL); break;
    case 42: (void)host->solver(run, NULL); break;
    case 43: (void)host->propagator(run, "number", 0, NULL); break;
    case 44: (void)host->object(run, &number, NULL); break;
    case 45: (void)host->handle_of_gauge(run, &number, NULL); break;
    case 46: (void)host->device(run, &place[0], NULL); break;
    case 47: (void)host->allocate(run, 64, NULL); break;
    case 48: (void)host->state(run, NULL, &text); break;
    case 49: (void)host->get_state(run, "a", NULL, NULL); break;
    case 50: (void)host->get_state_gauge(run, "a", NULL); break;
    case 51: (void)host->rank_grid(run, NULL, place); break;
    case 52: (void)host->sum(run, NULL, 1); break;
    case 53: (void)host->gather(run, &number, 1, NULL); break;
    case 54: (void)host->broadcast(run, NULL, 1, 0); break;
    case 55: (void)host->exchange(run, 0, NULL, &number, 1); break;
    case 56: (void)host->scratch_file(run, "other.txt", NULL); break;
    case 57: leave_scratch(host, run); break;
    case 58: (void)host->scratch_file(run, "results.json", &text); break;
    default: break;
  }
}

static quadrille_status echo(const quadrille_host* host, quadrille_run* run) {
  const char* file = NULL;
  quadrille_gauge* gauge = NULL;
  quadrille_propagator* propagator = NULL;
  double real = 0;
  int64_t number = 0;
  char json[64];
  if (host->integer(run, "number", 0, &number) != QUADRILLE_DONE) return QUADRILLE_FAILED;
  host->log(run, QUADRILLE_LOG_INFO, "c_echo has been told a number");
  if (number == 30) host->log(run, (quadrille_log_level)9, "loud");
  if (number == 31) host->log(run, QUADRILLE_LOG_INFO, NULL);
  if (number == 13 && host->integer(run, "no_such_name", 0, &number) != QUADRILLE_DONE) return QUADRILLE_FAILED;
  if (number == 14) (void)host->has(run, NULL);
  if (number == 15) (void)host->count(run, NULL);
  if (number == 16) (void)host->result(run, NULL, NULL);
  if (number == 17) (void)host->real(run, "number", 0, &real);
  if (number == 18) (void)host->integer(run, "number", 1, &number);
  if (number == 19) (void)host->has(run, "number[0]");
  if (number == 20) (void)host->count(run, "number.more");
  if (number == 21) (void)host->output_named(run, "other.txt", &file);
  if (number == 22) (void)host->write_gauge(run, "links.lime", NULL, 64);
  if (number == 23) (void)host->result(run, "solves", "{}");
  if (number == 24) (void)host->gauge(run, &gauge);
  if (number == 25) (void)host->release(run, &number);
  if (number == 26) (void)host->keep_state(run);
  if (number == 27) (void)host->put_state(run, "a.b", "x", 1);
  if (number == 28 && host->put_state(run, "a", "x", 1) == QUADRILLE_DONE) (void)host->put_state(run, "a", "x", 1);
  if (number == 29) (void)host->propagator(run, "number", 0, &propagator);
  ask_for_nothing(host, run, number);
  if (number == 57) return QUADRILLE_FAILED;
  if (number == 99) return host->result(run, NULL, "{\"converged\": false}");
  snprintf(json, sizeof json, "{\"number\": %lld}", (long long)number);
  return host->result(run, NULL, json);
}

static quadrille_status reals(const quadrille_host* host, quadrille_run* run, const char* path, size_t count,
                              double* out) {
  size_t k;
  if (host->count(run, path) != count) {
    host->fail(run, QUADRILLE_INVALID_INPUT, path, "wrong number of elements");
    return QUADRILLE_FAILED;
  }
  for (k = 0; k < count; ++k) {
    if (host->real(run, path, k, &out[k]) != QUADRILLE_DONE) return QUADRILLE_FAILED;
  }
  return QUADRILLE_DONE;
}

static quadrille_status product(const quadrille_host* host, quadrille_run* run) {
  double a[6], b[12], delta, c[8] = {1, 1, 1, 1, 1, 1, 1, 1}, split[8] = {1, 1, 1, 1, 1, 1, 1, 1};
  int64_t lda;
  int k, failed;
  quadrille_mgemm_options options = {0};
  quadrille_mgemm_report report;
  char json[256];
  if (reals(host, run, "a", 6, a) != QUADRILLE_DONE) return QUADRILLE_FAILED;
  if (reals(host, run, "b", 12, b) != QUADRILLE_DONE) return QUADRILLE_FAILED;
  if (host->real(run, "delta", 0, &delta) != QUADRILLE_DONE) return QUADRILLE_FAILED;
  if (host->integer(run, "lda", 0, &lda) != QUADRILLE_DONE) return QUADRILLE_FAILED;
  options.struct_size = sizeof options;
  options.delta = delta;
  report.struct_size = sizeof report;
  failed = quadrille_mgemm(&options, 'R', 'N', 'T', 2, 4, 3, 2.0, a, lda, b, 3, 3.0, c, 4, &report);
  options.always_split = 1; /* a product as small as this gains nothing */
  if (!failed) failed = quadrille_mgemm(&options, 'R', 'N', 'T', 2, 4, 3, 2.0, a, lda, b, 3, 3.0, split, 4, &report);
  if (failed) {
    host->fail(run, QUADRILLE_INVALID_INPUT, NULL, quadrille_mgemm_message());
    return QUADRILLE_FAILED;
  }
  for (k = 0; k < 8; ++k) {
    snprintf(json, sizeof json, "{\"c%d\": [%.17g, %.17g]}", k, c[k], split[k]);
    if (host->result(run, NULL, json) != QUADRILLE_DONE) return QUADRILLE_FAILED;
  }
  snprintf(json, sizeof json, "{\"split\": %d, \"large_a\": %.17g, \"large_b\": %.17g}", (int)report.split,
           report.large_a, report.large_b);
  return host->result(run, NULL, json);
}

/* Re tr of this rank's links; and the plaquette of another field that is made of them. */
static quadrille_status trace_of(const quadrille_host* host, quadrille_run* run, quadrille_gauge* gauge,
                                 const int grid[4], double* trace, double* plaquette) {
  const quadrille_functions* const f = host->functions;
  int dims[4], mu;
  size_t numbers = 72, k;
  quadrille_context* context = NULL;
  quadrille_gauge* again = NULL;
  quadrille_status status;
  char words[80];
  double plaquettes[7] = {0};
  double* links;
  if (f->gauge_dims(gauge, dims) != QUADRILLE_DONE || host->context(run, &context) != QUADRILLE_DONE)
    return QUADRILLE_FAILED;
  for (mu = 0; mu < 4; ++mu) numbers *= (size_t)(dims[mu] / grid[mu]);
  links = malloc(numbers * sizeof *links);
  if (links == NULL) {
    host->fail(run, QUADRILLE_NO_MEMORY, NULL, "no memory for links");
    return QUADRILLE_FAILED;
  }
  status = f->gauge_to_memory(gauge, "{order: ildg}", (void* const[]){links}, 1);
  *trace = 0;
  for (k = 0; status == QUADRILLE_DONE && k < numbers; k += 18) *trace += links[k] + links[k + 8] + links[k + 16];
  snprintf(words, sizeof words, "{dims: [%d, %d, %d, %d]}", dims[0], dims[1], dims[2], dims[3]);
  if (status == QUADRILLE_DONE) status = f->gauge_from_memory(context, words, (const void* const[]){links}, 1, &again);
  if (status == QUADRILLE_DONE) status = f->gauge_plaquettes(again, plaquettes);
  if (status != QUADRILLE_DONE) host->fail(run, status, NULL, f->message(context));
  *plaquette = plaquettes[0];
  free(links);
  return status;
}

static quadrille_status ranks(const quadrille_host* host, quadrille_run* run) {
  int grid[4], place[4], rank, size, received, from_last, all[64];
  quadrille_gauge* gauge = NULL;
  const char* file = NULL;
  double trace = 0, plaquette = 0;
  char json[512];
  if (host->rank_grid(run, grid, place) != QUADRILLE_DONE) return QUADRILLE_FAILED;
  size = grid[0] * grid[1] * grid[2] * grid[3];
  rank = ((place[3] * grid[2] + place[2]) * grid[1] + place[1]) * grid[0] + place[0];
  if (host->gauge(run, &gauge) != QUADRILLE_DONE) return QUADRILLE_FAILED;
  if (trace_of(host, run, gauge, grid, &trace, &plaquette) != QUADRILLE_DONE) return QUADRILLE_FAILED;
  if (host->sum(run, &trace, 1) != QUADRILLE_DONE) return QUADRILLE_FAILED;
  if (host->gather(run, &rank, sizeof rank, all) != QUADRILLE_DONE) return QUADRILLE_FAILED;
  if (host->exchange(run, 3, &rank, &received, sizeof rank) != QUADRILLE_DONE) return QUADRILLE_FAILED;
  from_last = 100 + rank;
  if (host->broadcast(run, &from_last, sizeof from_last, size - 1) != QUADRILLE_DONE) return QUADRILLE_FAILED;
  if (host->text(run, "file", 0, &file) != QUADRILLE_DONE) return QUADRILLE_FAILED;
  if (host->write_gauge(run, file, gauge, 64) != QUADRILLE_DONE) return QUADRILLE_FAILED;
  snprintf(json, sizeof json,
           "{\"trace\": %.17g, \"plaquette\": %.17g, \"grid\": [%d, %d, %d, %d], \"first\": %d, \"last\": %d, "
           "\"received\": %d, "
           "\"from_last\": %d, \"asked\": %d}",
           trace, plaquette, grid[0], grid[1], grid[2], grid[3], all[0], all[size - 1], received, from_last,
           host->should_stop(run));
  return host->result(run, NULL, json);
}

static const quadrille_parameter ranks_parameters[] = {
    {.name = "file", .type = QUADRILLE_FILE_OUT, .help = "of the links", .flags = QUADRILLE_REQUIRED}};
static const quadrille_task tasks[] = {
    {.name = "c_echo", .help = "gives a number back", .parameters = echo_parameters, .parameter_count = 1, .run = echo},
    {.name = "c_product",
     .help = "gives 2 A B^T + 3",
     .parameters = product_parameters,
     .parameter_count = 4,
     .run = product},
    {.name = "c_ranks",
     .help = "the trace of all links by all ranks; writes the links",
     .parameters = ranks_parameters,
     .parameter_count = 1,
     .flags = QUADRILLE_NEEDS_LINKS | QUADRILLE_ON_RANKS,
     .run = ranks}};

static const quadrille_module module = {.abi_version = QUADRILLE_MODULE_ABI,
                                        .struct_size = sizeof(quadrille_module),
                                        .task_size = sizeof(quadrille_task),
                                        .parameter_size = sizeof(quadrille_parameter),
                                        .name = "in_c",
                                        .version = "0.1",
                                        .build_id = "",
                                        .tasks = tasks,
                                        .task_count = 3};

__attribute__((visibility("default"))) const quadrille_module* quadrille_module_descriptor(void) { return &module; }
