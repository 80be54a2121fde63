/* Quadrille for host codes: handles for gauge fields, Dirac operators and solvers, which work on arrays that the host
 * owns.
 *
 * Words. A host uses the same words as a job in YAML: `gauge`, `operator` and `solver` blocks, with the same keys,
 * defaults and messages (quadrille_help lists them). Words describe arrays too: see LINKS and SPINORS below. Null and
 * "" mean {}.
 *
 * Statuses. Every function returns QUADRILLE_DONE or another status (modules/shared/plugin/handles.h), with a message
 * that quadrille_message returns. No function ends the program, throws, or writes to stdout or stderr; none installs a
 * signal handler or changes the environment. If a call fails, its output is null or unchanged. On a GPU kernels are
 * tuned when they are first used, and the choices kept in a file of the user's cache (QUADRILLE_TUNING=off: neither).
 *
 * Handles. A handle that is null, destroyed or of another kind gives QUADRILLE_INVALID_HANDLE. An object may be
 * destroyed before the objects made from it, which keep what they need of it. quadrille_context_destroy destroys all
 * handles of its context.
 *
 * Ranks. A context may be made on an MPI communicator of the host (quadrille_context_create_mpi). Then all its ranks
 * must make the same calls, with the same words, in the same order. Only the functions that set callbacks and streams,
 * quadrille_message, quadrille_help, quadrille_schema, quadrille_gauge_dims, quadrille_gauge_part,
 * quadrille_solver_json and quadrille_statistics may be called on some ranks alone. Words describe the whole lattice;
 * arrays hold a rank's own part of it, which quadrille_gauge_part gives; results are those of the whole lattice. A call
 * that is refused on one rank is refused on all, with QUADRILLE_FAILED_ELSEWHERE on the ranks where nothing was wrong.
 * Only what keeps a rank from reaching the others leaves them waiting: a handle of `context`, `gauge`, `op` or `solver`
 * that is not valid there, a call from within a callback or from a thread that may not use MPI, memory that runs out in
 * the midst of the work.
 *
 * Threads. Contexts are independent: different threads may use different contexts at the same time. Calls with handles
 * of the same context take turns; a callback must not call back into its own context, which is refused. Jobs of one
 * process take turns: threads that run jobs on the same ranks must do so in the same order on all of them.
 *
 * Texts that functions return are valid until the next call with a handle of the same context; so are those of
 * quadrille_message and quadrille_*_json. Extents and coordinates are in the order x, y, z, t; x runs fastest. */
#ifndef QUADRILLE_H
#define QUADRILLE_H

#include "modules/shared/plugin/handles.h"

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

/* The version, "0.1.0", and the commit that the library was built from. Both stay valid while the library is loaded. */
QUADRILLE_C_API const char* quadrille_version(void);
QUADRILLE_C_API const char* quadrille_build_id(void);

/* ---- contexts ---- */

/* `words`: {backend: auto | cpu | cuda, device: K, threads: N}. auto (the default) is cuda if there is a usable GPU,
 * else cpu. Without `device` a context works on the thread's current GPU, which stays as it was. Contexts may work on
 * different GPUs. The default number of threads is OpenMP's on this thread. */
QUADRILLE_C_API quadrille_status quadrille_context_create(const char* words, quadrille_context** context);
/* The same on the ranks of an MPI communicator, of which the library uses a copy. The host initializes MPI before this
 * call and finalizes it itself. `communicator`: the address of an MPI_Comm, or in Fortran its integer handle (for a
 * communicator of mpi_f08: comm%mpi_val). All ranks make this call together. Further `words`:
 *   grid: [x, y, z, t]    ranks along x, y, z, t; default: for each lattice, the grid with the least to exchange
 *   device: K             of this rank; default: the number of the rank among those of its host in this communicator,
 *                         round robin: where a host has ranks of several communicators, say it
 *   place: [x, y, z, t]   of this rank in the grid, from 0; default: rank ((t Nz + z) Ny + y) Nx + x is at x y z t
 * Only the thread that initialized MPI may use the context, unless MPI was initialized with MPI_THREAD_SERIALIZED or
 * MPI_THREAD_MULTIPLE; using two contexts at the same time needs MPI_THREAD_MULTIPLE. The context must be destroyed
 * before MPI_Finalize. */
