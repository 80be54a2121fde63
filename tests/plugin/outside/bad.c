/* Modules with one thing wrong, which the build's definitions choose. */
#include "modules/shared/plugin/module.h"

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
#ifndef TASK
#define TASK "bad_task"
#endif
#ifndef BLOCK
#define BLOCK NULL
#endif
#ifndef MODULE_SIZE
#define MODULE_SIZE sizeof(quadrille_module)
#endif
#ifndef TASK_SIZE
#define TASK_SIZE sizeof(quadrille_task)
#endif
#ifndef PARAMETER_SIZE
#define PARAMETER_SIZE sizeof(quadrille_parameter)
#endif
#ifndef CPP_BUILD
#define CPP_BUILD NULL
#endif
#ifdef CALL
extern void CALL(void);
#else
#define CALL()
#endif

static const quadrille_parameter parameters[] = {
    {.name = "x", .type = (quadrille_parameter_type)TYPE, .help = "a number"}};
static quadrille_status run(const quadrille_host* host, quadrille_run* run) {
  (void)host, (void)run;
  CALL();
  return QUADRILLE_DONE;
}

static const quadrille_task tasks[] = {
    {.name = TASK, .help = "never runs", .parameters = parameters, .parameter_count = 1, .run = run}};

static const char* const blocks[] = {BLOCK, NULL};

static const quadrille_module module = {.abi_version = ABI,
                                        .struct_size = MODULE_SIZE,
                                        .task_size = TASK_SIZE,
                                        .parameter_size = PARAMETER_SIZE,
                                        .name = NAME,
                                        .version = "0.1",
                                        .build_id = "",
                                        .tasks = tasks,
                                        .task_count = 1,
                                        .blocks = blocks,
                                        .cpp_build = CPP_BUILD};

__attribute__((visibility("default"))) const quadrille_module* SYMBOL(void) { return &module; }
