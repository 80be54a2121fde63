"""What the tests of the Python package share: the package of this source tree, small fields, and the end-to-end harness."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.join(HERE, "..", "..", "input", "python")
sys.path[:0] = [os.path.join(HERE, "..", "physics"), PACKAGE]

import numpy as np  # noqa: E402

import harness  # noqa: E402
import quadrille as q  # noqa: E402

DIMS = [4, 2, 4, 6]
SITES = (6, 4, 2, 4)
BOUNDARY = ["periodic", {"phase": 0.25}, "periodic", "antiperiodic"]
WORDS = {"type": "clover", "mass": 0.2, "csw": 1.1, "boundary": BOUNDARY}
SOLVER = {"type": "bicgstab", "tolerance": 1e-11, "sloppy": {"precision": "half", "reconstruct": 12}}
random = np.random.default_rng(harness.SEED)


def hot(**more):
    """A hot field of a context of its own."""
    return q.gauge(start="hot", dims=DIMS, seed=harness.SEED, backend="cpu", threads=1, **more)


def spinor(shape=SITES, dtype=np.complex128):
    return (random.normal(size=(*shape, 4, 3)) + 1j * random.normal(size=(*shape, 4, 3))).astype(dtype)


def norm(array):
    return float(np.linalg.norm(np.asarray(array).ravel()))