QUADRILLE_C_API quadrille_status quadrille_context_create_mpi(const char* words, const void* communicator,
                                                              quadrille_context** context);
QUADRILLE_C_API quadrille_status quadrille_context_create_mpi_fortran(const char* words, int communicator,
                                                                      quadrille_context** context);
QUADRILLE_C_API quadrille_status quadrille_context_destroy(quadrille_context* context);

/* Why the last failed call with a handle of this context did not return QUADRILLE_DONE; "" if none has failed. With a
 * null context: the same for all calls of this thread, including those without a context or a valid handle. Never
 * null. */
QUADRILLE_C_API const char* quadrille_message(const quadrille_context* context);

/* `log` gets each log message of `level` and above during calls with handles of the context, on the thread of the
 * call. Null (the default): no log. */
typedef void (*quadrille_log_function)(void* user, quadrille_log_level level, const char* text);
QUADRILLE_C_API quadrille_status quadrille_context_set_log(quadrille_context* context, quadrille_log_level level,
                                                           quadrille_log_function log, void* user);

/* `progress` is called after each iteration of a solve, for right-hand side `solve` (from 0) of `solves`; `residual` is
 * the iterated |r| / |b|. If it returns other than 0, the call ends with QUADRILLE_STOPPED: that solution and those
 * after it are not written. On several ranks it is enough if one of them does so; all end one iteration later. */
typedef int (*quadrille_progress_function)(void* user, size_t solve, size_t solves, int iteration, double residual);
QUADRILLE_C_API quadrille_status quadrille_context_set_progress(quadrille_context* context,
                                                                quadrille_progress_function progress, void* user);

/* A call reads and writes arrays with `where: device` only after all work that was queued on `stream` (a cudaStream_t
 * of the context's GPU) before the call has finished. Null (the default): the call waits for the whole device. Results
 * are ready on return. A context on the CPU has no streams: QUADRILLE_UNSUPPORTED. */
QUADRILLE_C_API quadrille_status quadrille_context_set_stream(quadrille_context* context, void* stream);

/* Help on words: topics "operator wilson" or "solver cg sloppy" as for `quadrille help`; also "context", "links",
 * "clover" and "spinors". Null: an overview. quadrille_schema gives the JSON Schema of a job, and under $defs those of
 * "context", "links", "clover" and "spinors". */
QUADRILLE_C_API quadrille_status quadrille_help(quadrille_context* context, const char* topic, const char** text);
QUADRILLE_C_API quadrille_status quadrille_schema(quadrille_context* context, const char** json);

/* ---- gauge fields ----
 *
 * LINKS, the words for arrays of links U_mu(x) of 3 x 3 complex numbers:
 *   dims: [x, y, z, t]                extents of the whole lattice, even; only when a field is created
 *   order: ildg | milc | cps | tifr | bqcd | qdp | qdpjit | openqcd
 *                                     ildg (the default): one array [site][mu][row][column], sites lexicographic
 *                                     milc: the same with sites even_odd
 *                                     cps: milc with matrices by columns (QUDA's CPS_WILSON)
 *                                     tifr: one array [mu][site][column][row], sites even_odd
 *                                     bqcd: tifr with (X/2 + 2) (Y + 2) (Z + 2) (T + 2) places for each parity,
 *                                     of which those after the sites (halos) are neither read nor written
 *                                     qdp: four arrays, one for each mu, [site][row][column], sites even_odd
 *                                     qdpjit: qdp with [re, im][row][column][site]
 *                                     openqcd: two arrays, openQCD's udfld() and its ipt (of int, always in host
 *                                     memory): eight links for each odd point, in directions t, x, y, z. On
 *                                     several ranks each gives those of its own part, in host memory; what openQCD
 *                                     keeps behind them (links at the boundary) is neither read nor written
 *   sites: lexicographic | even_odd | odd_even
 *                                     default: the order's own; even_odd: all even sites (x + y + z + t even),
 *                                     then all odd ones, lexicographic within each parity
 *   matrix: rows | columns            [row][column] or [column][row]; default: the order's own
 *   precision: double | single        of the numbers; default: double
 *   boundary: [..]                    as in operator: factors that the links of the last slices contain. They are
 *                                     divided out on import, and not multiplied in on export
 *   spatial_factor: F                 in the same way, a factor of the x, y and z links (an anisotropy)
 *   where: host | device              the memory that the arrays are in; default: host
 *   bytes: N                          the size of each array; if given, it must be the size that is needed
 *   part: [X, Y, Z, T]                the sites that the arrays hold; if given, they must be those of this rank's part
 *                                     of the lattice, on one rank dims */

