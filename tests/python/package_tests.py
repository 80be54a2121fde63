#!/usr/bin/env python3
"""The Python package against jobs of the program, NumPy and itself.

    QUADRILLE_PROGRAM=build/quadrille QUADRILLE_LIBRARY=build/libquadrille.so package_tests.py [CLASS...]
"""

import ast
import ctypes.util
import gc
import importlib.util
import inspect
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import python_harness
from python_harness import DIMS, SITES, SOLVER, WORDS, hot, norm, q, random, spinor

import numpy as np

import harness
import lime_files


class SameBits(harness.ProgramTest):
    """What a job of the program has, bit for bit."""

    def setUp(self):
        super().setUp()
        self.job = {"gauge": {"start": "hot", "dims": DIMS, "seed": harness.SEED, "save": {"file": "field.lime"}},
                    "operator": WORDS, "solver": SOLVER,
                    "run": [{"task": "propagator", "source": {"type": "point", "site": [1, 0, 3, 2]},
                             "save": {"file": "propagator.lime", "precision": "double"}},
                            {"task": "mesons", "from": "propagator", "channels": ["pion", "rho_x"], "momenta": {"p2_max": 1}},
                            {"task": "baryons", "from": "propagator"}]}
        self.results = self.run_job(self.job, "--threads", "1", "--backend", "cpu")

    def test_links_propagator_and_iterations(self):
        gauge = q.gauge(os.path.join(self.path("out"), "field.lime"), backend="cpu", threads=1)
        links = lime_files.read_gauge(os.path.join(self.path("out"), "field.lime"))[0]
        np.testing.assert_array_equal(gauge.array(), np.moveaxis(links, 4, 0))
        self.assertEqual(gauge.plaquette(), self.results["gauge"]["plaquette"])
        np.testing.assert_array_equal(gauge.array(), hot().array())
        again = q.gauge(gauge.array(), backend="cpu", threads=1)
        for field in (gauge, again):
            solver = q.solver(q.operator(field, WORDS), SOLVER)
            found = q.propagator(solver, [1, 0, 3, 2])
            np.testing.assert_array_equal(found.array(), self.saved_propagator(self.results))
            self.assertEqual([report.iterations for report in found.reports],
                             [solve["iterations"] for solve in self.results["solves"]])
            np.testing.assert_allclose(found.pion(), self.results["correlators"]["mesons"]["pion"], rtol=1e-13)

    def test_propagators_in_files(self):
        results = q.Results(self.path("out"))
        saved = results.propagator()
        np.testing.assert_array_equal(saved.array(), self.saved_propagator(self.results))
        self.assertEqual(list(saved.site), [1, 0, 3, 2])
        with self.assertRaises(q.InvalidInput):
            results.propagator("mesons")
        with self.assertRaises(q.FileError):
            q.read_propagator(q.gauge(start="cold", dims=[4, 4, 4, 4], backend="cpu"), results.path("propagator.lime"))
        with self.assertRaises(q.FileError):
            q.read_propagator(hot(), results.path("nothing.lime"))

    def test_jobs(self):
        for job, more in ((self.job, {}), (json.dumps(self.job), {}), (self.path("job.yaml"), {}),
                          ({**self.job, "gauge": None}, {"gauge": hot()})):
            with self.subTest(job=type(job).__name__):
                where = {} if more else {"backend": "cpu", "threads": 1}
                found = q.run(job, out=self.path(f"out{random.integers(1 << 40)}"), **where, **more)
                self.assertEqual(found["correlators"], self.results["correlators"])
                rho = self.results["correlators"]["mesons"]["channels"]["rho_x"]["correlators"]
                for one in rho:
                    wanted = np.array(one["re"]) + 1j * np.array(one.get("im", np.zeros(DIMS[3])))
                    np.testing.assert_array_equal(found.correlator("mesons/rho_x", one["momentum"]), wanted)
                self.assertEqual(len(rho), 7)  # p = 0, and one unit in either direction of three


