#!/usr/bin/env python3
"""Measures what Python costs; not a test.

    QUADRILLE_PROGRAM=build/quadrille QUADRILLE_LIBRARY=build/libquadrille.so overhead.py [X Y Z T] [--threads N]

Prints: the seconds of an import; of the twelve solves of a propagator by the program and from Python, in turns, with what
Python adds around the solves; of array(copy=True) against a copy of numpy; the memory that a thousand objects leave.
"""

import argparse
import gc
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

from python_harness import PACKAGE, SOLVER, np, q

import harness


def seconds(work, times=5):
    """The fastest of some."""
    found = []
    for _ in range(times):
        begin = time.perf_counter()
        work()
        found.append(time.perf_counter() - begin)
    return min(found)


def importing():
    code = "import time; t = time.perf_counter(); import quadrille as q; q.gauge; print(time.perf_counter() - t)"
    environment = {**os.environ, "PYTHONPATH": PACKAGE}
    return statistics.median(float(subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True,
                                                  check=True).stdout) for _ in range(5))


def by_the_program(job, folder, threads):
    """Seconds of its solves and of their set-up, which makes the sources."""
    path = os.path.join(folder, "job.yaml")
    with open(path, "w") as stream:
        json.dump(job, stream)
    subprocess.run([harness.PROGRAM, "run", path, "--out", os.path.join(folder, "out"), "--force", "--threads", str(threads),
                    "--backend", "cpu"], check=True, capture_output=True)
    with open(os.path.join(folder, "out", "results.json")) as stream:
        return json.load(stream)["timing"]["solves"]


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("dims", nargs="*", type=int, default=[8, 8, 8, 16])
    arguments.add_argument("--threads", type=int, default=1)
    given = arguments.parse_args()
    print(f"import quadrille, with the library for q.gauge: {importing():.3f} s")
    operator = {"type": "wilson", "mass": -0.2, "boundary": ["periodic"] * 3 + ["antiperiodic"]}
    start = {"start": "weak", "epsilon": 0.3, "dims": given.dims}
    job = {"gauge": start, "operator": operator, "solver": SOLVER,
           "run": [{"task": "propagator", "source": {"type": "point", "site": [0, 0, 0, 0]}}]}
    gauge = q.gauge(start, backend="cpu", threads=given.threads)
    solver = q.solver(q.operator(gauge, operator), SOLVER)
    S = q.propagator(solver)
    program, python, inside, watched = [], [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(5):
            program.append(by_the_program(job, folder, given.threads))
            python.append(seconds(lambda: q.propagator(solver), 1))
            inside.append(sum(report.seconds for report in solver.reports))
            watched.append(seconds(lambda: q.propagator(solver, progress=lambda *now: False), 1))
    print(f"12 solves on {given.dims}: program {min(program):.4f} s; q.propagator {min(python):.4f} s, of which solves "
          f"{min(inside):.4f} s, with a progress function {min(watched):.4f} s")
    around = statistics.median(1 - within / whole for within, whole in zip(inside, python))
    print(f"around the solves: {100 * around:.2f} % of q.propagator")
    copy = seconds(S.columns.copy)
    print(f"array(): {seconds(S.array) * 1e6:.1f} us; array(copy=True): {seconds(lambda: S.array(copy=True)):.4f} s; "
          f"numpy's copy of as many bytes: {copy:.4f} s")
    del S, solver, gauge
    for count in (100, 1000):
        gc.collect()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(count):
            q.solver(q.operator(q.gauge(start="hot", dims=[4, 4, 4, 4], backend="cpu", threads=1), operator), SOLVER)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"1000 gauge fields, operators and solvers: {after - before} KiB more at the peak")


if __name__ == "__main__":
    main()