/* `words`: a job's gauge block, {file: a.lime} or {start: hot, dims: [8, 8, 8, 16], seed: 7}. Files are relative to the
 * working directory. */
QUADRILLE_C_API quadrille_status quadrille_gauge_create(quadrille_context* context, const char* words,
                                                        quadrille_gauge** gauge);
/* Copies the links from arrays[0 .. count); `words`: LINKS with dims. QUADRILLE_NUMERICAL if a link is further from
 * SU(3) than 1e-10 (single: 1e-5); the message names the worst one. */
QUADRILLE_C_API quadrille_status quadrille_gauge_from_memory(quadrille_context* context, const char* words,
                                                             const void* const* arrays, size_t count,
                                                             quadrille_gauge** gauge);
/* Replaces the links by others with the same extents. Operators and solvers made from the field use the new ones. After
 * QUADRILLE_NUMERICAL the field holds the links that were given, until another call replaces them. */
QUADRILLE_C_API quadrille_status quadrille_gauge_update(quadrille_gauge* gauge, const char* words,
                                                        const void* const* arrays, size_t count);
/* Copies the links to the arrays, which are overwritten. */
QUADRILLE_C_API quadrille_status quadrille_gauge_to_memory(quadrille_gauge* gauge, const char* words,
                                                           void* const* arrays, size_t count);
/* Writes an ILDG file. `words`: as in `save` of the gauge block, {file: a.lime, precision: double}. */
QUADRILLE_C_API quadrille_status quadrille_gauge_save(quadrille_gauge* gauge, const char* words);
QUADRILLE_C_API quadrille_status quadrille_gauge_dims(quadrille_gauge* gauge, int dims[4]);
/* The extents of this rank's part of the lattice, which its arrays hold, and the coordinates of its first site in the
 * whole lattice (on one rank: the extents of the lattice, and 0 0 0 0). */
QUADRILLE_C_API quadrille_status quadrille_gauge_part(quadrille_gauge* gauge, int dims[4], int origin[4]);
/* Re tr U_p / 3: the mean over all planes, then the means of the planes xy, xz, xt, yz, yt, zt. */
QUADRILLE_C_API quadrille_status quadrille_gauge_plaquettes(quadrille_gauge* gauge, double plaquettes[7]);
/* Plaquettes, link trace and distance from SU(3), as in `gauge` of results.json. */
QUADRILLE_C_API quadrille_status quadrille_gauge_json(quadrille_gauge* gauge, const char** json);
QUADRILLE_C_API quadrille_status quadrille_gauge_destroy(quadrille_gauge* gauge);

/* ---- operators ----
 *
 * SPINORS, the words for arrays of spinors with 4 x 3 complex components (spin and color):
 *   subset: full | even | odd         default: full; even or odd: the array holds only the V/2 sites of that parity
 *   sites: lexicographic | even_odd | odd_even | openqcd
 *                                     of a full array, as for links; default: lexicographic. openqcd: the order
 *                                     of the points that came with the gauge field's links, also for one parity
 *   order: spin_color | color_spin    [site][spin][color] (the default) or [site][color][spin]
 *   precision: double | single        of the numbers; default: double
 *   basis: degrand_rossi | ukqcd | openqcd
 *                                     default: degrand_rossi (MILC's and QIO's); the matrices are in
 *                                     core/field/spin_basis.h
 *   normalization: mass | kappa       of M: mass (the default) is M = m + 4 - D/2; kappa is 2 kappa M
 *   where: host | device              as for links
 *   bytes: N                          the size of each array; if given, it must be the size that is needed */

