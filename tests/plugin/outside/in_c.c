/* A module in C, with a task that gives what it is told. */
#include "modules/module.h"

#include <stdio.h>

static const quadrille_parameter parameters[] = {
    {.name = "number", .type = QUADRILLE_INTEGER, .help = "any", .default_text = "7"}};
static const quadrille_task tasks[] = {{.name = "c_echo", .help = "gives a number back", .parameters = parameters, .parameter_count = 1}};

static quadrille_status run(const quadrille_host* host, quadrille_run* run, size_t task, void* instance) {
  int64_t number = 0;
  char json[64];
  (void)task;
  (void)instance;
  if (host->integer(run, "number", 0, &number) != QUADRILLE_DONE) return QUADRILLE_FAILED;
  if (number == 13 && host->integer(run, "no_such_name", 0, &number) != QUADRILLE_DONE) return QUADRILLE_FAILED;
  snprintf(json, sizeof json, "{\"number\": %lld}", (long long)number);
  return host->result(run, NULL, json);
}

static const quadrille_module module = {.abi_version = QUADRILLE_MODULE_ABI,
                                        .struct_size = sizeof(quadrille_module),
                                        .task_size = sizeof(quadrille_task),
                                        .parameter_size = sizeof(quadrille_parameter),
                                        .name = "in_c",
                                        .version = "0.1",
                                        .build_id = "",
                                        .tasks = tasks,
                                        .task_count = 1,
                                        .run = run};

__attribute__((visibility("default"))) const quadrille_module* quadrille_module_descriptor(void) { return &module; }
