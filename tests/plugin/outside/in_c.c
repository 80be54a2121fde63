/* A module in C, with a task that gives what it is told. */
#include "modules/module.h"

#include <stdio.h>

static const quadrille_parameter parameters[] = {
    {"number", QUADRILLE_INTEGER, "any", NULL, "7", 0, 0, 0, NULL, NULL, NULL, 0}};
static const quadrille_task tasks[] = {{"c_echo", "gives a number back", parameters, 1}};

static quadrille_status run(const quadrille_host* host, quadrille_run* run, size_t task, void* instance) {
  int64_t number = 0;
  char json[64];
  (void)task;
  (void)instance;
  if (host->integer(run, "number", 0, &number) != QUADRILLE_DONE) return QUADRILLE_FAILED;
  if (number == 13 && host->integer(run, "no_such_name", 0, &number) != QUADRILLE_DONE) return QUADRILLE_FAILED;
  snprintf(json, sizeof json, "{\"number\": %lld}", (long long)number);
  return host->result(run, json);
}

static const quadrille_module module = {QUADRILLE_MODULE_ABI,
                                        sizeof(quadrille_module),
                                        sizeof(quadrille_task),
                                        sizeof(quadrille_parameter),
                                        "in_c",
                                        "0.1",
                                        "",
                                        tasks,
                                        1,
                                        NULL,
                                        NULL,
                                        run,
                                        NULL};

__attribute__((visibility("default"))) const quadrille_module* quadrille_module_descriptor(void) { return &module; }
