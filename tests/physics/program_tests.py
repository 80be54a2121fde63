#!/usr/bin/env python3
"""The program's files and its answers to bad input, from outside.

    QUADRILLE_PROGRAM=build/quadrille program_tests.py [CLASS...]

Bad input ends with 1 (2 for a usage error, 3 for a solve that did not converge), with a message on standard error that
names the place, and leaves no output behind.
"""

import json
import os
import re
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
from harness import ProgramTest, job_for, sloppy, uniform

DIMS = (4, 2, 6, 8)
PARAMS = {"mass": 0.2, "phase": [0, 0.5, 0, 1]}


class Files(ProgramTest):
    """What Quadrille writes is read by the independent program, and the other way round."""

    def check_written(self, gauge, **more):
        results = self.run_job({"gauge": {**gauge, "save": "written.lime"}}, out=gauge["start"], **more)
        links, facts = lime_files.read_gauge(self.path(gauge["start"] + "/written.lime"))
        self.assertEqual(facts["dims"], gauge["dims"])
        self.assertEqual(facts["precision"], 64)
        seen = independent.observables(links)
        for name in ("plaquette", "link_trace"):
            self.assertAlmostEqual(results["gauge"][name], seen[name], delta=1e-13)
        for plane, value in seen["planes"].items():
            self.assertAlmostEqual(results["gauge"]["planes"][plane], value, delta=1e-13)
        unit = links @ independent.adjoint(links)
        self.assertLess(np.max(np.abs(unit - np.eye(3))), 1e-13)
        self.assertLess(np.max(np.abs(np.linalg.det(links) - 1)), 1e-13)
        return links, facts, seen

    def test_starts_are_written(self):
        _, _, seen = self.check_written({"start": "weak", "dims": [4, 2, 6, 8], "seed": 7, "epsilon": 0.05})
        self.assertTrue(0.9 < seen["plaquette"] < 1 - 1e-6, seen)
        links, _, seen = self.check_written({"start": "hot", "dims": [6, 4, 2, 8], "seed": 7})
        # Haar links: Re tr P / 3 has variance 1/18.
        self.assertLess(abs(seen["plaquette"]), 6 * np.sqrt(1 / 18 / (6 * 384)))
        self.assertLess(abs(seen["link_trace"]), 6 * np.sqrt(1 / 18 / (4 * 384)))
        self.assertEqual(len(np.unique(links.reshape(-1, 9)[:, 0])), 4 * 384)
        links, _, seen = self.check_written({"start": "cold", "dims": [2, 4, 4, 6]})
        self.assertTrue(np.array_equal(links, np.broadcast_to(np.eye(3), links.shape)))

    def test_seeds(self):
        def field(seed, out, threads):
            gauge = {"start": "weak", "dims": [4, 4, 4, 4], "seed": seed, "epsilon": 0.1, "save": "field.lime"}
            self.run_job({"gauge": gauge}, "--threads", threads, out=out)
            return lime_files.read_gauge(self.path(out + "/field.lime"))[0]

        first = field(5, "a", "1")
        self.assertTrue(np.array_equal(first, field(5, "b", "3")))
        self.assertGreater(np.max(np.abs(first - field(6, "c", "1"))), 1e-3)

    def test_info_agrees_with_the_independent_program(self):
        links = independent.random_links(DIMS, 0.4, harness.SEED)
        for precision in (64, 32):
            for order in ("qio", "tmlqcd"):
                with self.subTest(precision=precision, order=order):
                    file = self.path(f"{order}{precision}.lime")
                    lime_files.write_gauge(file, links, precision, order)
                    self.check_info(file)

    def check_info(self, file):
        links, facts = lime_files.read_gauge(file)
        process = self.call("info", file)
        self.assertEqual(process.returncode, 0, process.stderr)
        said = process.stdout
        for record in facts["records"]:
            self.assertIn(record, said)
        for word in facts["checksum"]:
            self.assertIn(f"{word:x}", said)
        self.assertRegex(said, r"\D+".join(str(extent) for extent in facts["dims"]))
        plaquette = independent.observables(links)["plaquette"]
        self.assertAlmostEqual(float(re.search(r"(?i)plaquette\W+([-+0-9.e]+)", said).group(1)), plaquette, delta=1e-12)

    def test_info_on_files_by_other_programs(self):
        if harness.DATA is None:
            self.skipTest(harness.WITHOUT_DATA)
        found = 0
        for name in sorted(os.listdir(harness.DATA)):
            path = os.path.join(harness.DATA, name)
            with open(path, "rb") as stream:
                if stream.read(4) != b"\x45\x67\x89\xab":
                    continue
            found += 1
            with self.subTest(file=name):
                self.check_info(path)
        self.assertGreaterEqual(found, 5)

    def test_propagators_are_written(self):
        lime_files.write_gauge(self.path("field.lime"), independent.random_links(DIMS, 0.4, harness.SEED))
        saved = {}
        for precision in ("double", "single"):
            job = job_for("field.lime", PARAMS, (1, 0, 3, 2), uniform(tolerance=1e-10), precision)
            results = self.run_job(job, out=precision)
            path = self.path(precision + "/propagator.lime")
            saved[precision], bits = lime_files.read_propagator(path, results["lattice"]["dims"])
            self.assertEqual(bits, {"double": 64, "single": 32}[precision])
            self.assertEqual(self.call("info", path).returncode, 0)
            records = lime_files.read_records(path)
            about = b"".join(record.data for record in records if "xml" in record.type).decode()
            for word in ("ForwardProp", "PropSource", "t_srce", "j_decay"):
                self.assertIn(word, about)
        difference = np.max(np.abs(saved["double"] - saved["single"]))
        self.assertTrue(1e-12 < difference < 1e-7, difference)

    def test_lime_contents(self):
        program = shutil.which("lime_contents")
        if program is None:
            self.skipTest("c-lime's lime_contents is not on PATH")
        gauge = {"start": "weak", "dims": [4, 2, 6, 8], "seed": 7, "epsilon": 0.05, "save": "written.lime"}
        self.run_job({"gauge": gauge})
        process = subprocess.run([program, self.path("out/written.lime")], stdout=subprocess.PIPE, text=True,
                                 errors="replace", check=True)
        for record in ("ildg-format", "ildg-binary-data", "scidac-checksum"):
            self.assertIn(record, process.stdout)


