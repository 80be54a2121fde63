"""Solvers of linear systems."""

import collections
import ctypes
import json

import numpy as np

from . import _arrays, _library
from ._context import Handle
from ._errors import DONE, NOT_CONVERGED, InvalidInput, NotConverged
from ._operator import Operator, _with_type, output_for
from ._progress import function_of
from ._words import Words

STOP_REASONS = ("converged", "max_iterations", "breakdown", "diverged", "not_finite", "stagnated")

SolveReport = collections.namedtuple(
    "SolveReport", "converged stop_reason iterations residual seconds reliable_updates restarts import_seconds "
    "export_seconds flops host_bytes copied")
SolveReport.__doc__ = """What a solve did: converged; stop_reason; iterations, restarts included; residual, the true
|b - P x| / |b| in double; seconds to the solution; reliable_updates; restarts; import_seconds and export_seconds, for b and x
between the caller's arrays and the library's; flops, by the standard count; host_bytes, read and written in the caller's
arrays; copied, whether b had to be brought into C order first."""


def solver(op, type=None, **words):  # pylint: disable=redefined-builtin
    """A solver of M x = b with an operator.

        solver = q.solver(op, "bicgstab", tolerance=1e-10, sloppy={"precision": "half", "reconstruct": 12})
        x = solver(b)
        xs = solver.batch(sources)                  several right-hand sides at once

    type: "bicgstab" (the default), "cg", "bicgstab_l", "gcr", "mr" or "multigrid"; or a dict with all words.
    words: the solver block of a job, below.
    """
    if not isinstance(op, Operator):
        raise InvalidInput(f"op: {op.__class__.__name__} is not an operator; make one with quadrille.operator(...)", ["op"])
    words = {key: value for key, value in _with_type(type, words).items() if value is not None}
    return Solver(op, op.context.made("solver_create", op.handle, Words(words)), words)


