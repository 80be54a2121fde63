#!/usr/bin/env python3
"""libquadrille_blas.so preloaded into numpy, and into gemm_calls, which calls every function that it replaces.

    QUADRILLE_PRELOADED_LIBRARY=build/libquadrille_blas.so QUADRILLE_GEMM_CALLS=build/gemm_calls preload_tests.py [CLASS...]
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "physics"))

import numpy as np  # noqa: E402

import harness  # noqa: E402

LIBRARY = os.path.abspath(os.environ["QUADRILLE_PRELOADED_LIBRARY"])
GEMM_CALLS = os.path.abspath(os.environ["QUADRILLE_GEMM_CALLS"])
REPLACED = [f"{prefix}{kind}gemm{suffix}" for kind in "dsz"
            for prefix, suffix in (("", "_"), ("cblas_", ""), ("scipy_", "_"), ("scipy_cblas_", "64_"))]
OUTCOMES = ("split", "whole", "small", "passed on")
ON_DEVICE = harness.BACKEND == "cuda"

NUMPY_PROGRAM = """
import sys
import numpy as np
rng = np.random.default_rng(int(sys.argv[1]))
products = {}
for dtype in (np.float64, np.float32, np.complex128):
    for n in (3, 210):
        x, y = (rng.uniform(-1, 1, (2 * n, 2 * n)).astype(dtype) for _ in range(2))
        if dtype == np.complex128:
            x = x + 1j * y[::-1]
        cases = {"plain": (x, y), "left": (x.T, y), "right": (x, y.T), "both": (x.T, y.T),
                 "views": (x[1:n, :n], y[:n, 1:n]), "strided": (x[::2, ::2], y[1::2, ::2].T)}
        products.update({f"{np.dtype(dtype).name} {n} {name}": a @ b for name, (a, b) in cases.items()})
np.savez(sys.argv[2], **products)
"""

PRODUCT = "a = np.ones((99, 99)); a @ (2 * a)"

HOST_PROGRAM = """
import ctypes
import sys
import numpy as np
a, b = np.random.default_rng(int(sys.argv[1])).uniform(-1, 1, (2, 300, 300))
c, wanted = np.full_like(a, np.nan), np.einsum("ij,jk->ik", a, b)
n, address = ctypes.c_int64(300), ctypes.c_void_p
status = ctypes.CDLL(sys.argv[2]).quadrille_cleaver_double(
    None, *map(ctypes.c_char, b"RNN"), n, n, n, ctypes.c_double(1), address(a.ctypes.data), n, address(b.ctypes.data), n,
    ctypes.c_double(0), address(c.ctypes.data), n, ctypes.c_int64(1 << 20))
print(status, np.max(np.abs(c - wanted)) < 1e-10)
"""


def run(command, preload=True, **variables):
    """A process with the library and with variables QUADRILLE_BLAS_..., which reports."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("QUADRILLE_BLAS_")}
    if preload:
        env["LD_PRELOAD"] = LIBRARY
        env.update({f"QUADRILLE_BLAS_{name}": str(value)
                    for name, value in {"BACKEND": harness.BACKEND, "REPORT": "true", **variables}.items()})
    return subprocess.run(command, env=env, text=True, capture_output=True, timeout=200, check=False)


def report(process):
    """{"dgemm": {"split": number of calls, ...}, ...} of what a process says at its end."""
    rows = {line.split()[0]: line.split()[1:5] for line in process.stderr.splitlines() if re.match("[dsz]gemm ", line)}
    return {name: dict(zip(OUTCOMES, map(int, numbers))) for name, numbers in rows.items()}


class Symbols(unittest.TestCase):
    def test_it_exports_what_it_replaces_and_brings_no_blas(self):
        said = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], text=True, stdout=subprocess.PIPE, check=True).stdout
        self.assertEqual(sorted(line.split()[-1] for line in said.splitlines()), sorted(REPLACED))
        needed = subprocess.run(["readelf", "-d", LIBRARY], text=True, stdout=subprocess.PIPE, check=True).stdout
        self.assertNotRegex(needed, r"NEEDED.*(blas|quadrille|stdc)")


