#!/usr/bin/env python3
"""Jobs from Python: their folders, errors, and what ends them."""

import gc
import json
import os
import re
import shutil
import signal
import sys
import threading

from python_harness import DIMS, SOLVER, WORDS, hot, q

import harness


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

    def test_files_are_relative_to_the_working_directory(self):
        os.mkdir(self.path("sub"))
        hot().save(self.path("sub/field.lime"))
        job = {**self.JOB, "gauge": {"file": "field.lime"}}
        with open(self.path("sub/job.yaml"), "w", encoding="utf-8") as stream:
            json.dump(job, stream)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder)
        with self.assertRaisesRegex(q.FileError, "field.lime: .*; files that a job reads are relative to the working directory, /"):
            q.run("sub/job.yaml", backend="cpu")
        with self.assertRaisesRegex(q.FileError, r"field.lime: no such file$"):
            q.run(job, backend="cpu")
        os.chdir("sub")
        self.assertEqual(q.run("job.yaml", backend="cpu").folder, "job.out")

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