/* `words`: a job's operator block, {type: wilson, kappa: 0.12}. */
QUADRILLE_C_API quadrille_status quadrille_operator_create(quadrille_gauge* gauge, const char* words,
                                                           quadrille_operator** op);
QUADRILLE_C_API quadrille_status quadrille_operator_destroy(quadrille_operator* op);

/* Replaces the site-diagonal part of M of an operator with a clover term, without i mu gamma_5, by the host's; solvers
 * made from the operator use it. It stays when the links are updated. `words`: CLOVER,
 *   order: triangle | matrix          [site][chirality][6 + 2 * 15] (the default): of a Hermitian 6 x 6 matrix the real
 *                                     numbers of the diagonal, then re and im of the elements below it, row after row
 *                                     (the order of Chroma); or [site][chirality][row][column], complex. Chirality +
 *                                     first, spins 0 and 1 of the DeGrand-Rossi basis; then -, spins 2 and 3; rows and
 *                                     columns are 3 spin + color
 *   sites: lexicographic | even_odd | odd_even
 *   precision, where, bytes           as for links
 *   normalization: mass | kappa       of M, as for spinors: 2 kappa M has 2 kappa times the blocks of M
 * QUADRILLE_NUMERICAL, naming the site, for a matrix that is further from Hermitian than 1e-10 (single: 1e-5) or cannot
 * be inverted (with i mu gamma_5); the operator holds the blocks that were given, until another call replaces them. */
QUADRILLE_C_API quadrille_status quadrille_operator_set_clover(quadrille_operator* op, const char* words,
                                                               const void* blocks);

/* out[k] = P in[k] in double precision for k in [0, count). The subset must be full for M, M^+ and M^+ M, even or
 * odd for products on one parity, and for the hopping term the parity of `out` (`in` has the other one). out[k] may be
 * the same array as in[k], but not as any other in. */
QUADRILLE_C_API quadrille_status quadrille_operator_apply(quadrille_operator* op, quadrille_product product,
                                                          const char* words, const void* const* in, void* const* out,
                                                          size_t count);

/* ---- solvers ---- */

/* `words`: a job's solver block, {type: bicgstab, tolerance: 1e-10, sloppy: {precision: half, reconstruct: 12}}. */
QUADRILLE_C_API quadrille_status quadrille_solver_create(quadrille_operator* op, const char* words,
                                                         quadrille_solver** solver);
QUADRILLE_C_API quadrille_status quadrille_solver_destroy(quadrille_solver* solver);

/* Solves P x[k] = b[k] for k in [0, count), several at once, with a single setup. `words`: SPINORS, and
 *   system: m | m_dagger | m_dagger_m | even_odd | even_odd_dagger | even_odd_normal
 *                                  P: with subset full M (the default), M^+ or M^+ M; with subset even or odd
 *                                  N = A - H A^-1 H on those sites, N^+ or N^+ N. Each factor of a product is a
 *                                  solve of its own, with its own max_iterations; but N^+ N x = b is
 *                                  solved at once by type: cg with scheme: reliable or uniform
 *   initial_guess: true            x[k] holds a guess: the solve starts from b - P x, in double; the tolerance is
 *                                  still relative to |b|
 *   batch: auto | n                how many at once, as far as memory suffices; auto: 16 on a GPU, 1 on a CPU. M^+ M
 *                                  and N^+ N are solved one after another. x[k] does not depend on it, to the last bit
 * x[k] is overwritten, and may be the same array as b[k]. `reports`: null, or `count` of them. QUADRILLE_NOT_CONVERGED
 * if a solve ended above the tolerance; all solutions and reports are written even so. */
QUADRILLE_C_API quadrille_status quadrille_solver_solve(quadrille_solver* solver, const char* words,
                                                        const void* const* b, void* const* x, size_t count,
                                                        quadrille_report* reports);
