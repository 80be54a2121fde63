"""What the end-to-end tests share: running the program `quadrille` on jobs in fresh folders and reading its results.

The environment: QUADRILLE_PROGRAM is the program; QUADRILLE_DATA the folder of files by other programs (tests that need
it skip without it); QUADRILLE_TEST_BACKEND the backend that jobs run on (cpu without it; tests of another one skip where
it cannot be used); QUADRILLE_SEED fixes the seed of random fields, which is fresh otherwise and always printed.
"""

import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import independent
import lime_files

PROGRAM = os.path.abspath(os.environ.get("QUADRILLE_PROGRAM", "build/quadrille"))
DATA = os.path.join(os.environ["QUADRILLE_DATA"], "gauge") if os.environ.get("QUADRILLE_DATA") else None
BACKEND = os.environ.get("QUADRILLE_TEST_BACKEND", "cpu")
SEED = int(os.environ.get("QUADRILLE_SEED") or random.SystemRandom().randrange(1, 2**31))
WITHOUT_DATA = "QUADRILLE_DATA does not name the folder of files by other programs"
SKIPPED = 77


def cpu_instruction_sets():
    """Those of generic, avx2, avx512 that this CPU has."""
    with open("/proc/cpuinfo") as stream:
        flags = next((line.split(":")[1].split() for line in stream if line.startswith("flags")), [])
    found = ["generic"]
    if {"avx2", "fma"} <= set(flags):
        found.append("avx2")
        if {"avx512f", "avx512dq", "avx512bw", "avx512vl"} <= set(flags):
            found.append("avx512")
    return found


def python_with_matplotlib():
    """A Python that can draw; None without one."""
    for python in (sys.executable, "/usr/bin/python3", "python3"):
        if shutil.which(python) and subprocess.run([python, "-c", "import matplotlib"], stderr=subprocess.DEVNULL,
                                                   check=False).returncode == 0:
            return python
    return None


def limit_file_size(size):
    """For a child process: writing beyond `size` bytes of a file fails, as it does on a full disk."""

    def apply():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return apply


def default_signals():
    """For a child process: what runs in the background of a script ignores SIGINT, and so would its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def command(*args):
    """The program's command line; runs and benchmarks are on the backend that is tested."""
    if args and args[0] in ("run", "bench") and "--backend" not in args:
        args = (*args, "--backend", BACKEND)
    return [PROGRAM, *args]