class Calls(unittest.TestCase):
    def calls(self, preload=True, **variables):
        """The report, each call of the program counted once."""
        process = run([GEMM_CALLS], preload, **variables)
        self.assertEqual(process.returncode, 0, process.stdout + process.stderr)
        self.assertIn("On entry to DGEMM", process.stdout + process.stderr)
        called = re.search(r"called: dgemm (\d+) sgemm (\d+) zgemm (\d+)", process.stdout)
        rows = report(process)
        if preload:
            self.assertEqual([sum(rows[name].values()) for name in ("dgemm", "sgemm", "zgemm")], [int(n) for n in called.groups()])
        return rows

    def test_without_the_library(self):
        self.assertEqual(self.calls(preload=False), {})

    def test_small_products_are_passed_on(self):
        for row in self.calls().values():
            self.assertEqual(row["small"], sum(row.values()))

    def test_in_double(self):
        row = self.calls(SMALLEST=0)["dgemm"]
        self.assertEqual(row["split"], 0)
        self.assertEqual(row["whole"] > 0, ON_DEVICE)
        self.assertEqual(row["passed on"] > 10, not ON_DEVICE)

    def test_in_mixed_precision(self):
        for memory in ({}, {"MEMORY": 1}):
            with self.subTest(memory=memory):
                rows = self.calls(SMALLEST=0, DELTA=1, ALWAYS_SPLIT="true", **memory)
                self.assertGreater(rows["dgemm"]["split"], 100)
                self.assertEqual(rows["dgemm"]["passed on"], 2)  # not finite; a wrong leading dimension
                self.assertEqual(rows["dgemm"]["small"], 7)  # without extents
                self.assertEqual(rows["sgemm"]["whole"] > 0, ON_DEVICE)
                self.assertEqual(rows["zgemm"]["passed on"], 2)


class Numpy(unittest.TestCase):
    """numpy unchanged."""

    def products(self, preload=True, **variables):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "products.npz")
            process = run([sys.executable, "-c", NUMPY_PROGRAM, str(harness.SEED), file], preload, **variables)
            self.assertEqual(process.returncode, 0, process.stderr)
            with np.load(file) as stored:
                return dict(stored), report(process)

    def compare(self, left, right, single):
        """Differences: below gamma_{k+2} k of elements up to 1 in magnitude (complex ones up to sqrt(2), of four products)."""
        self.assertEqual(list(left), list(right))
        for name in left:
            kind, n = name.split()[:2]
            k = 2 * int(n)
            unit = 2.0**-24 if kind == "float32" or kind == "float64" and single else 2.0**-53
            self.assertLessEqual(np.max(np.abs(left[name] - right[name])), 16 * (k + 4) * k * unit, name)

    def test_products_are_those_without_it(self):
        alone, _ = self.products(preload=False)
        double, rows = self.products(SMALLEST=1000)
        self.compare(alone, double, single=False)
        self.assertGreater(rows["dgemm"]["whole" if ON_DEVICE else "passed on"], 0)
        mixed, rows = self.products(SMALLEST=1000, DELTA=1, ALWAYS_SPLIT="true")
        self.compare(alone, mixed, single=True)
        self.assertGreaterEqual(rows["dgemm"]["split"], 5)
        self.assertGreaterEqual(rows["dgemm"]["small"], 3)
        self.assertGreater(rows["zgemm"]["passed on"], 0)
        name = "float64 210 plain"
        self.assertGreater(np.max(np.abs(alone[name] - mixed[name])), 1e-10)  # single precision has taken part

    def test_an_automatic_cutoff_keeps_its_target(self):
        alone, _ = self.products(preload=False)
        for target in (1e-1, 1e-15):
            mixed, rows = self.products(SMALLEST=1000, DELTA="auto", TARGET_ERROR=target, ALWAYS_SPLIT="true")
            self.assertEqual(rows["dgemm"]["split"] > 0, target == 1e-1)
            for name in mixed:
                if name.startswith("float64"):
                    self.assertLess(np.max(np.abs(alone[name] - mixed[name])), target + 1e-10, name)

    def test_no_floating_point_error_is_left_raised(self):
        program = ('import numpy as np; a = np.random.default_rng(%d).uniform(-3, 3, (300, 300))\n'
                   'with np.errstate(all="raise"): a @ a' % harness.SEED)
        for variables in ({"DELTA": 1, "ALWAYS_SPLIT": "true"}, {"DELTA": "auto", "ALWAYS_SPLIT": "true"}, {"DELTA": 1}):
            process = run([sys.executable, "-c", program], SMALLEST=1000, **variables)
            self.assertEqual(process.returncode, 0, process.stderr)
            self.assertEqual(report(process)["dgemm"]["small"], 0)


