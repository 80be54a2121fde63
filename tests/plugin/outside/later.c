/* A module whose writer knew larger structs than this version of the interface has: what they add is left unread. */
#include "modules/shared/plugin/module.h"

#include <stdio.h>

#define ADDED "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"

typedef struct {
  quadrille_parameter known;
  char added[16];
} later_parameter;
typedef struct {
  quadrille_task known;
  char added[32];
} later_task;
typedef struct {
  quadrille_module known;
  char added[16];
} later_module;

static const later_parameter parameters[] = {
    {{.name = "first", .type = QUADRILLE_INTEGER, .help = "a number", .default_text = "1"}, ADDED},
    {{.name = "second", .type = QUADRILLE_INTEGER, .help = "a number", .default_text = "2"}, ADDED}};
static quadrille_status read(const quadrille_host* host, quadrille_run* run, int64_t* first, int64_t* second) {
  if (host->integer(run, "first", 0, first) != QUADRILLE_DONE) return QUADRILLE_FAILED;
  return host->integer(run, "second", 0, second);
}

static quadrille_status give(const quadrille_host* host, quadrille_run* run, int64_t number) {
  char json[64];
  snprintf(json, sizeof json, "{\"number\": %lld}", (long long)number);
  return host->result(run, NULL, json);
}

static quadrille_status sum(const quadrille_host* host, quadrille_run* run) {
  int64_t first = 0, second = 0;
  if (read(host, run, &first, &second) != QUADRILLE_DONE) return QUADRILLE_FAILED;
  return give(host, run, first + second);
}

static quadrille_status difference(const quadrille_host* host, quadrille_run* run) {
  int64_t first = 0, second = 0;
  if (read(host, run, &first, &second) != QUADRILLE_DONE) return QUADRILLE_FAILED;
  return give(host, run, first - second);
}

#define TASK(title, text, function) \
  { .name = title, .help = text, .parameters = &parameters[0].known, .parameter_count = 2, .run = function }
static const later_task tasks[] = {{TASK("later_sum", "adds", sum), ADDED ADDED},
                                   {TASK("later_difference", "subtracts", difference), ADDED ADDED}};

static const later_module module = {{.abi_version = QUADRILLE_MODULE_ABI,
                                     .struct_size = sizeof(later_module),
                                     .task_size = sizeof(later_task),
                                     .parameter_size = sizeof(later_parameter),
                                     .name = "later",
                                     .version = "0.1",
                                     .build_id = "",
                                     .tasks = &tasks[0].known,
                                     .task_count = 2},
                                    ADDED};

__attribute__((visibility("default"))) const quadrille_module* quadrille_module_descriptor(void) {
  return &module.known;
}