class BadFiles(ProgramTest):
    """Gauge files that are not what they should be."""

    def setUp(self):
        super().setUp()
        self.links = independent.random_links(DIMS, 0.4, harness.SEED)
        self.file = self.path("field.lime")
        lime_files.write_gauge(self.file, self.links)
        self.assertEqual(self.call("info", self.file).returncode, 0)

    def refused(self, *patterns, file=None, gauge=None):
        file = file or self.file
        job = self.write_job({"gauge": {"file": file, **(gauge or {})}})
        process = self.call("run", job, "--out", self.path("out"))
        self.assertEqual(process.returncode, 1, process.stdout + process.stderr)
        self.assertFalse(os.path.exists(self.path("out/results.json")))
        for pattern in (re.escape(os.path.basename(file)),) + patterns:
            self.assertRegex(process.stderr, pattern)
        return process.stderr

    def content(self):
        with open(self.file, "rb") as stream:
            return bytearray(stream.read())

    def replace(self, content):
        with open(self.file, "wb") as stream:
            stream.write(content)

    def test_missing(self):
        self.refused(file=self.path("nowhere.lime"))

    def test_folder(self):
        self.refused(file=self.folder)

    def test_not_lime(self):
        self.replace(b"BEGIN of a text that is no gauge field\n" * 50)
        self.refused()
        self.replace(b"")
        self.refused()

    def test_truncated(self):
        whole = self.content()
        cuts = set()
        for record in lime_files.read_records(self.file):
            end = record.offset + 144 + len(record.data)
            cuts |= {record.offset, record.offset + 70, record.offset + 144, (record.offset + 144 + end) // 2, end - 1}
        for cut in sorted(cuts - {0}):
            with self.subTest(bytes=cut):
                self.replace(whole[:cut])
                self.refused(r"record|byte")

    def test_wrong_length_fields(self):
        whole = self.content()
        for record in lime_files.read_records(self.file):
            for change in (-8, 8, 2**40):
                length = len(record.data) + change
                with self.subTest(record=record.type, length=length):
                    damaged = bytearray(whole)
                    damaged[record.offset + 8 : record.offset + 16] = length.to_bytes(8, "big", signed=True)
                    self.replace(damaged)
                    self.refused(r"record|byte")

    def test_checksum(self):
        binary = next(r for r in lime_files.read_records(self.file) if r.type == "ildg-binary-data")
        damaged = self.content()
        damaged[binary.offset + 144 + 1007] ^= 1  # the last bit of one number
        self.replace(damaged)
        self.refused("[Cc]hecksum", "[0-9a-f]{8}")
        process = self.call("info", self.file)
        self.assertRegex(process.stdout + process.stderr, "(?i)mismatch|differ|wrong|not match|bad")
        self.assertEqual(process.returncode, 1)
        results = self.run_job({"gauge": {"file": self.file, "verify_checksum": False}}, out="unverified")
        self.assertRegex(" ".join(str(warning) for warning in results["warnings"]), "[Cc]hecksum")

    def write_damaged(self, change):
        links = self.links.copy()
        change(links[5, 2, 1, 3], 1)  # site x 3, y 1, z 2, t 5; direction y
        lime_files.write_gauge(self.file, links)

    def test_not_unitary(self):
        def scale(site, mu):
            site[mu] *= 1.001

        self.write_damaged(scale)
        self.refused(r"\b3\D+1\D+2\D+5\b", "(?i)unitary|SU\\(3\\)")
        self.write_damaged(lambda site, mu: site[mu].__imul__(np.exp(0.01j)))
        self.refused(r"\b3\D+1\D+2\D+5\b", "(?i)det|SU\\(3\\)")

    def test_not_finite(self):
        for value in (np.nan, np.inf):
            def spoil(site, mu, value=value):
                site[mu, 1, 2] = value

            self.write_damaged(spoil)
            self.refused(r"\b3\D+1\D+2\D+5\b")

    def test_odd_extents(self):
        lime_files.write_gauge(self.file, independent.random_links((4, 3, 2, 2), 0.4, harness.SEED))
        self.refused("even", "3")


class BadJobs(ProgramTest):
    """Jobs and calls that are wrong."""

    good = """\
gauge:
  file: field.lime
operator:
  type: wilson
  mass: 0.2
  boundary: [periodic, periodic, periodic, antiperiodic]
solver:
  type: bicgstab
  tolerance: 1.0e-8
run:
  - task: propagator
    source: {type: point, site: [0, 0, 0, 0]}
"""

    def setUp(self):
        super().setUp()
        lime_files.write_gauge(self.path("field.lime"), independent.random_links(DIMS, 0.4, harness.SEED))

    def edited(self, before, after):
        self.assertIn(before, self.good)
        return self.good.replace(before, after, 1)

    def refused(self, job, *patterns):
        path = self.write_job(job)
        for command in (("check", path), ("run", path, "--out", self.path("out"))):
            process = self.call(*command)
            self.assertEqual(process.returncode, 1, f"{command}\n{job}\n{process.stdout}\n{process.stderr}")
            for pattern in patterns:
                self.assertRegex(process.stderr, pattern)
            self.assertFalse(os.path.exists(self.path("out")))

    def test_the_good_one_is_good(self):
        path = self.write_job(self.good)
        before = sorted(os.listdir(self.folder))
        process = self.call("check", path)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(sorted(os.listdir(self.folder)), before)
        self.run_job(self.good)

    def test_places(self):
        for before, after, *patterns in (
            ("  mass: 0.2", "  mas: 0.2", r"job\.yaml:5:3", "mas", "mass"),
            ("  tolerance: 1.0e-8", "  tolerence: 1.0e-8", r"job\.yaml:9:3", "'?tolerance'?"),
            ("  tolerance: 1.0e-8", "  tolerance: small", r"job\.yaml:9:14", "small"),
            ("  tolerance: 1.0e-8", "  tolerance: -1.0e-8", r"job\.yaml:9:14"),
            ("  mass: 0.2", "  mass: 0.2\n  kappa: 0.12", r"job\.yaml:[56]:3", "mass", "kappa"),
            ("  mass: 0.2", "  mass: 0.2\n  mass: 0.3", r"job\.yaml:6", "5", "6", "mass"),
            ("  boundary: [periodic, periodic, periodic, antiperiodic]\n", "", r"job\.yaml:\d+", "boundary"),
            ("[periodic, periodic, periodic, antiperiodic]", "[periodic, periodic]", r"job\.yaml:6:\d+"),
            ("[periodic, periodic, periodic, antiperiodic]", "[0, 0, 0, 1]", r"job\.yaml:6:\d+"),
            ("type: bicgstab", "type: bicgstag", r"job\.yaml:8:9", "bicgstab"),
            ("type: wilson", "type: wilsen", r"job\.yaml:4:9", "wilson"),
            ("task: propagator", "task: propogator", r"job\.yaml:11:11", "propagator"),
            ("site: [0, 0, 0, 0]", "site: [0, 0, 0]", r"job\.yaml:12:\d+"),
            ("  file: field.lime", "  start: weak\n  dims: [4, 3, 4, 4]\n  seed: 1\n  epsilon: 0.1",
             r"job\.yaml:3:\d+", "even"),
            ("  file: field.lime", "  file: [unclosed", r"job\.yaml:\d+"),
            ("run:\n", "run:\n  - task: propagator\n    source: {type: point, site: [1, 0, 0, 0]}\n",
             r"job\.yaml:\d+", "name"),
            ("  mass: 0.2", "\tmass: 0.2", r"job\.yaml:5:\d+: not valid YAML: a tab indents this line; use spaces"),
            ("  file: field.lime", "  start: cold\n  dims: [4096, 4096, 4096, 4096]",
             r"job\.yaml:3:9: not enough memory: a lattice of 4096 x 4096 x 4096 x 4096 sites needs at least [\d.]+ [PE]iB, "
             r"this machine has"),
        ):
            with self.subTest(before=before, after=after):
                self.refused(self.edited(before, after), *patterns)

    def test_every_error_is_named(self):
        job = self.edited("mass: 0.2", "mas: 0.2").replace("tolerance: 1.0e-8", "tolerance: -1")
        self.refused(job, r"job\.yaml:5:3", r"job\.yaml:9:14")

    def test_site_outside(self):
        path = self.write_job(self.edited("site: [0, 0, 0, 0]", "site: [0, 2, 0, 0]"))
        process = self.call("run", path, "--out", self.path("out"))
        self.assertEqual(process.returncode, 1)
        self.assertRegex(process.stderr, r"job\.yaml:12:\d+")

    def test_wrong_calls(self):
        job = self.write_job(self.good)
        for call in ((), ("frobnicate",), ("run",), ("run", job, "--nonsense"), ("run", job, "--threads", "none"),
                     ("run", job, "--set", "run[7].source.site=[0,0,0,0]"), ("info",)):
            with self.subTest(call=call):
                process = self.call(*call)
                self.assertEqual(process.returncode, 2, process.stdout + process.stderr)
                self.assertTrue(process.stderr.strip() or process.stdout.strip())
        for call in (("--help",), ("--version",), ("run", "--help")):
            process = self.call(*call)
            self.assertEqual(process.returncode, 0)
            self.assertTrue(process.stdout.strip())
        self.assertEqual(self.call("run", self.path("nowhere.yaml")).returncode, 1)

    def test_unwritable_output(self):
        with open(self.path("in_the_way"), "w") as stream:
            stream.write("a file, no folder")
        process = self.call("run", self.write_job(self.good), "--out", self.path("in_the_way"))
        self.assertEqual(process.returncode, 1)
        self.assertIn("in_the_way", process.stderr)

    def test_disk_full(self):
        job = job_for("field.lime", PARAMS, (0, 0, 0, 0), uniform(tolerance=1e-6))
        process = self.call("run", self.write_job(job), "--out", self.path("out"), preexec=harness.limit_file_size(50000))
        self.assertEqual(process.returncode, 1, process.stderr)
        self.assertIn("propagator.lime", process.stderr)
        self.assertFalse(os.path.exists(self.path("out/propagator.lime")))

    def test_output_of_another_job(self):
        self.run_job(self.good)
        before = os.stat(self.path("out/results.json")).st_mtime_ns
        other = self.edited("mass: 0.2", "mass: 0.3")
        process = self.call("run", self.write_job(other), "--out", self.path("out"))
        self.assertEqual(process.returncode, 1)
        self.assertRegex(process.stderr, r"operator\.mass|mass")
        self.assertEqual(os.stat(self.path("out/results.json")).st_mtime_ns, before)
        results = self.run_job(other, "--force")
        self.assertEqual(results["solves"][0]["mass"], 0.3)

    def test_set(self):
        results = self.run_job(self.good, "--set", "run[0].source.site=[1,1,3,5]", "--set", "operator.mass=0.25")
        self.assertEqual(results["job"]["run"][0]["source"]["site"], [1, 1, 3, 5])
        self.assertEqual(results["solves"][0]["mass"], 0.25)

    def test_no_convergence(self):
        for solver in (uniform(tolerance=1e-12), sloppy("cg", "reliable", "half", 12, True, 1e-12)):
            solver["max_iterations"] = 3
            job = job_for("field.lime", PARAMS, (0, 0, 0, 0), solver)
            results = self.run_job(job, out=solver["type"], status=3)
            self.assertFalse(any(solve["converged"] for solve in results["solves"]))
            self.assertTrue(all(solve["residual"] > 1e-12 for solve in results["solves"]))
            self.assertTrue(all(solve["iterations"] <= 3 for solve in results["solves"]))
            self.assertTrue(all(solve["stop_reason"] for solve in results["solves"]))

    def test_results_are_json_with_what_is_promised(self):
        results = self.run_job(self.good)
        for key in ("schema_version", "version", "backend", "isa", "threads", "job", "lattice", "gauge", "solves",
                    "correlators", "warnings"):
            self.assertIn(key, results)
        for key in ("file", "format", "checksum", "plaquette", "planes", "link_trace", "unitarity"):
            self.assertIn(key, results["gauge"])
        for key in ("task", "spin", "color", "mass", "kappa", "solver", "preconditioning", "scheme", "precision", "sloppy", "tolerance",
                    "converged", "stop_reason", "iterations", "reliable_updates", "residual", "seconds", "gflops",
                    "kernels", "history"):
            self.assertIn(key, results["solves"][0])
        for iteration, iterated, true in results["solves"][0]["history"]:
            self.assertIsInstance(iteration, int)
            self.assertGreaterEqual(iterated, 0)
            self.assertTrue(true is None or true >= 0)
        json.dumps(results, allow_nan=False)

class Interrupted(ProgramTest):
    """A run that is killed goes on where it stood."""

    def setUp(self):
        super().setUp()
        sites = {"first": [0, 0, 0, 0], "second": [1, 2, 3, 4], "third": [4, 4, 4, 4]}
        self.job = {
            "gauge": {"start": "weak", "dims": [8, 8, 8, 8], "seed": harness.SEED, "epsilon": 0.3},
            "operator": {"type": "wilson", "mass": 0.1, "boundary": ["periodic"] * 3 + ["antiperiodic"]},
            "solver": uniform("cg"),
            "run": [
                {"task": "propagator", "name": name, "source": {"type": "point", "site": site},
                 "save": {"file": name + ".lime", "precision": "double"}}
                for name, site in sites.items()
            ] + [{"task": "mesons", "name": "of_" + name, "from": name} for name in sites],
        }
        self.wanted = self.run_job(self.job, out="whole")

    def state(self):
        """Names of the finished tasks; none before the run has begun."""
        try:
            with open(self.path("out/restart.json")) as stream:
                return set(json.load(stream)["tasks"])
        except FileNotFoundError:
            return set()

    def kill_when(self, ready):
        command = harness.command("run", self.write_job(self.job), "--out", self.path("out"))
        with subprocess.Popen(command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as process:
            end = time.monotonic() + 120
            while not ready() and process.poll() is None and time.monotonic() < end:
                time.sleep(0.002)
            process.kill()
            self.assertEqual(process.wait(), -signal.SIGKILL, "it ended before it was killed")

    def check_rerun(self):
        results = self.run_job(self.job)
        self.assertEqual(results["correlators"], self.wanted["correlators"])
        self.assertEqual(len(results["solves"]), 36)
        self.assertEqual(sorted(os.listdir(self.path("out"))), sorted(os.listdir(self.path("whole"))))
        return results

    def test_killed_within_the_first_task(self):
        self.kill_when(lambda: os.path.exists(self.path("out/results.json")))
        self.check_rerun()

    def test_a_signal_keeps_the_solved_components(self):
        """Within the first propagator: the finished components are not solved again, and nothing changes."""
        solved = 0
        for number, status in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            command = harness.command("run", self.write_job(self.job), "--out", self.path("out"))
            before = self.written("out/results.json")  # by an earlier run
            with subprocess.Popen(command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, text=True, preexec_fn=harness.default_signals) as process:
                while self.written("out/results.json") == before and process.poll() is None:
                    time.sleep(0.002)
                time.sleep(0.15)
                process.send_signal(number)
                said = process.communicate(timeout=120)[1]
            self.assertEqual(process.returncode, status, said)
            self.assertRegex(said, r"quadrille: stopped (after \d+ of 12 spin-color components|before \w+); run again to "
                                   r"continue\n$")
            if solved:
                self.assertIn(f"continuing an interrupted run at component {solved + 1} of 12", said)
            solved = int((re.search(r"stopped after (\d+) of 12", said) or [0, solved])[1])
        self.check_rerun()

    def test_two_runs_in_one_folder(self):
        command = harness.command("run", self.write_job(self.job), "--out", self.path("out"))
        with subprocess.Popen(command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL) as process:
            while not os.path.exists(self.path("out/restart.json")) and process.poll() is None:
                time.sleep(0.002)
            second = self.call("run", self.write_job(self.job), "--out", self.path("out"))
            self.assertIsNone(process.poll(), "the first ended too early")
            process.kill()
        self.assertEqual(second.returncode, 1)
        self.assertIn(f"another run is using this folder (process {process.pid} on ", second.stderr)
        self.check_rerun()

    def test_killed_between_tasks_and_again(self):
        self.kill_when(lambda: "first" in self.state())
        self.assertNotIn("third", self.state())
        with open(self.path("out/restart.json")) as stream:
            before = json.load(stream)["tasks"]["first"]["solves"]
        self.kill_when(lambda: "second" in self.state())
        results = self.check_rerun()
        self.assertEqual(results["solves"][:12], before, "the first task was not done again")


class Threads(ProgramTest):
    def test_more_than_there_may_be(self):
        job = self.write_job({"run": [{"task": "block_multiply", "m": 4}]})
        for command in (("run", job, "--out", self.path("out")), ("check", job), ("bench", "memory")):
            process = self.call(*command, env={"OMP_NUM_THREADS": "100000"})
            self.assertEqual((process.returncode, process.stderr),
                             (1, "quadrille: error: OMP_NUM_THREADS: '100000' is not a whole number from 1 to 1024\n"))
        self.assertFalse(os.path.exists(self.path("out")))
        process = self.call("run", job, "--out", self.path("out"), "--threads", "1", env={"OMP_NUM_THREADS": "100000"})
        self.assertEqual(process.returncode, 0, process.stderr)


if __name__ == "__main__":
    sys.exit(harness.main(sys.modules[__name__]))
