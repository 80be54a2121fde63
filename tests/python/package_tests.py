#!/usr/bin/env python3
"""The Python package against jobs of the program, NumPy and itself.

    QUADRILLE_PROGRAM=build/quadrille QUADRILLE_LIBRARY=build/libquadrille.so package_tests.py [CLASS...]
"""

import ast
import contextlib
import ctypes.util
import gc
import importlib.util
import inspect
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest
import unittest.mock

import python_harness
from python_harness import DIMS, SITES, SOLVER, WORDS, hot, norm, q, random, spinor

import numpy as np

import harness
import independent
import lime_files
from quadrille import _library


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


class Interruptions(unittest.TestCase):
    def setUp(self):
        self.gauge = hot()
        self.solver = q.solver(q.operator(self.gauge, "wilson", mass=0.1), "bicgstab", tolerance=1e-11)

    def test_progress_is_told_each_iteration_and_may_stop(self):
        seen = []
        self.solver(spinor(), progress=lambda *now: seen.append(now))
        self.assertEqual(len(seen), self.solver.reports[0].iterations)
        self.assertLess(seen[-1][3], 1e-10)
        with self.assertRaisesRegex(q.Stopped, "after 2 iterations"):
            self.solver(spinor(), progress=lambda solve, solves, iteration, residual: iteration == 2)
        self.solver(spinor())  # and goes on

    def test_what_progress_raises_is_raised(self):
        def fails(*_):
            raise KeyError("mine")

        with self.assertRaisesRegex(KeyError, "mine"):
            self.solver(spinor(), progress=fails)

    def test_a_progress_function_must_not_call_back(self):
        with self.assertRaisesRegex(q.InvalidInput, "called back"):
            self.solver(spinor(), progress=lambda *_: self.gauge.plaquette())

    def test_ctrl_c_ends_a_solve_within_an_iteration(self):
        earlier = signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            seen = []

            def interrupt(*now):
                seen.append(now)
                os.kill(os.getpid(), signal.SIGINT)

            with self.assertRaises(KeyboardInterrupt):
                self.solver(spinor(), progress=interrupt)
            self.assertLessEqual(len(seen), 2)
            self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)
        finally:
            signal.signal(signal.SIGINT, earlier)

    def test_collected_within_progress(self):
        """What the collector ends within a call ends after it."""
        kept = [q.operator(self.gauge, "wilson", mass=0.3)]
        handle, left = kept[0].handle, []

        def drop(*_):
            kept.clear()
            gc.collect()
            left.append(len(self.gauge.context.turn._left))

        self.solver(spinor(), progress=drop)
        self.assertEqual(set(left), {1})
        self.assertFalse(self.gauge.context.turn._left)
        self.assertEqual(_library.library().quadrille_operator_destroy(handle), 8)  # there is no such handle any more

    def test_ends_that_come_while_the_turn_is_given_back_are_not_lost(self):
        turn, ended = self.gauge.context.turn, []

        class Lock:
            """Of which a release is the last moment for another thread to leave something behind."""

            def __init__(self, lock):
                self.lock, self.late = lock, ["late"]

            def acquire(self, *args, **words):
                return self.lock.acquire(*args, **words)

            def release(self):
                if self.late:
                    turn._left.append((ended.append, self.late.pop()))
                self.lock.release()

        earlier = turn._lock
        for work in (self.gauge.plaquette, lambda: turn.end(ended.append, "first")):
            turn._lock = Lock(earlier)
            work()
            self.assertEqual((list(turn._left), ended[-1]), ([], "late"))
        turn._lock = earlier

    def test_a_call_leaves_no_cycle(self):
        gc.collect()
        gc.disable()
        try:
            self.solver(spinor(), progress=lambda *_: False)
            self.assertEqual([one for one in gc.get_objects() if type(one).__name__ == "_Watch"], [])
        finally:
            gc.enable()

    def test_a_bar_of_the_call_is_closed(self):
        bars = []

        class Bar:
            def __init__(self, **_):
                bars.append([])

            def update(self, _):
                bars[-1].append("update")

            def set_postfix_str(self, *_args, **_words):
                pass

            def close(self):
                bars[-1].append("close")

        modules = {"tqdm": types.ModuleType("tqdm"), "tqdm.auto": types.ModuleType("tqdm.auto")}
        modules["tqdm.auto"].tqdm = Bar
        with unittest.mock.patch.dict(sys.modules, modules):
            self.solver(spinor(), progress=True)
            self.solver(spinor(), progress=Bar())
        self.assertEqual((bars[0][0], bars[0][-1], bars[0].count("close")), ("update", "close", 1))
        self.assertNotIn("close", bars[1])  # that of the caller

    @contextlib.contextmanager
    def interrupted(self, after=None):
        """Demands a KeyboardInterrupt; with `after` Ctrl-C comes so many seconds after the begin."""
        earlier = signal.signal(signal.SIGINT, signal.default_int_handler)
        timer = threading.Timer(after or 0, os.kill, (os.getpid(), signal.SIGINT))
        try:
            with self.assertRaises(KeyboardInterrupt):
                if after is not None:
                    timer.start()
                yield
            self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)
        finally:
            timer.cancel()
            signal.signal(signal.SIGINT, earlier)

    def long(self):
        """Sources that are solved for seconds, and about how many."""
        begin = time.monotonic()
        self.solver.batch(spinor((20, *SITES)))
        each = (time.monotonic() - begin) / 20
        count = int(4 / each) + 1
        return np.broadcast_to(spinor(), (count, *SITES, 4, 3)), count * each

    def test_ctrl_c_without_a_progress_function(self):
        sources, seconds = self.long()
        begin = time.monotonic()
        with self.interrupted(after=0.2):
            self.solver.batch(sources)
        self.assertLess(time.monotonic() - begin, seconds / 2)

    def test_ctrl_c_while_another_thread_has_the_turn(self):
        sources, _ = self.long()
        begun, stop = threading.Event(), threading.Event()

        def progress(*_):
            begun.set()
            return stop.is_set()

        def solve():
            with contextlib.suppress(q.Stopped):
                self.solver.batch(sources, progress=progress)

        thread = threading.Thread(target=solve)
        thread.start()
        begun.wait()
        with self.interrupted(after=0.1):
            self.gauge.plaquette()
        self.assertTrue(thread.is_alive())
        stop.set()
        thread.join()
        self.gauge.plaquette()

    def test_ctrl_c_at_the_end_of_a_call_locks_nothing(self):
        turn = self.gauge.context.turn

        def interrupts(_):
            os.kill(os.getpid(), signal.SIGINT)
            for _ in range(100):
                pass  # Python looks for signals

        with self.interrupted():
            self.solver(spinor(), progress=lambda *_: turn._left or turn.end(interrupts, None))
        self.assertFalse(turn._lock.locked())
        with self.interrupted():
            turn.end(interrupts, None)
            for _ in range(100):
                pass
        self.assertFalse(turn._lock.locked())
        self.gauge.plaquette()

    def test_not_converged(self):
        solver = q.solver(self.solver.op, "cg", tolerance=1e-12, max_iterations=3)
        with self.assertRaises(q.NotConverged) as caught:
            solver(b := spinor())
        self.assertEqual(caught.exception.reports[0].stop_reason, "max_iterations")
        residual = norm(self.solver.op(caught.exception.results) - b) / norm(b)
        self.assertAlmostEqual(caught.exception.reports[0].residual, residual, delta=1e-13)


