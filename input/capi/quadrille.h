/* Quadrille for host codes: gauge fields, Dirac operators and solvers by handles, on arrays that the host owns.
 *
 * Words. A host gives the same words as a job in YAML: `gauge`, `operator` and `solver` blocks, with the same keys,
 * defaults and messages (quadrille_help lists them). Arrays are described in words too: LINKS and SPINORS below. Null
 * and "" mean {}.
 *
 * Statuses. Every function returns QUADRILLE_DONE or another status (modules/handles.h), with a message that
 * quadrille_message returns. No function ends the program, throws, or writes to stdout or stderr; none installs a
 * signal handler or changes the environment. If a call fails, its output is null or unchanged.
 *
 * Handles. A handle that is null, destroyed or of another kind gives QUADRILLE_INVALID_HANDLE. An object may be
 * destroyed before those made from it, which keep what they need. quadrille_context_destroy destroys all handles of its
 * context.
 *
 * Ranks. A context may be one of an MPI communicator of the host (quadrille_context_create_mpi). Then all its ranks
 * make the same calls, with the same words, in the same order; only what sets callbacks and streams, quadrille_message,
 * quadrille_help, quadrille_schema, quadrille_gauge_dims, quadrille_gauge_part and quadrille_solver_json may be called
 * on some. Words speak of the whole lattice, arrays hold a rank's own part of it, as quadrille_gauge_part has it,
 * results are those of the whole. A call that is refused on one rank is refused on all: where nothing was wrong with
 * QUADRILLE_FAILED_ELSEWHERE.
 *
 * Threads. Contexts know nothing of each other: each may be used by a thread of its own at the same time. Calls with
 * the handles of one context take turns; a callback that calls back into its own context is refused.
 *
 * Texts that functions return are valid until the next call with a handle of the same context, including those of
 * quadrille_message and quadrille_*_json. Extents and sites are x, y, z, t, x fastest. */
#ifndef QUADRILLE_H
#define QUADRILLE_H

#include "modules/handles.h"

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define QUADRILLE_C_API __attribute__((visibility("default")))
#else
#define QUADRILLE_C_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the library ---- */

/* "0.1.0"; and the commit that it was built from. Both are valid as long as the library is loaded. */
QUADRILLE_C_API const char* quadrille_version(void);
QUADRILLE_C_API const char* quadrille_build_id(void);

/* ---- contexts ---- */

/* `words`: {backend: auto | cpu | cuda, threads: N}. auto (the default) is cuda if there is a usable GPU; the default
 * number of threads is that of OpenMP on this thread. */
QUADRILLE_C_API quadrille_status quadrille_context_create(const char* words, quadrille_context** context);
/* The same on the ranks of a communicator of MPI, which the host has begun and ends itself; they use a copy of it.
 * `communicator`: the address of an MPI_Comm; or the number that Fortran has for it (of mpi_f08's, comm%mpi_val). The
 * ranks make this call together. More `words`:
 *   grid: [x, y, z, t]    ranks along x, y, z, t; without it, for each lattice, the grid with the least to exchange
 *   place: [x, y, z, t]   of this rank in the grid, from 0; without it rank ((t Nz + z) Ny + y) Nx + x is at x y z t
 * The context is used by the thread that began MPI, unless that was with MPI_THREAD_SERIALIZED or _MULTIPLE; two
 * contexts at the same time need _MULTIPLE. It is destroyed before MPI_Finalize. */
QUADRILLE_C_API quadrille_status quadrille_context_create_mpi(const char* words, const void* communicator,
                                                              quadrille_context** context);
QUADRILLE_C_API quadrille_status quadrille_context_create_mpi_fortran(const char* words, int communicator,
                                                                      quadrille_context** context);
QUADRILLE_C_API quadrille_status quadrille_context_destroy(quadrille_context* context);

/* Why the last failed call with a handle of this context did not return QUADRILLE_DONE; "" if none has failed. With
 * null: the same for all calls of this thread, for those without a context or a valid handle. Never null. */
QUADRILLE_C_API const char* quadrille_message(const quadrille_context* context);

/* `log` is called with what is said of `level` and above while a call with a handle of the context is at work, on the
 * thread of that call. Null, as at the start: nothing is said. */
typedef void (*quadrille_log_function)(void* user, quadrille_log_level level, const char* text);
QUADRILLE_C_API quadrille_status quadrille_context_set_log(quadrille_context* context, quadrille_log_level level,
                                                           quadrille_log_function log, void* user);

/* `progress` is called after each iteration of a solve: right-hand side `solve` (from 0) of `solves`, |r| / |b| as it
 * is iterated. Other than 0 ends the call with QUADRILLE_STOPPED: that solution and those after it are not written. On
 * several ranks one is enough, and all end an iteration later. */