class Objects(unittest.TestCase):
    def test_closed_objects(self):
        gauge = hot()
        op = q.operator(gauge, WORDS)
        solver = q.solver(op, SOLVER)
        gauge.close()
        gauge.close()
        with self.assertRaises(q.ClosedError):
            gauge.array()
        b = spinor()
        self.assertLess(norm(op(solver(b)) - b) / norm(b), 1.1e-11)  # what was made from it goes on
        with solver:
            pass
        with self.assertRaises(q.ClosedError):
            solver(b)
        op.context.close()
        with self.assertRaises(q.ClosedError):
            op(b)

    def test_a_thousand_objects_leave_nothing(self):
        def make():
            gauge = hot()
            solver = q.solver(q.operator(gauge, WORDS), SOLVER)
            solver(np.zeros((*SITES, 4, 3), complex))
            cycle = [gauge, solver]
            cycle.append(cycle)  # for the collector

        def resident():
            gc.collect()
            with open("/proc/self/statm") as stream:
                return int(stream.read().split()[1]) * resource.getpagesize()

        for _ in range(100):
            make()
        before = resident()
        for _ in range(1000):
            make()
        self.assertLess(resident() - before, 8 << 20)  # one object of a thousand has 0.3 MiB of fields

    def test_threads(self):
        """Own contexts work at once, a shared one in turns."""
        gauge = hot()
        shared = q.solver(q.operator(gauge, WORDS), SOLVER)
        sources, found, wanted = [spinor() for _ in range(4)], {}, {}

        def work(k):
            own = q.solver(q.operator(hot(), WORDS), SOLVER)
            found[k] = [own(sources[k]), shared(sources[k])]

        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for k in range(4):
            wanted[k] = shared(sources[k])
            for one in found[k]:
                np.testing.assert_array_equal(one, wanted[k])

    def test_the_gil_is_released(self):
        """Within one call that lasts: with the GIL held nothing would tick between its begin and its end."""
        solver = q.solver(q.operator(hot(), "wilson", mass=0.1), "cg", tolerance=1e-12)
        sources, ticks, call = spinor((200, *SITES)), [], []

        def solve():
            call.append(time.monotonic())
            solver.batch(sources)
            call.append(time.monotonic())

        thread = threading.Thread(target=solve)
        thread.start()
        while thread.is_alive():
            ticks.append(time.monotonic())
            time.sleep(0.0005)
        begin, end = call
        self.assertGreater(end - begin, 0.1)
        within = [tick for tick in ticks if begin + 0.1 * (end - begin) < tick < end - 0.1 * (end - begin)]
        self.assertGreater(len(within), 10)

    def test_a_library_of_another_version(self):
        other = next((one for one in ("libm.so.6", "libc.so.6") if ctypes.util.find_library(one[3])), None)
        if other is None:
            self.skipTest("there is no libm.so.6")
        code = "import quadrille as q\ntry: q.Context('cpu')\nexcept q.Error as error: print(error)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                              env={**os.environ, "PYTHONPATH": python_harness.PACKAGE, "QUADRILLE_LIBRARY": other})
        self.assertRegex(done.stdout, f"{other} has no quadrille_context_create: it is of another version")

    def test_documents(self):
        for name, word in (("solver", "max_iterations"), ("operator", "csw"), ("gauge", "verify_checksum")):
            self.assertIn(word, getattr(q, name).__doc__)
        self.assertIn("sloppy", q.help_on("solver bicgstab"))
        self.assertRegex(q.__version__, r"^\d+\.\d+\.\d+$")
        self.assertTrue({"solver", "Results", "analysis"} <= set(dir(q)))

    def test_the_stub_has_the_signatures(self):
        with open(os.path.join(python_harness.PACKAGE, "quadrille", "__init__.pyi")) as stream:
            tree = ast.parse(stream.read())
        stubs = {node.name: node.args for node in tree.body if isinstance(node, ast.FunctionDef)}
        self.assertEqual(set(stubs), {"gauge", "operator", "solver", "propagator", "run", "help_on", "build_id"})
        for name, stub in stubs.items():
            own = inspect.signature(getattr(q, name)).parameters
            self.assertEqual([argument.arg for argument in (*stub.args, *stub.kwonlyargs)] + ([stub.kwarg.arg] if stub.kwarg else []),
                             list(own))
        imported = {alias.asname for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}
        self.assertEqual(set(q.__all__) - imported - set(stubs), set())

    def test_the_source_package_has_all_sources(self):
        """What sdist.exclude of pyproject.toml leaves out, by git's rules for patterns, which scikit-build-core follows."""
        try:
            import tomllib
        except ImportError:
            self.skipTest("tomllib is new in Python 3.11")
        if shutil.which("git") is None:
            self.skipTest("there is no git")
        root = os.path.join(python_harness.HERE, "..", "..")
        with open(os.path.join(root, "pyproject.toml"), "rb") as stream:
            patterns = tomllib.load(stream)["tool"]["scikit-build"]["sdist"]["exclude"]
        paths = [".ci/run.py", "build/CMakeCache.txt", "build-wheel/x", "tests/readmes.py"]
        wanted = set(paths)
        for folder in ("cmake", "codegen", "core", "dirac", "input", "modules", "solvers"):
            for place, _, files in os.walk(os.path.join(root, folder)):
                paths += [os.path.relpath(os.path.join(place, file), root) for file in files]
        self.assertIn("core/system/build_id.h", paths)
        with tempfile.TemporaryDirectory() as place:
            git = ["git", "-C", place, "-c", "core.excludesFile="]
            subprocess.run([*git, "init", "-q"], check=True)
            with open(os.path.join(place, ".gitignore"), "w", encoding="utf-8") as stream:
                stream.write("\n".join(patterns))
            done = subprocess.run([*git, "check-ignore", "--no-index", "--stdin"], input="\n".join(paths), capture_output=True,
                                  text=True, check=False)
        self.assertEqual(set(done.stdout.splitlines()), wanted)

    def test_importing_loads_no_library(self):
        code = "import sys, quadrille; print('numpy' in sys.modules, 'quadrille._library' in sys.modules)"
        done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": python_harness.PACKAGE},
                              capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout.split(), ["False", "False"])


class Ranks(unittest.TestCase):
    def test_two_ranks_of_mpi4py(self):
        if not os.environ.get("QUADRILLE_MPIEXEC"):
            self.skipTest("this Quadrille is built without MPI")
        if importlib.util.find_spec("mpi4py") is None:
            self.skipTest("python3-mpi4py is not installed")
        folder = tempfile.mkdtemp(prefix="quadrille-")
        self.addCleanup(shutil.rmtree, folder)
        done = subprocess.run([os.environ["QUADRILLE_MPIEXEC"], "--oversubscribe", "-n", "2", sys.executable,
                               os.path.join(python_harness.HERE, "on_ranks.py"), folder], capture_output=True, text=True, timeout=120,
                              check=False)
        self.assertEqual((done.returncode, done.stdout), (0, "right"), done.stderr)


if __name__ == "__main__":
    sys.exit(harness.main(sys.modules[__name__]))