class Hosts(unittest.TestCase):
    def test_quadrilles_own_products_are_not_taken_over(self):
        library = os.path.join(os.path.dirname(LIBRARY), "libquadrille.so.0")
        process = run([sys.executable, "-c", HOST_PROGRAM, str(harness.SEED), library], SMALLEST=0, DELTA=1, ALWAYS_SPLIT="true")
        self.assertEqual((process.returncode, process.stdout), (0, "0 True\n"), process.stderr)
        self.assertEqual(report(process)["dgemm"], dict.fromkeys(OUTCOMES, 0))


class BadEnvironment(unittest.TestCase):
    def refused(self, message, code=PRODUCT, **variables):
        process = run([sys.executable, "-c", f"import numpy as np; {code}"], **variables)
        self.assertEqual(process.returncode, 1, process.stderr)
        self.assertIn(f"libquadrille_blas: {message}", process.stderr)

    def test_a_bad_value_ends_the_process_and_says_what_would_be_right(self):
        for name, value, wanted in (
                ("BACKEND", "gpu", "it must be one of auto, cpu, cuda"), ("DELTA", "-1", "it must be auto or a number >= 0"),
                ("DELTA", "1x", "it must be auto or a number >= 0"), ("DELTA", "nan", "it must be auto or a number >= 0"),
                ("MEMORY", "1GB", "it must be a number of MiB >= 0; 0: no limit"),
                ("TARGET_ERROR", "1", "it counts with QUADRILLE_BLAS_DELTA=auto only"),
                ("ALWAYS_SPLIT", "true", "it counts where QUADRILLE_BLAS_DELTA is set only"),
                ("SMALLEST", "big", "it must be a number m n k >= 0"), ("REPORT", "yes", "it must be one of false, true")):
            with self.subTest(name=name, value=value):
                self.refused(f"QUADRILLE_BLAS_{name}={value}: {wanted}", **{name: value})
        self.refused("QUADRILLE_BLAS_TARGET_ERROR=0: it must be a number > 0", DELTA="auto", TARGET_ERROR=0)
        self.refused("QUADRILLE_BLAS_ASSURANCE=sure: it must be one of certain, measured, probable", DELTA="auto",
                     ASSURANCE="sure")

    def test_an_unknown_variable(self):
        self.refused("QUADRILLE_BLAS_DETLA: there is no such variable; there are QUADRILLE_BLAS_BACKEND, ", DETLA=1)

    def test_a_backend_that_is_not_there(self):
        environment = {"BACKEND": "cuda", "SMALLEST": 0}
        if run([sys.executable, "-c", f"import numpy as np; {PRODUCT}"], **environment).returncode == 0:
            self.skipTest("a GPU answers")
        self.refused("QUADRILLE_BLAS_BACKEND=cuda: quadrille_cleaver_double: ", **environment)

    def test_no_blas_below(self):
        self.refused("there is no dgemm_ below this library",
                     code="import ctypes; one = ctypes.byref(ctypes.c_int(0)); ctypes.CDLL(None).dgemm_(b'N', b'N', *11 * [one])")

    def test_who_multiplies_nothing_sees_nothing(self):
        process = run([sys.executable, "-c", "print(1)"], DELTA="wrong")
        self.assertEqual((process.returncode, process.stdout, process.stderr), (0, "1\n", ""))


if __name__ == "__main__":
    sys.exit(harness.main(sys.modules[__name__]))
