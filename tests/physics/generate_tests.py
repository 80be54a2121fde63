#!/usr/bin/env python3
"""The task generate, from outside: its files and results against the independent program, and its physics against
published plaquettes.

    QUADRILLE_PROGRAM=build/quadrille generate_tests.py [CLASS...]
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest

import numpy as np

import harness
import independent
import lime_files
from harness import ProgramTest

DIMS = [4, 2, 6, 8]


def polyakov_loop(links):
    """Space average of tr prod_t U_t / 3; links are [t][z][y][x][direction][row][column]."""
    loop = links[0, ..., 3, :, :]
    for t in range(1, len(links)):
        loop = loop @ links[t, ..., 3, :, :]
    return np.mean(np.trace(loop, axis1=-2, axis2=-1)) / 3


class Generate(ProgramTest):
    """Configurations, histories, restarts and errors."""

    def job(self, gauge=None, **more):
        task = {"task": "generate", "beta": 5.6, "anisotropy": {"xi0": 1.6}, "thermalization": 3, "configurations": 2,
                "separation": 4, "overrelaxation": 2, "seed": harness.SEED, "reunitarize_every": 2,
                "save": {"file": "folder/b_####.lime"}}
        task.update(more)
        task = {key: value for key, value in task.items() if value is not None}
        return {"gauge": gauge or {"start": "hot", "dims": DIMS, "seed": 5}, "run": [task]}

    def links(self, name, out="out"):
        return lime_files.read_gauge(os.path.join(self.path(out), name))

    def test_files_and_histories_agree_with_the_independent_program(self):
        results = self.run_job(self.job())
        report = results["chains"]["generate"]
        self.assertEqual(report["files"], ["folder/b_0007.lime", "folder/b_0011.lime"])
        history = report["history"]
        for name in ("plaquette", "plaquette_spatial", "plaquette_temporal"):
            self.assertEqual(len(history[name]), 11)
        for file, done in zip(report["files"], (7, 11)):
            links, facts = self.links(file)
            self.assertEqual((facts["dims"], facts["precision"]), (DIMS, 64))
            self.assertEqual(self.call("info", os.path.join(self.path("out"), file)).returncode, 0)
            unit = links @ independent.adjoint(links)
            self.assertLess(np.max(np.abs(unit - np.eye(3))), 1e-14)
            self.assertLess(np.max(np.abs(np.linalg.det(links) - 1)), 1e-14)
            seen = independent.observables(links)
            planes = seen["planes"]
            spatial = [planes[p] for p in ("xy", "xz", "yz")]
            temporal = [planes[p] for p in ("xt", "yt", "zt")]
            self.assertAlmostEqual(history["plaquette"][done - 1], seen["plaquette"], delta=1e-13)
            self.assertAlmostEqual(history["plaquette_spatial"][done - 1], np.mean(spatial), delta=1e-13)
            self.assertAlmostEqual(history["plaquette_temporal"][done - 1], np.mean(temporal), delta=1e-13)
            loop = polyakov_loop(links)
            self.assertAlmostEqual(history["polyakov_loop"]["re"][done - 1], loop.real, delta=1e-13)
            self.assertAlmostEqual(history["polyakov_loop"]["im"][done - 1], loop.imag, delta=1e-13)
        self.assertAlmostEqual(report["plaquette"]["mean"], np.mean(history["plaquette"][3:]), delta=1e-14)
        self.assertIsNone(report["plaquette"]["error"])
        self.assertTrue(any("only 8 sweeps after thermalization: no error estimate" in warning for warning in results["warnings"]))
        self.assertTrue(0.5 < report["acceptance"]["kennedy_pendleton"] < 1)
        self.assertTrue(1e-17 < report["largest_drift"] < 1e-12)
        self.assertGreater(report["link_updates_per_second"], 0)

    def test_the_error_of_the_mean(self):
        """Of many sweeps it is about the spread of the means of their parts."""
        job = self.job(thermalization=50, configurations=1, separation=800, save=None)
        report = self.run_job(job)["chains"]["generate"]
        mean = report["plaquette"]
        parts = np.mean(np.array(report["history"]["plaquette"][50:]).reshape(16, -1), axis=1)
        self.assertAlmostEqual(mean["mean"], np.mean(parts), delta=1e-12)
        blocked = np.std(parts, ddof=1) / 4
        self.assertTrue(0.3 < mean["error"] / blocked < 3, (mean, blocked))
        self.assertTrue(0.4 < mean["tau_int"] < 20, mean)
        self.assertGreater(report["plaquette_temporal"]["mean"], report["plaquette_spatial"]["mean"] + 0.1)
        loop = report["history"]["polyakov_loop"]
        seen = {"re": np.array(loop["re"]), "im": np.array(loop["im"])}
        seen["abs"] = np.hypot(seen["re"], seen["im"])
        for part, history in seen.items():
            mean = report["polyakov_loop"][part]
            parts = np.mean(history[50:].reshape(16, -1), axis=1)
            self.assertAlmostEqual(mean["mean"], np.mean(parts), delta=1e-12)
            self.assertTrue(0.3 < mean["error"] / (np.std(parts, ddof=1) / 4) < 3, (part, mean))
            self.assertTrue(0.3 < mean["tau_int"] < 50, (part, mean))

    def test_the_report_of_a_chain(self):
        """A table of the means, and a figure where there is matplotlib."""
        chain = self.run_job(self.job(thermalization=5, configurations=1, separation=60))["chains"]["generate"]
        python = harness.python_with_matplotlib()
        env = {"QUADRILLE_PYTHON": python} if python else None
        process = self.call("report", self.path("out"), env=env)
        self.assertEqual(process.returncode, 0, process.stderr)
        with open(self.path("out/report/report.md")) as stream:
            said = stream.read()
        section = said.split("## Markov chain `generate`")[1]
        for label, mean in (("plaquette", chain["plaquette"]), ("\\|tr L / 3\\|", chain["polyakov_loop"]["abs"])):
            self.assertIn(f"| {label} | {mean['mean']:.7f} | {mean['error']:.1e} | {mean['tau_int']:.2f} |", section)
        self.assertIn(f"at most {chain['largest_drift']:.1e}", section)
        if python:
            self.assertIn("](chain_generate.svg)", said)
            with open(self.path("out/report/chain_generate.svg"), "rb") as stream:
                self.assertTrue(stream.read(5).startswith(b"<?xml"))
            subprocess.run([python, "-c", self.LOOK_AT_FIGURE, self.path("out/results.json")], check=True, env={
                **os.environ, "MPLBACKEND": "Agg",
                "PYTHONPATH": os.pathsep.join([self.SCRIPTS, os.environ.get("PYTHONPATH", "")])})

    # The axis of the plaquette shows the fluctuations behind the thermalization, with the mean, a band of its error and
    # the end of the thermalization; the legends lie beside what they explain.
    MODULES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../modules")
    SCRIPTS = os.pathsep.join([os.path.join(MODULES, "shared", "report"), os.path.join(MODULES, "quenched", "report")])
    LOOK_AT_FIGURE = """
