#!/usr/bin/env python3
"""Modules built outside the source tree: installs Quadrille, builds tests/plugin/outside against it, and uses what comes of
it in jobs.

    QUADRILLE_BUILD=build plugin_tests.py [CLASS...]        QUADRILLE_BUILD: the build folder to install from
"""

import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "physics"))

import harness  # noqa: E402
import lime_files  # noqa: E402
from harness import ProgramTest  # noqa: E402

SOURCES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "outside")
PLACE = tempfile.mkdtemp(prefix="quadrille-outside-")
SUM = {"task": "sample_sum", "terms": [1.5, 2.25, 3]}


def extract_example():
    """The module of modules/PLUGINS.md in a file of its own."""
    with open(os.path.join(SOURCES, "..", "..", "..", "modules", "PLUGINS.md")) as stream:
        code, = re.findall(r"```cpp\n(.*?)```", stream.read(), re.DOTALL)
    with open(os.path.join(PLACE, "readme.cpp"), "w") as stream:
        stream.write(code)


def build():
    """Installs, builds, and makes the harness use the installed program."""
    extract_example()
    prefix, out = os.path.join(PLACE, "installed"), os.path.join(PLACE, "build")
    quiet = {"check": True, "stdout": subprocess.DEVNULL}
    subprocess.run(["cmake", "--install", os.environ["QUADRILLE_BUILD"], "--prefix", prefix], **quiet)
    compilers = [f"-DCMAKE_{language}_COMPILER={os.environ[name]}"
                 for language, name in (("C", "QUADRILLE_CC"), ("CXX", "QUADRILLE_CXX")) if os.environ.get(name)]
    subprocess.run(["cmake", "-S", SOURCES, "-B", out, f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_BUILD_TYPE=Release",
                    f"-DREADME_EXAMPLE={os.path.join(PLACE, 'readme.cpp')}",
                    f"-DCMAKE_CXX_FLAGS={os.environ.get('QUADRILLE_CXX_FLAGS', '')}", *compilers], **quiet)
    subprocess.run(["cmake", "--build", out], **quiet)
    harness.PROGRAM = os.path.join(prefix, "bin", "quadrille")


def built(name):
    """The folder of a module, and its file."""
    folder = os.path.join(PLACE, "build", name)
    return folder, os.path.join(folder, name + ".so")


def is_build_id(text, version):
    """Whether `text` names a commit of the sources; the version where git does not know them."""
    root = os.path.realpath(os.path.join(SOURCES, "..", "..", ".."))
    git = ["git", "-C", root, "rev-parse", "--verify"]
    top = subprocess.run([*git[:-1], "--show-toplevel"], text=True, capture_output=True, check=False)
    if top.returncode != 0 or os.path.realpath(top.stdout.strip()) != root:
        return text == version
    commit = text.removesuffix("-dirty") + "^{commit}"
    return subprocess.run([*git, commit], capture_output=True, check=False).returncode == 0


def search(*names):
    return {"QUADRILLE_MODULE_PATH": ":".join(built(name)[0] for name in names)}


