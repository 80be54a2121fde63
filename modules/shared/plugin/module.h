/* The interface of a module: a descriptor of static data and functions with C linkage.
 *
 * A module built outside the source tree is a shared object that links libquadrille.so and exports
 *
 *     const quadrille_module* quadrille_module_descriptor(void);
 *
 * A module in the source tree is a folder modules/NAME whose sources define `quadrille_module_NAME` instead. The
 * descriptor, its tasks and their parameters must stay valid until the program ends. No exception may leave any
 * function: in C++, modules/shared/plugin/task.h ensures that.
 *
 * Structs only grow, at their end, and each has its size. The program ignores members of a module's structs that it
 * does not know, takes missing ones as zero, and refuses structs smaller than in this first version. A
 * module checks quadrille_host.struct_size before it uses what a later version has added. Any other change is a new
 * QUADRILLE_MODULE_ABI. Unknown types or flags in a descriptor are refused by name. */
#ifndef QUADRILLE_MODULES_MODULE_H
#define QUADRILLE_MODULES_MODULE_H

#include "modules/shared/plugin/handles.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define QUADRILLE_MODULE_ABI 1u

#ifdef __cplusplus
#define QUADRILLE_ZERO = {} /* so that C++ initializer lists may leave members out */
#else
#define QUADRILLE_ZERO
#endif

/* ---- parameters, as core/parameters/parameters.h has them ---- */

typedef enum quadrille_parameter_type QUADRILLE_INT_ENUM {
  QUADRILLE_BOOLEAN = 0,
  QUADRILLE_INTEGER = 1,        /* of 64 bits */
  QUADRILLE_REAL = 2,           /* finite double */
  QUADRILLE_TEXT = 3,           /* any string */
  QUADRILLE_CHOICE = 4,         /* one of `choices` */
  QUADRILLE_FILE_IN = 5,        /* a path relative to the job file */
  QUADRILLE_FILE_OUT = 6,       /* a path relative to the output folder */
  QUADRILLE_GROUP = 7,          /* a map with the keys `members` */
  QUADRILLE_LIST = 8,           /* a list of what its single member describes: a choice, for example, but not a list */
  QUADRILLE_NUMBER_OR_WORD = 9, /* a finite double, or one of `choices`, as in `delta: auto` */
  QUADRILLE_INTEGER4 = 10,      /* [x, y, z, t], each of 32 bits */
  QUADRILLE_BOUNDARY = 11,      /* four of periodic, antiperiodic and {phase: theta/pi} */
  QUADRILLE_VARIANT = 12,       /* a map whose key `selector` names one of `members`, all of them groups; its other keys
                                 * are the members of that group */
  QUADRILLE_EARLIER_TASK = 13   /* the name of an earlier task of the job, of the kind that `choices` has as its only
                                 * entry; a parameter of the task itself, or the member of a list that is one. A task
                                 * that takes propagators has QUADRILLE_NEEDS_LINKS without saying so */
} quadrille_parameter_type;

/* Bits of `flags`. A bound applies only if its bit is set. */
#define QUADRILLE_REQUIRED 1u
#define QUADRILLE_HAS_MINIMUM 2u
#define QUADRILLE_HAS_MAXIMUM 4u
#define QUADRILLE_MINIMUM_OPEN 8u /* value > minimum rather than >= */
#define QUADRILLE_MAXIMUM_OPEN 16u
#define QUADRILLE_EVEN 32u /* of integers */
/* Of a task's own integers: a later run of the job in the same output folder may have a larger value. The task then
 * continues from the state of its end (quadrille_host.finishing). */
#define QUADRILLE_EXTENDS 64u

/* The condition under which a parameter has a meaning: another parameter has one of some values. */
typedef struct quadrille_condition {
  const char* parameter QUADRILLE_ZERO;     /* earlier in the same table; null ends a list of conditions */
  const char* const* values QUADRILLE_ZERO; /* as text; the list ends with null; null: any value */
} quadrille_condition;

