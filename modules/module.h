/* What a module is to the program: a descriptor of static data and functions of the C calling convention.
 *
 * A module built outside the source tree is a shared object that links libquadrille.so and exports
 *
 *     const quadrille_module* quadrille_module_descriptor(void);
 *
 * One of the source tree is a folder modules/NAME whose sources define `quadrille_module_NAME` in its place. The
 * descriptor, its tasks and their parameters must stay where they are until the program ends. No exception may leave
 * any function: in C++, modules/task.h sees to that.
 *
 * Structs only grow, at their end, and each carries the size that its writer knew. The program leaves unread what a
 * module's structs have beyond its own, takes as zero what they lack, and refuses those that are smaller than in the
 * first version, which this is. A module looks at quadrille_host.struct_size before it calls what a later version has
 * added. A change of anything else is another QUADRILLE_MODULE_ABI. */
#ifndef QUADRILLE_MODULES_MODULE_H
#define QUADRILLE_MODULES_MODULE_H

#include "modules/handles.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define QUADRILLE_MODULE_ABI 1u

#ifdef __cplusplus
#define QUADRILLE_ZERO = {} /* C++ does without what a list of initializers leaves out */
#else
#define QUADRILLE_ZERO
#endif

/* ---- parameters, as core/parameters/parameters.h has them ---- */

typedef enum quadrille_parameter_type {
  QUADRILLE_BOOLEAN = 0,
  QUADRILLE_INTEGER = 1,  /* of 64 bits */
  QUADRILLE_REAL = 2,     /* finite double */
  QUADRILLE_TEXT = 3,     /* any string */
  QUADRILLE_CHOICE = 4,   /* one of `choices` */
  QUADRILLE_FILE_IN = 5,  /* a path relative to the job file */
  QUADRILLE_FILE_OUT = 6, /* a path relative to the output folder */
  QUADRILLE_GROUP = 7,    /* a map of `members` */
  QUADRILLE_LIST = 8      /* a list of values that are as the one member says; no group and no list */
} quadrille_parameter_type;

/* Bits of `flags`. Bounds count only where their bit is set. */
#define QUADRILLE_REQUIRED 1u
#define QUADRILLE_HAS_MINIMUM 2u
#define QUADRILLE_HAS_MAXIMUM 4u
#define QUADRILLE_MINIMUM_OPEN 8u /* value > minimum rather than >= */
#define QUADRILLE_MAXIMUM_OPEN 16u

typedef struct quadrille_parameter {
  const char* name QUADRILLE_ZERO;
  quadrille_parameter_type type QUADRILLE_ZERO;
  const char* help QUADRILLE_ZERO;
  const char* unit QUADRILLE_ZERO;         /* as text; null when dimensionless */
  const char* default_text QUADRILLE_ZERO; /* as it would stand in a job; null when there is none */
  uint32_t flags QUADRILLE_ZERO;
  double minimum QUADRILLE_ZERO;
  double maximum QUADRILLE_ZERO;
  const char* const* choices QUADRILLE_ZERO;  /* ends with null */
  const char* const* excludes QUADRILLE_ZERO; /* names that may not be given beside this one; ends with null */
  const struct quadrille_parameter* members QUADRILLE_ZERO;
  size_t member_count QUADRILLE_ZERO;
  const char* shorthand QUADRILLE_ZERO; /* of a group: the member that a scalar in place of the map stands for */
} quadrille_parameter;

/* ---- a task at work ---- */

/* One task of a job while it is checked or run. */
typedef struct quadrille_run quadrille_run;

/* What the program offers to a task. A parameter is named by its path, as in "save.file"; entry `index` of a list by
 * "deltas" and the index, which is 0 for everything else. A path that the task's schema does not have, or has with
 * another type, is a defect of the module: the function returns QUADRILLE_FAILED and the task ends with an error.
 * Texts live until the call of the module's function returns. */