class Modules(ProgramTest):
    def check(self, job, env, *args):
        process = self.call("check", self.write_job(job), *args, env=env)
        return process.returncode, process.stderr

    def test_they_are_listed(self):
        process = self.call("modules", env=search("sample", "in_c"))
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertIn(f"sample 1.2 (from tests): {built('sample')[1]}\n  task sample_sum: adds numbers\n", process.stdout)
        self.assertIn(f"in_c 0.1: {built('in_c')[1]}\n  task c_echo: gives a number back\n", process.stdout)
        self.assertNotIn("sample", self.call("modules").stdout)

    def test_those_of_the_library_are_listed(self):
        process = self.call("modules")
        self.assertEqual(process.returncode, 0, process.stderr)
        found, builds = {}, set()
        for line in process.stdout.splitlines():
            if line.startswith("  task "):
                found[name][1].append(line.split()[1].rstrip(":"))
            else:
                name, version, build = re.fullmatch(r"(\w+) (\S+) \((\S+)\): part of quadrille", line).groups()
                found[name] = (version, [])
                builds.add(build)
        version = re.search(r"\d+\.\d+\.\d+", self.call("--version").stdout).group()
        self.assertEqual(found, {"block_dft": (version, ["block_multiply", "density_matrix", "matrix_function", "scf_model"]),
                                 "eigen": (version, ["eigen", "eigen_study"]),
                                 "flow": (version, ["gradient_flow", "smear"]),
                                 "gauge_fixing": (version, ["gauge_fix"]),
                                 "loops": (version, ["polyakov", "wilson_loops"]), "md": (version, ["md_forces", "md_run"]),
                                 "mgemm": (version, ["matrix_product", "matrix_product_study"]),
                                 "quenched": (version, ["generate"]), "ri_mp2": (version, ["ri_mp2", "ri_mp2_study"])})
        self.assertEqual(len(builds), 1, builds)
        self.assertTrue(is_build_id(*builds, version), builds)

    def test_a_job_without_links(self):
        with open(self.path("words.txt"), "w") as stream:
            stream.write("twelve bytes")
        job = {"run": [{**SUM, "negative": True, "text": "words.txt", "save": {"file": "deep/sum.txt"}},
                       {"task": "c_echo", "name": "echo", "number": -5}]}
        results = self.run_job(job, "--threads", "2", env=search("sample", "in_c"))
        self.assertEqual(results["sample_sum"], {"bytes": 12, "sum": -6.75, "pool_is_shared": True, "backend": harness.BACKEND, "threads": 2})
        self.assertEqual(results["echo"], {"number": -5})
        self.assertIn("sample_sum: added with care (2 times)", results["warnings"])
        self.assertNotIn("gauge", results)
        with open(self.path("out/deep/sum.txt")) as stream:
            self.assertEqual(stream.read(), "-6.750\n")

    def test_with_links_and_the_programs_own_tasks(self):
        job = {"gauge": {"start": "cold", "dims": [4, 4, 4, 4]},
               "run": [{"task": "generate", "beta": 6, "thermalization": 1}, SUM]}
        results = self.run_job(job, env=search("sample"))
        self.assertIn("generate", results["chains"])
        self.assertEqual(results["sample_sum"]["sum"], 6.75)

    def test_a_finished_task_is_not_done_again_until_its_file_changes(self):
        for text, bytes_, again in (("one", 3, False), ("one", 3, True), ("three", 5, False)):
            if not again:
                with open(self.path("words.txt"), "w") as stream:
                    stream.write(text)
            process = self.call("run", self.write_job({"run": [{**SUM, "text": "words.txt"}]}), "--out",
                                self.path("out"), env=search("sample"))
            self.assertEqual("already done, skipped" in process.stderr, again, process.stderr)
            self.assertEqual(self.run_job({"run": [{**SUM, "text": "words.txt"}]},
                                          env=search("sample"))["sample_sum"]["bytes"], bytes_)

    def test_errors_have_their_place(self):
        job = self.write_job("run:\n  - task: sample_sum\n    terms: [1, -2]\n    mode: good\n")
        process = self.call("check", job, env=search("sample"))
        self.assertEqual(process.returncode, 1)
        self.assertIn(f"{job}:3:16: 'terms[1]' must be > 0, got -2\n", process.stderr)
        self.assertIn(f"{job}:4:5: unknown key 'mode' in task sample_sum; the keys are task, name, terms,", process.stderr)
        job = self.write_job("run:\n  - task: sample_sum\n    terms: [1, 2, 3, 4, 5]\n")
        process = self.call("check", job, env=search("sample"))
        self.assertEqual((process.returncode, process.stderr),
                         (1, f"quadrille: error: {job}:3:12: 'terms': more than 4 terms are too many to add\n"))
        job = self.write_job("run:\n  - task: sample_sum\n    terms: [1]\n    text: none.txt\n")
        process = self.call("check", job, env=search("sample"))
        self.assertEqual(process.returncode, 1)
        self.assertRegex(process.stderr, r":4:11: 'text': .*none.txt: no such file")
        job = self.write_job("run:\n  - task: sample_sum\n    name: solves\n    terms: [1]\n")
        process = self.call("check", job, env=search("sample"))
        self.assertIn(f"{job}:3:11: the name 'solves' is taken", process.stderr)
        for name in ("chains", "ri_mp2_studies", "studies"):
            job = self.write_job(f"run:\n  - task: sample_sum\n    name: {name}\n    terms: [1]\n")
            process = self.call("check", job, env=search("sample"))
            self.assertIn(f"the name '{name}' is taken", process.stderr)

    def test_what_goes_wrong_inside(self):
        for mood, said in (("bad input", r"job.yaml:\d+:\d+: 'mood': the mood is bad"),
                           ("exception", "sample_sum: thrown in a module"),
                           ("nothing said", "its function 'run' failed without saying why"),
                           ("no JSON", "its result is not a JSON object"),
                           ("no memory", "quadrille: error: not enough memory: the sum needs .* EiB, .* are free\n$")):
            with self.subTest(mood=mood):
                job = self.write_job({"run": [{**SUM, "mood": mood}]})
                process = self.call("run", job, "--out", self.path(mood), env=search("sample"))
                self.assertEqual(process.returncode, 1)
                self.assertRegex(process.stderr, said)

    def test_wrong_calls_of_the_host_are_named(self):
        asking = ("boolean", "integer", "real", "text", "input_file", "output_file", "output_named", "context", "gauge",
                  "dirac_operator", "solver", "propagator", "object", "handle_of_gauge", "device", "allocate", "state",
                  "get_state", "get_state_gauge", "rank_grid")
        for number, said in ((13, "the task c_echo has no parameter 'no_such_name'"),
                             (14, "it passes a null pointer as the name of a parameter"),
                             (15, "it passes a null pointer as the name of a parameter"),
                             (16, "it passes a null pointer as a result"), (17, "'number' has another type"),
                             (18, "'number' has no entry 1"), (19, "the task c_echo has no parameter 'number[0]'"),
                             (20, "the task c_echo has no parameter 'number.more'"),
                             (21, "it writes 'other.txt', which is not an output of the task"),
                             (22, "the gauge field that it passes is null"),
                             (23, "it reports under 'solves', which is not one of the blocks that its descriptor names"),
                             (24, "it asks for links without the flag QUADRILLE_NEEDS_LINKS"),
                             (25, "it releases memory that it was not given"), (26, "it keeps a state without parts"),
                             (27, "'a.b' is not a valid name for a part of a state"),
                             (28, "it puts the part 'a' twice into one state"), (29, "'number' has another type"),
                             (30, "9 is not a log level; levels are 1 to 4"),
                             (31, "it passes a null pointer as a text for the log"),
                             *((32 + k, f"it passes a null pointer for a result of '{name}'") for k, name in enumerate(asking)),
                             *((number, "it passes a null pointer as data to share with other ranks") for number in
                               range(52, 56)),
                             (56, "it passes a null pointer for a result of 'scratch_file'"),
                             (58, "it asks for the scratch file 'results.json', which holds the results")):
            with self.subTest(number=number):
                process = self.call("run", self.write_job({"run": [{"task": "c_echo", "number": number}]}), "--out",
                                    self.path(str(number)), env=search("in_c"))
                self.assertEqual(process.returncode, 1)
                self.assertIn(f"the module 'in_c': {said}", process.stderr)
                self.assertIn("quadrille: info: c_echo has been told a number\n", process.stderr)
                self.assertEqual([name for name in os.listdir(self.path(str(number))) if "lime" in name], [])

    def test_a_scratch_file_that_is_left_is_no_obstacle(self):
        job = self.write_job({"run": [{"task": "c_echo", "number": 57}]})
        for out, said in (("left", "it leaves a scratch file"), ("left", "it leaves a scratch file"),
                          ("other", "it was not written by an earlier run")):
            os.makedirs(self.path("other/parts"), exist_ok=True)
            with open(self.path("other/parts/left.bin"), "w"):
                pass
            process = self.call("run", job, "--out", self.path(out), env=search("in_c"))
            self.assertEqual(process.returncode, 1)
            self.assertIn(said, process.stderr)

    def test_an_exception_past_every_guard_names_the_module(self):
        left = "quadrille: error: .*the module 'throwing': an exception escaped from its function '{}': thrown in {}\n"
        for place, said in (*((place, left.format(place, place)) for place in ("check", "outputs", "run")),
                            ("thread", "the module 'throwing': it calls the host's function '(has|real)' from a thread other than "
                                       "the one that it was called on\n"),
                            ("no memory", "^quadrille: error: not enough memory: .* are free\n$"),
                            ("no exception", "the module 'throwing': an exception escaped from its function 'run'\n"),
                            ("no name", "the module 'throwing': it passes a null pointer as the name of an output\n")):
            with self.subTest(place=place):
                job = self.write_job({"run": [{"task": "throwing_task", "place": place, "save": "#.txt"}]})
                process = self.call("run", job, "--out", self.path(place), env=search("throwing"))
                self.assertEqual(process.returncode, 1)
                self.assertRegex(process.stderr, said)

    JOB = {"gauge": {"start": "weak", "dims": [4, 4, 2, 4], "seed": harness.SEED},
           "operator": {"type": "wilson", "mass": 0.1, "boundary": ["periodic"] * 3 + ["antiperiodic"]},
           "solver": {"type": "bicgstab", "tolerance": 1e-11}}

    def test_handles_of_the_job(self):
        """From a module in C that is not linked with the library: links, operator, solver and an earlier propagator."""
        solve = {"task": "propagator", "source": {"type": "point", "site": [0, 0, 0, 0]}}
        job = {**self.JOB, "run": [solve, {"task": "handles", "from": ["propagator"], "column": 7}]}
        results = self.run_job(job, env=search("handles"))
        found = results["handles"]
        self.assertEqual(found["dims"], [4, 4, 2, 4])
        self.assertAlmostEqual(found["plaquette"], results["gauge"]["plaquette"], delta=1e-15)
        self.assertEqual(found["difference"], 0)
        self.assertLess(found["residual"], 1.01e-11)
        self.assertEqual(found["iterations"], results["solves"][7]["iterations"])
        self.assertEqual([solve["task"] for solve in results["solves"]], ["propagator"] * 12 + ["handles"])
        its_own, of_the_job = results["solves"][12], results["solves"][7]
        self.assertEqual((its_own["solve"], its_own["system"], its_own["converged"]), (0, "m", True))
        for key in ("mass", "kappa", "solver", "scheme", "precision", "sloppy", "iterations", "residual", "history"):
            self.assertEqual(its_own[key], of_the_job[key])
        # Those of the job are for lists, as long as there are columns left to solve for at once.
        hops, of_its_own = ({re.sub(r"_rhs\d+$", "", kernel["name"]) for kernel in solve["kernels"]
                             if kernel["name"].startswith("wilson")} for solve in (of_the_job, its_own))
        self.assertGreaterEqual(len(hops), 2)
        self.assertEqual(of_its_own, hops)
        self.assertGreaterEqual(results["timing"]["solves"], sum(solve["seconds"] for solve in results["solves"]))
        self.assertEqual((found["update_refused"], found["wrong_column"]), (5, 3))
        self.assertEqual(found["message"], "there is no column 12; there are 0 to 11")
        if harness.BACKEND == "cpu":
            self.assertEqual((found["ordinal"], found["stream"]), (-1, False))
        self.assertEqual(found["aligned"], True)

    def test_a_solve_of_a_module_that_does_not_converge(self):
        job = {**self.JOB, "solver": {"type": "cg", "tolerance": 1e-11, "max_iterations": 2},
               "run": [{"task": "handles", "unfinished": True}]}
        results = self.run_job(job, env=search("handles"), status=3)
        solve, = results["solves"]
        self.assertEqual((solve["task"], solve["converged"], solve["stop_reason"], solve["iterations"]),
                         ("handles", False, "max_iterations", 2))

    def test_a_propagator_of_an_earlier_run(self):
        """It comes back from the file that it was saved in, or is solved again."""
        for save in (None, {"file": "p.lime", "precision": "double"}):
            with self.subTest(save=save):
                solve = {"task": "propagator", "source": {"type": "point", "site": [0, 0, 0, 0]}}
                job = {**self.JOB, "run": [{**solve, "save": save} if save else solve,
                                           {"task": "handles", "from": ["propagator"], "column": 4}]}
                out = "saved" if save else "solved"
                self.run_job(job, out=out, env=search("handles"))
                with open(self.path(out + "/restart.json")) as stream:
                    restart = json.load(stream)
                del restart["tasks"]["handles"]
                with open(self.path(out + "/restart.json"), "w") as stream:
                    json.dump(restart, stream)
                process = self.call("run", self.write_job(job), "--out", self.path(out), env=search("handles"))
                self.assertEqual(process.returncode, 0, process.stderr)
                self.assertEqual("solving again" in process.stderr, save is None, process.stderr)
                with open(self.path(out + "/results.json")) as stream:
                    self.assertLess(json.load(stream)["handles"]["difference"], 1e-13)

    def test_pieces_of_the_library_in_a_module_in_cpp(self):
        solve = {"task": "propagator", "source": {"type": "point", "site": [0, 0, 0, 0]}}
        job = {**self.JOB, "run": [solve, {"task": "uses", "from": "propagator", "links": "copy.lime", "matrix": "c.h5",
                                           "delta": 0.25}]}
        results = self.run_job(job, env=search("uses"))
        found = results["uses"]
        self.assertEqual(found["plaquette"], results["gauge"]["plaquette"])
        self.assertLess(found["distance"], 1e-9)
        self.assertAlmostEqual(found["norm2"], found["same_norm2"], delta=1e-12 * found["same_norm2"])
        self.assertEqual([found[key] for key in ("lanes", "c", "difference", "delta")], [1, 22, 0, 0.25])
        info = self.call("info", self.path("out/copy.lime"))
        self.assertEqual(info.returncode, 0, info.stdout)
        for file in ("c.h5", "uses.csv"):
            self.assertTrue(os.path.exists(self.path("out/" + file)))

    def test_the_module_of_the_readme(self):
        solve = {"task": "propagator", "source": {"type": "point", "site": [0, 0, 0, 0]}}
        job = {**self.JOB, "run": [solve, {"task": "mesons", "from": "propagator"},
                                   {"task": "pion_by_hand", "from": "propagator"}]}
        results = self.run_job(job, env=search("readme"))
        self.assertEqual(results["pion_by_hand"]["plaquette"], results["gauge"]["plaquette"])
        for found, wanted in zip(results["pion_by_hand"]["pion"], results["correlators"]["mesons"]["pion"], strict=True):
            self.assertAlmostEqual(found, wanted, delta=1e-12 * wanted)

    def test_a_task_that_takes_propagators_has_links(self):
        solve = {"task": "propagator", "source": {"type": "point", "site": [0, 0, 0, 0]}}
        job = {**self.JOB, "run": [solve, {"task": "links_of_propagator", "from": ["propagator"]}]}
        results = self.run_job(job, env=search("handles"))
        self.assertAlmostEqual(results["links_of_propagator"]["plaquette"], results["gauge"]["plaquette"], delta=1e-15)

    def test_a_result_that_has_not_converged(self):
        """It is written, and the exit status is 3, also where the task is not done again."""
        job = {"run": [{"task": "c_echo", "number": 99}]}
        for _ in range(2):
            self.assertEqual(self.run_job(job, env=search("in_c"), status=3)["c_echo"], {"converged": False})

    def test_a_module_in_cuda(self):
        if not os.path.exists(built("on_gpu")[1]):
            self.skipTest("the build has no CUDA backend")
        self.assertIn("task on_gpu: adds numbers on a GPU", self.call("modules", env=search("on_gpu")).stdout)
        job = self.write_job({"run": [{"task": "on_gpu"}]})
        process = self.call("check", job, "--backend", "cpu", env=search("on_gpu"))
        self.assertIn("on_gpu: the numbers are added on a GPU: use --backend cuda", process.stderr)
        if harness.BACKEND != "cuda":
            self.skipTest("QUADRILLE_TEST_BACKEND is not cuda")
        found = self.run_job({"run": [{"task": "on_gpu"}]}, env=search("on_gpu"))["on_gpu"]
        self.assertEqual(found, {"first": 500500, "last": 500531, "right_device": True})

    def test_a_job_says_what_a_task_needs(self):
        for missing in ("gauge", "operator"):
            job = {key: value for key, value in self.JOB.items() if key != missing}
            status, said = self.check({**job, "run": [{"task": "handles"}]}, search("handles"))
            self.assertEqual(status, 1)
            self.assertRegex(said, f"'{missing}'")
        status, said = self.check({**self.JOB, "operator": {"type": "wilson", "mass": 0.1, "anisotropy": {"xi0": -1}},
                                   "run": [{"task": "handles"}]}, search("handles"))
        self.assertEqual(status, 1, said)
        own = {**self.JOB, "run": [{"task": "handles", "solver": {"type": "cg", "tolerance": 1e-8}}]}
        self.assertLess(1e-11, self.run_job(own, env=search("handles"))["handles"]["residual"])

    def test_states_by_name(self):
        """Bytes with zeros in them and links; a run that fails goes on from the last state that was kept."""
        job = {**self.JOB, "run": [{"task": "steps", "fuse": self.path("fuse"), "save": "end.lime"}]}
        with open(self.path("fuse"), "w"):
            pass
        process = self.call("run", self.write_job(job), "--out", self.path("out"), env=search("handles"))
        self.assertEqual(process.returncode, 1)
        self.assertRegex(process.stderr, "steps: the fuse is there")
        states = sorted(name for name in os.listdir(self.path("out")) if "unfinished" in name)
        self.assertEqual(states, [f"steps.unfinished.{turn}.{name}" for turn in (0, 1) for name in ("field.lime", "numbers")])
        shutil.copytree(self.path("out"), self.path("damaged"))
        os.remove(self.path("fuse"))
        found = self.run_job(job, env=search("handles"))["steps"]
        self.assertEqual(found, {"began_at": 3, "generation": 6, "hash": 16, "same_hash": True, "bytes": 5, "unknown": True,
                                 "plaquette_is_kept": True})
        self.assertEqual([name for name in os.listdir(self.path("out")) if "unfinished" in name], [])
        self.assertIn("end.lime", os.listdir(self.path("out")))
        with open(self.path("damaged/steps.unfinished.1.numbers"), "r+b") as stream:
            stream.write(b"x")
        results = self.run_job(job, out="damaged", env=search("handles"))
        self.assertEqual(results["steps"]["began_at"], 0)
        self.assertRegex(" ".join(results["warnings"]), "steps starts over: .*numbers: not what the interrupted run wrote")

    def test_only_outputs_that_the_job_was_checked_for(self):
        job = {**self.JOB, "run": [{"task": "steps", "fuse": self.path("fuse"), "save": "end.lime", "other": True}]}
        process = self.call("run", self.write_job(job), "--out", self.path("out"), env=search("handles"))
        self.assertEqual(process.returncode, 1)
        self.assertIn("the module 'handles': it writes 'other.lime', which is not an output of the task", process.stderr)
        self.assertNotIn("other.lime", os.listdir(self.path("out")))

    def test_every_kind_of_parameter(self):
        def echo(**parameters):
            job = {"run": [{"task": "sample_schema", **parameters}]}
            return self.run_job(job, "--force", env=search("sample"))["sample_schema"]

        self.assertEqual(echo(), {"boundary": [0, 1, 0, 0.5], "word": "auto", "number": -1, "target": 0.5, "kind": "",
                                  "site": [0, 0, 0, 0], "time": -1, "rows": [], "from": "", "boundary_count": 4})
        with open(self.path("words.txt"), "w") as stream:
            stream.write("words")
        found = echo(boundary=["antiperiodic", {"phase": -0.25}, "periodic", "periodic"], delta=0.125,
                     source={"kind": "point", "site": [1, -2, 3, 4]},
                     rows=[{"weight": 2, "file": "words.txt"}, {"weight": 3, "delta": 0.5}])
        self.assertEqual(found, {"boundary": [1, -0.25, 0, 0], "word": "", "number": 0.125, "target": -1, "kind": "point",
                                 "site": [1, -2, 3, 4], "time": -1, "rows": [[2, "auto", True], [3, 0.5, False]], "from": "",
                                 "boundary_count": 4})
        self.assertEqual(echo(source={"kind": "wall", "time": 6})["time"], 6)
        for parameters, said in (({"delta": "much"}, "'delta' must be auto, none or a real number such as 0, got 'much'"),
                                 ({"delta": 1, "target": 2}, "'target' is used only with delta: auto"),
                                 ({"source": {"kind": "wall", "time": 5}}, "'time' must be even and >= 0, got 5"),
                                 ({"source": {"kind": "line"}}, "'kind' must be one of point, wall, got 'line'"),
                                 ({"rows": [{"weight": k} for k in range(3)]}, "'rows' must be a list .* (3 entries)"),
                                 ({"rows": [{"delta": 1}]}, "'rows[0].weight' is missing"),
                                 ({"rows": [{"weight": 1, "file": "none.txt"}]},
                                  "'rows[0].file': .*none.txt: no such file"),
                                 ({"from": "nobody"}, "'from' must name an earlier mesons task, got 'nobody'; there is none")):
            with self.subTest(**parameters):
                status, errors = self.check({"run": [{"task": "sample_schema", **parameters}]}, search("sample"))
                self.assertEqual(status, 1)
                self.assertRegex(errors, re.escape(said).replace(r"\.\*", ".*"))
        process = self.call("schema", env=search("sample"))
        self.assertIn('"kind"', process.stdout)
        self.assertRegex(self.call("help", "task", "sample_schema", env=search("sample")).stdout,
                         r"delta: auto \| none \| real number, >= 0; default auto\n")
        self.assertIn("time: whole number", self.call("help", "task", "sample_schema", "source", "wall",
                                                      env=search("sample")).stdout)

    def test_a_report_of_its_own(self):
        self.run_job({"run": [SUM, {"task": "c_echo", "number": 5}]}, env=search("sample", "in_c"))
        for env, said, not_said in ((search("sample"), "## Sums\n\n| task | sum |\n| --- | --- |\n| sample_sum | 6.75 |\n",
                                     "pool_is_shared"), ({}, "pool_is_shared", "## Sums")):
            process = self.call("report", self.path("out"), env=env)
            self.assertEqual(process.returncode, 0, process.stderr)
            with open(self.path("out/report/report.md")) as stream:
                text = stream.read()
            self.assertIn(said, text)
            self.assertNotIn(not_said, text)
            self.assertIn("## Task `c_echo` (c_echo)", text)

    def test_structs_of_a_later_version_are_cut(self):
        process = self.call("modules", env=search("later"))
        self.assertIn("  task later_sum: adds\n  task later_difference: subtracts\n", process.stdout)
        results = self.run_job({"run": [{"task": "later_sum", "first": 5}, {"task": "later_difference", "second": 7}]},
                               env=search("later"))
        self.assertEqual((results["later_sum"], results["later_difference"]), ({"number": 7}, {"number": -6}))

    def test_matrix_products_from_c(self):
        """Small integers: every product and sum is exact in single precision too."""
        draw = random.Random(harness.SEED)
        a, b = (draw.sample(range(-99, 100), 3 * rows) for rows in (2, 4))  # no list of a job has an entry twice
        task = {"task": "c_product", "a": a, "b": b}
        exact = [2 * sum(x * y for x, y in zip(row, column)) + 3 for row in (a[:3], a[3:])
                 for column in (b[:3], b[3:6], b[6:9], b[9:])]
        result = self.run_job({"run": [{**task, "delta": 50}]}, env=search("in_c"))["c_product"]
        self.assertEqual([result[f"c{k}"] for k in range(8)], [[number, number] for number in exact])
        self.assertEqual(result["split"], 1)
        for name, matrix in (("large_a", a), ("large_b", b)):
            self.assertAlmostEqual(result[name], sum(abs(x) > 50 for x in matrix) / len(matrix), places=12)
        process = self.call("run", self.write_job({"run": [{**task, "delta": 0, "lda": 2}]}), "--out", self.path("bad"),
                            env=search("in_c"))
        self.assertEqual(process.returncode, 1)
        self.assertRegex(process.stderr, "c_product: .*lda")

    @unittest.skipUnless(os.environ.get("QUADRILLE_MPIEXEC"), "built without MPI")
    def test_several_ranks_from_c(self):
        def ranks(grid, run):
            count = grid[0] * grid[1] * grid[2] * grid[3]
            words = [os.environ["QUADRILLE_MPIEXEC"], "--oversubscribe", "-n", str(count),
                     *harness.command("run", self.write_job({**job, "run": run}), "--out", self.path(f"out{count}"),
                                      "--grid", *map(str, grid))]
            env = {**os.environ, **search("in_c"), "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
            return subprocess.run(words, cwd=self.folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  timeout=60, check=False)

        job = {"gauge": {"start": "hot", "seed": harness.SEED, "dims": [4, 8, 4, 12], "save": {"file": "links.lime"}}}
        for grid in ((1, 1, 1, 1), (1, 1, 1, 3), (2, 2, 1, 1)):
            with self.subTest(grid=grid):
                process = ranks(grid, [{"task": "c_ranks", "file": "mine.lime"}])
                self.assertEqual(process.returncode, 0, process.stderr)
                count = grid[0] * grid[1] * grid[2] * grid[3]
                with open(self.path(f"out{count}/results.json")) as stream:
                    results = json.load(stream)
                found = results["c_ranks"]
                trace = results["gauge"]["link_trace"] * 12 * 4 * 8 * 4 * 12
                self.assertAlmostEqual(found.pop("trace"), trace, delta=1e-9)
                self.assertAlmostEqual(found.pop("plaquette"), results["gauge"]["plaquette"], delta=1e-14)
                self.assertEqual(found, {"grid": list(grid), "first": 0, "last": count - 1, "asked": 0,
                                         "received": 2 if grid[3] == 3 else 0, "from_last": 99 + count})
                saved, mine = (lime_files.read_gauge(self.path(f"out{count}/{name}"))[0] for name in ("links.lime", "mine.lime"))
                self.assertTrue((saved == mine).all())
        process = ranks((1, 1, 1, 2), [{"task": "c_echo"}])
        self.assertEqual(process.returncode, 1)
        self.assertRegex(process.stderr, r"job.yaml:\d+:\d+: the task c_echo \(c_echo\) runs on one rank only")

    def test_an_input_is_not_replaced(self):
        with open(self.path("words.txt"), "w") as stream:
            stream.write("mine")
        job = self.write_job({"run": [{**SUM, "text": "words.txt", "save": {"file": "../words.txt"}}]})
        process = self.call("run", job, "--out", self.path("out"), env=search("sample"))
        self.assertEqual(process.returncode, 1)
        self.assertIn("'../words.txt' is the input", process.stderr)

    def test_paths_in_jobs_need_permission(self):
        file = built("sample")[1]
        job = {"modules": [file], "run": [SUM]}
        self.assertEqual(self.run_job(job, "--allow-module", file)["sample_sum"]["sum"], 6.75)
        for command in (["check"], ["run"], ["run", "--allow-module", built("in_c")[1]]):
            process = self.call(*command, self.write_job(job))
            self.assertEqual(process.returncode, 1)
            self.assertRegex(process.stderr, "job.yaml:3:.*permit this one with --allow-module .*sample.so")
        process = self.call("check", self.write_job(job), "--allow-module", file)
        self.assertEqual((process.returncode, process.stderr), (0, ""))
        process = self.call("check", self.write_job({**job, "run": [{**SUM, "termz": 1}]}), "--allow-module", file)
        self.assertEqual(process.returncode, 1)
        self.assertRegex(process.stderr, "unknown key 'termz' in task sample_sum; did you mean 'terms'")
        shutil.copy(file, self.path("beside.so"))
        job = {"modules": ["beside.so"], "run": [SUM]}
        self.assertEqual(self.run_job(job, "--allow-module", self.path("beside.so"), out="beside")["sample_sum"]["sum"],
                         6.75)

    def test_bad_ones_are_refused_by_name(self):
        os.mkdir(self.path("folder"))
        with open(self.path("folder/text.so"), "w") as stream:
            stream.write("no shared object\n")
        for folder, name, said in ((built("other_abi")[0], "other_abi.so",
                                    "was built for version 2 of the module interface"),
                                   (built("no_descriptor")[0], "no_descriptor.so",
                                    "does not export quadrille_module_descriptor"),
                                   (built("bad_schema")[0], "bad_schema.so", "'x' of task bad_task has the unknown type 99"),
                                   *((built(f"small_{struct}")[0], f"small_{struct}.so",
                                      "its structs are smaller than those of version 1") for struct in
                                     ("module", "task", "parameter")),
                                   (built("missing_symbol")[0], "missing_symbol.so",
                                    "undefined symbol: quadrille_no_such_function"),
                                   (built("other_build")[0], "other_build.so",
                                    "was compiled with the C\\+\\+ headers of build 'v0-1-gabcdef' of Quadrille, but this is build"),
                                   (built("block_twin")[0], "block_twin.so",
                                    "a block 'chains' of results.json exists already: that of the module 'quenched' of this "
                                    "program"),
                                   (built("own_task")[0], "own_task.so",
                                    "its descriptor: task propagator has the name of a task of the program"),
                                   (self.path("folder"), "text.so", "cannot be loaded as a shared object")):
            with self.subTest(name=name):
                process = self.call("modules", env={"QUADRILLE_MODULE_PATH": folder})
                self.assertEqual(process.returncode, 1)
                self.assertRegex(process.stdout, f"refused: the module .*{name}: .*{said}")
                file = os.path.join(folder, name)
                job = self.write_job({"modules": [file], "run": [{"task": "bad_task"}]})
                process = self.call("run", job, "--allow-module", file)
                self.assertEqual(process.returncode, 1)
                self.assertRegex(process.stderr, f"job.yaml:3:.*{name}: .*{said}")
        process = self.call("modules", env=search("in_c", "twin", "task_twin"))
        for said in "a module 'in_c' exists already, in ", "a task 'c_echo' exists already: that of the module 'in_c' in ":
            self.assertIn(said + built("in_c")[1], process.stdout)
        process = self.call("check", self.write_job({"run": [{"task": "c_echo"}]}), env=search("other_abi", "in_c"))
        self.assertEqual(process.returncode, 0)  # a bad one does not stand in the way of a good one
        self.assertIn("other_abi.so", process.stderr)

    def test_documents_know_them(self):
        self.assertIn("terms", self.call("help", "task", "sample_sum", env=search("sample")).stdout)
        self.assertIn("sample_sum", self.call("schema", env=search("sample")).stdout)

    def test_one_pool_and_one_registry(self):
        process = subprocess.run([os.path.join(PLACE, "build", "addresses"), built("sample")[1]], text=True,
                                 capture_output=True, check=False)
        self.assertEqual(process.returncode, 0, process.stdout + process.stderr)
        self.assertEqual(len(process.stdout.splitlines()), 5)


if __name__ == "__main__":
    try:
        build()
        sys.exit(harness.main(sys.modules[__name__]))
    finally:
        shutil.rmtree(PLACE, ignore_errors=True)
