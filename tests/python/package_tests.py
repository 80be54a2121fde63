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
import independent
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


class Arrays(unittest.TestCase):
    def setUp(self):
        self.gauge = hot()
        self.op = q.operator(self.gauge, WORDS)
        self.solver = q.solver(self.op, SOLVER)

    def test_the_operator_is_that_of_numpy(self):
        matrix = independent.Wilson(np.moveaxis(self.gauge.array(), 0, 4), 0.2, [0, 0.25, 0, 1], csw_r=1.1, csw_t=1.1)
        psi = spinor()
        for product, sign in (("m", 1), ("m_dagger", -1)):
            wanted = matrix(psi.swapaxes(-1, -2)[..., None], sign)[..., 0].swapaxes(-1, -2)
            self.assertLess(norm(self.op.apply(psi, product) - wanted) / norm(wanted), 1e-14)
        # gamma5-hermiticity, with gamma5 = diag(1, 1, -1, -1) of the DeGrand-Rossi basis up to a sign
        chirality = np.array([1, 1, -1, -1])[:, None]
        self.assertLess(norm(chirality * self.op(chirality * psi) - self.op.dagger(psi)) / norm(psi), 1e-14)
        self.assertLess(norm(self.op.apply(psi, "m_dagger_m") - self.op.dagger(self.op(psi))) / norm(psi), 1e-13)

    def test_every_layout_gives_the_same_solution_and_says_whether_it_was_copied(self):
        b = spinor()
        wanted = self.solver(b)
        self.assertLess(norm(self.op(wanted) - b) / norm(b), 1.1e-11)
        exchanged = np.ascontiguousarray(np.swapaxes(b, -1, -2)).swapaxes(-1, -2)
        gaps = np.empty((*SITES, 4, 6), complex)[..., ::2]
        gaps[...] = b
        unaligned = np.empty(b.nbytes + 1, np.uint8)[1:].view(complex).reshape(b.shape)
        unaligned[...] = b
        for given, copied in ((b, False), (np.asfortranarray(b), True), (gaps, True), (b[::-1].copy()[::-1], True),
                              (exchanged, False), (unaligned, True)):
            with self.subTest(strides=given.strides):
                x = self.solver(given)
                np.testing.assert_array_equal(x, wanted)
                self.assertEqual(self.solver.reports[0].copied, copied)
                self.assertEqual(x.strides, b.strides if copied else given.strides)
                np.testing.assert_array_equal(self.op(given), self.op(b))
        for given, out, copied in ((exchanged, np.empty_like(b), True), (b, np.empty((*SITES, 3, 4), complex).swapaxes(-1, -2), True),
                                   (exchanged, np.empty((*SITES, 3, 4), complex).swapaxes(-1, -2), False)):
            self.assertIs(self.solver(given, out=out), out)
            np.testing.assert_array_equal(out, wanted)
            self.assertEqual(self.solver.reports[0].copied, copied)
        both = np.stack((exchanged, exchanged)).swapaxes(-1, -2).copy().swapaxes(-1, -2)
        np.testing.assert_array_equal(self.solver.batch(both), [wanted, wanted])
        np.testing.assert_array_equal(self.solver(b, out=b), wanted)  # in place
        self.assertIs(type(b), np.ndarray)

    def test_single_precision_subsets_bases_and_guesses(self):
        b = spinor(dtype=np.complex64)
        x = self.solver(b)
        self.assertEqual(x.dtype, np.complex64)
        self.assertLess(norm(self.op(x.astype(complex)) - b) / norm(b), 1e-6)
        half = spinor((self.gauge.volume // 2,))
        y = self.solver(half, system="even_odd", subset="odd")
        self.assertLess(norm(self.op.apply(y, "even_odd", subset="odd") - half) / norm(half), 1.1e-11)
        b = spinor()
        for basis in ("ukqcd", "openqcd"):
            z = self.solver(b, basis=basis, normalization="kappa")
            self.assertLess(norm(self.op(z, basis=basis, normalization="kappa") - b) / norm(b), 1.1e-11)
        x = self.solver(b)
        self.solver(b, guess=x)
        self.assertEqual(self.solver.reports[0].iterations, 0)

    def test_boundaries(self):
        """The argument goes before a dict, the dict before the default; as words, lists and arrays."""
        def product(*args, **words):
            return q.operator(self.gauge, *args, **words)(b)

        b, bare = spinor(), {"type": "wilson", "mass": 0.2}
        periodic = product({**bare, "boundary": ["periodic"] * 4})
        antiperiodic = product({**bare, "boundary": ["periodic"] * 3 + ["antiperiodic"]})
        self.assertGreater(norm(periodic - antiperiodic), 1e-3)
        for found, wanted in ((product(bare), antiperiodic), (product(bare, boundary="periodic"), periodic),
                              (product({**bare, "boundary": ["periodic"] * 4}, boundary="antiperiodic"), antiperiodic),
                              (product({**bare, "boundary": "periodic"}), periodic), (product({**bare, "boundary": None}), antiperiodic),
                              (product(bare, boundary=np.array(["periodic"] * 3 + ["antiperiodic"])), antiperiodic)):
            np.testing.assert_array_equal(found, wanted)

    def test_reports_of_a_solver_that_threads_share(self):
        reports, own = {}, [q.solver(self.op, SOLVER)] * 3

        def work(k):
            for _ in range(3):
                reports.setdefault(k, []).append(len(q.propagator(own[k], [k, 0, 0, 0]).reports))
                own[k](spinor())

        threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(reports, {k: [12] * 3 for k in range(3)})

    def test_sources_of_the_caller(self):
        sources = {(spin, color): spinor() for spin in range(4) for color in range(3)}
        found = q.propagator(self.solver, source=lambda spin, color: sources[spin, color])
        self.assertIsNone(found.site)
        self.assertIn("source of the caller", repr(found))
        np.testing.assert_array_equal(found.columns[7], self.solver(sources[2, 1]))

    def test_batches_and_shifts(self):
        sources = spinor((3, *SITES))
        found = self.solver.batch(sources)
        self.assertEqual(len(self.solver.reports), 3)
        for k in range(3):
            np.testing.assert_array_equal(found[k], self.solver(sources[k]))
        np.testing.assert_array_equal(self.solver.batch(list(sources), batch=2), found)
        cg = q.solver(self.op, "cg", tolerance=1e-10)
        b = spinor((self.gauge.volume // 2,))
        shifts = [0, 0.1, 2.5]
        for s, x in zip(shifts, cg.shifts(b, shifts)):
            back = self.op.apply(x, "even_odd_normal", subset="even") + s * x
            self.assertLess(norm(back - b) / norm(b), 1.1e-10)

    def test_links(self):
        links = self.gauge.array()
        columns = np.ascontiguousarray(links.swapaxes(-1, -2)).swapaxes(-1, -2)
        for given, copied in ((links, False), (columns, False), (np.asfortranarray(links), True)):
            field = q.gauge(given, backend="cpu", threads=1)
            self.assertEqual(field.copied, copied)
            np.testing.assert_array_equal(field.array(), links)
        np.testing.assert_array_equal(self.gauge.array(out=np.empty_like(columns)), links)
        np.testing.assert_allclose(links @ links.conj().swapaxes(-1, -2), np.broadcast_to(np.eye(3), links.shape), atol=1e-12)
        self.assertEqual(self.gauge.array(np.complex64).dtype, np.complex64)
        # the plaquette of numpy
        u, v = links[0], np.roll(links[1], -1, axis=3)
        w, z = np.roll(links[0], -1, axis=2), links[1]
        loops = np.einsum("...ab,...bc,...dc,...ad->...", u, v, w.conj(), z.conj())
        self.assertAlmostEqual(self.gauge.plaquettes()["xy"], loops.real.mean() / 3, delta=1e-14)
        x = self.solver(b := spinor())
        self.gauge.update(q.gauge(start="cold", dims=DIMS, backend="cpu").array())
        self.assertAlmostEqual(self.gauge.plaquette(), 1, delta=1e-14)
        self.assertGreater(norm(self.solver(b) - x) / norm(x), 1e-3)

    def test_tensors_of_pytorch(self):
        try:
            import torch
        except ImportError:
            self.skipTest("PyTorch is not installed")
        b = spinor()
        x = self.solver(torch.from_numpy(b))
        self.assertIsInstance(x, torch.Tensor)
        np.testing.assert_array_equal(x.numpy(), self.solver(b))

    def test_dlpack_of_anything(self):
        class Foreign:
            def __init__(self, array):
                self.array = array

            def __dlpack__(self, **words):
                return self.array.__dlpack__(**words)

            def __dlpack_device__(self):
                return self.array.__dlpack_device__()

        class Copying(Foreign):
            """The capsule alone has the numbers, as that of arrays of other libraries in another layout or precision."""

            def __dlpack__(self, **words):
                return self.array.copy().__dlpack__(**words)

        class Lazy(Foreign):
            """A tensor of PyTorch of which the conjugation is still to be done."""

            def is_conj(self):
                return True

            def resolve_conj(self):
                return Foreign(self.array.conj())

            def is_neg(self):
                return False

        Foreign.resolve_neg = lambda self: self
        b = spinor()
        np.testing.assert_array_equal(self.solver(Foreign(b)), self.solver(b))
        np.testing.assert_array_equal(self.solver(Lazy(b)), self.solver(b.conj()))
        wanted = self.solver.batch([b, 2 * b])
        for _ in range(5):
            held = Copying(np.stack((b, 2 * b)))
            np.testing.assert_array_equal(self.solver.batch(held), wanted)
            np.testing.assert_array_equal(q.gauge(Copying(self.gauge.array()), backend="cpu").array(), self.gauge.array())
        for out in (Foreign(b.copy()), Lazy(b)):
            with self.assertRaisesRegex(q.InvalidInput, "out: a read-only array"):
                self.solver(b, out=out)

    def test_results_that_overlap_the_input_are_refused(self):
        buffer = spinor((4, *SITES))
        sources = buffer[:2].copy()
        wanted = self.solver.batch(sources)
        for given, out in ((buffer[:2], buffer[1:3]), (buffer[1:3], buffer[:2]), (buffer[:2], buffer[1::-1]),
                           (buffer[:2], np.lib.stride_tricks.as_strided(buffer[2:], sources.shape, (0, *buffer.strides[1:])))):
            with self.subTest(), self.assertRaisesRegex(q.InvalidInput, "out: .*overlap"):
                self.solver.batch(given, out=out)
        np.testing.assert_array_equal(buffer[:2], sources)
        flat = np.empty(2 * sources[0].size, complex)
        flat[:sources[0].size] = sources[0].ravel()
        near = flat[12:12 + sources[0].size].reshape(sources[0].shape)
        with self.assertRaisesRegex(q.InvalidInput, "overlaps"):
            self.op(flat[:sources[0].size].reshape(sources[0].shape), out=near)
        np.testing.assert_array_equal(self.solver.batch(buffer[:2], out=buffer[2:]), wanted)  # side by side
        np.testing.assert_array_equal(self.solver.batch(buffer[:2], out=buffer[:2]), wanted)  # in place
        same = np.broadcast_to(sources[0], sources.shape)
        np.testing.assert_array_equal(self.solver.batch(same), [wanted[0]] * 2)


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
