#!/usr/bin/env python3
"""Jobs on several configurations: against jobs on one each, averages against numpy, interrupted and broken in all ways.

    QUADRILLE_PROGRAM=build/quadrille ensemble_tests.py [CLASS...]
"""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
import unittest

import numpy as np

import harness
from harness import ProgramTest

try:
    import h5py
except ImportError:  # Debian: python3-h5py
    h5py = None

DIMS = [4, 4, 4, 8]
COUNT = 5
SOURCE_TIME = 3


def measuring(**more):
    return {"operator": {"type": "wilson", "mass": 0.2, "boundary": ["periodic"] * 3 + ["antiperiodic"]},
            "solver": harness.uniform(tolerance=1e-10),
            "run": [{"task": "propagator", "source": {"type": "point", "site": [1, 2, 0, SOURCE_TIME]},
                     "save": {"file": "propagator.lime", "precision": "double"}},
                    {"task": "mesons", "from": "propagator"}], **more}


def chain(configurations=COUNT, **more):
    return {"task": "generate", "beta": 5.7, "thermalization": 4, "configurations": configurations, "separation": 3,
            "seed": harness.SEED, "save": {"file": "b_#.lime"}, **more}


def start():
    return {"start": "hot", "dims": DIMS, "seed": 3}


def jackknife(rows, function=lambda mean: mean):
    """(value, error) of a function of means of rows."""
    rows = np.array(rows)
    samples = np.array([function(np.mean(np.delete(rows, k, axis=0), axis=0)) for k in range(len(rows))])
    spread = np.mean((samples - np.mean(samples, axis=0)) ** 2, axis=0)
    return function(np.mean(rows, axis=0)), np.sqrt((len(rows) - 1) * spread)


def effective_masses(pion):
    """m of cosh(m (T/2 - t)) / cosh(m (T/2 - t - 1)), by bisection, of a correlator from its source on."""
    half = len(pion) // 2
    folded = (pion[:half + 1] + pion[(-np.arange(half + 1)) % len(pion)]) / 2
    masses = []
    for t in range(half):
        low, high = 1e-8, 20.0
        for _ in range(200):
            middle = (low + high) / 2
            ratio = np.cosh(middle * (half - t)) / np.cosh(middle * (half - t - 1))
            low, high = (middle, high) if ratio < folded[t] / folded[t + 1] else (low, middle)
        masses.append(low)
    return np.array(masses)


def state_fit(points, weight, window, extent):
    """(m, A) that minimise (C - A f_m)^T weight (C - A f_m), f_m(t) = exp(-m t) + exp(-m (T - t)): A is linear, m is found by
    smaller and smaller grids."""
    times = np.arange(window[0], window[1] + 1)

    def at(mass):
        state = np.exp(-mass * times) + np.exp(-mass * (extent - times))
        amplitude = state @ weight @ points / (state @ weight @ state)
        left = points - amplitude * state
        return left @ weight @ left, amplitude

    low, high = 0.01, 3.0
    for _ in range(12):
        grid = np.linspace(low, high, 81)
        best = min(range(len(grid)), key=lambda k: at(grid[k])[0])
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    mass = (low + high) / 2
    return np.array([mass, at(mass)[1]])


def chi2(points, weight, mass, amplitude, window):
    times = np.arange(window[0], window[1] + 1)
    left = points - amplitude * (np.exp(-mass * times) + np.exp(-mass * (DIMS[3] - times)))
    return left @ weight @ left