typedef struct quadrille_parameter {
  const char* name QUADRILLE_ZERO;
  quadrille_parameter_type type QUADRILLE_ZERO;
  const char* help QUADRILLE_ZERO;
  const char* unit QUADRILLE_ZERO;         /* as text; null if dimensionless */
  const char* default_text QUADRILLE_ZERO; /* as written in a job; null if there is none */
  uint32_t flags QUADRILLE_ZERO;
  double minimum QUADRILLE_ZERO;
  double maximum QUADRILLE_ZERO;
  const char* const* choices QUADRILLE_ZERO;  /* ends with null */
  const char* const* excludes QUADRILLE_ZERO; /* parameters that may not be given with this one; ends with null */
  const struct quadrille_parameter* members QUADRILLE_ZERO;
  size_t member_count QUADRILLE_ZERO;
  const char* shorthand QUADRILLE_ZERO; /* of a group: a scalar in place of the map sets this member */
  /* All must hold; otherwise giving the parameter is an error, and neither its default nor QUADRILLE_REQUIRED applies.
   */
  const quadrille_condition* only_if QUADRILLE_ZERO;
  /* Of a group: lists of members; exactly one member of each list must be given. All lists end with null. */
  const char* const* const* exactly_one_of QUADRILLE_ZERO;
  const char* selector QUADRILLE_ZERO; /* of a variant; null: "type" */
  size_t fewest QUADRILLE_ZERO;        /* the least number of entries of a list; 0 means 1 */
  size_t most QUADRILLE_ZERO;          /* the largest number; 0 means 1000 */
} quadrille_parameter;

/* ---- a running task ---- */

/* One task of a job while it is checked or run. */
typedef struct quadrille_run quadrille_run;

/* The functions of quadrille.h on handles; they are documented there. A module that calls them through this table need
 * not be linked with the library; they may be called on the task's thread only. Solves appear in results.json under the
 * task's name, and one that does not converge makes the job's exit status 3. The module decides what to do about any
 * status other than QUADRILLE_DONE, QUADRILLE_NO_MEMORY included: message() has the reason, for quadrille_host.fail.
 *
 * What is missing here belongs to the job: its files are declared outputs (quadrille_host.write_gauge), its log,
 * progress and stream are those of quadrille_host, and a task runs no job. */
typedef struct quadrille_functions {
  uint32_t struct_size;
  const char* (*message)(const quadrille_context* context);
  quadrille_status (*gauge_create)(quadrille_context* context, const char* words, quadrille_gauge** gauge);
  quadrille_status (*gauge_from_memory)(quadrille_context* context, const char* words, const void* const* arrays,
                                        size_t count, quadrille_gauge** gauge);
  quadrille_status (*gauge_update)(quadrille_gauge* gauge, const char* words, const void* const* arrays, size_t count);
  quadrille_status (*gauge_to_memory)(quadrille_gauge* gauge, const char* words, void* const* arrays, size_t count);
  quadrille_status (*gauge_dims)(quadrille_gauge* gauge, int dims[4]);
  quadrille_status (*gauge_plaquettes)(quadrille_gauge* gauge, double plaquettes[7]);
  quadrille_status (*gauge_json)(quadrille_gauge* gauge, const char** json);
  quadrille_status (*gauge_destroy)(quadrille_gauge* gauge);
  quadrille_status (*operator_create)(quadrille_gauge* gauge, const char* words, quadrille_operator** op);
  quadrille_status (*operator_apply)(quadrille_operator* op, quadrille_product product, const char* words,
                                     const void* const* in, void* const* out, size_t count);
  quadrille_status (*operator_destroy)(quadrille_operator* op);
  quadrille_status (*solver_create)(quadrille_operator* op, const char* words, quadrille_solver** solver);
  quadrille_status (*solver_solve)(quadrille_solver* solver, const char* words, const void* const* b, void* const* x,
                                   size_t count, quadrille_report* reports);
  quadrille_status (*solver_json)(quadrille_solver* solver, const char** json);
  quadrille_status (*solver_destroy)(quadrille_solver* solver);
  /* Copies the solution `column` = 3 spin + color of the source (spins in the DeGrand-Rossi basis) to an array;
   * `words`: SPINORS of quadrille.h (subset full). */
  quadrille_status (*propagator_to_memory)(quadrille_propagator* propagator, int column, const char* words,
                                           void* array);
  quadrille_status (*gauge_part)(quadrille_gauge* gauge, int dims[4], int origin[4]);
  quadrille_status (*help)(quadrille_context* context, const char* topic, const char** text);
  quadrille_status (*schema)(quadrille_context* context, const char** json);
} quadrille_functions;

