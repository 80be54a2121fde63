#!/usr/bin/env python3
"""Calls of modules from Python against NumPy, and their structs against tests/hosts/abi.txt."""

import ctypes
import os
import re
import sys
import threading
import unittest

from python_harness import HERE, q, random

import numpy as np

import harness
from quadrille import _library, _modules


def in_threads(*works):
    """At the same time, as far as Python has it: threads change as often as they can."""
    together = threading.Barrier(len(works))
    threads = [threading.Thread(target=lambda work=work: (together.wait(), work())) for work in works]
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(usual)


class OnAGpu:
    """As an array of CuPy."""

    def __array__(self, *_args, **_words):
        raise TypeError("implicit conversion to a NumPy array is not allowed")


class ModuleCalls(unittest.TestCase):
    def test_structs_are_those_of_the_library(self):
        with open(os.path.join(HERE, "..", "hosts", "abi.txt")) as stream:
            lines = set(stream.read().splitlines())
        kinds = [value for value in vars(_modules).values() if isinstance(value, type) and issubclass(value, ctypes.Structure)]
        for kind in (*kinds, _library.Report):
            name = "quadrille" + re.sub(r"[A-Z]", lambda letter: "_" + letter.group(0).lower(), kind.__name__)
            self.assertIn(f"{name} {ctypes.sizeof(kind)}", lines)
            for member, _ in kind._fields_:
                field = getattr(kind, member)
                self.assertIn(f"{name}.{member} {field.offset} {field.size}", lines)
            self.assertEqual(len([line for line in lines if line.startswith(name + ".")]), len(kind._fields_))
        self.assertEqual(len(kinds), 6)

    def test_mgemm(self):
        a, b = random.normal(size=(70, 90)), random.normal(size=(90, 40))
        a[random.random(a.shape) < 0.9] *= 1e-4
        c, report = q.mgemm(a, b)
        np.testing.assert_allclose(c, a @ b, rtol=0, atol=1e-12)
        self.assertEqual(report["split"], 0)
        c, report = q.mgemm(a, b, target=1e-3, always_split=True)
        self.assertEqual(report["split"], 1)
        self.assertLessEqual(abs(c - a @ b).max(), report["bound"])
        self.assertLessEqual(report["bound"], 1e-3)
        np.testing.assert_allclose(q.mgemm(a.T.copy().T, b[::-1][::-1])[0], a @ b, rtol=0, atol=1e-12)

    def test_eigen(self):
        for kind in (float, complex):
            n = 30
            a, s = (random.normal(size=(2, n, n)) + (1j * random.normal(size=(2, n, n)) if kind is complex else 0))
            a, s = a + a.conj().T, s @ s.conj().T + n * np.eye(n)
            for b in (None, s):
                values, x, report = q.eigen(a, b)
                full = np.eye(n) if b is None else b
                root = np.linalg.inv(np.linalg.cholesky(full))
                np.testing.assert_allclose(values, np.linalg.eigvalsh(root @ a @ root.conj().T), atol=1e-11)
                np.testing.assert_allclose(a @ x, full @ x * values, atol=1e-10)
                np.testing.assert_allclose(x.conj().T @ full @ x, np.eye(n), atol=1e-12)
                self.assertEqual(report["count"], n)
                alone, none, _ = q.eigen(a, b, vectors=False)
                self.assertIsNone(none)
                np.testing.assert_allclose(alone, values, atol=1e-11)
                some, x, _ = q.eigen(a, b, numbers=(3, 7))
                np.testing.assert_allclose(some, values[2:7], atol=1e-11)
                self.assertEqual(x.shape, (n, 5))
                within, _, _ = q.eigen(a, b, interval=((values[4] + values[5]) / 2, (values[9] + values[10]) / 2))
                np.testing.assert_allclose(within, values[5:10], atol=1e-11)

    def test_pair_forces(self):
        n, box = 60, 4.0
        grid = np.stack(np.meshgrid(*[np.arange(4.0)] * 3), -1).reshape(-1, 3)[:n]
        x = (grid + 0.2 * random.random((n, 3))) % box
        types = random.integers(2, size=n)
        c12, c6 = np.array([[1e-2, 2e-2], [2e-2, 3e-2]]), np.array([[0.1, 0.2], [0.2, 0.1]])
        d = x[:, None] - x[None]
        for cutoff in (0, 1.6):
            shift = d - box * np.round(d / box) if cutoff else d
            r2 = (shift ** 2).sum(-1) + 1e9 * np.eye(n)
            near = (r2 < cutoff ** 2) if cutoff else (r2 < 1e9)
            a, b = c12[types[:, None], types[None]], c6[types[:, None], types[None]]
            energy = np.where(near, a / r2 ** 6 - b / r2 ** 3, 0).sum() / 2
            wanted = (np.where(near, 12 * a / r2 ** 7 - 6 * b / r2 ** 4, 0)[..., None] * shift).sum(1)
            for more in ({}, {"skin": 0.2}) if cutoff else ({},):
                found = q.md.forces(types, c12, c6, cutoff=cutoff, **more)(x, [box] * 3 if cutoff else None)
                np.testing.assert_allclose(found.forces, wanted, atol=1e-5 * abs(wanted).max())
                self.assertAlmostEqual(found.energy, energy, delta=1e-5 * abs(energy) + 1e-5)

    def test_block_matrices(self):
        sizes = [3, 5, 2, 4]
        a, b = random.normal(size=(2, 14, 14))
        left, right = q.block_matrix.from_dense(a, sizes), q.block_matrix.from_dense(b, sizes)
        np.testing.assert_array_equal(left.array(), a)
        product, report = left.multiply(right, alpha=2)
        np.testing.assert_allclose(product.array(), 2 * a @ b, atol=1e-12)
        self.assertEqual(report["products"], 64)
        product, _ = left.multiply(right, transpose="TN")
        np.testing.assert_allclose(product.array(), a.T @ b, atol=1e-12)
        values = np.concatenate((np.linspace(-2, -1, 5), np.linspace(1, 2, 9)))
        vectors = np.linalg.qr(a)[0]
        h = (vectors * values) @ vectors.T
        p, energy = q.block_matrix.from_dense((h + h.T) / 2, sizes, symmetry="symmetric").density(electrons=5, eps=1e-10)
        np.testing.assert_allclose(p.array(), vectors[:, :5] @ vectors[:, :5].T, atol=1e-7)
        self.assertAlmostEqual(energy, values[:5].sum(), delta=1e-6)

    def test_threads_that_share_a_matrix(self):
        """Calls with one object take turns: neither a crash nor a block that is lost."""
        blocks, size = 40, 16
        whole = random.normal(size=(blocks * size, blocks * size))
        parts = np.ascontiguousarray(whole.reshape(blocks, size, blocks, size).swapaxes(1, 2))
        for _ in range(6):
            shared = q.block_matrix([size] * blocks)

            def write(first):
                for i in range(first, blocks, 2):
                    for j in range(blocks):
                        shared[i, j] = parts[i, j]  # pylint: disable=cell-var-from-loop

            in_threads(lambda: write(0), lambda: write(1))  # pylint: disable=cell-var-from-loop
            np.testing.assert_array_equal(shared.array(), whole)
        finished, other = [], q.block_matrix.from_dense(whole, [size] * blocks)
        in_threads(*[lambda a=a, b=b: finished.extend(a.multiply(b)[0] for _ in range(3))
                     for a, b in ((shared, other), (other, shared))])  # neither waits for ever
        for product in finished:
            np.testing.assert_allclose(product.array(), whole @ whole, atol=1e-10)
        self.assertEqual(len(finished), 6)

    def test_threads_that_share_forces(self):
        n, calls, box = 1000, 200, [10.0] * 3
        grid = np.stack(np.meshgrid(*[np.arange(10.0)] * 3), -1).reshape(-1, 3)
        system = q.md.forces(np.zeros(n, int), [[1e-2]], [[0.1]], cutoff=1.6, skin=0.2)
        places = [(grid + 0.2 * random.random((n, 3))) % 10 for _ in range(2)]
        wanted = [system(place, box) for place in places]
        found = [[], []]
        in_threads(*[lambda k=k: found[k].extend(system(places[k], box) for _ in range(calls)) for k in range(2)])
        for alone, several in zip(wanted, found):
            self.assertEqual(len(several), calls)
            for one in several:
                np.testing.assert_allclose(one.forces, alone.forces, rtol=0, atol=1e-9 * abs(alone.forces).max())
                self.assertAlmostEqual(one.energy / alone.energy, 1, delta=1e-9)

    def test_results_that_are_in_doubt_are_given(self):
        h = np.diag([-1.0, 0.0, 1.0, 1.0])  # a level at mu
        for dense, method, electrons, kind in ((h, "sign", 0, q.NotConverged), (np.eye(4), "dense", 2, q.Inaccurate)):
            with self.subTest(method=method), self.assertRaises(kind) as caught:
                q.block_matrix.from_dense(dense, [2, 2], symmetry="symmetric").density(electrons=electrons, method=method)
            p, energy = caught.exception.results
            self.assertEqual(p.array().shape, (4, 4))
            self.assertTrue(np.isfinite(energy))

    def test_bad_input(self):
        eye = np.eye(3)
        for function, pattern in ((lambda: q.mgemm(eye, np.eye(4)), "b: shape"), (lambda: q.mgemm(eye * 1j, eye), "a: complex128"),
                                  (lambda: q.mgemm([1, 2], eye), "a: .*expected a matrix"),
                                  (lambda: q.mgemm(eye, eye, form="luke"), "luke"), (lambda: q.eigen(eye[:2]), "square"),
                                  (lambda: q.eigen(eye + 1e-3j * eye), "diagonal of a Hermitian matrix is real"),
                                  (lambda: q.eigen(eye, np.eye(2)), "b: shape"), (lambda: q.eigen(eye, numbers=(2, 9)), "eigenvectors 2 to 9"),
                                  (lambda: q.md.forces([0, 1], [[1.0]], [[1.0]]), "particle 2 has type 2"),
                                  (lambda: q.md.forces([0.5], [[1.0]], [[1.0]]), "types: float64"),
                                  (lambda: q.md.forces([0], [[1.0]], [[1.0]])(np.zeros((2, 3))), "positions: shape"),
                                  (lambda: q.block_matrix([]), "rows"), (lambda: q.block_matrix([2, 0]), "rows: numbers from 0 to 2"),
                                  (lambda: q.mgemm(OnAGpu(), eye), "a: implicit conversion"),
                                  (lambda: q.block_matrix([2])[1, 0], "block"),
                                  (lambda: q.block_matrix([2 ** 32 + 5]), "rows: numbers from 4294967301"),
                                  (lambda: q.block_matrix([[1, 2], [3]]), "rows: "),
                                  (lambda: q.block_matrix.from_dense([[0, 1], [2, 0]], [1, 1], symmetry="symmetric"),
                                   r"dense: not symmetric: 1.0 at \[0, 1\], 2.0 at \[1, 0\]"),
                                  (lambda: q.block_matrix.from_dense(eye, [3], symmetry="antisymmetric"), "not antisymmetric"),
                                  (lambda: q.block_matrix([2]).multiply(eye), "other: ndarray is not a block_matrix"),
                                  (lambda: q.block_matrix([2]).density(eye), "overlap: ndarray is not a block_matrix"),
                                  (lambda: q.block_matrix([2]).density(mu="low"), "mu: 'low'; expected a number"),
                                  (lambda: q.eigen(eye, numbers=(1, 2 ** 70)), "numbers: .*64 bits"),
                                  (lambda: q.eigen(eye, numbers=5), "numbers: 5; expected two"),
                                  (lambda: q.eigen(eye, interval=(0, "a")), "interval: 'a'; expected a number"),
                                  (lambda: q.eigen(eye, vectors=False, numbers=(1, 2)), "numbers: .*vectors=True"),
                                  (lambda: q.mgemm(eye, eye, depth=2 ** 64 + 1), "depth: .*64 bits")):
            with self.assertRaisesRegex(q.InvalidInput, pattern):
                function()
        for function in (lambda: q.mgemm(eye + np.nan, eye), lambda: q.eigen(eye, -eye), lambda: q.eigen(np.diag([1, 2, np.inf])),
                         lambda: q.block_matrix.from_dense(eye * np.nan, [3]),
                         lambda: q.md.forces([0, 0], [[1.0]], [[1.0]])(np.zeros((2, 3)))):
            with self.assertRaises(q.NumericalError):
                function()
        with q.block_matrix([2]) as closed, q.md.forces([0, 0], [[1.0]], [[1.0]]) as system:
            pass
        for function in (closed.array, lambda: q.block_matrix([2]).multiply(closed), lambda: system(np.eye(3)[:2])):
            with self.assertRaisesRegex(q.ClosedError, "has been closed"):
                function()
        system.close()


if __name__ == "__main__":
    sys.exit(harness.main(sys.modules[__name__]))