typedef int (*quadrille_progress_function)(void* user, size_t solve, size_t solves, int iteration, double residual);
QUADRILLE_C_API quadrille_status quadrille_context_set_progress(quadrille_context* context,
                                                                quadrille_progress_function progress, void* user);

/* Arrays with `where: device` are ready when what `stream` (a cudaStream_t of the context's GPU) has been asked for
 * before a call is done. Null, as at the start: the call waits for the whole device. Results are ready on return. A
 * context on the CPU has no streams: QUADRILLE_UNSUPPORTED. */
QUADRILLE_C_API quadrille_status quadrille_context_set_stream(quadrille_context* context, void* stream);

/* Help on words: "operator wilson", "solver cg sloppy" as for `quadrille help`; also "context", "links", "spinors".
 * Null: an overview. And the JSON Schema of a job, which contains these words. */
QUADRILLE_C_API quadrille_status quadrille_help(quadrille_context* context, const char* topic, const char** text);
QUADRILLE_C_API quadrille_status quadrille_schema(quadrille_context* context, const char** json);

/* ---- gauge fields ----
 *
 * LINKS, the words for arrays of links U_mu(x) of 3 x 3 complex numbers:
 *   dims: [x, y, z, t]                extents of the whole lattice, even; only where a field is made
 *   order: ildg | milc | cps | tifr | bqcd | qdp | qdpjit | openqcd
 *                                     ildg (the default): one array [site][mu][row][column], sites lexicographic
 *                                     milc: the same with sites even_odd
 *                                     cps: milc with matrices by columns (QUDA's CPS_WILSON)
 *                                     tifr: one array [mu][site][column][row], sites even_odd
 *                                     bqcd: tifr with (X/2 + 2) (Y + 2) (Z + 2) (T + 2) places for each parity,
 *                                     of which those behind the sites (halos) are neither read nor written
 *                                     qdp: four arrays, one for each mu, [site][row][column], sites even_odd
 *                                     qdpjit: qdp with [re, im][row][column][site]
 *                                     openqcd: two, openQCD's udfld() and its ipt (of int, always in the host's
 *                                     memory): eight links for each odd point, in directions t, x, y, z; of one
 *                                     rank
 *   sites: lexicographic | even_odd | odd_even
 *                                     other than the order's own; even_odd: all even sites (x + y + z + t),
 *                                     then all odd ones, each of them lexicographic
 *   matrix: rows | columns            other than the order's own: [row][column] or [column][row]
 *   precision: double | single        of the numbers; double without it
 *   boundary: [..]                    as in operator: factors that are multiplied into the links of the last
 *                                     slices. They are divided out on the way in, not multiplied in on the way out
 *   spatial_factor: F                 in the same way, a factor of the links of x, y, z (an anisotropy)
 *   where: host | device              the memory that the arrays lie in; host without it
 *   bytes: N                          what each array holds; compared with what is needed when given */

/* `words`: a job's gauge block, {file: a.lime} or {start: hot, dims: [8, 8, 8, 16], seed: 7}. Files are relative to the
 * working directory. */
QUADRILLE_C_API quadrille_status quadrille_gauge_create(quadrille_context* context, const char* words,
                                                        quadrille_gauge** gauge);
/* From arrays[0 .. count), copied; LINKS with dims. QUADRILLE_NUMERICAL for links further from SU(3) than 1e-10
 * (single: 1e-5), naming the worst one. */
QUADRILLE_C_API quadrille_status quadrille_gauge_from_memory(quadrille_context* context, const char* words,
                                                             const void* const* arrays, size_t count,
                                                             quadrille_gauge** gauge);
/* New links of the same extents. Operators and solvers made from the field use them. After QUADRILLE_NUMERICAL the
 * field holds the links that were given, until another call replaces them. */
QUADRILLE_C_API quadrille_status quadrille_gauge_update(quadrille_gauge* gauge, const char* words,
                                                        const void* const* arrays, size_t count);
/* Copies the links to arrays, which are overwritten. */
QUADRILLE_C_API quadrille_status quadrille_gauge_to_memory(quadrille_gauge* gauge, const char* words,
                                                           void* const* arrays, size_t count);
/* Writes an ILDG file. `words`: as `save` of the gauge block, {file: a.lime, precision: double}. */
QUADRILLE_C_API quadrille_status quadrille_gauge_save(quadrille_gauge* gauge, const char* words);
QUADRILLE_C_API quadrille_status quadrille_gauge_dims(quadrille_gauge* gauge, int dims[4]);
/* The extents of this rank's part of the lattice, which its arrays hold, and the place of their first site in the whole
 * (of one rank: those of the lattice, and 0 0 0 0). */
