"""Gradient flows as jobs: curves, scales, files, interruptions, bad input; harness.py says what the environment is."""

import os
import re
import signal
import subprocess
import sys
import time

import numpy as np

import harness


class Flow(harness.ProgramTest):
    def job(self, start="hot", dims=(4, 4, 4, 8), gauge=None, **more):
        links = {"start": start, "dims": list(dims), "seed": harness.SEED % 10**9, **(gauge or {})}
        return {"gauge": links, "run": [{"task": "gradient_flow", "name": "w", "time": 1.03, "measure_every": 3, **more}]}

    def flow(self, job, *args, **more):
        return self.run_job(job, *args, **more)["flows"]["w"]

    def test_curves_and_scales(self):
        results = self.run_job(self.job(save={"file": "flowed.lime"}))
        flow = results["flows"]["w"]
        history = {name: np.array(curve) for name, curve in flow["history"].items()}
        self.assertEqual(flow["steps"], 52)
        times = [3 * 0.02 * k for k in range(18)] + [1.03]
        np.testing.assert_allclose(history["time"], times, atol=1e-12)
        np.testing.assert_allclose(history["energy_plaquette"], 36 * (1 - history["plaquette"]), rtol=1e-12)
        self.assertEqual(history["plaquette"][0], results["gauge"]["plaquette"])
        self.assertEqual(flow["charge"], history["charge"][-1])
        for energy in ("clover", "plaquette"):
            curve = history["time"] ** 2 * history[f"energy_{energy}"]
            self.check_scale(flow["t0"][energy], history["time"], curve)
            slope = history["time"] * np.gradient(curve, history["time"])
            w0 = flow["w0"][energy]
            self.check_scale(None if w0 is None else w0**2, history["time"], slope, 0.06)
        said = self.call("info", self.path("out/flowed.lime")).stdout
        self.assertAlmostEqual(float(re.search(r"\nplaquette +(\S+)", said)[1]), history["plaquette"][-1], delta=1e-12)
        self.assertIn("flow_time: 1.03", said)
        self.assertEqual(flow["files"], ["flowed.lime"])

    def test_actions(self):
        wilson = self.flow(self.job(start="weak", gauge={"epsilon": 0.5}))
        symanzik = self.flow(self.job(start="weak", gauge={"epsilon": 0.5}, action="symanzik", save="s.lime"), out="s")
        self.assertEqual((wilson["action"], symanzik["action"]), ("wilson", "symanzik"))
        first, second = (np.array(flow["history"]["energy_clover"]) for flow in (wilson, symanzik))
        self.assertEqual(first[0], second[0])
        self.assertTrue(np.all(np.diff(second) < 0))
        self.assertGreater(abs(first[-1] / second[-1] - 1), 1e-3)
        self.assertIn("flow: Symanzik", self.call("info", self.path("s/s.lime")).stdout)

    def check_scale(self, scale, times, curve, tolerance=0.02):
        """Against the first crossing of straight lines through the points."""
        above = np.nonzero((curve[:-1] < 0.3) & (curve[1:] >= 0.3))[0]
        if scale is None:
            # Only a curve that a polynomial sees otherwise than straight lines do may be on the other side.
            self.assertTrue(len(above) == 0 or np.min(np.abs(curve[above[0]:above[0] + 2] - 0.3)) < 0.02, curve)
        elif len(above):
            k = above[0]
            crossing = times[k] + (times[k + 1] - times[k]) * (0.3 - curve[k]) / (curve[k + 1] - curve[k])
            self.assertLess(abs(scale - crossing), tolerance + 0.5 * (times[k + 1] - times[k]))

    def test_half_the_step_gives_the_same_curve(self):
        coarse = self.flow(self.job(start="weak", gauge={"epsilon": 0.5}, time=0.6, measure_every=15))
        fine = self.flow(self.job(start="weak", gauge={"epsilon": 0.5}, time=0.6, measure_every=30, step=0.01), out="fine")
        for name in ("time", "energy_clover", "energy_plaquette", "charge"):
            np.testing.assert_allclose(fine["history"][name], coarse["history"][name], rtol=1e-4, atol=1e-5)

    def test_it_ends_with_the_scales(self):
        flow = self.flow(self.job(start="weak", gauge={"epsilon": 1.2}, dims=(6, 6, 6, 6), time=8, step=0.05, until="scales"))
        if flow["t0"]["clover"] is None or flow["w0"]["clover"] is None:
            self.assertAlmostEqual(flow["history"]["time"][-1], 8)
        else:
            last = flow["history"]["time"][-1]
            self.assertLess(last, 8)
            self.assertLessEqual(max(flow["t0"]["clover"], flow["w0"]["clover"] ** 2), last)

    def begin(self, job):
        process = subprocess.Popen(harness.command("run", self.write_job(job), "--out", self.path("out"), "--threads", "1"),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                   preexec_fn=harness.default_signals)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def unfinished(self):
        return os.path.exists(self.path("out")) and any(".unfinished." in name for name in os.listdir(self.path("out")))

    def test_an_interrupted_flow_goes_on_with_the_same_bits(self):
        """Killed, then ended by a signal, and finished with another number of threads."""
        job = self.job(dims=(8, 4, 4, 8), time=3, step=0.01, keep_every=0)
        whole = self.flow(job, out="whole")
        for number in (signal.SIGKILL, signal.SIGTERM):
            before = self.written("out/restart.json")
            process = self.begin(job)
            end = time.monotonic() + 60
            while not self.unfinished() or self.written("out/restart.json") == before:
                self.assertIsNone(process.poll(), "it ended before it could be interrupted")
                self.assertLess(time.monotonic(), end)
                time.sleep(0.005)
            time.sleep(0.1)
            process.send_signal(number)
            self.assertIn(process.wait(timeout=60), (-signal.SIGKILL, 128 + signal.SIGTERM))
        process = self.call("run", self.write_job(job), "--out", self.path("out"), "--threads", "2")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertRegex(process.stderr, r"w: continuing the flow of an earlier run at step \d+")
        found = self.read_results()["flows"]["w"]
        for name in ("history", "t0", "w0", "steps"):
            self.assertEqual(found[name], whole[name], name)
        self.assertFalse(self.unfinished())

    def test_bad_jobs(self):
        for more, says in (({"step": 0.2}, "'step' must be > 0 and <= 0.1"), ({"time": 0}, "'time' must be > 0"),
                           ({"time": 10000, "step": 1e-6}, "at most a million are allowed"),
                           ({"action": "iwasaki"}, "'action' must be one of wilson, symanzik"),
                           ({"until": "t0"}, "'until' must be one of time, scales")):
            with self.subTest(**more):
                process = self.call("run", self.write_job(self.job(**more)), "--out", self.path("bad"))
                self.assertEqual(process.returncode, 1)
                self.assertIn("job.yaml:", process.stderr)
                self.assertIn(says, process.stderr)

    def smeared(self, *args, **more):
        job = self.job(dims=(4, 4, 4, 4))
        job["run"] = [{"task": "smear", "name": "s", **more}, {**job["run"][0], "time": 0.02, "measure_every": 1}]
        return job

    def test_later_tasks_work_on_smeared_links(self):
        results = self.run_job(self.smeared(type="stout", rho=0.1, steps=2, save={"file": "s.lime"}))
        smeared = results["smearings"]["s"]
        self.assertEqual(results["flows"]["w"]["history"]["plaquette"][0], smeared["plaquette"])
        self.assertGreater(smeared["plaquette"], results["gauge"]["plaquette"])
        self.assertAlmostEqual(sum(smeared["planes"].values()) / 6, smeared["plaquette"], delta=1e-14)
        said = self.call("info", self.path("out/s.lime")).stdout
        for part in ("smearing: stout", "rho: 0.1", "steps: 2"):
            self.assertIn(part, said)
        # A second run does nothing, and one whose flow is new makes the links again.
        again = self.run_job(self.smeared(type="stout", rho=0.1, steps=2, save={"file": "s.lime"}))
        self.assertEqual(again["flows"], results["flows"])

    def test_hyp_smearing(self):
        results = self.run_job(self.smeared(type="hyp", save={"file": "s.lime"}))
        smeared = results["smearings"]["s"]
        self.assertEqual([smeared[f"alpha{k}"] for k in (1, 2, 3)], [0.75, 0.6, 0.3])
        self.assertEqual(results["flows"]["w"]["history"]["plaquette"][0], smeared["plaquette"])
        origin = self.call("info", self.path("out/s.lime")).stdout
        for part in ("smearing: hyp", "alpha1: 0.75", "alpha2: 0.6", "alpha3: 0.3"):
            self.assertIn(part, origin)
        said = self.run_job(self.smeared(type="hyp", alpha1=0.75, alpha2=0.6, alpha3=0.3), out="said")["smearings"]["s"]
        self.assertEqual(said["planes"], smeared["planes"])

    def test_bad_smearing(self):
        for more, says in (({"type": "stout"}, "type stout needs 'rho'"), ({"type": "ape"}, "type ape needs 'alpha'"),
                           ({"type": "ape", "alpha": 0.5, "rho": 0.1}, "type ape has no 'rho': it takes 'alpha'"),
                           ({"type": "hyp", "alpha": 0.5}, "type hyp has no 'alpha': it takes 'alpha1', 'alpha2', 'alpha3'"),
                           ({"type": "ape", "alpha": 0.5, "alpha2": 0.1}, "type ape has no 'alpha2': it takes 'alpha'"),
                           ({"type": "hyp", "alpha2": 1.5}, "'alpha2' must be >= 0 and <= 1"),
                           ({"type": "stout", "rho": 0.5}, "'rho' must be >= 0 and <= 0.25"), ({}, "'type'")):
            with self.subTest(**more):
                process = self.call("run", self.write_job(self.smeared(**more)), "--out", self.path("bad"))
                self.assertEqual(process.returncode, 1)
                self.assertIn("job.yaml:", process.stderr)
                self.assertIn(says, process.stderr)

    def test_the_report(self):
        flow = self.flow(self.job())
        python = harness.python_with_matplotlib()
        process = self.call("report", self.path("out"), env={"QUADRILLE_PYTHON": python} if python else None)
        self.assertEqual(process.returncode, 0, process.stderr)
        with open(self.path("out/report/report.md")) as stream:
            said = stream.read()
        section = said.split("## Gradient flow `w`")[1]
        self.assertIn("To the flow time 1.03 a^2 in 52 steps of 0.02", section)
        if flow["t0"]["clover"] is not None:
            self.assertIn(f"| clover | {flow['t0']['clover']:.5f} |", section)
        if python:
            self.assertIn("](flow_w.svg)", said)

    def test_on_links_that_the_job_makes(self):
        job = self.job()
        job["run"].insert(0, {"task": "generate", "beta": 6.0, "thermalization": 2, "configurations": 1,
                              "save": {"file": "b.lime", "precision": "double"}})
        made = self.flow(job)
        read = self.job(gauge={"file": self.path("out/b.lime")})
        for key in ("start", "dims", "seed"):
            del read["gauge"][key]
        self.assertEqual(self.flow(read, out="read")["history"], made["history"])


if __name__ == "__main__":
    sys.exit(harness.main(sys.modules[__name__]))