typedef struct quadrille_host {
  uint32_t abi_version;
  uint32_t struct_size;
  /* Whether a parameter has a value, be it the job's or the default; the number of a list's entries. */
  int (*has)(quadrille_run* run, const char* path);
  size_t (*count)(quadrille_run* run, const char* path);
  quadrille_status (*boolean)(quadrille_run* run, const char* path, size_t index, int* value);
  quadrille_status (*integer)(quadrille_run* run, const char* path, size_t index, int64_t* value);
  quadrille_status (*real)(quadrille_run* run, const char* path, size_t index, double* value);
  quadrille_status (*text)(quadrille_run* run, const char* path, size_t index, const char** value);
  /* The file that an input parameter names, relative to the folder of the job; and the one that an output parameter
   * names in the output folder, whose subfolders are made. The file belongs to the task's results. */
  quadrille_status (*input_file)(quadrille_run* run, const char* path, size_t index, const char** file);
  quadrille_status (*output_file)(quadrille_run* run, const char* path, size_t index, const char** file);
  /* The name of the task in the job; the backend ("cpu", "cuda"; empty while the task is checked for any of them); the
   * number of threads. */
  const char* (*task_name)(quadrille_run* run);
  const char* (*backend)(quadrille_run* run);
  int (*threads)(quadrille_run* run);
  /* A JSON object for results.json: under the task's name, or under `block` and then the task's name where it is not
   * null. A later call adds and replaces keys. The blocks of the program ("solves", "correlators", "chains", ...) and
   * the names of the job's tasks are taken. */
  quadrille_status (*result)(quadrille_run* run, const char* block, const char* json);
  /* Says something in results.json and in the log. */
  void (*warn)(quadrille_run* run, const char* text);
  /* The line on a terminal: how far the task is, 0 to 1. */
  void (*progress)(quadrille_run* run, const char* text, double fraction);
  /* Says why the module's function will return QUADRILLE_FAILED. `path` names the parameter that is to blame, whose
   * place in the job the message then carries; null when there is none. `code`: INVALID_INPUT, FILE_ERROR, UNSUPPORTED,
   * NUMERICAL; anything else is a defect. */
  void (*fail)(quadrille_run* run, quadrille_status code, const char* path, const char* message);

  /* Links: extents x, y, z, t, and for each site, x fastest, four SU(3) matrices, row by row, of complex doubles. */

  /* Those of the job's gauge block, for a task with QUADRILLE_NEEDS_LINKS. */
  quadrille_status (*links)(quadrille_run* run, int dims[4], const double** links);
  /* Writes an ILDG file with checksums into the output folder, whole or not at all, in 32 or 64 bits. It belongs to the
   * task's results. */
  quadrille_status (*write_links)(quadrille_run* run, const char* name, const int dims[4], const double* links,
                                  int bits);
  /* Keeps a state from which an interrupted task goes on: a JSON value and links. unfinished() gives it back to a later
   * run of the same task on the same kind of processor; *json is null when there is none. */
  quadrille_status (*keep_unfinished)(quadrille_run* run, const char* json, const int dims[4], const double* links);
  quadrille_status (*unfinished)(quadrille_run* run, const char** json, int dims[4], const double** links);

  /* What follows is not in the first version of this struct: compare struct_size. */

  /* The same with links in the program's keeping, which never pass through host memory as a whole. A gauge field lives
   * as long as the task; to C++ it is const quadrille::GaugeStore (core/gauge/gauge_store.h). */
  quadrille_status (*gauge)(quadrille_run* run, const quadrille_gauge** links);
  quadrille_status (*write_gauge)(quadrille_run* run, const char* name, const quadrille_gauge* links, int bits);
  quadrille_status (*keep_unfinished_gauge)(quadrille_run* run, const char* json, const quadrille_gauge* links);
  quadrille_status (*unfinished_gauge)(quadrille_run* run, const char** json, const quadrille_gauge** links);

  /* The file that the links of the job's gauge block come from, as the job spells it; null for links that are made. */
  const char* (*links_file)(quadrille_run* run);
  /* Whether the job has been asked to stop (SIGINT, SIGTERM). A task that works for long asks after each of its steps,
   * keeps a state, says where it stopped ("after sweep 157") and returns QUADRILLE_STOPPED. */
  int (*should_stop)(quadrille_run* run);
  void (*stopped)(quadrille_run* run, const char* where);
} quadrille_host;

/* ---- the module ---- */

/* Bits of `flags` of a task. */
#define QUADRILLE_NEEDS_LINKS 1u /* a job with this task must have a gauge block */
#define QUADRILLE_MAKES_LINKS 2u /* the user is told that other tasks work on those of the gauge block all the same */

typedef struct quadrille_task {
  const char* name QUADRILLE_ZERO; /* `- task: NAME` in a job */
  const char* help QUADRILLE_ZERO;
  const quadrille_parameter* parameters QUADRILLE_ZERO;
  size_t parameter_count QUADRILLE_ZERO;
  uint32_t flags QUADRILLE_ZERO;
} quadrille_task;

typedef struct quadrille_module {
  uint32_t abi_version QUADRILLE_ZERO; /* QUADRILLE_MODULE_ABI */
  uint32_t struct_size QUADRILLE_ZERO; /* sizeof(quadrille_module), and of the two structs in the arrays below */
  uint32_t task_size QUADRILLE_ZERO;
  uint32_t parameter_size QUADRILLE_ZERO;
  const char* name QUADRILLE_ZERO;
  const char* version QUADRILLE_ZERO;
  const char* build_id QUADRILLE_ZERO; /* what it was built from, as text: a commit, a date; may be empty. Not read
                                        * of modules of the source tree, which have the build id of the program */
  const quadrille_task* tasks QUADRILLE_ZERO;
  size_t task_count QUADRILLE_ZERO;
  /* Makes what task number `task` works with, `instance`; may be null when there is nothing. */
  quadrille_status (*create)(const quadrille_host* host, quadrille_run* run, size_t task,
                             void** instance) QUADRILLE_ZERO;
  /* Whether the task can be done: what the schema cannot say, without reading large files and without writing any. A
   * job that is to run is checked twice, the second time when its backend is known. May be null. */
  quadrille_status (*check)(const quadrille_host* host, quadrille_run* run, size_t task) QUADRILLE_ZERO;
  quadrille_status (*run)(const quadrille_host* host, quadrille_run* run, size_t task, void* instance) QUADRILLE_ZERO;
  void (*destroy)(void* instance) QUADRILLE_ZERO; /* null where create is */
  /* Gives the names of the files that the task writes to add(to, name), for a task whose output parameters are patterns
   * of names. Null when each of them is a name. */
  quadrille_status (*outputs)(const quadrille_host* host, quadrille_run* run, size_t task,
                              void (*add)(void* to, const char* name), void* to) QUADRILLE_ZERO;
} quadrille_module;

#ifdef __cplusplus
}
#endif

#endif
