#!/usr/bin/env python3
"""The task matrix_function: functions of matrices in files against eigenvectors by numpy.

    QUADRILLE_PROGRAM=build/quadrille matrix_function_tests.py [CLASS...]
"""

import os
import sys

import numpy as np

import harness
from block_dft_files import Insulator, read_elsi, write_elsi
from harness import ProgramTest

FUNCTIONS = {"inverse": lambda x: 1 / x, "exponential": np.exp, "sign": np.sign, "square_root": np.sqrt,
             "inverse_square_root": lambda x: 1 / np.sqrt(x)}


def function_of(name, matrix):
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * FUNCTIONS[name](values)) @ vectors.T


class MatrixFunction(ProgramTest):
    def setUp(self):
        super().setUp()
        self.system = Insulator(np.random.default_rng(harness.SEED))
        write_elsi(self.path("h.csc"), self.system.h)
        write_elsi(self.path("s.csc"), self.system.s)
        with open(self.path("sizes"), "w") as stream:
            stream.write(" ".join(str(size) for size in self.system.sizes))

    def job(self, **more):
        task = {"task": "matrix_function", "function": "inverse", "matrix": "s.csc", "blocks": "sizes", "save": "f.csc", **more}
        return {"run": [{key: value for key, value in task.items() if value is not None}]}

    def write_market(self, name, matrix):
        with open(self.path(name), "w") as stream:
            stream.write("%%MatrixMarket matrix array real general\n{} {}\n".format(*matrix.shape))
            stream.writelines(f"{x!r}\n" for x in matrix.T.flatten().tolist())

    def found(self, **more):
        found = self.run_job(self.job(**more), "--force")["matrix_function"]
        return found, read_elsi(self.path("out/f.csc"))

    def test_functions_agree_with_numpy(self):
        cases = [(name, {}) for name in FUNCTIONS]
        cases += [("square_root", {"order": 2}), ("sign", {"order": 4}), ("inverse", {"blocks": {"size": 7}}),
                  ("inverse_square_root", {"blocks": None, "mixed": True})]
        for name, more in cases:
            for file, matrix in (("s.csc", self.system.s), ("h.csc", self.system.h)):
                if "root" in name and file == "h.csc":
                    continue  # it is indefinite
                with self.subTest(function=name, matrix=file, **more):
                    found, f = self.found(function=name, matrix=file, eps=1e-9, **more)
                    self.assertTrue(found["converged"])
                    self.assertLess(np.max(np.abs(f - function_of(name, matrix))), 1e-6)
                    self.assertLess(found["identity_residual"], 1e-6)
                    self.assertGreater(len(found["iterations"]), 1)
                    self.assertGreater(found["flops"], 0)
                    self.assertGreater(found["occupation"], 0)
                    self.assertEqual(found["commutation"] is None, name != "sign")

    def test_errors_fall_with_eps(self):
        for name in FUNCTIONS:
            errors = []
            file, matrix = ("h.csc", self.system.h) if name == "sign" else ("s.csc", self.system.s)
            for eps in (1e-3, 1e-6, 1e-9):
                _, f = self.found(function=name, matrix=file, eps=eps)
                errors.append(np.linalg.norm(f - function_of(name, matrix)))
            with self.subTest(function=name, errors=errors):
                self.assertLess(errors[2], 1e-6)
                self.assertLess(errors[2], errors[0])

    def test_files_and_models(self):
        """Matrix Market holds the same matrix, and HDF5 what it has been given: the inverse of the inverse is the matrix."""
        _, f = self.found(eps=1e-10)
        self.write_market("s.mtx", self.system.s)
        self.run_job(self.job(matrix="s.mtx", save={"file": "f.h5", "dataset": "X"}, eps=1e-10), "--force")
        os.rename(self.path("out/f.h5"), self.path("f.h5"))
        _, back = self.found(matrix={"file": "f.h5", "dataset": "X"}, eps=1e-10)
        self.assertLess(np.max(np.abs(back - self.system.s)), 1e-7)
        for kind, name in (("overlap", "square_root"), ("hamiltonian", "sign")):
            model = {"atoms": 20, "block_sizes": [2, 3], "seed": harness.SEED % 10**9, "matrix": kind}
            found, f = self.found(function=name, matrix=None, blocks=None, model=model)
            self.assertLess(found["identity_residual"], 1e-3)
            self.assertEqual(found["blocks"], 20)
            self.assertEqual(found["rows"], len(f))

    def test_bad_input(self):
        n = len(self.system.s)
        skew = self.system.s.copy()
        skew[3, 4] += 1
        write_elsi(self.path("skew.csc"), skew)
        singular = self.system.s.copy()
        singular[5, :] = singular[:, 5] = 0
        write_elsi(self.path("singular.csc"), singular)
        write_elsi(self.path("large.csc"), 1000 * self.system.s)
        write_elsi(self.path("zero.csc"), np.zeros((n, n)))
        self.write_market("oblong.mtx", self.system.s[:-1])
        for more, pattern in (
            ({"function": None}, "function"),
            ({"function": "cosine"}, r"job.yaml:\d+:\d+: 'function'"),
            ({"matrix": None}, "give either `matrix` or `model`|matrix"),
            ({"order": 3}, "order"),
            ({"function": "sign", "order": 6}, "order"),
            ({"function": "exponential", "max_iterations": 6}, "max_iterations"),
            ({"eps": 0}, r"'eps' must be > 0"),
            ({"model": {"atoms": 4}}, "model"),
            ({"matrix": "skew.csc"}, r"skew.csc: the matrix must be symmetric: elements \[4, 5\] and \[5, 4\]"),
            ({"matrix": "oblong.mtx"}, rf"oblong.mtx.*must be square, but is {n - 1} x {n}"),
            ({"matrix": "singular.csc"}, "A is not invertible, or too ill-conditioned"),
            ({"matrix": "zero.csc"}, "A is not invertible"),
            ({"matrix": "zero.csc", "function": "sign"}, "all elements of A are 0: it has no sign"),
            ({"matrix": "singular.csc", "function": "inverse_square_root"}, "A is not positive definite, or too ill-conditioned"),
            ({"matrix": "h.csc", "function": "square_root"}, "A is not positive definite"),
            ({"matrix": "large.csc", "function": "exponential"}, r"\|A\|_inf = .* above 700 e\^A may overflow"),
        ):
            with self.subTest(**more):
                process = self.call("run", self.write_job(self.job(**more)), "--out", self.path("out"), "--force")
                self.assertEqual(process.returncode, 1, process.stderr)
                self.assertRegex(process.stderr, pattern)

    def test_a_sign_that_does_not_converge_is_a_warning(self):
        singular = self.system.h.copy()
        singular[5, :] = singular[:, 5] = 0
        write_elsi(self.path("singular.csc"), singular)
        for more in ({"matrix": "singular.csc"}, {"matrix": "h.csc", "max_iterations": 2}):
            with self.subTest(**more):
                results = self.run_job(self.job(function="sign", **more), "--force", status=3)
                self.assertFalse(results["matrix_function"]["converged"])
                self.assertIn("sign is not converged", str(results["warnings"]))

    def test_no_check_and_the_report(self):
        found, _ = self.found(function="sign", matrix="h.csc", check=False)
        self.assertNotIn("identity_residual", found)
        self.found(function="sign", matrix="h.csc")
        process = self.call("report", self.path("out"))
        self.assertEqual(process.returncode, 0, process.stderr)
        with open(self.path("out/report/report.md")) as stream:
            text = stream.read()
        self.assertIn("## Function of a matrix `matrix_function`", text)
        self.assertIn("sign", text)


if __name__ == "__main__":
    sys.exit(harness.main(sys.modules[__name__]))
