#!/usr/bin/env python3
"""Bad input to the Python package: exceptions of its own only, with what, where and what would be right. The class Hypothesis
needs python3-hypothesis."""

import contextlib
import os
import sys
import tempfile
import unittest
import warnings

from python_harness import DIMS, SITES, SOLVER, WORDS, hot, q, spinor

import numpy as np

import harness

PLACE = tempfile.TemporaryDirectory(prefix="quadrille-")  # of what Hypothesis keeps
os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = PLACE.name
try:
    import hypothesis
    from hypothesis import strategies as st
except ImportError:
    hypothesis = None


class BadInput(unittest.TestCase):
    def setUp(self):
        self.gauge = hot()
        self.op = q.operator(self.gauge, WORDS)
        self.solver = q.solver(self.op, SOLVER)

    def refused(self, pattern, function, *args, kind=q.InvalidInput, **words):
        with self.assertRaisesRegex(kind, pattern) as caught:
            function(*args, **words)
        self.assertIsInstance(caught.exception, q.Error)
        return caught.exception

    def test_spinors(self):
        b = spinor()
        for wrong, pattern in ((b.real, r"b: dtype float64; expected complex128 or complex64: b.astype\(complex\)"),
                               (b.astype(">c16"), "b: numbers in the other byte order"),
                               (b[0], r"b: shape \(4, 2, 4, 4, 3\); expected \(6, 4, 2, 4, 4, 3\), \[t, z, y, x, spin, color\]"),
                               (b.reshape(-1), "b: shape"), (None, "b: NoneType is not an array"), ([1, 2], "b: list is not an array"),
                               (b.astype(object), "b: dtype object"), (np.array(1j), "b: shape")):
            self.refused(pattern, self.solver, wrong)
            self.refused("psi: ", self.op, wrong)
        self.refused("sources: ", self.solver.batch, b[0])
        self.refused("sources: ", self.solver.batch, [b, b[0]])
        self.refused("sources: ", self.solver.batch, [])
        self.assertEqual(self.solver.batch(np.empty((0, *SITES, 4, 3), complex)).shape, (0, *SITES, 4, 3))

    def test_results(self):
        b = spinor()
        locked = np.empty_like(b)
        locked.flags.writeable = False
        for out, pattern in ((locked, "out: a read-only array"), (b[0], "out: shape"), (b.astype(np.complex64), "out: complex64"),
                             (np.empty((*SITES, 4, 6), complex)[..., ::2], "out: strides"), (7, "out: int is not an array")):
            self.refused(pattern, self.solver, b, out=out)
        for guess in (b[:, 0], b[:1], 1.0, [1]):  # also of a shape that NumPy would repeat
            self.refused("guess: .*expected", self.solver, b, guess=guess)
        self.refused("guess: `out` is the array", self.solver, b, guess=b.copy(), out=b)
        self.refused("out: a read-only", self.gauge.array, out=np.broadcast_to(np.eye(3) + 0j, (4, *SITES, 3, 3)).copy().view(Locked))

    def test_words(self):
        caught = self.refused("solver.tolerance: .*\nsolver.sloppy.precision: .*did you mean 'half'", q.solver, self.op, "cg",
                              tolerance=2, sloppy={"precision": "hlf"})
        self.assertEqual(caught.where, ("solver.tolerance", "solver.sloppy.precision"))
        self.refused("did you mean 'wilson'", q.operator, self.gauge, "wilsn", mass=0)
        self.refused("operator.mass", q.operator, self.gauge, "wilson", mass="heavy")
        self.refused("cannot be used as a job setting", q.operator, self.gauge, "wilson", mass=object())
        self.refused("spinors.basis", self.solver, spinor(), basis="dirac")
        self.refused("spinors.colour", self.solver, spinor(), colour=1)
        for subset in ("evn", np.ones(3), ["even"]):
            self.refused("subset: .*expected one of full, even, odd", self.solver, spinor(), subset=subset)
        self.refused("sites: 'odd'; expected one of lexicographic", self.op, spinor(), sites="odd")
        self.refused("progress: int", self.solver, spinor(), progress=3)
        self.refused("product: 'n'", self.op.apply, spinor(), "n")
        self.refused("Operator is not a gauge field; make one with quadrille.gauge", q.operator, self.op, "wilson")
        self.refused("Gauge is not an operator", q.solver, self.gauge)
        self.refused("Operator is not a solver", q.propagator, self.op)
        for site in ([4, 0, 0, 0], [0.9, 0, 0, 0], "0123", 7, [0, 0, 0]):
            self.refused("site: .*4 x 2 x 4 x 6", q.propagator, self.solver, site)
            self.refused("site: .*4 x 2 x 4 x 6", q.point_source, self.gauge, site, 0, 0)
        self.refused("spin 'a', color 0", q.point_source, self.gauge, [0, 0, 0, 0], "a", 0)
        for wrong in (np.ones((4, 3), complex), spinor()[:1], "x", spinor().astype(object)):
            self.refused(r"source: gave .*expected complex128 \(6, 4, 2, 4, 4, 3\)", q.propagator, self.solver,
                         source=lambda *_, wrong=wrong: wrong)
        self.refused("shifts: .'a'.; expected a list of numbers", self.solver.shifts, spinor((96,)), ["a"])
        self.refused("shifts: shape ()", self.solver.shifts, spinor((96,)), 0.5)
        for dtype in ("x", float, None):
            self.refused("dtype: .*expected complex128 or complex64", self.gauge.array, dtype)
        for stream in (1.5, "0", -1, 2 ** 64):
            self.refused("stream: .*expected the number of a cudaStream_t", self.gauge.context.set_stream, stream)
        self.refused("file: 5; expected a path", q.read_propagator, self.gauge, 5)
        self.refused("context: int", q.gauge, start="cold", dims=DIMS, context=3)
        self.refused("must be one of auto, cpu, cuda", q.Context, backend="gpu")
        self.refused("communicator: int", q.Context, communicator=3)
        self.refused("works on the CPU", self.gauge.context.set_stream, 4096, kind=q.Unsupported)

    def test_links(self):
        links = self.gauge.array()
        self.refused(r"links: shape \(6, .*expected \(4, T, Z, Y, X, 3, 3\)", q.gauge, np.moveaxis(links, 0, 4), backend="cpu")
        self.refused("links: dtype", q.gauge, links.real, backend="cpu")
        self.refused("even", q.gauge, links[:, :5].copy(), backend="cpu")
        self.refused("links: shape", self.gauge.update, links[:, :4].copy())
        for dims in ([2, 4, 4, 6], [4, 2, 6, 4], DIMS[::-1]):  # as many links
            self.refused("links.part: .*the arrays must hold " + " x ".join(map(str, dims)) + " sites along x, y, z, t, not 4 x 2 x 4 x 6",
                         q.gauge, links, dims=dims, backend="cpu")
        self.assertEqual(q.gauge(links, dims=DIMS, backend="cpu").dims, tuple(DIMS))
        broken = links.copy()
        broken[1, 2, 3, 1, 0] *= 1.001
        self.refused(r"not in SU\(3\): .* at site \(0,1,3,2\), direction y", q.gauge, broken, backend="cpu", kind=q.NumericalError)
        broken[1, 2, 3, 1, 0] = np.nan
        self.refused(r"not finite: .* at site \(0,1,3,2\), direction y", q.gauge, broken, backend="cpu", kind=q.NumericalError)
        self.refused("nothing.lime", q.gauge, "nothing.lime", backend="cpu", kind=q.FileError)
        self.refused("did you mean", q.gauge, strt="hot", dims=DIMS, backend="cpu")

    def test_not_finite(self):
        b = spinor()
        b[1, 2, 0, 1] = np.nan
        with self.assertRaises(q.Error):
            self.solver(b)
        self.solver(spinor())