/* What the program offers to a task.
 *
 * Threads: only the thread that called the module's function may call these functions. A call from another thread does
 * nothing and fails (texts: ""; numbers: 0), and the task ends with an error that names the function.
 *
 * A parameter is named by its path, as in "save.file"; in a list of maps, "systems[2].file" belongs to the third. An
 * `index` counts the entries of a list, or x, y, z, t; otherwise it is 0. A path that is not in the task's schema, or
 * has another type there, is an error of the module: the function returns QUADRILLE_FAILED (has() and count(): 0) and
 * the task ends with an error that names the path. Texts are valid until the module's function returns. */
typedef struct quadrille_host {
  uint32_t abi_version;
  uint32_t struct_size;

  /* Whether a parameter has a value, from the job or by default. */
  int (*has)(quadrille_run* run, const char* path);
  /* The number of entries of a list; 4 for x, y, z, t; 1 for any other parameter with a value, 0 without one. */
  size_t (*count)(quadrille_run* run, const char* path);
  /* The value of a boolean. */
  quadrille_status (*boolean)(quadrille_run* run, const char* path, size_t index, int* value);
  /* The value of an integer, or one of the four of QUADRILLE_INTEGER4. */
  quadrille_status (*integer)(quadrille_run* run, const char* path, size_t index, int64_t* value);
  /* The value of a real number, one of the four phases theta/pi of a boundary (0 periodic, 1 antiperiodic), or the
   * number of QUADRILLE_NUMBER_OR_WORD. */
  quadrille_status (*real)(quadrille_run* run, const char* path, size_t index, double* value);
  /* The value of a text, a choice, the selector of a variant ("source.type"), the name of an earlier task, a file as
   * the job spells it, or the word of QUADRILLE_NUMBER_OR_WORD (null if it is a number). */
  quadrille_status (*text)(quadrille_run* run, const char* path, size_t index, const char** value);
  /* The file that an input parameter names, relative to the folder of the job. */
  quadrille_status (*input_file)(quadrille_run* run, const char* path, size_t index, const char** file);
  /* The file that an output parameter names in the output folder; its subfolders are created. The file belongs to the
   * task's results. */
  quadrille_status (*output_file)(quadrille_run* run, const char* path, size_t index, const char** file);

  /* The same for a file given by its name, which must be one that the task's function `outputs` gives. */
  quadrille_status (*output_named)(quadrille_run* run, const char* name, const char** file);

  /* The name of the task in the job. */
  const char* (*task_name)(quadrille_run* run);
  /* "cpu" or "cuda"; empty while the task is checked for all backends. */
  const char* (*backend)(quadrille_run* run);
  /* The number of threads that OpenMP uses. */
  int (*threads)(quadrille_run* run);

  /* Adds a JSON object to results.json: under the task's name, or, if `block` is not null, under that block (one that
   * the descriptor names) and within it the task's name. A later call adds and replaces keys. A result
   * with "converged": false makes the exit status of the job 3, as a solve that does not converge does. */
  quadrille_status (*result)(quadrille_run* run, const char* block, const char* json);
  /* Adds a warning to results.json and to the log. */
  void (*warn)(quadrille_run* run, const char* text);
  /* Updates the progress line on a terminal. `fraction`: how much of the task is done, 0 to 1; the remaining time is
   * estimated from it. */
  void (*progress)(quadrille_run* run, const char* text, double fraction);
  /* Says why the module's function will return QUADRILLE_FAILED. `path` names the parameter at fault, and the message
   * then gives its place in the job; null if there is none. `code`: INVALID_INPUT, FILE_ERROR, UNSUPPORTED, NUMERICAL,
   * NO_MEMORY or FAILED_ELSEWHERE; any other code is reported as a bug in the module. */
  void (*fail)(quadrille_run* run, quadrille_status code, const char* path, const char* message);

  /* ---- handles: they live as long as the task; their functions are in `functions` ---- */

  const quadrille_functions* functions;
  /* The job's context: its backend and its threads. */
  quadrille_status (*context)(quadrille_run* run, quadrille_context** context);
  /* The links of the job's gauge block, or those of the last task before with QUADRILLE_MAKES_LINKS, for a task with
   * QUADRILLE_NEEDS_LINKS. They cannot be changed. */
  quadrille_status (*gauge)(quadrille_run* run, quadrille_gauge** gauge);
  /* The operator of the job, or of the task, on these links, for a task with QUADRILLE_NEEDS_OPERATOR; and the solver
   * for it, for a task with QUADRILLE_NEEDS_SOLVER. Created by the first call. */
  quadrille_status (*dirac_operator)(quadrille_run* run, quadrille_operator** op);
  quadrille_status (*solver)(quadrille_run* run, quadrille_solver** solver);
  /* The propagator of the earlier task that a parameter of type QUADRILLE_EARLIER_TASK names; its kind must be
   * propagator. It is solved for again if an earlier run of the job did so but did not save it. */
  quadrille_status (*propagator)(quadrille_run* run, const char* path, size_t index, quadrille_propagator** propagator);
  /* For C++ of the same build. object: the object behind a handle, a const quadrille:: GaugeStore, DiracOperator,
   * SystemSolver or Propagator; behind the context's the Communicator of the job's ranks. handle_of_gauge: a handle for
   * a GaugeStore on the job's backend, which the module keeps alive and does not move until it calls gauge_destroy. */
  quadrille_status (*object)(quadrille_run* run, const void* handle, const void** object);
  quadrille_status (*handle_of_gauge)(quadrille_run* run, const void* gauge_store, quadrille_gauge** gauge);
  /* Writes an ILDG file with checksums into the output folder, whole or not at all, in 32 or 64 bits, under one of the
   * names that a parameter of type QUADRILLE_FILE_OUT or the task's function `outputs` gives. */
  quadrille_status (*write_gauge)(quadrille_run* run, const char* name, quadrille_gauge* gauge, int bits);

  /* ---- the device ---- */

  /* The number of the GPU and the stream (a cudaStream_t) that the job's backend uses; -1 and null on a CPU. */
  quadrille_status (*device)(quadrille_run* run, int* ordinal, void** stream);
  /* Memory from the pool of the job's backend, aligned to 64 bytes: on that GPU, or on the host. What a task does not
   * release is released at its end. After QUADRILLE_NO_MEMORY the task ends with that error unless its function returns
   * QUADRILLE_DONE. */
  quadrille_status (*allocate)(quadrille_run* run, size_t bytes, void** memory);
  quadrille_status (*release)(quadrille_run* run, void* memory);

  /* ---- states from which an interrupted task continues ----
   *
   * A state is a set of parts, bytes or gauge fields, each with a name (at most 64 letters, digits and '_'). put_*
   * write parts into files; keep_state() makes all parts put since its last call the state of the task: it replaces the
   * state before in one step. A later run of the same task on the same instruction set gets the last state that was
   * kept; the hashes of all parts are checked, and a damaged state is ignored with a warning. Gauge fields take 64 bits
   * a number, or 32 where the task goes on from such links with the same bits; a file in as many bits that the task has
   * written of the same links serves as the part. */
  quadrille_status (*put_state)(quadrille_run* run, const char* name, const void* bytes, size_t size);
  quadrille_status (*put_state_gauge)(quadrille_run* run, const char* name, quadrille_gauge* gauge, int bits);
  quadrille_status (*keep_state)(quadrille_run* run);
  /* How many states the task has kept, over all its runs, and the hash of the last one's parts (16 hexadecimal digits);
   * 0 and null if the task starts from the beginning. */
  quadrille_status (*state)(quadrille_run* run, uint64_t* generation, const char** hash);
  /* Parts of the state that the run started from; null if there is none of that name. */
  quadrille_status (*get_state)(quadrille_run* run, const char* name, const void** bytes, size_t* size);
  quadrille_status (*get_state_gauge)(quadrille_run* run, const char* name, quadrille_gauge** gauge);

  /* The file that the links of the job's gauge block come from, as the job spells it; null for links that the job
   * generates. See links_origin. */
  const char* (*links_file)(quadrille_run* run);
  /* Whether the job has been asked to stop (SIGINT, SIGTERM). A long task checks this after each of its steps; to stop,
   * it keeps a state, says where it stopped ("after sweep 157") with stopped() and returns QUADRILLE_STOPPED. */
  int (*should_stop)(quadrille_run* run);
  /* See should_stop(). */
  void (*stopped)(quadrille_run* run, const char* where);

  /* ---- several ranks, for a task with QUADRILLE_ON_RANKS ----
   *
   * Ranks are processes that each run the task on a part of the lattice. They form a grid, and all parts have the same
   * extents; without links all are along t. Links and arrays in this interface are those of this rank's part; the
   * coordinates of its first site are the rank's place in the grid times those extents. All ranks must call, in the
   * same order, the functions that follow and every function above that works with links, writes, keeps or returns
   * states, prepares a file or asks whether to stop. Results, warnings, bytes of states and the log are those of rank
   * 0. All of this works on one rank too. */

  /* The number of ranks along x, y, z, t, and the place of this one, which is rank ((t Nz + z) Ny + y) Nx + x. */
  quadrille_status (*rank_grid)(quadrille_run* run, int grid[4], int place[4]);
  /* Replaces values[0..count) by their sums over all ranks, added in the order of ranks. */
  quadrille_status (*sum)(quadrille_run* run, double* values, size_t count);
  /* Copies the `bytes` bytes at `mine` of each rank to all[rank * bytes ..) on every rank. */
  quadrille_status (*gather)(quadrille_run* run, const void* mine, size_t bytes, void* all);
  /* Copies `bytes` bytes at `data` from rank `root` to all others. */
  quadrille_status (*broadcast)(quadrille_run* run, void* data, size_t bytes, int root);
  /* Sends to the neighbour in `direction` (0..3 forward x..t, 4..7 backward; the grid is periodic), and receives as
   * many bytes from the neighbour in the opposite direction. */
  quadrille_status (*exchange)(quadrille_run* run, int direction, const void* send, void* receive, size_t bytes);

  /* Writes to the log only (standard error). */
  void (*log)(quadrille_run* run, quadrille_log_level level, const char* text);

  /* ---- links that a task makes, and where links come from ---- */

  /* The task has done its work: the state that it keeps after this call stays when it has finished. A run with a larger
   * value of a parameter with QUADRILLE_EXTENDS continues from it, also on another instruction set (with a warning).
   * The program also runs the task again from it if later tasks need the links that it made. */
  quadrille_status (*finishing)(quadrille_run* run);
  /* The links that later tasks of the job work on, for a task with QUADRILLE_MAKES_LINKS; copied. On a run that starts
   * from the state of the task's end they must be the same bit for bit. */
  quadrille_status (*set_links)(quadrille_run* run, quadrille_gauge* gauge);
  /* What gauge files that the task writes from now on say about their links: a JSON object of strings and numbers, for
   * example {"action": "Wilson plaquette", "beta": 6, "sweep": 300}. The program's version and the task's name are
   * added. */
  quadrille_status (*describe_links)(quadrille_run* run, const char* json);
  /* Where the links of the task come from, as a JSON object: of a file {"file": NAME, "origin": what the file says, as
   * above; absent if it says nothing}; of an earlier task {"task": NAME}. Null for a start, or the links of a host. */
  const char* (*links_origin)(quadrille_run* run);

  /* The path of a file, given relative to the output folder, for what a task cannot hold in memory: no result, so that
   * the task is to remove it, also when it fails. Makes the folders on the way to it, and keeps its name with those of
   * the outputs. Of several ranks all must call it, with the same name. A name that is that of an output of the job, of
   * a file that it reads or of one of the program's own is a defect of the task. */
  quadrille_status (*scratch_file)(quadrille_run* run, const char* name, const char** file);
} quadrille_host;