import json, sys, chains
figures = []
with open(sys.argv[1]) as stream:
    results = json.load(stream)
chains.draw(results, lambda figure, *_: figures.append(figure))
histories = results["chains"]["generate"]["history"]
history = histories["plaquette"]
mean = results["chains"]["generate"]["plaquette"]
above = figures[0].axes[0]
low, high = above.get_ylim()
late = [x for plane in histories if plane.startswith("plaquette") for x in histories[plane][-mean["sweeps"]:]]
assert low < min(late) and max(late) < high and high - low < 1.5 * (max(late) - min(late)), (low, high)
assert any(set(line.get_ydata()) == {mean["mean"]} for line in above.lines)
assert any(abs(patch.get_extents().height - above.transData.transform((0, 2 * mean["error"]))[1]
               + above.transData.transform((0, 0))[1]) < 1e-6 for patch in above.patches), "the band of the error"
end = len(history) - mean["sweeps"]
assert any(abs(line.get_xdata()[0] - end) <= 0.5 and len(set(line.get_xdata())) == 1 for line in above.lines), end
figures[0].canvas.draw()
for axes in figures[0].axes:
    assert not axes.get_legend() or not axes.get_legend().get_window_extent().overlaps(axes.bbox), "a legend hides data"
"""

    def test_threads_and_seeds(self):
        def last(out, threads, **more):
            self.run_job(self.job(**more), "--threads", threads, out=out)
            return self.links("folder/b_0011.lime", out)[0]

        first = last("a", "1")
        self.assertTrue(np.array_equal(first, last("b", "2")))
        self.assertTrue(np.array_equal(first, last("c", "3")))
        self.assertGreater(np.max(np.abs(first - last("d", "1", seed=harness.SEED + 1))), 0.1)
        isotropic = last("e", "1", anisotropy=None)
        self.assertTrue(np.array_equal(isotropic, last("f", "1", anisotropy={"xi0": 1})))
        self.assertGreater(np.max(np.abs(first - isotropic)), 0.1)

    def test_a_chain_that_is_cut_goes_on_with_the_same_bits(self):
        self.run_job(self.job(), out="whole")
        file = self.path("whole/folder/b_0007.lime")
        job = self.job(gauge={"file": file}, thermalization=0, configurations=1, first_sweep=7)
        self.run_job(job, out="rest")
        self.assertTrue(np.array_equal(self.links("folder/b_0011.lime", "rest")[0],
                                       self.links("folder/b_0011.lime", "whole")[0]))

    def test_forms(self):
        """Single precision and 12 numbers: the same random numbers, so the first sweeps agree to rounding; files are in
        SU(3) to that of their format; a chain goes on from its files in single precision with the same bits."""
        first = None
        for precision, reconstruct in (("double", 18), ("double", 12), ("single", 18), ("single", 12)):
            with self.subTest(precision=precision, reconstruct=reconstruct):
                # A fixed seed: of 10^7 attempts rounding of float decides about one, and none may be among these.
                form = {"precision": precision, "reconstruct": reconstruct, "seed": 7}
                single = precision == "single"
                report = self.run_job(self.job(**form), out=f"{precision}{reconstruct}")["chains"]["generate"]
                self.assertEqual((report["precision"], report["reconstruct"]), (precision, reconstruct))
                history = np.array(report["history"]["plaquette"])
                first = history if first is None else first
                self.assertAlmostEqual(history[0], first[0], delta=1e-5 if single else 1e-12)
                drift = report["largest_drift"]
                self.assertTrue(1e-8 < drift < 1e-4 if single else 1e-17 < drift < 1e-12, drift)
                for bits in (64, 32):
                    out = f"{precision}{reconstruct}in{bits}"
                    save = {"file": "b_####.lime", "precision": {64: "double", 32: "single"}[bits]}
                    self.run_job(self.job(save=save, **form), out=out)
                    links = self.links("b_0007.lime", out)[0]
                    unit = np.max(np.abs(links @ independent.adjoint(links) - np.eye(3)))
                    self.assertLess(unit, 1e-14 if bits == 64 else 2e-6)
                    seen = independent.observables(links)["plaquette"]
                    self.assertAlmostEqual(history[6], seen, delta=1e-6 if single or bits == 32 else 1e-13)
                    rest = self.job(gauge={"file": self.path(out + "/b_0007.lime")}, thermalization=0, configurations=1,
                                    first_sweep=7, save=save, **form)
                    goes_on = self.run_job(rest, out=out + "rest")["chains"]["generate"]["history"]["plaquette"]
                    if bits == (32 if single else 64):
                        self.assertEqual(goes_on, list(history[7:]))
                        self.assertTrue(np.array_equal(self.links("b_0011.lime", out + "rest")[0],
                                                       self.links("b_0011.lime", out)[0]))
                    else:
                        self.assertAlmostEqual(goes_on[0], history[7], delta=1e-3)

    def kept(self, out, change=None):
        """The JSON of the state that the chain has kept, which `change` may change; null where there is none, or where the
        chain has gone on since restart.json was read."""
        if not os.path.exists(self.path(out + "/restart.json")):
            return None
        with open(self.path(out + "/restart.json")) as stream:
            restart = json.load(stream)
        if not restart["unfinished"]:
            return None
        part = restart["unfinished"]["generate"]["so_far"]["so_far"]["parts"]["state"]
        file = os.path.join(self.path(out), part["file"])
        with open(file, "rb") as stream:
            text = stream.read()
        if self.fnv(text) != part["hash"]:
            return None
        state = json.loads(text)
        if change:
            change(state)
            text = json.dumps(state).encode()
            part["hash"] = self.fnv(text)
            with open(file, "wb") as stream:
                stream.write(text)
            with open(self.path(out + "/restart.json"), "w") as stream:
                json.dump(restart, stream)
        return state

    @staticmethod
    def fnv(text):
        value = 0xcbf29ce484222325
        for byte in text:
            value = (value ^ byte) * 0x100000001b3 % 2**64
        return f"{value:016x}"

    def interrupt(self, job, out, sweeps):
        """Runs the job, which keeps its state after each sweep, and kills it after at least `sweeps` of them."""
        process = subprocess.Popen(
            [harness.PROGRAM, "run", self.write_job(job), "--out", self.path(out), "--threads", "1", "--backend",
             harness.BACKEND], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        done = 0
        for _ in range(6000):
            self.assertIsNone(process.poll(), "the chain ended before it could be interrupted")
            done = (self.kept(out) or {"done": 0})["done"]
            if done >= sweeps:
                break
            time.sleep(0.01)
        process.kill()
        process.wait()
        self.assertGreaterEqual(done, sweeps)
        return done

    def test_an_interrupted_chain_goes_on_with_the_same_bits(self):
        """Killed twice, the last time before the second configuration, and finished with another number of threads."""
        self.check_interrupted_chain()

    def test_an_interrupted_chain_in_single_precision_goes_on_with_the_same_bits(self):
        """What is kept has float's numbers as they are; of 12 of them the third row follows."""
        self.check_interrupted_chain(precision="single", reconstruct=12,
                                     save={"file": "folder/b_####.lime", "precision": "single"})

    def check_interrupted_chain(self, **more):
        job = self.job(separation=100, keep_every=0, **more)
        whole = self.run_job(job, "--threads", "1", out="whole")["chains"]["generate"]
        self.interrupt(job, "out", 5)
        self.interrupt(job, "out", 110)
        process = self.call("run", self.write_job(job), "--out", self.path("out"), "--threads", "2")
        self.assertRegex(process.stderr, r"continuing the chain of an earlier run at sweep \d{3}")
        results = self.run_job(job)
        rest = results["chains"]["generate"]
        for key in ("history", "plaquette", "acceptance", "largest_drift", "files"):
            self.assertEqual(rest[key], whole[key], key)
        self.assertEqual(len(rest["history"]["plaquette"]), 203)
        self.assertEqual(rest["files"], ["folder/b_0103.lime", "folder/b_0203.lime"])
        for file in rest["files"]:
            self.assertTrue(np.array_equal(self.links(file)[0], self.links(file, "whole")[0]))
        self.assertEqual([name for name in os.listdir(self.path("out")) if "unfinished" in name], [])
        # The last file is the state that more configurations start from: it is not written twice.
        self.assertEqual([name for name in os.listdir(self.path("out")) if name.endswith(".lime")], [])

    def test_a_chain_goes_on_with_another_build_and_says_so(self):
        job = self.job(separation=100, keep_every=0)
        self.interrupt(job, "out", 5)
        with open(self.path("out/restart.json")) as stream:
            restart = json.load(stream)
        build = restart["unfinished"]["generate"]["so_far"]["build_id"]
        self.assertIn(f"({build}): part of quadrille", self.call("modules").stdout)
        restart["unfinished"]["generate"]["so_far"]["build_id"] = "another"
        with open(self.path("out/restart.json"), "w") as stream:
            json.dump(restart, stream)
        said = f"generate continues with build {build} of the program from a state written by build another"
        self.interrupt(job, "out", 110)
        results = self.run_job(job)  # the warning of the run in between is kept, and is not said again
        self.assertEqual([said in warning for warning in results["warnings"]].count(True), 1, results["warnings"])
        whole = self.run_job(job, out="whole")
        self.assertEqual(whole["warnings"], [])
        self.assertEqual(results["chains"]["generate"]["history"], whole["chains"]["generate"]["history"])

    @unittest.skipIf(harness.BACKEND != "cpu", "instruction sets are of CPUs")
    def test_a_chain_of_another_instruction_set_begins_anew_and_says_so(self):
        job = self.job(separation=100, keep_every=0)
        self.interrupt(job, "out", 5)
        with open(self.path("out/restart.json")) as stream:
            kept = json.load(stream)["unfinished"]["generate"]["so_far"]["isa"]
        if kept == "generic":
            self.skipTest("there is one instruction set")
        generic = {"QUADRILLE_ISA": "generic"}
        results = self.run_job(job, env=generic)
        said = f"the interrupted run used {kept}, this one uses generic"
        self.assertEqual([said in warning for warning in results["warnings"]], [True])
        whole = self.run_job(job, out="whole", env=generic)
        self.assertEqual(results["chains"]["generate"]["history"], whole["chains"]["generate"]["history"])
        for file in ("folder/b_0103.lime", "folder/b_0203.lime"):
            self.assertTrue(np.array_equal(self.links(file)[0], self.links(file, "whole")[0]))

    def start(self, job):
        """The job in the background."""
        process = subprocess.Popen(
            [harness.PROGRAM, "run", self.write_job(job), "--out", self.path("out"), "--threads", "1", "--backend",
             harness.BACKEND], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            preexec_fn=harness.default_signals)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        return process

    def wait_for(self, file, process):
        end = time.monotonic() + 60
        while not os.path.exists(self.path(file)):
            self.assertIsNone(process.poll(), f"it ended before {file} was there")
            self.assertLess(time.monotonic(), end)
            time.sleep(0.002)

    def stopped(self, job, number, file="out/results.json"):
        """Sends the signal when the file is there; (exit status, standard error)."""
        before = self.written(file)  # by an earlier run
        process = self.start(job)
        self.wait_for(file, process)
        while self.written(file) == before:
            self.assertIsNone(process.poll(), f"it ended before it wrote {file}")
            time.sleep(0.002)
        time.sleep(0.05)
        process.send_signal(number)
        said = process.communicate(timeout=60)[1]
        return process.returncode, said

    def test_a_signal_ends_it_after_the_sweep_and_keeps_the_state(self):
        """keep_every is far away: the state is kept because of the signal."""
        job = self.job(separation=400)
        whole = self.run_job(job, "--threads", "1", out="whole")["chains"]["generate"]
        for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            with self.subTest(signal=number):
                found, said = self.stopped(job, number)
                self.assertEqual(found, status, said)
                self.assertRegex(said, r"quadrille: stopped after sweep \d+; run again to continue\n$")
        process = self.call("run", self.write_job(job), "--out", self.path("out"), "--threads", "1")
        self.assertRegex(process.stderr, r"continuing the chain of an earlier run at sweep \d+")
        rest = self.run_job(job)["chains"]["generate"]
        self.assertEqual(rest["history"], whole["history"])
        self.assertEqual([name for name in os.listdir(self.path("out")) if "unfinished" in name or "lock" in name], [])

    def test_a_lost_configuration_of_an_interrupted_chain_is_an_error_that_loses_nothing(self):
        job = self.job(separation=100, keep_every=0)
        whole = self.run_job(job, out="whole")["chains"]["generate"]
        self.interrupt(job, "out", 110)
        lost = self.path("out/folder/b_0103.lime")
        os.rename(lost, self.path("kept"))
        process = self.call("run", self.write_job(job), "--out", self.path("out"))
        self.assertEqual(process.returncode, 1)
        self.assertRegex(process.stderr, "folder/b_0103.lime is missing: .*put it back, or use --force")
        os.rename(self.path("kept"), lost)
        self.assertEqual(self.run_job(job)["chains"]["generate"]["history"], whole["history"])

    def test_a_damaged_state_in_the_restart_file_is_an_error_with_the_way_out(self):
        job = self.job(separation=100, keep_every=0)
        self.interrupt(job, "out", 5)
        whole = self.path("whole")
        shutil.copytree(self.path("out"), whole)
        for change in (lambda state: state.update(done=-3), lambda state: state.update(done=10**6),
                       lambda state: state.update(counts=[1]), lambda state: state.pop("loop_re"),
                       lambda state: state["plaquette"].pop(), lambda state: state.update(seconds="long")):
            shutil.rmtree(self.path("out"))
            shutil.copytree(whole, self.path("out"))
            self.assertIsNotNone(self.kept("out", change))
            process = self.call("run", self.write_job(job), "--out", self.path("out"))
            self.assertEqual(process.returncode, 1, process.stderr)
            self.assertRegex(process.stderr, "restart.json is damaged: .*--force")
            self.assertNotIn("json.exception", process.stderr)
        with open(os.path.join(whole, "restart.json")) as stream:
            restart = json.load(stream)
        restart["unfinished"]["generate"]["so_far"]["so_far"]["generation"] = "x"
        with open(self.path("out/restart.json"), "w") as stream:
            json.dump(restart, stream)
        process = self.call("run", self.write_job(job), "--out", self.path("out"))
        self.assertEqual(process.returncode, 1)
        self.assertRegex(process.stderr, "restart.json: damaged: 'unfinished.generate' is not a state of this task; .*--force")

    def test_a_finished_chain_is_not_lost_when_its_end_cannot_be_written(self):
        """The state goes only when restart.json has the finished chain, which here cannot be written."""
        job = self.job(separation=300, save=None)
        self.assertEqual(self.stopped(job, signal.SIGINT)[0], 130)
        states = [name for name in os.listdir(self.path("out")) if "unfinished" in name]
        self.assertEqual(len(states), 2)  # numbers and links
        before = self.written("out/results.json")
        process = self.start(job)
        while self.written("out/results.json") == before:  # the next that it writes is its end
            self.assertIsNone(process.poll(), "it ended before it began")
            time.sleep(0.002)
        process.send_signal(signal.SIGSTOP)
        os.rename(self.path("out/restart.json"), self.path("kept.json"))
        os.mkdir(self.path("out/restart.json"))
        process.send_signal(signal.SIGCONT)
        said = process.communicate(timeout=60)[1]
        self.assertEqual(process.returncode, 1)
        self.assertRegex(said, "restart.json: .*is a directory")  # written at the end alone, as keep_every is far away
        os.rmdir(self.path("out/restart.json"))
        os.rename(self.path("kept.json"), self.path("out/restart.json"))
        again = self.call("run", self.write_job(job), "--out", self.path("out"), "--threads", "1")
        self.assertRegex(again.stderr, r"continuing the chain of an earlier run at sweep \d+")

    def test_a_chain_from_a_file_needs_the_number_of_its_sweeps(self):
        """Without it the random numbers of its first sweeps would be used again. A file of generate says it."""
        start = self.job(gauge={"start": "hot", "dims": DIMS, "seed": 5, "save": "start.lime"}, configurations=1)
        self.run_job(start, out="whole")
        job = self.job(gauge={"file": self.path("whole/start.lime")})
        process = self.call("check", self.write_job(job))
        self.assertEqual(process.returncode, 1)
        self.assertRegex(process.stderr, "'first_sweep' is missing: the chain starts from .*start.lime")
        self.assertEqual(self.call("check", self.write_job({**job, "run": [{**job["run"][0], "first_sweep": 7}]})).returncode, 0)

    def test_gauge_files_say_where_they_come_from(self):
        results = self.run_job(self.job(), out="whole")
        file = self.path("whole/folder/b_0007.lime")
        said = self.call("info", file).stdout
        for line in (f"program: Quadrille {results['version']}", "task: generate", "action: Wilson plaquette", "beta: 5.6",
                     "xi0: 1.6", "algorithm: heatbath and overrelaxation", "overrelaxation: 2", f"seed: {harness.SEED}",
                     "sweep: 7"):
            self.assertRegex(said, rf"(?m)^(origin        |              ){line}$")
        rest = self.run_job(self.job(gauge={"file": file}, thermalization=0, configurations=1), out="rest")
        self.assertEqual(rest["gauge"]["origin"]["sweep"], 7)
        self.assertEqual(rest["chains"]["generate"]["files"], ["folder/b_0011.lime"])
        self.assertTrue(np.array_equal(self.links("folder/b_0011.lime", "rest")[0],
                                       self.links("folder/b_0011.lime", "whole")[0]))

    def same_chain(self, out, chain, whole):
        for key in ("history", "plaquette", "acceptance", "largest_drift", "files"):
            self.assertEqual(chain[key], whole[key], key)
        for file in whole["files"]:
            self.assertTrue(np.array_equal(self.links(file, out)[0], self.links(file, "whole")[0]), file)

    def test_a_finished_chain_is_extended_with_the_same_bits(self):
        for form in ({}, {"precision": "single", "reconstruct": 12}, {"save": None}):
            with self.subTest(**form):
                shutil.rmtree(self.path("whole"), ignore_errors=True)
                shutil.rmtree(self.path("out"), ignore_errors=True)
                whole = self.run_job(self.job(configurations=5, **form), out="whole")
                first = self.run_job(self.job(**form))["chains"]["generate"]
                times = [self.written("out/" + file) for file in first["files"]]
                for configurations in (4, 5, 5):
                    results = self.run_job(self.job(configurations=configurations, **form))
                self.same_chain("out", results["chains"]["generate"], whole["chains"]["generate"])
                self.assertEqual(results["warnings"], whole["warnings"])
                self.assertEqual([self.written("out/" + file) for file in first["files"]], times, "not made again")
                self.refused_extension(self.job(configurations=4, **form), r"run\[0\]\.configurations is 5 there but 4 here")
                self.refused_extension(self.job(configurations=6, beta=5.7, **form), "beta is 5.6 there but 5.7 here")

    def refused_extension(self, job, said):
        process = self.call("run", self.write_job(job), "--out", self.path("out"))
        self.assertEqual(process.returncode, 1)
        self.assertRegex(process.stderr, "another job: .*" + said)

    def test_an_interrupted_extension_goes_on_with_the_same_bits(self):
        job = self.job(configurations=3, separation=100, keep_every=0)
        whole = self.run_job(job, out="whole")["chains"]["generate"]
        self.run_job(self.job(configurations=1, separation=100, keep_every=0))
        self.interrupt(job, "out", 110)
        self.interrupt(job, "out", 250)
        self.same_chain("out", self.run_job(job)["chains"]["generate"], whole)

    def test_a_chain_whose_files_are_lost_is_made_again(self):
        whole = self.run_job(self.job(configurations=3), out="whole")["chains"]["generate"]
        self.run_job(self.job(configurations=3))
        os.remove(self.path("out/folder/b_0015.lime"))  # the state of its end
        self.same_chain("out", self.run_job(self.job(configurations=3))["chains"]["generate"], whole)

    def test_a_state_of_another_key_is_not_used(self):
        """As an interrupted run of another version of the program, or of changed links, leaves it."""
        job = self.job(separation=100, keep_every=0)
        self.interrupt(job, "out", 5)
        with open(self.path("out/restart.json")) as stream:
            restart = json.load(stream)
        restart["unfinished"]["generate"]["key"] = "another"
        with open(self.path("out/restart.json"), "w") as stream:
            json.dump(restart, stream)
        process = self.call("run", self.write_job(job), "--out", self.path("out"))
        self.assertIn("generate starts over: since the interrupted run, the program, the task's module or", process.stderr)
        self.assertNotIn("continuing the chain", process.stderr)

    def test_a_damaged_state_is_not_used(self):
        job = self.job(separation=100, keep_every=0)
        self.interrupt(job, "out", 5)
        for turn in range(2):
            with open(self.path(f"out/generate.unfinished.{turn}.links.lime"), "r+b") as stream:
                stream.seek(-1000, os.SEEK_END)
                stream.write(b"damaged")
        results = self.run_job(job)
        self.assertTrue(any("starts over" in warning for warning in results["warnings"]), results["warnings"])
        whole = self.run_job(job, out="whole")
        self.assertEqual(results["chains"]["generate"]["history"], whole["chains"]["generate"]["history"])

    def test_single_precision_and_one_name(self):
        self.run_job(self.job(configurations=1, save={"file": "one.lime", "precision": "single"}))
        links, facts = self.links("one.lime")
        self.assertEqual(facts["precision"], 32)
        self.run_job(self.job(configurations=1, save="two.lime"), out="double")
        difference = np.max(np.abs(links - self.links("two.lime", "double")[0]))
        self.assertTrue(1e-9 < difference < 1e-7, difference)
        self.run_job(self.job(gauge={"file": self.path("out/one.lime")}, first_sweep=0), out="from single")

    def test_a_finished_task_is_not_done_again(self):
        before = self.run_job(self.job())
        times = [os.stat(self.path("out/" + file)).st_mtime_ns for file in before["chains"]["generate"]["files"]]
        after = self.run_job(self.job())
        self.assertEqual(after["chains"], before["chains"])
        self.assertEqual([os.stat(self.path("out/" + file)).st_mtime_ns
                          for file in before["chains"]["generate"]["files"]], times)
        os.remove(self.path("out/folder/b_0007.lime"))
        again = self.run_job(self.job())
        self.assertEqual(again["chains"]["generate"]["history"], before["chains"]["generate"]["history"])
        self.assertTrue(os.path.exists(self.path("out/folder/b_0007.lime")))

    def refused(self, job, *patterns):
        for command in (("check",), ("run", "--out", self.path("refused"))):
            process = self.call(command[0], self.write_job(job), *command[1:])
            self.assertEqual(process.returncode, 1, process.stdout)
            for pattern in patterns:
                self.assertRegex(process.stderr, pattern)
            self.assertFalse(os.path.exists(self.path("refused/results.json")))

    def test_bad_jobs(self):
        for more, patterns in (
            ({"beta": None}, ["'beta' is missing"]),
            ({"beta": -1}, ["'beta' must be >= 0"]),
            ({"thermalization": None}, ["'thermalization' is missing"]),
            ({"configurations": 0}, ["'configurations' must be >= 1"]),
            ({"anisotropy": {"xi0": 0}}, ["xi0"]),
            ({"precision": "half"}, [r"job\.yaml:\d+:\d+: .*'half'", "single", "double"]),
            ({"reconstruct": 8}, [r"job\.yaml:\d+:\d+: .*'8'", "18", "12"]),
            ({"overrelax": 3}, ["unknown key 'overrelax'", "overrelaxation"]),
            ({"save": {"file": "b.lime"}}, [r"job\.yaml:\d+:\d+: 'save\.file': 'b\.lime' would be the name of 2 configurations"]),
            ({"save": {"file": "b_##_#.lime"}}, ["more than one row of #"]),
        ):
            with self.subTest(more=more):
                self.refused(self.job(**more), *patterns)

    def test_outputs_are_known_before_the_work(self):
        self.refused(self.job(save={"file": "#/../results.json"}, configurations=1), "holds the results")
        self.refused(self.job(save={"file": "generate.unfinished.1.any"}, configurations=1), "is reserved for files")
        job = self.job()
        job["gauge"]["save"] = "folder/b_0011.lime"
        self.refused(job, r"'folder/b_0011\.lime' is written twice")
        job = self.job()
        job["gauge"]["save"] = "folder"
        self.refused(job, "cannot both be files")
        job = self.job()
        job["run"].append({**job["run"][0], "name": "second"})
        self.refused(job, r"'folder/b_0007\.lime' is written twice", r"'folder/b_0011\.lime' is written twice")
        os.makedirs(self.path("refused/folder"), exist_ok=True)
        os.makedirs(self.path("refused/folder/b_0011.lime"))
        process = self.call("run", self.write_job(self.job()), "--out", self.path("refused"))
        self.assertEqual(process.returncode, 1)
        self.assertRegex(process.stderr, r"b_0011\.lime' must be a file, not a folder")

    def with_pion(self, **more):
        job = self.job(**more)
        job["operator"] = {"type": "wilson", "mass": 1.0, "boundary": ["periodic"] * 4}
        job["solver"] = harness.uniform(tolerance=1e-6)
        job["run"] += [{"task": "propagator", "source": {"type": "point", "site": [0, 0, 0, 0]}},
                       {"task": "mesons", "from": "propagator"}]
        return job

    def pion_on(self, file):
        """That of a job on the links of a file."""
        job = self.with_pion(gauge={"file": self.path(file)})
        return self.run_job({**job, "run": job["run"][1:]}, out="alone")["correlators"]["mesons"]["pion"]

    def restarted(self, job, *tasks):
        """The job again, as if it had been interrupted before the last tasks."""
        with open(self.path("out/restart.json")) as stream:
            restart = json.load(stream)
        for task in tasks:
            del restart["tasks"][task]
        with open(self.path("out/restart.json"), "w") as stream:
            json.dump(restart, stream)
        return self.run_job(job)

    def test_tasks_after_it_work_on_its_last_configuration(self):
        for form in ({}, {"precision": "single", "reconstruct": 12}, {"save": None}):
            with self.subTest(**form):
                for folder in ("out", "whole", "alone"):
                    shutil.rmtree(self.path(folder), ignore_errors=True)
                results = self.run_job(self.with_pion(**form))
                self.run_job(self.job(**{**form, "save": "b_####.lime"}), out="whole")
                pion = results["correlators"]["mesons"]["pion"]
                self.assertEqual(pion, self.pion_on("whole/b_0011.lime"))
                self.assertFalse(any("gauge" in warning for warning in results["warnings"]), results["warnings"])
                files = [file for file in results["chains"]["generate"]["files"]]
                times = [self.written("out/" + file) for file in files]
                again = self.restarted(self.with_pion(**form), "propagator", "mesons")
                self.assertEqual(again["correlators"]["mesons"]["pion"], pion)
                self.assertEqual(self.restarted(self.with_pion(**form), "mesons")["correlators"]["mesons"]["pion"], pion)
                self.assertEqual([self.written("out/" + file) for file in files], times, "the chain is not made again")
                more = self.run_job(self.with_pion(configurations=3, **form))["correlators"]["mesons"]["pion"]
                shutil.rmtree(self.path("whole"))
                shutil.rmtree(self.path("alone"))
                self.run_job(self.job(**{**form, "save": "b_####.lime", "configurations": 3}), out="whole")
                self.assertEqual(more, self.pion_on("whole/b_0015.lime"))

    def test_a_chain_after_a_chain(self):
        """It starts from the last configuration of the first and needs the number of its sweeps."""
        job = self.job(configurations=1, save="one_####.lime")
        second = {**job["run"][0], "name": "second", "save": {"file": "two_####.lime"}, "thermalization": 0}
        self.refused({**job, "run": [job["run"][0], second]}, "'first_sweep' is missing: the chain starts from the links of generate")
        self.run_job({**job, "run": [job["run"][0], {**second, "first_sweep": 7}]})
        self.run_job(self.job(), out="whole")
        self.assertTrue(np.array_equal(self.links("two_0011.lime")[0], self.links("folder/b_0011.lime", "whole")[0]))