class EnsembleTest(ProgramTest):
    """Gauge files c/b_7.lime, c/b_10.lime, ... and what jobs on each of them give."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.files = [f"c/b_{4 + 3 * (k + 1)}.lime" for k in range(COUNT)]  # b_7, b_10, ...: natural order matters
        cls.kept = None

    def setUp(self):
        super().setUp()
        cls = type(self)
        if cls.kept is None:
            self.run_job({"gauge": start(), "run": [chain()]}, out="chain")
            cls.kept = {name: self.content(f"chain/{os.path.basename(name)}") for name in self.files}
            shutil.rmtree(self.path("chain"))
        os.makedirs(self.path("c"))
        for name, content in cls.kept.items():
            self.put(name, content)

    def content(self, name):
        with open(self.path(name), "rb") as stream:
            return stream.read()

    def put(self, name, content):
        with open(self.path(name), "wb") as stream:
            stream.write(content)

    def damage(self, name):
        """A bit of the links is wrong: the header says nothing of it, the checksum does."""
        content = bytearray(self.content(name))
        content[len(content) // 2] ^= 4
        self.put(name, bytes(content))

    def job(self, files="c/b_*.lime", **more):
        return {"gauge": {"files": files}, **measuring(**more)}

    def alone(self, name, out="alone"):
        """Results of the same job on one file."""
        return self.run_job({"gauge": {"file": name}, **measuring()}, "--force", out=out)

    def folders(self, out="out"):
        return sorted(os.listdir(self.path(f"{out}/configurations")))

    def pions(self, out):
        """Of the file of correlators; nothing without h5py."""
        if not h5py:
            return None
        with h5py.File(self.path(f"{out}/correlators.h5")) as file:
            return file["mesons/pion"][:].tolist()

    def same(self, one, other):
        """Everything that is physics is the same, bit for bit."""
        for key in ("averages", "lattice"):
            self.assertEqual(one[key], other[key])
        keys = ("name", "state", "plaquette", "checksum")
        pick = [[{key: entry.get(key) for key in keys} for entry in results["configurations"]] for results in (one, other)]
        self.assertEqual(*pick)

    def refused(self, job, *patterns, place=r"job\.yaml:\d+:\d+: ", commands=("check", "run")):
        for command in commands:
            process = self.call(command, self.write_job(job), *(("--out", self.path("refused")) if command == "run" else ()))
            self.assertEqual(process.returncode, 1, process.stdout)
            for pattern in patterns:
                self.assertRegex(process.stderr, place + pattern if place else pattern)
            self.assertFalse(os.path.exists(self.path("refused")))


class Ensemble(EnsembleTest):
    """The physics, and the files."""

    def test_each_configuration_is_as_in_a_job_of_its_own(self):
        results = self.run_job(self.job())
        names = [os.path.basename(name) for name in self.files]
        self.assertEqual([entry["name"] for entry in results["configurations"]], names)
        self.assertEqual([entry["file"] for entry in results["configurations"]], self.files)
        self.assertEqual(results["warnings"], [])
        for name, entry in zip(self.files, results["configurations"]):
            alone = self.alone(name)
            mine = self.read_results(f"out/configurations/{os.path.basename(name)}")
            self.assertEqual(mine["correlators"], alone["correlators"])
            self.assertEqual(entry["plaquette"], alone["gauge"]["plaquette"])
            self.assertEqual(entry["results"], f"configurations/{os.path.basename(name)}/results.json")
            self.assertEqual(entry["solves"]["propagator"]["solves"], 12)
            self.assertAlmostEqual(entry["solves"]["propagator"]["iterations"],
                                   np.mean([solve["iterations"] for solve in alone["solves"]]))
            self.assertEqual(entry["solves"]["propagator"]["residual"], max(solve["residual"] for solve in alone["solves"]))
            saved = [self.saved_propagator(alone, out=out) for out in
                     ("alone", f"out/configurations/{os.path.basename(name)}")]
            self.assertTrue(np.array_equal(*saved))

    def test_averages_against_numpy(self):
        results = self.run_job(self.job(ensemble={"bootstrap": 500}))
        each = [self.read_results(f"out/configurations/{name}") for name in
                (entry["name"] for entry in results["configurations"])]
        averages = results["averages"]
        self.assertEqual((averages["configurations"], averages["bins"]), (COUNT, COUNT))
        plaquettes = [[one["gauge"]["plaquette"]] for one in each]
        value, error = jackknife(plaquettes)
        self.assertAlmostEqual(averages["plaquette"]["mean"], value[0], delta=1e-14)
        self.assertAlmostEqual(averages["plaquette"]["error"], error[0], delta=1e-14)
        self.assertAlmostEqual(error[0], np.std(plaquettes, ddof=1) / np.sqrt(COUNT), delta=1e-14)
        rows = np.array([np.roll(one["correlators"]["mesons"]["pion"], -SOURCE_TIME) for one in each])
        self.assertTrue(np.all(np.argmax(rows, axis=1) == 0), "the source is first")
        found = averages["correlators"]["mesons"]
        self.assertEqual(found["source_time"], SOURCE_TIME)
        for key, function in (("pion", lambda mean: mean), ("effective_mass", effective_masses)):
            value, error = jackknife(rows, function)
            np.testing.assert_allclose(found[key]["mean"], value, rtol=1e-9)
            np.testing.assert_allclose(found[key]["error"], error, rtol=1e-5)
        # Of a mean the bootstrap of 500 samples gives the same to a few percent; of masses it may differ.
        np.testing.assert_allclose(found["pion"]["bootstrap_error"], found["pion"]["error"], rtol=0.3)
        self.assertEqual(len(found["effective_mass"]["bootstrap_error"]), DIMS[3] // 2)

    def test_numbers_of_other_tasks(self):
        results = self.run_job({"gauge": {"files": "c/*.lime"}, "run": [{"task": "gradient_flow", "time": 0.2}]})
        flows = [self.read_results(f"out/configurations/{entry['name']}")["flows"]["gradient_flow"]
                 for entry in results["configurations"]]
        found = results["averages"]["blocks"]["flows"]["gradient_flow"]
        value, error = jackknife([[flow["charge"]] for flow in flows])
        self.assertAlmostEqual(found["charge"]["mean"], value[0], delta=1e-13)
        self.assertAlmostEqual(found["charge"]["error"], error[0], delta=1e-13)
        value, error = jackknife([flow["history"]["energy_clover"] for flow in flows])
        np.testing.assert_allclose(found["history"]["energy_clover"]["mean"], value, rtol=1e-12)
        np.testing.assert_allclose(found["history"]["energy_clover"]["error"], error, rtol=1e-9)
        self.assertEqual(found["history"]["time"], flows[0]["history"]["time"])

    @unittest.skipUnless(h5py, "Python has no h5py")
    def test_bins(self):
        results = self.run_job(self.job(ensemble={"bin": 2}))
        with h5py.File(self.path("out/correlators.h5")) as file:
            rows = np.roll(file["mesons/pion"][:], -SOURCE_TIME, axis=1)
        # Five configurations are two bins, of two and three.
        without = np.array([np.mean(rows[2:], axis=0), np.mean(rows[:2], axis=0)])
        error = np.sqrt(np.sum((without - np.mean(without, axis=0)) ** 2, axis=0) / 2)
        found = results["averages"]["correlators"]["mesons"]["pion"]
        np.testing.assert_allclose(found["mean"], np.mean(rows, axis=0), rtol=1e-12)
        np.testing.assert_allclose(found["error"], error, rtol=1e-9)
        self.assertEqual(results["averages"]["bins"], 2)

    def test_fits_against_numpy(self):
        window = [1, 4]
        asked = [{"name": name, "correlator": "mesons/pion", "window": window, "correlated": name == "all"}
                 for name in ("diagonal", "all")]
        job = self.job(ensemble={"fits": asked[:1]})
        results = self.run_job(job)
        rows = np.array([np.roll(self.read_results(f"out/configurations/{entry['name']}")["correlators"]["mesons"]["pion"],
                                 -SOURCE_TIME) for entry in results["configurations"]])
        times = np.arange(window[0], window[1] + 1)
        points = (rows[:, times] + rows[:, -times]) / 2
        covariance = np.cov(points, rowvar=False) / COUNT
        wanted = {"diagonal": np.diag(1 / np.diag(covariance)), "all": np.linalg.inv(covariance)}
        # As many bins as points and no more have no covariance that can be inverted.
        asked[1]["window"] = [0, 4]
        self.refused(self.job(ensemble={"fits": asked}), "'ensemble.fits': the covariance of 5 points needs more than 5 bins")
        asked[1]["window"] = window
        results = self.run_job(self.job(ensemble={"fits": asked}))
        for name, weight in wanted.items():
            fit = results["fits"][name]
            mass, amplitude = fit["masses"][0]["value"], fit["amplitudes"][0]["value"]
            self.assertAlmostEqual(fit["chi2"] / chi2(np.mean(points, axis=0), weight, mass, amplitude, window), 1, delta=1e-5)
            self.assertEqual((fit["dof"], fit["configurations"], fit["window"]), (2, COUNT, window))
        value, error = jackknife(points, lambda mean: state_fit(mean, wanted["diagonal"], window, DIMS[3]))
        for key, k in (("masses", 0), ("amplitudes", 1)):
            fit = results["fits"]["diagonal"][key][0]
            self.assertAlmostEqual(fit["value"] / value[k], 1, delta=1e-5)
            self.assertAlmostEqual(fit["error"] / error[k], 1, delta=1e-3)
        # chi^2 of a covariance from so few configurations has a second minimum in every other draw: where the fit has ended
        # is one.
        fit = results["fits"]["all"]
        found = np.array([fit["masses"][0]["value"], fit["amplitudes"][0]["value"]])
        for step in ([1e-4, 0], [-1e-4, 0], [0, 1e-4], [0, -1e-4]):
            there = chi2(np.mean(points, axis=0), wanted["all"], *(found * (1 + np.array(step))), window)
            self.assertGreater(there, fit["chi2"] * (1 - 1e-6))

    def test_fits_that_are_wrong(self):
        for fit, pattern in (({"window": [3, 5]}, r"'window' must be two times .* 0 to T/2 = 4"),
                             ({"window": [1, 2 ** 32 + 4]}, r"'window' must be two times .* 0 to T/2 = 4"),
                             ({"window": [4, 2]}, "'window' must be two times"),
                             ({"window": [2, 3]}, "'window' has 2 points, and a fit of one state has 2 parameters"),
                             ({"window": [1, 4], "states": 2}, "'window' has 4 points, and a fit of two states")):
            job = self.job(ensemble={"fits": [{"correlator": "mesons/pion", **fit}]})
            self.refused(job, "'ensemble.fits': " + pattern)
        twice = [{"correlator": "mesons/pion", "window": [1, 4]}, {"correlator": "mesons/pion", "window": [2, 4]}]
        self.refused(self.job(ensemble={"fits": twice}), "'ensemble.fits': a fit named 'mesons/pion' exists already")
        results = self.run_job(self.job(ensemble={"fits": [{"correlator": "mesons/rho", "window": [1, 4]}]}))
        self.assertIsNone(results["fits"]["mesons/rho"])
        self.assertEqual(results["warnings"],
                         ["fit mesons/rho: there is no correlator 'mesons/rho'; there are mesons/pion"])

    def test_the_report(self):
        self.run_job(self.job(ensemble={"fits": [{"name": "ground", "correlator": "mesons/pion", "window": [1, 4]}]}))
        python = harness.python_with_matplotlib()
        process = self.call("report", self.path("out"), env={"QUADRILLE_PYTHON": python} if python else None)
        self.assertEqual(process.returncode, 0, process.stderr)
        report = self.content("out/report/report.md").decode()
        for name in self.files:
            self.assertIn(f"| {name} | done | ", report)
        results = self.read_results()
        self.assertIn("| ground | mesons/pion | 1 to 4 | ", report)
        with open(self.path("out/report/average_mesons_pion.csv")) as stream:
            head, *lines = [line.strip().split(",") for line in stream]
        found = results["averages"]["correlators"]["mesons"]
        self.assertEqual([float(line[head.index("mean")]) for line in lines], found["pion"]["mean"])
        self.assertEqual([float(line[head.index("effective_mass_error")]) for line in lines if line[-1]],
                         found["effective_mass"]["error"])
        self.assertEqual(bool(python), os.path.exists(self.path("out/report/averages.svg")))

    @unittest.skipUnless(h5py, "Python has no h5py")
    def test_the_file_of_correlators(self):
        results = self.run_job(self.job())
        self.assertEqual(results["correlator_file"], "correlators.h5")
        with h5py.File(self.path("out/correlators.h5")) as file:
            self.assertEqual([name.decode() for name in file["files"]], self.files)
            names = [name.decode() for name in file["configurations"]]
            self.assertEqual(names, [entry["name"] for entry in results["configurations"]])
            pion = file["mesons/pion"]
            self.assertEqual(pion.shape, (COUNT, DIMS[3]))
            self.assertEqual(pion.attrs["source_time"], SOURCE_TIME)
            for key in ("indices", "units"):
                self.assertTrue(pion.attrs[key])
            self.assertTrue(file.attrs["order"])
            for name, row in zip(names, pion[:]):
                wanted = self.read_results(f"out/configurations/{name}")["correlators"]["mesons"]["pion"]
                self.assertEqual(list(row), wanted)

    def test_a_list_keeps_its_order(self):
        order = [2, 0, 4]
        results = self.run_job(self.job(files=[self.files[k] for k in order]))
        self.assertEqual([entry["file"] for entry in results["configurations"]], [self.files[k] for k in order])
        again = self.run_job(self.job(), "--set", f"gauge.files=[{self.files[2]}, {self.files[0]}, {self.files[4]}]")
        self.same(results, again)

    def test_a_job_without_tasks_measures_plaquettes(self):
        results = self.run_job({"gauge": {"files": "c/*.lime"}})
        plaquettes = [entry["plaquette"] for entry in results["configurations"]]
        self.assertAlmostEqual(results["averages"]["plaquette"]["mean"], np.mean(plaquettes), delta=1e-14)
        self.assertFalse(os.path.exists(self.path("out/correlators.h5")))
        self.assertNotIn("correlator_file", results)

    def test_solves_that_do_not_converge(self):
        job = self.job()
        job["solver"]["max_iterations"] = 2
        results = self.run_job(job, status=3)
        self.assertFalse(results["configurations"][0]["solves"]["propagator"]["converged"])
        self.assertIsNone(results["averages"]["correlators"]["mesons"]["pion"])
        self.assertEqual(self.run_job(job, status=3)["averages"], results["averages"])

    def test_the_job_in_the_results_is_valid(self):
        results = self.run_job(self.job())
        self.assertEqual(self.call("check", self.write_job(results["job"], "echo.yaml")).returncode, 0)
        again = self.run_job(results["job"], out="again")
        self.same(results, again)


class EnsembleOfAChain(EnsembleTest):
    """Made and measured in one job."""

    def chained(self, configurations=COUNT, **more):
        job = {"gauge": start(), "ensemble": {"from": "generate"}, **measuring(**more)}
        job["run"].insert(0, chain(configurations))
        return job

    def test_one_job_is_two_jobs(self):
        two = self.run_job(self.job(), out="two")
        one = self.run_job(self.chained(), out="one")
        self.same(one, two)
        self.assertEqual(one["chains"]["generate"]["files"], [os.path.basename(name) for name in self.files])
        for name in self.files:
            self.assertTrue(os.path.exists(self.path("one/" + os.path.basename(name))))
        self.assertEqual(one["warnings"], [warning for warning in one["warnings"] if "generate" in warning])

    def test_the_job_of_the_manual(self):
        """From nothing to the mass of a pion with its error."""
        manual = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../input/USING.md")
        with open(manual) as stream:
            jobs = [text for text in stream.read().split("```") if "from: generate" in text and text.startswith("yaml\n")]
        self.assertEqual(len(jobs), 1)
        smaller = {"gauge.dims": DIMS, "run[0].configurations": 6, "run[0].thermalization": 20, "operator.kappa": 0.13,
                   "ensemble.fits[0].window": [1, 4]}
        sets = [word for key, value in smaller.items() for word in ("--set", f"{key}={value}")]
        results = self.run_job(jobs[0].removeprefix("yaml\n"), *sets)
        mass = results["fits"]["pion"]["masses"][0]
        self.assertTrue(0.2 < mass["value"] < 4 and 0 < mass["error"] < mass["value"], mass)
        script = os.path.join(os.path.dirname(manual), "examples/show_results.py")
        said = subprocess.run([sys.executable, script, self.path("out/results.json")], stdout=subprocess.PIPE, text=True,
                              check=True).stdout
        self.assertIn(f"  fit pion of mesons/pion, t = 1 to 4: mass {mass['value']:.8g} +- {mass['error']:.2g}; ", said)
        self.assertIn(f"plaquette {results['averages']['plaquette']['mean']:.8f} +- ", said)

    def test_a_longer_chain_keeps_what_is_done(self):
        whole = self.run_job(self.chained(), out="whole")
        short = self.run_job(self.chained(3))
        self.assertEqual(len(short["configurations"]), 3)
        times = {name: self.written(f"out/configurations/{name}/results.json") for name in self.folders()}
        self.same(self.run_job(self.chained()), whole)
        for name, then in times.items():
            self.assertEqual(self.written(f"out/configurations/{name}/results.json"), then)

    def test_interrupted_anywhere(self):
        whole = self.run_job(self.chained(), out="whole")
        began = time.monotonic()
        self.run_job(self.chained(), out="timed")
        seconds = time.monotonic() - began
        stopped = 0
        for number in (signal.SIGKILL, signal.SIGKILL, signal.SIGKILL, signal.SIGINT):
            command = harness.command("run", self.write_job(self.chained()), "--out", self.path("out"))
            with subprocess.Popen(command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, preexec_fn=harness.default_signals) as process:
                time.sleep(random.uniform(0.02, 0.4) * seconds)
                process.send_signal(number)
                status = process.wait()
            self.assertIn(status, (0, 130, -signal.SIGKILL, -signal.SIGINT))  # the last before it listens to signals
            stopped += status != 0
        self.assertGreater(stopped, 0)
        results = self.run_job(self.chained())
        self.same(results, whole)
        self.assertEqual(results["chains"]["generate"]["history"], whole["chains"]["generate"]["history"])
        self.assertEqual(*(self.pions(out) for out in ("out", "whole")))
        self.assertEqual(self.folders(), self.folders("whole"))
        self.assertEqual(self.entries("out"), self.entries("whole"))
        for name in self.folders():
            self.assertEqual(self.entries(f"out/configurations/{name}"), self.entries(f"whole/configurations/{name}"))

    def entries(self, folder):
        """Which of its two places the last state of a chain has depends on how often one was kept."""
        return sorted(re.sub(r"\.finished\.[01]\.", ".finished.", name) for name in os.listdir(self.path(folder)))

    def test_bad_jobs(self):
        job = self.chained()
        job["ensemble"]["from"] = "mesons"
        self.refused(job, "'ensemble.from' must name a task that makes gauge fields, got 'mesons'; the job has generate")
        job = self.chained()
        del job["run"][0]["save"]
        self.refused(job, "the task 'generate' saves no configurations")
        job = self.chained()
        job["run"].insert(0, {**job["run"][1], "name": "before", "save": None})
        del job["run"][0]["save"]
        job["run"][3]["from"] = "before"
        self.refused(job, "the task mesons works on each configuration that generate makes, and uses before")
        job = self.chained()
        job["gauge"] = {"files": "c/*.lime"}
        self.refused(job, "'ensemble.from' cannot be combined with 'gauge.files'")
        job = self.chained()
        del job["ensemble"]["from"]
        self.refused(job, "'ensemble' is for several configurations: give 'gauge.files'")
        job = self.chained()
        job["run"][0]["save"] = "configurations/b_#.lime"
        self.refused(job, "'configurations/b_7.lime' is in the way of")


class EnsembleErrors(EnsembleTest):
    """Files that are broken, missing, the same, or of another lattice; runs that go on."""

    def stopped(self, job):
        """Exit status of a run that is sent SIGINT as soon as it has finished a configuration."""
        command = harness.command("run", self.write_job(job), "--out", self.path("out"))
        with subprocess.Popen(command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, preexec_fn=harness.default_signals) as process:
            said = ""
            while process.poll() is None and "configuration 2 of 5" not in said:
                said += process.stderr.readline()
            process.send_signal(signal.SIGINT)
            said += process.communicate(timeout=120)[1]
        return process.returncode, said

    def test_a_signal_ends_it_between_and_within_configurations(self):
        job = self.job()
        job["solver"]["tolerance"] = 1e-13
        whole = self.run_job(job, out="whole")
        for _ in range(10):  # it may end before the signal comes
            shutil.rmtree(self.path("out"), ignore_errors=True)
            status, said = self.stopped(job)
            if status != 0:
                break
        self.assertEqual(status, 130, said)
        self.assertIn("run again to continue", said)
        results = self.read_results()
        states = [entry["state"] for entry in results["configurations"]]
        done = states.count("done")
        self.assertGreaterEqual(done, 1)
        self.assertEqual(states, ["done"] * done + ["open"] * (COUNT - done))
        self.assertEqual(results["averages"]["configurations"], done)
        self.same(self.run_job(job), whole)

    def test_lists_that_are_wrong(self):
        self.refused(self.job(files="c/x_*.lime"), "'gauge.files': no file matches '.*c/x_")
        self.refused(self.job(files=["c/b_7.lime", "c/b_1*.lime", "c/b_1?.lime"]), "'gauge.files': 'c/b_10.lime' is the same file as 'c/b_10.lime'")
        os.symlink("b_7.lime", self.path("c/again.lime"))
        self.refused(self.job(files=["c/b_7.lime", "c/again.lime"]), "'gauge.files': 'c/again.lime' is the same file as 'c/b_7.lime'")
        self.refused(self.job(files=["c/b_7.lime", "c/none.lime"]), "'gauge.files': .*none.lime: no such file")
        self.refused({**self.job(), "gauge": {"files": "c/*.lime", "file": "c/b_7.lime"}}, "gauge takes exactly one of 'file', 'files', 'start'")
        job = self.job()
        job["run"][0]["save"]["file"] = self.path("one_for_all.lime")
        self.refused(job, "'.*one_for_all.lime' would be written by every configuration: .* this path is absolute")
        job = self.job()
        job["gauge"]["save"] = self.path("links.lime")
        self.refused(job, "'.*links.lime' would be written by every configuration: .* this path is absolute")
        job = self.job()
        job["run"][0]["save"]["file"] = "../propagator.lime"
        self.refused(job, "'../propagator.lime' would be written by every configuration")

    def test_every_header_is_checked(self):
        self.put("c/b_10.lime", self.content("c/b_10.lime")[:3000])
        self.run_job({"gauge": {"start": "hot", "dims": [4, 4, 4, 4], "save": "other.lime"}, "run": []}, out="other")
        shutil.copy(self.path("other/other.lime"), self.path("c/b_13.lime"))
        self.refused(self.job(), r"'gauge.files': .*c/b_10.lime",
                     r"'gauge.files': .*c/b_13.lime: a lattice of 4 x 4 x 4 x 4, but the first configuration has 4 x 4 x 4 x 8")

    def test_a_broken_file_ends_the_job_and_keeps_what_is_done(self):
        whole = self.run_job(self.job(), out="whole")
        good = self.content(self.files[2])
        self.damage(self.files[2])
        process = self.call("run", self.write_job(self.job()), "--out", self.path("out"))
        self.assertEqual(process.returncode, 1)
        self.assertRegex(process.stderr, r"job\.yaml:\d+:\d+: configuration b_13.lime: .*c/b_13\.lime.*checksum")
        self.assertIn("ensemble.on_error: continue", process.stderr)
        results = self.read_results()
        self.assertEqual([entry["state"] for entry in results["configurations"]], ["done", "done", "open", "open", "open"])
        self.assertEqual(results["averages"]["configurations"], 2)
        times = [self.written(f"out/configurations/b_{k}.lime/results.json") for k in (7, 10)]
        self.put(self.files[2], good)
        self.same(self.run_job(self.job()), whole)
        self.assertEqual([self.written(f"out/configurations/b_{k}.lime/results.json") for k in (7, 10)], times)

    def test_on_error_continue(self):
        self.damage(self.files[1])
        self.put(self.files[0], b"no gauge field at all")
        job = self.job(ensemble={"on_error": "continue"})
        for _ in range(2):
            results = self.run_job(job, status=1)
            states = {entry["name"]: entry["state"] for entry in results["configurations"]}
            self.assertEqual(states, {"b_7.lime": "failed", "b_10.lime": "failed", "b_13.lime": "done", "b_16.lime": "done",
                                      "b_19.lime": "done"})
            self.assertRegex(results["configurations"][1]["error"], "b_10.lime.*checksum")
            for name in ("b_7", "b_10"):
                self.assertTrue(any(warning.startswith(f"{name}.lime: left out: ") for warning in results["warnings"]))
            self.assertEqual(results["averages"]["configurations"], 3)
            self.assertIn(b"b_13.lime", self.content("out/correlators.h5"))
            self.assertNotIn(b"b_10.lime", self.content("out/correlators.h5"))
        process = self.call("run", self.write_job(job), "--out", self.path("out"))
        self.assertRegex(process.stderr, r"left out: 2 of 5 configurations: see 'configurations' in .*out/results\.json")
        self.assertEqual(self.call("check", self.write_job(job)).returncode, 1, "check names every broken file")
        three = self.run_job(self.job(files=[self.files[k] for k in (2, 3, 4)]), out="three")
        self.assertEqual(results["averages"], three["averages"])

    def test_the_first_good_header_says_the_extents(self):
        """Even where its links are broken."""
        self.run_job({"gauge": {"start": "hot", "dims": [4, 4, 4, 4], "save": "other.lime"}, "run": []}, out="other")
        self.put("c/b_10.lime", self.content("other/other.lime"))
        self.damage("c/b_7.lime")
        results = self.run_job(self.job(ensemble={"on_error": "continue"}), status=1)
        self.assertEqual([entry["state"] for entry in results["configurations"]],
                         ["failed", "failed", "done", "done", "done"])
        self.assertIn("4 x 4 x 4 x 4, but the first configuration has 4 x 4 x 4 x 8", results["configurations"][1]["error"])

    def test_all_files_broken(self):
        for name in self.files:
            self.damage(name)
        results = self.run_job(self.job(ensemble={"on_error": "continue"}), status=1)
        self.assertNotIn("averages", results)
        for name in self.files:
            self.put(name, b"nothing")
        process = self.call("run", self.write_job(self.job(ensemble={"on_error": "continue"})), "--out", self.path("none"))
        self.assertEqual(process.returncode, 1)
        self.assertFalse(os.path.exists(self.path("none")))

    def test_more_files_and_other_averages_later(self):
        whole = self.run_job(self.job(), out="whole")
        self.run_job(self.job(files=self.files[:3]))
        times = {name: self.written(f"out/configurations/{name}/results.json") for name in self.folders()}
        self.same(self.run_job(self.job()), whole)
        for name, then in times.items():
            self.assertEqual(self.written(f"out/configurations/{name}/results.json"), then)
        binned = self.run_job(self.job(ensemble={"bin": 2}))
        self.assertEqual(binned["averages"]["bins"], 2)
        self.same(self.run_job(self.job()), whole)

    def test_what_has_changed_is_done_again(self):
        whole = self.run_job(self.job())
        folders = [f"out/configurations/{name}" for name in self.folders()]
        times = {name: self.written(f"{name}/results.json") for name in folders}
        other = self.content(self.files[0])
        self.put(self.files[1], other)  # another field under an old name
        os.remove(self.path("out/configurations/b_16.lime/propagator.lime"))
        with open(self.path("out/configurations/b_19.lime/results.json"), "a") as stream:
            stream.write("\n")
        results = self.run_job(self.job())
        again = {name for name in folders if self.written(f"{name}/results.json") != times[name]}
        self.assertEqual(again, {f"out/configurations/b_{k}.lime" for k in (10, 16, 19)})
        self.assertEqual(results["configurations"][1]["plaquette"], results["configurations"][0]["plaquette"])
        self.assertEqual(results["configurations"][3], {**whole["configurations"][3]})
        self.assertTrue(os.path.exists(self.path("out/configurations/b_16.lime/propagator.lime")))

    def test_another_job_and_force(self):
        self.run_job(self.job())
        job = self.job()
        job["operator"]["mass"] = 0.3
        process = self.call("run", self.write_job(job), "--out", self.path("out"))
        self.assertEqual(process.returncode, 1)
        self.assertIn("another job: operator.mass is 0.2 there but 0.3 here", process.stderr)
        job["gauge"]["files"] = self.files[:2]
        results = self.run_job(job, "--force")
        self.assertEqual(self.folders(), ["b_10.lime", "b_7.lime"])
        self.same(results, self.run_job(job, out="fresh"))

    def test_a_foreign_file_stays(self):
        os.makedirs(self.path("out/configurations/b_10.lime"))
        self.put("out/configurations/b_10.lime/results.json", b"mine")
        process = self.call("run", self.write_job(self.job()), "--out", self.path("out"))
        self.assertEqual(process.returncode, 1)
        self.assertRegex(process.stderr, "b_10.lime/results.json: a file of that name exists")
        self.assertEqual(self.content("out/configurations/b_10.lime/results.json"), b"mine")


if __name__ == "__main__":
    sys.exit(harness.main(sys.modules[__name__]))
