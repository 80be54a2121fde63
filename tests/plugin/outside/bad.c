/* Modules with one thing wrong, which the build's definitions choose. */
#include "modules/module.h"

#ifndef ABI
#define ABI QUADRILLE_MODULE_ABI
#endif
#ifndef SYMBOL
#define SYMBOL quadrille_module_descriptor
#endif
#ifndef TYPE
#define TYPE QUADRILLE_REAL
#endif
#ifndef NAME
#define NAME "bad"
#endif

static const quadrille_parameter parameters[] = {
    {"x", (quadrille_parameter_type)TYPE, "a number", NULL, NULL, 0, 0, 0, NULL, NULL, NULL, 0}};
static const quadrille_task tasks[] = {{"bad_task", "never runs", parameters, 1}};

static quadrille_status run(const quadrille_host* host, quadrille_run* run, size_t task, void* instance) {
  (void)host, (void)run, (void)task, (void)instance;
  return QUADRILLE_DONE;
}

static const quadrille_module module = {ABI,
                                        sizeof(quadrille_module),
                                        sizeof(quadrille_task),
                                        sizeof(quadrille_parameter),
                                        NAME,
                                        "0.1",
                                        "",
                                        tasks,
                                        1,
                                        NULL,
                                        NULL,
                                        run,
                                        NULL};

__attribute__((visibility("default"))) const quadrille_module* SYMBOL(void) { return &module; }