# beta: plaquette and its error. At 6.0 on 16^4: Boyd, Engels, Karsch, Laermann, Legeland, Luetgemeier, Petersson, Nucl.
# Phys. B 469 (1996) 419, hep-lat/9602007. The others on lattices at least as large: QCDSF and UKQCD, Phys. Rev. D 73
# (2006) 014513, hep-ph/0502212.
PUBLISHED = {5.7: (0.549195, 0.000025), 6.0: (0.593678, 0.000024), 6.2: (0.613633, 0.000002)}

# At beta 6 a box of 8^4 is small (0.75 fm): its plaquette lies above that of large lattices. 6000 sweeps of this program
# gave 0.594143(46) on 8^4 and 220 sweeps 0.593573(52) on 16^3 x 32.
FINITE_SIZE_8 = {6.0: 0.0006}


class Plaquette(ProgramTest):
    """Average plaquettes of the Wilson action."""

    def measure(self, dims, beta, sweeps, thermalization, start="hot", overrelaxation=4, **form):
        job = {"gauge": {"start": start, "dims": dims},
               "run": [{"task": "generate", "beta": beta, "thermalization": thermalization, "separation": sweeps,
                        "overrelaxation": overrelaxation, "seed": harness.SEED, **form}]}
        report = self.run_job(job, "--force", "--threads", str(os.cpu_count() or 1))["chains"]["generate"]
        print(f"{dims} beta {beta} {start}: {report['plaquette']}", flush=True)
        return report["plaquette"]["mean"], report["plaquette"]["error"]

    def check(self, dims, beta, most_error, finite_size=0.0, **more):
        mean, error = self.measure(dims, beta, **more)
        published, published_error = PUBLISHED[beta]
        self.assertLess(error, most_error)
        statistics = 4 * np.hypot(error, published_error)
        self.assertGreater(mean, published - statistics)
        self.assertLess(mean, published + statistics + finite_size)

    def test_beta_6(self):
        """A short chain on a small lattice."""
        self.check([8, 8, 8, 8], 6.0, 6e-4, FINITE_SIZE_8[6.0], sweeps=500, thermalization=60)

    def test_beta_6_in_single_precision(self):
        self.check([8, 8, 8, 8], 6.0, 6e-4, FINITE_SIZE_8[6.0], sweeps=500, thermalization=60, precision="single",
                   reconstruct=12)

    def test_beta_6_long(self):
        self.thorough()
        self.check([8, 8, 8, 8], 6.0, 2e-4, FINITE_SIZE_8[6.0], sweeps=6000, thermalization=300)

    def test_published_values(self):
        """Some minutes on a GPU, an hour on two cores of a CPU."""
        self.thorough()
        for beta in PUBLISHED:
            with self.subTest(beta=beta):
                self.check([16, 16, 16, 16], beta, 5e-5, sweeps=2500, thermalization=300)

    def test_hot_and_cold_starts_with_and_without_overrelaxation_agree(self):
        """At beta 5.7, near the bulk crossover, where a wrong weight shows most."""
        self.thorough()
        found = [self.measure([8, 8, 8, 8], 5.7, sweeps=4000, thermalization=300, start="hot"),
                 self.measure([8, 8, 8, 8], 5.7, sweeps=4000, thermalization=300, start="cold"),
                 self.measure([8, 8, 8, 8], 5.7, sweeps=12000, thermalization=1000, start="cold", overrelaxation=0)]
        for one, one_error in found:
            for other, other_error in found:
                self.assertLess(abs(one - other), 4 * np.hypot(one_error, other_error))

    def thorough(self):
        if not os.environ.get("QUADRILLE_THOROUGH"):
            self.skipTest("set QUADRILLE_THOROUGH=1 for chains of some minutes")


if __name__ == "__main__":
    sys.exit(harness.main(sys.modules[__name__]))