class ProgramTest(unittest.TestCase):
    """A test with a folder of its own, `self.folder`, that goes when it ends."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="quadrille-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def written(self, file):
        """When the file was written last; None when there is none."""
        return os.stat(self.path(file)).st_mtime_ns if os.path.exists(self.path(file)) else None

    def path(self, name):
        return os.path.join(self.folder, name)

    def call(self, *args, env=None, preexec=None):
        """Run the program; its CompletedProcess with texts."""
        process = subprocess.run(
            command(*args), cwd=self.folder, env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", preexec_fn=preexec, timeout=600,
        )
        # A crash is never the right answer, whatever a test expects.
        self.assertIn(process.returncode, (0, 1, 2, 3), f"{args}\n{process.stdout}\n{process.stderr}")
        return process

    def write_job(self, job, name="job.yaml"):
        """`job` as text, or a tree written as JSON (which is YAML). Returns the path."""
        with open(self.path(name), "w") as stream:
            stream.write(job if isinstance(job, str) else json.dumps(job, indent=1))
        return self.path(name)

    def run_job(self, job, *args, out="out", status=0, env=None):
        """`quadrille run` must end with `status`; returns results.json as a tree (None when it was not written)."""
        process = self.call("run", self.write_job(job), "--out", self.path(out), *args, env=env)
        self.assertEqual(process.returncode, status, f"{job}\n{process.stdout}\n{process.stderr}")
        if not os.path.exists(os.path.join(self.path(out), "results.json")):
            self.assertNotIn(status, (0, 3), "no results.json")
            return None
        return self.read_results(out)

    def read_results(self, out="out"):
        """The results.json of an output folder as a tree."""
        with open(os.path.join(self.path(out), "results.json")) as stream:
            return json.load(stream)

    def saved_propagator(self, results, out="out", name="propagator.lime"):
        return lime_files.read_propagator(os.path.join(self.path(out), name), results["lattice"]["dims"])[0]


def job_for(file, params, site, solver, precision="double"):
    """The job that solves one point propagator and its pion. `params` has mass, phase (theta/pi), perhaps xi0 and nu, mu, csw_r and csw_t, exponential,
    chemical_potential."""
    operator = {"type": "wilson", "mass": params["mass"]}
    terms = {name: params[name] for name in ("mu", "csw_r", "csw_t", "exponential") if name in params}
    operator.update({"type": ("twisted_clover" if "mu" in terms else "clover") if "csw_r" in terms else
                     "twisted_mass" if "mu" in terms else "wilson", **terms})
    if "chemical_potential" in params:
        operator["chemical_potential"] = params["chemical_potential"]
    operator["boundary"] = [
        "periodic" if phase == 0 else "antiperiodic" if phase == 1 else {"phase": phase} for phase in params["phase"]
    ]
    if "xi0" in params:
        operator["anisotropy"] = {"xi0": params["xi0"], "nu": params["nu"]}
    return {
        "gauge": {"file": file},
        "operator": operator,
        "solver": solver,
        "run": [
            {"task": "propagator", "source": {"type": "point", "site": list(site)},
             "save": {"file": "propagator.lime", "precision": precision}},
            {"task": "mesons", "from": "propagator"},
        ],
    }


def uniform(kind="bicgstab", tolerance=1e-14, precision="double", **more):
    return {"type": kind, "tolerance": tolerance, "max_iterations": 10000, "scheme": "uniform",
            "precision": precision, **more}


def sloppy(kind, scheme, precision, reconstruct, temporal_gauge, tolerance=1e-10):
    return {"type": kind, "tolerance": tolerance, "max_iterations": 10000, "scheme": scheme, "delta": 0.1,
            "sloppy": {"precision": precision, "reconstruct": reconstruct, "temporal_gauge": temporal_gauge}}


def all_sloppy():
    """Every combination of solver, scheme, inner precision, inner link numbers and temporal gauge: 48 of them."""
    return [
        sloppy(kind, scheme, precision, reconstruct, temporal_gauge)
        for kind in ("bicgstab", "cg")
        for scheme in ("reliable", "defect")
        for precision in ("half", "single")
        for reconstruct in (12, 8, 18)
        for temporal_gauge in (True, False)
    ]


def solver_name(solver):
    inner = solver.get("sloppy", {})
    return f"{solver['type']} {solver['scheme']} {' '.join(str(word) for word in inner.values())}"


class Reference:
    """A propagator and pion to compare with, from the independent program; computed once for a process."""

    def __init__(self, dims, epsilon, params, site, seed):
        self.dims, self.params, self.site = dims, params, site
        self.links = independent.random_links(dims, epsilon, seed)
        self.propagator, self.residual = independent.point_propagator(self.links, site=site, **params)
        self.pion = independent.pion(self.propagator)

    def deviations(self, propagator, correlator):
        element = np.max(np.abs(propagator - self.propagator)) / np.max(np.abs(self.propagator))
        return float(element), float(np.max(np.abs(np.array(correlator) - self.pion) / self.pion))


def backend_trouble():
    """Why BACKEND cannot be used here; empty when it can."""
    if BACKEND == "cpu":
        return ""
    smallest = subprocess.run([PROGRAM, "bench", "accuracy", "--backend", BACKEND, "--dims", "2", "2", "2", "2"],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return "" if smallest.returncode == 0 else smallest.stdout


def main(module):
    """Run the test classes named on the command line (all without any); status 77 when all of them skipped."""
    names = sys.argv[1:]
    trouble = backend_trouble()
    if trouble:
        print(f"skipped: {trouble}")
        return SKIPPED
    loader = unittest.defaultTestLoader
    suite = loader.loadTestsFromNames(names, module) if names else loader.loadTestsFromModule(module)
    print(f"program {PROGRAM}; seed {SEED} (QUADRILLE_SEED fixes it)", flush=True)
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(suite)
    if not result.wasSuccessful() or result.testsRun == 0:
        return 1
    if 0 < len(result.skipped) < result.testsRun:
        print(f"parts skipped: {len(result.skipped)}")  # ./run-tests counts them
    return SKIPPED if len(result.skipped) == result.testsRun else 0