class Jobs(harness.ProgramTest):
    JOB = {"operator": WORDS, "solver": SOLVER,
           "run": [{"task": "propagator", "source": {"type": "point", "site": [0, 0, 0, 0]}},
                   {"task": "mesons", "from": "propagator"}]}

    def test_changes_and_temporary_folders(self):
        results = q.run(self.JOB, gauge=hot(), set={"operator.mass": 0.7, "run[0].source.site": [0, 1, 0, 0], "solver.sloppy": None})
        self.assertEqual(results["job"]["operator"]["mass"], 0.7)
        self.assertEqual(results["job"]["run"][0]["source"]["site"], [0, 1, 0, 0])
        self.assertEqual(self.JOB["operator"]["mass"], WORDS["mass"])
        folder = results.folder
        self.assertTrue(os.path.exists(folder))
        del results
        gc.collect()
        self.assertFalse(os.path.exists(folder))

    def test_reports(self):
        results = q.run(self.JOB, gauge=hot(), out=self.path("kept"))
        self.assertIn("<iframe", results._repr_html_())
        self.assertTrue(os.path.exists(results.report()))
        again = q.Results(self.path("kept"))
        self.assertEqual(again["correlators"], results["correlators"])
        self.assertEqual(len(again.correlator("mesons")), DIMS[3])

    def test_errors_name_the_argument(self):
        for job, words in (({**self.JOB, "solver": {"type": "cg", "tolerence": 1}}, "job.solver.tolerence: .*did you mean 'tolerance'"),
                           ({**self.JOB, "sover": {}}, "job.sover: "),
                           ({**self.JOB, "run": [self.JOB["run"][0], {"task": "mesons", "frm": "x"}]}, r"job.run\[1\].frm: "),
                           ({**self.JOB, "run": [{"task": "propagator", "source": {"type": "point", "sit": 0}}]},
                            r"job.run\[0\].source.sit: "),
                           ({(1, 2): 3}, "key .1, 2. must be text"), ("\ud800\n", "job: .*surrogates"),
                           ({**self.JOB, "run": [{1: 2}]}, "key 1 must be text"),
                           ({**self.JOB, "gauge": {"start": "hot", "dims": DIMS}}, "gauge"),
                           ("run: [", "job:2:1: not valid YAML"), (17, "must be a dict, YAML text or a path")):
            with self.assertRaisesRegex(q.InvalidInput, words):
                q.run(job, gauge=hot())
        with self.assertRaises(q.FileError):
            q.run(self.path("nothing.yaml"), backend="cpu")
        with self.assertRaises(q.FileError):
            q.Results(self.folder)
        for words, pattern in (({"set": {1: 2}}, "set: .*expected a dict with paths"), ({"set": 5}, "set: 5"),
                               ({"set": {"run[7].task": 1}}, "set: the job has no 'run.7..task'"), ({"set": {"": 1}}, "set: "),
                               ({"out": 5}, "out: 5; expected a path"), ({"out": "\ud800"}, "out: ")):
            with self.assertRaisesRegex(q.InvalidInput, pattern):
                q.run(self.JOB, gauge=hot(), **words)

    def test_names_of_any_letters(self):
        name = "\u03c0\U0001f600.lime"
        job = {**self.JOB, "run": [{**self.JOB["run"][0], "save": {"file": name, "precision": "double"}}]}
        results = q.run(job, gauge=hot())
        self.assertEqual(results["job"]["run"][0]["save"]["file"], name)
        self.assertTrue(os.path.exists(results.path(name)))
        for text in ("\x7f\x85\x9f", "\u2028\u2029", "\ufeff\ufffe", "\U0010ffff", "\"\\\n\t"):
            with self.subTest(text=ascii(text)), self.assertRaisesRegex(q.InvalidInput, "job.run.0..name: 'name' must be at most"):
                q.run({**self.JOB, "run": [{**self.JOB["run"][0], "name": text}]}, gauge=hot())
        with self.assertRaisesRegex(q.InvalidInput, "job.run.0..name: not valid YAML"):
            q.run({**self.JOB, "run": [{**self.JOB["run"][0], "name": "\ud83d"}]}, gauge=hot())  # half a pair

    def test_a_job_is_stopped_and_goes_on(self):
        wanted = q.run(self.JOB, gauge=hot())["correlators"]
        with self.assertRaises(q.Stopped):
            q.run(self.JOB, gauge=hot(), out=self.path("out"), progress=lambda solve, *_: solve == 3)
        found = q.run(self.JOB, gauge=hot(), out=self.path("out"))
        self.assertEqual(found["correlators"], wanted)
        with self.assertLogs("quadrille", "WARNING"), self.assertRaisesRegex(q.Stopped, "; out='(.*)' continues it") as caught:
            q.run(self.JOB, gauge=hot(), progress=lambda solve, *_: solve == 3)
        folder = re.search("out='(.*)'", str(caught.exception)).group(1)
        self.addCleanup(shutil.rmtree, folder)
        self.goes_on(folder, wanted)

    def goes_on(self, folder, wanted):
        """A run of the job there ends one that was stopped at its fourth solve."""
        left = set()
        found = q.run(self.JOB, gauge=hot(), out=folder, progress=lambda _, solves, *__: left.add(solves))
        self.assertEqual(found["correlators"], wanted)
        self.assertEqual((left, found["timing"]["runs"]), ({9}, 2))

    def test_ctrl_c_of_a_job_saves_its_state(self):
        earlier = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, earlier)

        def interrupt(solve, *_):
            if solve == 3:
                os.kill(os.getpid(), signal.SIGINT)

        with self.assertRaises(KeyboardInterrupt):
            q.run(self.JOB, gauge=hot(), out=self.path("out"), progress=interrupt)
        with self.assertLogs("quadrille", "WARNING") as logs, self.assertRaises(KeyboardInterrupt):
            q.run(self.JOB, gauge=hot(), progress=interrupt)
        kept = re.search("out='(.*)' continues it", "\n".join(logs.output)).group(1)
        self.addCleanup(shutil.rmtree, kept)
        wanted = q.run(self.JOB, gauge=hot())["correlators"]
        for folder in (self.path("out"), kept):
            self.goes_on(folder, wanted)

    def test_ctrl_c_while_another_thread_runs_a_job(self):
        begun, stop = threading.Event(), threading.Event()

        def progress(*_):
            begun.set()
            stop.wait()

        thread = threading.Thread(target=lambda: q.run(self.JOB, gauge=hot(), out=self.path("first"), progress=progress))
        thread.start()
        begun.wait()
        earlier = signal.signal(signal.SIGINT, signal.default_int_handler)
        timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
        late = threading.Timer(20, stop.set)  # the test fails rather than waits
        try:
            timer.start()
            late.start()
            with self.assertRaises(KeyboardInterrupt):
                q.run(self.JOB, gauge=hot())
            self.assertFalse(stop.is_set())
        finally:
            stop.set()
            late.cancel()
            thread.join()
            signal.signal(signal.SIGINT, earlier)
        q.run(self.JOB, gauge=hot())

    def test_a_job_within_the_progress_of_another(self):
        inner = []

        def progress(*_):
            if not inner:
                inner.append(q.run(self.JOB, gauge=hot())["correlators"])

        self.assertEqual([q.run(self.JOB, gauge=hot(), progress=progress)["correlators"]], inner)


if __name__ == "__main__":
    sys.exit(harness.main(sys.modules[__name__]))
