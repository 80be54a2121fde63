/* What host codes and modules have in common: the handles of the library's objects, and what a call comes to.
 *
 * A handle is a value in the clothes of a pointer: it is looked up, never followed, so that one that was destroyed, or
 * that is of another kind, is told by a status. Null is no handle. */
#ifndef QUADRILLE_MODULES_HANDLES_H
#define QUADRILLE_MODULES_HANDLES_H

#ifdef __cplusplus
extern "C" {
#endif

/* Where work is done: a backend, its threads, what it says. */
typedef struct quadrille_context quadrille_context;
/* A gauge field on the backend of its context. (Those that a module is given, modules/module.h, are no handles of this
 * kind yet: to C++ they are const quadrille::GaugeStore.) */
typedef struct quadrille_gauge quadrille_gauge;
/* A Dirac operator on a gauge field. */
typedef struct quadrille_operator quadrille_operator;
/* A solver of systems with an operator. */
typedef struct quadrille_solver quadrille_solver;

/* What a call came to. Everything but QUADRILLE_DONE has a message (quadrille_message; quadrille_host.fail). */
typedef enum quadrille_status {
  QUADRILLE_DONE = 0,
  QUADRILLE_FAILED = 1,         /* of a module: quadrille_host.fail has been told why */
  QUADRILLE_STOPPED = 2,        /* somebody asked for an end: should_stop(), or a progress function */
  QUADRILLE_INVALID_INPUT = 3,  /* words or numbers that cannot be used as they stand */
  QUADRILLE_FILE_ERROR = 4,     /* a file is missing, unreadable, unwritable or corrupt */
  QUADRILLE_UNSUPPORTED = 5,    /* valid in itself, but not possible here */
  QUADRILLE_NUMERICAL = 6,      /* not-a-number or infinity where a finite value is required; links not in SU(3) */
  QUADRILLE_INTERNAL = 7,       /* a defect of the program or of a module */
  QUADRILLE_INVALID_HANDLE = 8, /* null, destroyed, of another kind, or no handle at all */
  QUADRILLE_NO_MEMORY = 9,      /* the memory of the host or of the device has run out */
  QUADRILLE_NOT_CONVERGED = 10  /* a solve ended above its tolerance; its solution and report are there */
} quadrille_status;

#ifdef __cplusplus
}
#endif

#endif
