"""Quark propagators of solvers: twelve columns in one array."""

import operator
import os

import numpy as np

from . import _arrays
from ._errors import InvalidInput
from ._gauge import Gauge
from ._solver import Solver


def point_source(gauge, site, spin, color, dtype=np.complex128):
    """1 at the site [x, y, z, t] of the lattice for one spin and color, as [t, z, y, x, spin, color]; on several ranks
    this rank's part of it."""
    site = _site(gauge, site)
    if spin not in range(4) or color not in range(3):
        raise InvalidInput(f"spin {spin!r}, color {color!r}: expected 0 to 3 and 0 to 2", ["spin", "color"])
    b = np.zeros((*gauge.sites, 4, 3), _arrays.dtype_of(dtype))
    here = [x - first for x, first in zip(site, gauge.origin)]
    if all(0 <= x < extent for x, extent in zip(here, gauge.part)):
        b[(*reversed(here), spin, color)] = 1
    return b


def propagator(solver, site=(0, 0, 0, 0), *, source=None, progress=None, batch=None, **words):
    """The propagator S of a point source at a site [x, y, z, t], or of a source of the caller's: 12 solves, with the bits of
    the task `propagator` of a job.

    source: a function (spin, color) that gives [t, z, y, x, spin, color], complex128.
    batch: solves at once; "auto" or a number. progress, words: as for solver(b): basis, normalization and system.
    """
    if not isinstance(solver, Solver):
        raise InvalidInput(f"solver: {type(solver).__name__} is not a solver; make one with quadrille.solver(...)", ["solver"])
    gauge = solver.op.gauge
    site = _site(gauge, site) if source is None else None
    columns = np.empty((12, *gauge.sites, 4, 3), np.complex128)
    for column in range(12):
        spin, color = divmod(column, 3)
        columns[column] = point_source(gauge, site, spin, color) if source is None else \
            _source(source(spin, color), columns.shape[1:])
    _, reports = solver._solve(columns, True, columns, None, progress,  # pylint: disable=protected-access
                               {"batch": batch, **words})
    return Propagator(columns, site, words.get("basis", "degrand_rossi"), reports)


def _source(given, shape):
    found = np.asarray(given)
    if found.shape != shape or found.dtype.kind not in "iufc":
        raise InvalidInput(f"source: gave {found.dtype} {found.shape}; expected complex128 {shape}, [t, z, y, x, spin, color]",
                           ["source"])
    return found


def read_propagator(gauge, file, site=None):
    """The Propagator in a SciDAC file, as the task `propagator` saves it, on the lattice of a gauge field. site: x, y, z, t of
    its source, for the record. Raises FileError for another lattice, or a checksum that is wrong."""
    if not isinstance(gauge, Gauge):
        raise InvalidInput(f"gauge: {type(gauge).__name__} is not a gauge field; make one with quadrille.gauge(...)", ["gauge"])
    columns = np.empty((12, *gauge.sites, 4, 3), np.complex128)
    try:
        path = os.fsencode(file)
    except (TypeError, UnicodeEncodeError):
        raise InvalidInput(f"file: {file!r}; expected a path", ["file"]) from None
    gauge.context.call("propagator_read", gauge.handle, path, b"{}",
                       _arrays.pointers([column.ctypes.data for column in columns]), 12)
    return Propagator(columns, site, "degrand_rossi", [])


def _site(gauge, site):
    try:
        found = tuple(operator.index(x) for x in site)
    except TypeError:
        found = ()
    if len(found) != 4 or any(not 0 <= x < extent for x, extent in zip(found, gauge.dims)):
        raise InvalidInput(f"site: {site!r}; expected x, y, z, t on the lattice {' x '.join(map(str, gauge.dims))}", ["site"])
    return found


class Propagator:
    """S(x) from one source; quadrille.propagator makes one.

    columns: [source spin and color, t, z, y, x, spin, color], as the solver gave them. site: x, y, z, t of a point source, else None.
    basis: of the spins. reports: a SolveReport for each column.
    """

    def __init__(self, columns, site, basis, reports):
        self.columns, self.site, self.basis, self.reports = columns, site, basis, reports

    def array(self, copy=False):
        """S as [t, z, y, x, sink spin, source spin, sink color, source color]: a view of `columns`, or with copy=True an
        array of its own in C order."""
        sites = self.columns.shape[1:5]
        view = self.columns.reshape(4, 3, *sites, 4, 3).transpose(2, 3, 4, 5, 6, 0, 7, 1)
        return np.ascontiguousarray(view) if copy else view

    def pion(self):
        """The sum over space, spins and colors of |S|^2 for each t of this process."""
        flat = self.columns.view(np.float64).reshape(12, self.columns.shape[1], -1)
        return np.einsum("cti,cti->t", flat, flat)

    def __repr__(self):
        source = "a file or a source of the caller" if self.site is None else self.site
        return f"<Propagator from {source}, {self.basis} spins>"
