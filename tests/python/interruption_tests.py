#!/usr/bin/env python3
"""Progress, Ctrl-C and the end of objects in the Python package."""

import contextlib
import gc
import os
import signal
import sys
import threading
import time
import types
import unittest
import unittest.mock

from python_harness import SITES, hot, norm, q, spinor

import numpy as np

import harness
from quadrille import _library


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


if __name__ == "__main__":
    sys.exit(harness.main(sys.modules[__name__]))