/* ---- the module ---- */

/* Bits of `flags` of a task: */

/* A job with this task must have a gauge block, and the task may ask for its links. */
#define QUADRILLE_NEEDS_LINKS 1u
/* Later tasks work on the links that it makes (quadrille_host.set_links). */
#define QUADRILLE_MAKES_LINKS 2u
/* The job or the task must have an `operator` block; with QUADRILLE_NEEDS_LINKS. */
#define QUADRILLE_NEEDS_OPERATOR 4u
/* And a `solver` block; with QUADRILLE_NEEDS_OPERATOR. */
#define QUADRILLE_NEEDS_SOLVER 8u
/* Several ranks may run it together; any other task needs a single rank. */
#define QUADRILLE_ON_RANKS 16u

typedef struct quadrille_task {
  const char* name QUADRILLE_ZERO; /* `- task: NAME` in a job */
  const char* help QUADRILLE_ZERO;
  const quadrille_parameter* parameters QUADRILLE_ZERO;
  size_t parameter_count QUADRILLE_ZERO;
  uint32_t flags QUADRILLE_ZERO;
  /* As for a group: lists of parameters; exactly one of each list must be given. */
  const char* const* const* exactly_one_of QUADRILLE_ZERO;
  /* Checks what the schema cannot say, without reading large files and without writing any. A job that will run is
   * checked twice, the second time when its backend is known. May be null. */
  quadrille_status (*check)(const quadrille_host* host, quadrille_run* run) QUADRILLE_ZERO;
  /* Runs the task. */
  quadrille_status (*run)(const quadrille_host* host, quadrille_run* run) QUADRILLE_ZERO;
  /* Calls add(to, name) for each file that the task writes, for a task whose output parameters are patterns of file
   * names. Null if each of them is a file name. */
  quadrille_status (*outputs)(const quadrille_host* host, quadrille_run* run, void (*add)(void* to, const char* name),
                              void* to) QUADRILLE_ZERO;
} quadrille_task;