class Solver(Handle):
    """A solver; quadrille.solver makes one. `words`: what it was made from; `reports`: a SolveReport for each solve of the
    last call."""

    def __init__(self, op, handle, words):
        super().__init__(op.context, handle, _library.library().quadrille_solver_destroy)
        self.op, self.words, self.reports = op, words, []

    def __call__(self, b, *, out=None, guess=None, progress=None, **words):
        """The solution x of P x = b.

        b: [t, z, y, x, spin, color] in complex128 or complex64, in host or GPU memory; with `subset` or another order of
            `sites` [site, spin, color]. C order, or with spin and color exchanged, is read where it is; another is copied.
        out: an array that is overwritten with the solution, in the same library, shape and dtype; default: a new one.
        guess: where the solve starts from; the tolerance is still relative to |b|.
        progress: a function (solve, solves, iteration, residual) that is called in each iteration and ends the solve with
            Stopped where it returns a true value; a bar of tqdm; or True for one. Ctrl-C ends a solve within an iteration.
        words:
            system: m (the default), m_dagger, m_dagger_m; with subset even_odd, even_odd_dagger, even_odd_normal
            subset: full (the default), even or odd: the sites that the arrays hold
            sites: lexicographic (the default), even_odd or odd_even: the order of the sites
            basis: of spins, degrand_rossi (the default), ukqcd or openqcd
            normalization: of M, mass (the default) or kappa, 2 kappa times that

        Raises NotConverged, with the last iterate as `results`.
        """
        return self._solve(b, False, out, guess, progress, words)[0]

    def batch(self, sources, *, out=None, guess=None, progress=None, **words):
        """The solutions [number, ..] of P x = b for sources [number, ..], or a list of them, with one setup. `batch`: how
        many at once ("auto", or a number); solutions do not depend on it. The other arguments are those of a single solve.
        """
        if isinstance(sources, (list, tuple)):
            if not all(isinstance(source, np.ndarray) for source in sources):
                raise InvalidInput("sources: a list must contain NumPy arrays; stack those of other libraries", ["sources"])
            try:
                sources = np.stack(sources)
            except ValueError as trouble:
                raise InvalidInput(f"sources: {trouble}", ["sources"]) from None
        return self._solve(sources, True, out, guess, progress, words)[0]

    def _solve(self, b, batch, out, guess, progress, words):
        """Solutions and reports; self.reports are those of whatever call was the last, of all threads."""
        shape, axes = self.op.site_shape(words.get("subset"), words.get("sites"))
        name = "sources" if batch else "b"
        given = _arrays.Spinors(b, shape, name, axes, batch)
        result, x = output_for(given, out, shape, axes)
        if guess is not None:
            if x.view.address == given.view.address:
                raise InvalidInput("guess: `out` is the array of the right-hand side, which a guess would overwrite", ["guess"])
            _copy(guess, result, given.view.shape)
        text = Words({**given.words, **words, "bytes": given.bytes, "initial_guess": True if guess is not None else None})
        count = len(given.addresses)
        reports = (_library.Report * max(count, 1))()
        reports[0].struct_size = ctypes.sizeof(_library.Report)
        self.reports = []
        status, said = self.context.call(
            "solver_solve", self.handle, text.encoded(), _arrays.pointers(given.addresses), _arrays.pointers(x.addresses),
            count, reports, words=text, progress=function_of(progress), may_fail=(NOT_CONVERGED,))
        return self._give(result, status, said, reports[:count], given.copied)

    def shifts(self, b, shifts, *, subset="even", progress=None, **words):
        """The solutions [shift, site, spin, color] of (N^+ N + s) x = b for all shifts s at once by multishift CG, with
        N = A - H A^-1 H on the sites of one parity. Shifts ascend and are not negative; type "cg"."""
        shape, axes = self.op.site_shape(subset)
        given = _arrays.Spinors(b, shape, "b", axes)
        try:
            values = np.ascontiguousarray(shifts, dtype=float)
        except (TypeError, ValueError):
            raise InvalidInput(f"shifts: {shifts!r}; expected a list of numbers", ["shifts"]) from None
        if np.ndim(shifts) != 1:
            raise InvalidInput(f"shifts: shape {np.shape(shifts)}; expected a list of numbers", ["shifts"])
        if given.view.on_device:
            raise InvalidInput("b: shifted systems are solved for arrays of the host", ["b"])
        given.reorder("spin_color")
        result = np.empty((len(values), *given.view.shape), given.view.dtype)
        text = Words({**given.words, "subset": subset, **words})
        reports = (_library.Report * max(len(values), 1))()
        reports[0].struct_size = ctypes.sizeof(_library.Report)
        self.reports = []
        status, said = self.context.call(
            "solver_solve_shifts", self.handle, text.encoded(), values.ctypes.data_as(ctypes.POINTER(ctypes.c_double)),
            given.addresses[0], _arrays.pointers([one.ctypes.data for one in result]), len(values), reports, words=text,
            progress=function_of(progress), may_fail=(NOT_CONVERGED,))
        return self._give(result, status, said, reports[:len(values)], given.copied)[0]

    def _give(self, result, status, said, reports, copied):
        self.reports = own = [report_of(report, copied) for report in reports]
        if status == DONE:
            return result, own
        raise NotConverged(said, results=result, reports=own)

    def solves(self):
        """The solves of the last call as in `solves` of results.json, with kernels and histories."""
        return json.loads(self.context.text("solver_json", self.handle))

    def __repr__(self):
        closed = "" if self._end.alive else ", closed"
        return f"<Solver {self.words.get('type', 'bicgstab')} for {self.op!r}{closed}>"


def report_of(report, copied=False):
    return SolveReport(bool(report.converged), STOP_REASONS[report.stop_reason], report.iterations, report.residual,
                       report.solve_seconds, report.reliable_updates, report.restarts, report.import_seconds,
                       report.export_seconds, report.flops, report.host_bytes, copied)


def _copy(guess, result, expected):
    """Into the array for the solution, of the right-hand side's shape, unless it is that."""
    if guess is result:
        return
    shape = getattr(guess, "shape", None)
    if shape is None or tuple(shape) != tuple(expected):
        raise InvalidInput(f"guess: {type(guess).__name__} of shape {shape}; expected {tuple(expected)}", ["guess"])
    try:
        result[...] = guess
    except (ValueError, TypeError, RuntimeError, AttributeError) as trouble:
        raise InvalidInput(f"guess: {trouble}; expected an array as the right-hand side, in the same memory", ["guess"]) from None