class Locked(np.ndarray):
    """An array that nobody may write."""

    def __array_finalize__(self, _):
        self.flags.writeable = False


@unittest.skipIf(hypothesis is None, "python3-hypothesis is not installed")
class Hypothesis(unittest.TestCase):
    """Whatever is given, the answer is right or an exception of the package's own."""

    if hypothesis is not None:
        SETTINGS = hypothesis.settings(max_examples=150, deadline=None, database=None,
                                       suppress_health_check=list(hypothesis.HealthCheck))
        DTYPES = st.sampled_from(["c16", "c8", ">c16", "f8", "i4", "O", "?"])
        VALUES = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
                              lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
                              max_leaves=6)

    @classmethod
    def setUpClass(cls):
        cls.op = q.operator(hot(), WORDS)
        cls.solver = q.solver(cls.op, SOLVER)
        cls.b = spinor()
        cls.x = cls.solver(cls.b)

    def test_arrays(self):
        @hypothesis.seed(harness.SEED)
        @self.SETTINGS
        @hypothesis.given(st.permutations(range(6)), st.lists(st.sampled_from([1, 2, -1, 3]), min_size=6, max_size=6), self.DTYPES)
        def check(axes, steps, dtype):
            warnings.simplefilter("ignore", np.ComplexWarning if hasattr(np, "ComplexWarning") else np.exceptions.ComplexWarning)
            inverse = np.argsort(axes)
            b = np.ascontiguousarray(self.b.transpose(axes)).transpose(inverse)  # the same numbers, another order
            np.testing.assert_array_equal(self.solver(b), self.x)
            other = self.b.astype(dtype)[tuple(slice(None, None, step) for step in steps)]
            with contextlib.suppress(q.Error):
                x = self.solver(other)
                self.assertEqual(x.shape, self.b.shape)

        check()

    def test_words(self):
        @hypothesis.seed(harness.SEED)
        @self.SETTINGS
        @hypothesis.given(st.dictionaries(st.sampled_from(["mass", "kappa", "csw", "boundary", "type", "anisotropy"]) | st.text(max_size=5),
                                          self.VALUES, max_size=3))
        def check(words):
            with contextlib.suppress(q.Error):
                q.operator(self.op.gauge, {"type": "wilson", "mass": 0.1, **words})
            with contextlib.suppress(q.Error):
                q.solver(self.op, {"type": "cg", **words})
            with contextlib.suppress(q.Error):
                self.solver(self.b, **{key: value for key, value in words.items() if key not in ("self", "b", "out", "guess")})

        check()

    def test_jobs(self):
        @hypothesis.seed(harness.SEED)
        @self.SETTINGS
        @hypothesis.given(st.dictionaries(st.sampled_from(["gauge", "operator", "solver", "run"]) | st.text(max_size=5), self.VALUES),
                          st.text(max_size=40))
        def check(job, text):
            for one in (job, text + "\n"):
                with contextlib.suppress(q.Error):
                    q.run(one, backend="cpu", threads=1)

        check()


if __name__ == "__main__":
    sys.exit(harness.main(sys.modules[__name__]))