typedef struct quadrille_module {
  uint32_t abi_version QUADRILLE_ZERO; /* QUADRILLE_MODULE_ABI */
  uint32_t struct_size QUADRILLE_ZERO; /* sizeof(quadrille_module), and of the two structs in the arrays below */
  uint32_t task_size QUADRILLE_ZERO;
  uint32_t parameter_size QUADRILLE_ZERO;
  const char* name QUADRILLE_ZERO;
  const char* version QUADRILLE_ZERO;
  const char* build_id QUADRILLE_ZERO; /* what it was built from, as text: a commit, a date; may be empty. Ignored for
                                        * modules of the source tree, which have the build id of the program */
  const quadrille_task* tasks QUADRILLE_ZERO;
  size_t task_count QUADRILLE_ZERO;
  /* Names of the blocks of results.json that its tasks report under; no other module and not the program may use them.
   * Ends with null. Null: there are none. */
  const char* const* blocks QUADRILLE_ZERO;
  /* Of a module that includes C++ headers of the library other than modules/shared/plugin/parameters.h:
   * quadrille_build_id() of the library that they belong to (QUADRILLE_CPP_BUILD of the installed quadrille_build.h). A
   * program of another build refuses the module, because only C symbols stay the same. Null in C. Ignored for modules
   * of the source tree. */
  const char* cpp_build QUADRILLE_ZERO;
} quadrille_module;

#ifdef __cplusplus
}
#endif

#endif