QUADRILLE_C_API quadrille_status quadrille_gauge_part(quadrille_gauge* gauge, int dims[4], int origin[4]);
/* Re tr U_p / 3: the mean, then those of the planes xy, xz, xt, yz, yt, zt. */
QUADRILLE_C_API quadrille_status quadrille_gauge_plaquettes(quadrille_gauge* gauge, double plaquettes[7]);
/* Plaquettes, link trace, distance from SU(3), as `gauge` in results.json. */
QUADRILLE_C_API quadrille_status quadrille_gauge_json(quadrille_gauge* gauge, const char** json);
QUADRILLE_C_API quadrille_status quadrille_gauge_destroy(quadrille_gauge* gauge);

/* ---- operators ----
 *
 * SPINORS, the words for arrays of spinors of 4 spin and 3 colour components, complex numbers:
 *   subset: full | even | odd         full without it; of one parity only V/2 sites are in the array
 *   sites: lexicographic | even_odd | odd_even | openqcd
 *                                     of a full array, as for links; lexicographic without it. openqcd: the order
 *                                     of the points that came with the gauge field's links, also of one parity
 *   order: spin_color | color_spin    [site][spin][colour] without it
 *   precision: double | single        of the numbers; double without it
 *   basis: degrand_rossi | ukqcd | openqcd
 *                                     degrand_rossi (MILC's and QIO's) without it; core/field/spin_basis.h has
 *                                     the matrices
 *   normalization: mass | kappa       of M: mass (M = m + 4 - D/2) without it; kappa's is 2 kappa M
 *   where: host | device              as for links
 *   bytes: N                          what each array holds; compared with what is needed when given */

/* `words`: a job's operator block, {type: wilson, kappa: 0.12}. */
QUADRILLE_C_API quadrille_status quadrille_operator_create(quadrille_gauge* gauge, const char* words,
                                                           quadrille_operator** op);
QUADRILLE_C_API quadrille_status quadrille_operator_destroy(quadrille_operator* op);

/* out[k] = P in[k] in double precision for k in [0, count). The subset must be full for M, M^+ and M^+ M, even or
 * odd for those of one parity, and for the hopping term the parity of `out` (`in` is of the other one). An out[k] may
 * be in[k], but not any other in. */
QUADRILLE_C_API quadrille_status quadrille_operator_apply(quadrille_operator* op, quadrille_product product,
                                                          const char* words, const void* const* in, void* const* out,
                                                          size_t count);

/* ---- solvers ---- */

/* `words`: a job's solver block, {type: bicgstab, tolerance: 1e-10, sloppy: {precision: half, reconstruct: 12}}. */
QUADRILLE_C_API quadrille_status quadrille_solver_create(quadrille_operator* op, const char* words,
                                                         quadrille_solver** solver);
QUADRILLE_C_API quadrille_status quadrille_solver_destroy(quadrille_solver* solver);

/* Solves P x[k] = b[k] for k in [0, count), one after the other, with what was set up once. `words`: SPINORS, and
 *   system: m | m_dagger | m_dagger_m | even_odd | even_odd_dagger | even_odd_normal
 *                                  P: M (without it), M^+, M^+ M with subset full; with subset even or odd
 *                                  N = A - H A^-1 H there, N^+, N^+ N. Of a product each factor is a solve with
 *                                  max_iterations of its own
 *   initial_guess: true            x[k] holds it: the solve starts from b - P x, in double, with the target of b
 * x is overwritten, and may be b of the same k. `reports`: null or count of them. QUADRILLE_NOT_CONVERGED when a solve
 * ended above the tolerance: all solutions and reports are there all the same. */
QUADRILLE_C_API quadrille_status quadrille_solver_solve(quadrille_solver* solver, const char* words,
                                                        const void* const* b, void* const* x, size_t count,
                                                        quadrille_report* reports);
/* The solves of the last call, as `solves` of results.json has them, with kernels and histories: a JSON list. */
QUADRILLE_C_API quadrille_status quadrille_solver_json(quadrille_solver* solver, const char** json);

/* ---- whole jobs ---- */

/* Runs a job as `quadrille run` does: {gauge: .., operator: .., solver: .., run: [{task: propagator, ..}, ..]}, with
 * any tasks. If `gauge` is not null, the job uses it, and the words must have no gauge block. Files and results.json
 * are written into `folder`, files that it reads are relative to the working directory. If the folder holds an earlier
 * run of the same job on the same links, it is continued; one of another job is QUADRILLE_FILE_ERROR. *json (unless
 * json is null) is the text of results.json. The progress function is called for solves, and for other work with
 * `solves` 0 and the fraction that is left, from 1 to 0, as the residual; if it returns other than 0, the job ends with
 * QUADRILLE_STOPPED and saves its state. QUADRILLE_NOT_CONVERGED if a solve did not converge; all results are there. */
QUADRILLE_C_API quadrille_status quadrille_job_run(quadrille_context* context, quadrille_gauge* gauge,
                                                   const char* words, const char* folder, const char** json);

#ifdef __cplusplus
}
#endif

#endif
