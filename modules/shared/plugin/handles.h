/* Shared by host codes and modules: the handles of the library's objects, and the statuses of calls.
 *
 * A handle is a value with the type of a pointer: it is looked up, never dereferenced, so that one that is destroyed or
 * of another kind gives a status. Null is not a handle. */
#ifndef QUADRILLE_MODULES_HANDLES_H
#define QUADRILLE_MODULES_HANDLES_H

#include <stdint.h>

/* Callers pass these enumerations: in C++ they may hold any int, so that a wrong one can be refused. */
#ifdef __cplusplus
#define QUADRILLE_INT_ENUM : int
extern "C" {
#else
#define QUADRILLE_INT_ENUM
#endif

/* Where the work is done: a backend with its threads and its log. */
typedef struct quadrille_context quadrille_context;
/* A gauge field on the backend of its context. */
typedef struct quadrille_gauge quadrille_gauge;
/* A Dirac operator on a gauge field. */
typedef struct quadrille_operator quadrille_operator;
/* A solver for linear systems with an operator. */
typedef struct quadrille_solver quadrille_solver;
/* The twelve solutions of a `propagator` task, for modules. */
typedef struct quadrille_propagator quadrille_propagator;

/* The result of a call. Every status but QUADRILLE_DONE comes with a message (quadrille_message; in modules
 * quadrille_host.fail). */
typedef enum quadrille_status QUADRILLE_INT_ENUM {
  QUADRILLE_DONE = 0,
  QUADRILLE_FAILED = 1,            /* of a module, which told quadrille_host.fail why */
  QUADRILLE_STOPPED = 2,           /* a stop was requested: see should_stop(); or by a progress function */
  QUADRILLE_INVALID_INPUT = 3,     /* invalid words, numbers or pointers */
  QUADRILLE_FILE_ERROR = 4,        /* a file is missing, unreadable, unwritable or corrupt */
  QUADRILLE_UNSUPPORTED = 5,       /* valid in itself, but not possible here */
  QUADRILLE_NUMERICAL = 6,         /* not-a-number or infinity where a finite value is required; links not in SU(3) */
  QUADRILLE_INTERNAL = 7,          /* a bug in the program or in a module */
  QUADRILLE_INVALID_HANDLE = 8,    /* null, destroyed, of another kind, or not a handle */
  QUADRILLE_NO_MEMORY = 9,         /* the host or the device is out of memory */
  QUADRILLE_NOT_CONVERGED = 10,    /* an iteration ended above its tolerance; its results are written */
  QUADRILLE_FAILED_ELSEWHERE = 11, /* another rank failed; its status says why */
  QUADRILLE_INACCURATE = 12        /* the results are written, but are further off than their tolerance explains */
} quadrille_status;

/* In blocks of the two parities M = [[A, H_eo], [H_oe, A]]; for Wilson fermions A = m + 1 + 3 nu/xi0 and H = -D/2. */
typedef enum quadrille_product QUADRILLE_INT_ENUM {
  QUADRILLE_M = 0,
  QUADRILLE_M_DAGGER = 1,
  QUADRILLE_M_DAGGER_M = 2,
  QUADRILLE_HOP = 3, /* H: the hopping term from one parity to the other */
  QUADRILLE_HOP_DAGGER = 4,
  QUADRILLE_EVEN_ODD = 5, /* A - H A^-1 H on the sites of one parity */
  QUADRILLE_EVEN_ODD_DAGGER = 6,
  QUADRILLE_EVEN_ODD_DAGGER_EVEN_ODD = 7
} quadrille_product;

/* The severity of a log message. */
typedef enum quadrille_log_level QUADRILLE_INT_ENUM {
  QUADRILLE_LOG_DEBUG = 1,
  QUADRILLE_LOG_INFO = 2,
  QUADRILLE_LOG_WARNING = 3,
  QUADRILLE_LOG_ERROR = 4
} quadrille_log_level;

typedef enum quadrille_stop_reason QUADRILLE_INT_ENUM {
  QUADRILLE_CONVERGED = 0,
  QUADRILLE_MAX_ITERATIONS = 1,
  QUADRILLE_BREAKDOWN = 2,
  QUADRILLE_DIVERGED = 3,
  QUADRILLE_NOT_FINITE = 4,
  QUADRILLE_STAGNATED = 5
} quadrille_stop_reason;

/* What a solve did. Later versions only add members at the end. Initialize it, `quadrille_report r =
 * QUADRILLE_REPORT_INIT;`, or in an array of reports the first one. The library writes no more than struct_size bytes
 * of each. */
typedef struct quadrille_report {
  uint32_t struct_size;
  int32_t stop_reason; /* quadrille_stop_reason */
  int32_t iterations;  /* of the Krylov method, restarts included */
  int32_t reliable_updates;
  int32_t restarts;
  int32_t converged;     /* 1 or 0 */
  double residual;       /* the true |b - P x| / |b|, in double precision with the links as given */
  double solve_seconds;  /* time to solution */
  double import_seconds; /* copying b and the initial guess into the library's fields */
  double export_seconds; /* copying x out of them */
  double flops;          /* of operator applications on this rank, by the standard count */
  uint64_t host_bytes;   /* read from and written to the host's arrays */
} quadrille_report;

#define QUADRILLE_REPORT_INIT \
  { (uint32_t)sizeof(quadrille_report), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

#ifdef __cplusplus
}
#endif

#endif