/* Solves (N^+ N + shifts[k]) x[k] = b for k in [0, count) at once by multishift CG, N = A - H A^-1 H on the sites of
 * one parity. `words`: SPINORS with subset even or odd. The shifts ascend and are not negative; N is that of the
 * `normalization`. The solver's words must have type: cg and scheme: reliable or uniform. x[k] is overwritten; every
 * |b - (N^+ N + shifts[k]) x[k]| is at most tolerance |b|. `reports`: null, or `count` of them; iterations are those in
 * which the shift took part; seconds and flops of the common iterations are in the first report, those of the others
 * are of what each needed by itself. Statuses as for quadrille_solver_solve. */
QUADRILLE_C_API quadrille_status quadrille_solver_solve_shifts(quadrille_solver* solver, const char* words,
                                                               const double* shifts, const void* b, void* const* x,
                                                               size_t count, quadrille_report* reports);
/* The solves of the last call as a JSON list, as in `solves` of results.json, with kernels and histories. */
QUADRILLE_C_API quadrille_status quadrille_solver_json(quadrille_solver* solver, const char** json);

/* ---- propagators ---- */

/* Copies the first propagator of a SciDAC file, as the task `propagator` saves it, to the arrays columns[0 .. count),
 * count = 12: column 3 * spin + color of the source, whose spins are in the DeGrand-Rossi basis. `words`: SPINORS with
 * subset full, basis degrand_rossi and normalization mass. The propagator must be on a lattice with the extents of the
 * field; its checksum must be right: else QUADRILLE_FILE_ERROR. */
QUADRILLE_C_API quadrille_status quadrille_propagator_read(quadrille_gauge* gauge, const char* file, const char* words,
                                                           void* const* columns, size_t count);

/* ---- statistics ---- */

/* Means and errors of measurements `rows` [configurations][length], in the order of the Markov chain, as in `averages`
 * and `fits` of results.json.
 *
 * Words:
 *   bin: N                            configurations in each bin; default: 1
 *   bootstrap: N                      samples for bootstrap errors beside those of the jackknife; default: 0, none
 *   seed: N                           of the bootstrap's random numbers; default: 1
 *   samples: true | false             also the means without each bin, and of each bootstrap sample; default: false
 *   effective_mass: true | false      also that of a cosh: a row is a correlator from the source on, of an even length
 *   fit: {window: [first, last], states: 1, correlated: false}
 *                                     also a fit of such rows, as in `ensemble.fits`
 *
 * *json is a map: configurations, bins; mean, error, bootstrap_error, tau_int, tau_int_error, gamma_error, window
 * (lists of `length` numbers); jackknife_samples, bootstrap_samples (lists of them); effective_mass; fit, null where
 * chi^2 has no minimum or no covariance that can be inverted, with the reason in `fit_warning`, which may also say that
 * a fit has no errors. What is not known is null. QUADRILLE_INVALID_INPUT for a window beyond the rows, or with more
 * parameters than the points and the bins allow; QUADRILLE_NUMERICAL for numbers that are not finite. On several ranks
 * each rank may call it alone. */
QUADRILLE_C_API quadrille_status quadrille_statistics(quadrille_context* context, const char* words, const double* rows,
                                                      size_t configurations, size_t length, const char** json);

/* ---- whole jobs ---- */

/* Runs a job as `quadrille run` does: {gauge: .., operator: .., solver: .., run: [{task: propagator, ..}, ..]}, with
 * any tasks. If `gauge` is not null, the job uses it, and the words must have no gauge block. Its files and
 * results.json are written into `folder`; the files that it reads are relative to the working directory. If the folder
 * holds an earlier run of the same job on the same links, that run continues; a run of another job there is
 * QUADRILLE_FILE_ERROR. *json (unless json is null) is the text of results.json. The progress function is called for
 * solves; for other work it is called with `solves` = 0 and, as the residual, the fraction that is left, from 1 to 0.
 * If it returns other than 0, the job saves its state and ends with QUADRILLE_STOPPED. QUADRILLE_NOT_CONVERGED if a
 * solve did not converge; all results are written even so. */
QUADRILLE_C_API quadrille_status quadrille_job_run(quadrille_context* context, quadrille_gauge* gauge,
                                                   const char* words, const char* folder, const char** json);

#ifdef __cplusplus
}
#endif

#endif
