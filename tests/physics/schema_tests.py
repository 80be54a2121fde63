#!/usr/bin/env python3
"""What the program says of the words of its jobs: the JSON Schema, and the page input/REFERENCE.md.

    QUADRILLE_PROGRAM=build/quadrille schema_tests.py [CLASS...]
"""

import copy
import glob
import json
import os
import random
import re
import sys
import unittest

import harness
from harness import ProgramTest
from report_tests import JOBS, ROOT, hadrons

try:
    import jsonschema
    import yaml
except ImportError:  # Debian: python3-jsonschema, python3-yaml
    jsonschema = None


def places(tree, path=()):
    """(path, value) of everything in a tree."""
    inside = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    return [(path, tree)] + [pair for key, value in inside for pair in places(value, (*path, key))]


def parent(tree, path):
    for key in path[:-1]:
        tree = tree[key]
    return tree


@unittest.skipIf(jsonschema is None, "no jsonschema or yaml for Python (Debian: python3-jsonschema, python3-yaml)")
class Schema(ProgramTest):
    def setUp(self):
        super().setUp()
        self.schema = json.loads(self.call("schema").stdout)
        jsonschema.Draft202012Validator.check_schema(self.schema)
        self.validator = jsonschema.Draft202012Validator(self.schema)

    def problems(self, job):
        return [f"{list(error.absolute_path)}: {error.message[:300]}" for error in self.validator.iter_errors(job)]

    def test_jobs_of_the_documents(self):
        texts = []
        for path in sorted(glob.glob(os.path.join(ROOT, "input/examples/*.yaml"))):
            with open(path) as stream:
                texts.append(stream.read())
        self.assertGreater(len(texts), 20)
        for name in ("README.md", "input/USING.md"):
            with open(os.path.join(ROOT, name)) as stream:
                texts += re.findall(r"```yaml\n(.*?)```", stream.read(), flags=re.S)
        for text in texts:
            self.assertEqual(self.problems(yaml.safe_load(text)), [], text)

    def test_resolved_jobs(self):
        for name, job in JOBS.items():
            self.assertEqual(self.problems(job()), [], name)
            self.assertEqual(self.problems(self.run_job(job(), out=name)["job"]), [], name)

    WRONG = {
        "unknown key": lambda job: job.update(solvr={}),
        "unknown parameter": lambda job: job["solver"].update(tolerence=1e-9),
        "wrong type": lambda job: job["solver"].update(tolerance="small"),
        "out of range": lambda job: job["solver"].update(tolerance=0),
        "unknown choice": lambda job: job["solver"]["sloppy"].update(precision="quarter"),
        "an unknown operator": lambda job: job["operator"].update(type="wilsen"),
        "two of one": lambda job: job["operator"].update(kappa=0.1),
        "none of one": lambda job: job["operator"].pop("mass"),
        "odd extent": lambda job: job["gauge"].update(dims=[4, 4, 4, 7]),
        "three extents": lambda job: job["gauge"].update(dims=[4, 4, 4]),
        "missing": lambda job: job["run"][0].pop("beta"),
        "missing because of another": lambda job: job["gauge"].pop("dims"),
        "useless": lambda job: job["gauge"].update(epsilon=0.1),
        "useless with another": lambda job: job["gauge"].update(verify_checksum=True),
        "an unknown task": lambda job: job["run"].append({"task": "measure"}),
        "no list": lambda job: job.update(run={"task": "generate"}),
        "nothing to do": lambda job: (job.pop("gauge"), job.pop("run")),
    }

    def test_wrong_jobs(self):
        """The schema and the program refuse them."""
        for name, change in self.WRONG.items():
            job = hadrons()
            change(job)
            self.assertNotEqual(self.problems(job), [], name)
            self.assertEqual(self.call("check", self.write_job(job)).returncode, 1, name)

    VALUES = [0, 1, 2, -1, 0.5, "half", "double", "auto", True, None, [], {}, [1], "file.lime", 12, 1e-9, "reliable", "uniform"]

    def changed(self, draw):
        """A job with a key that is missing, has another value, or stands elsewhere, too."""
        job = JOBS[draw.choice(sorted(JOBS))]()
        for _ in range(draw.choice((1, 1, 2))):
            if not job:
                break
            path, value = draw.choice(places(job)[1:])
            where = parent(job, path)
            kind = draw.randrange(3)
            if kind == 0:
                del where[path[-1]]
            elif kind == 1:
                where[path[-1]] = draw.choice(self.VALUES)
            else:
                other = draw.choice([tree for _, tree in places(job) if isinstance(tree, dict)])
                other[str(path[-1])] = copy.deepcopy(value)
        return job

    def test_what_the_program_takes(self):
        """The schema takes it, too."""
        draw, taken = random.Random(harness.SEED), 0
        for _ in range(150):
            job = self.changed(draw)
            if self.call("check", self.write_job(job), "--backend", "cpu").returncode == 0:
                taken += 1
                self.assertEqual(self.problems(job), [], json.dumps(job))
        self.assertGreater(taken, 5)

    def test_defaults_are_values(self):
        found = [tree for _, tree in places(self.schema) if isinstance(tree, dict) and "default" in tree
                 and "description" in tree]
        self.assertGreater(len(found), 100)
        for tree in found:
            problems = list(jsonschema.Draft202012Validator(tree).iter_errors(tree["default"]))
            self.assertEqual([problem.message for problem in problems], [], tree)


class Reference(ProgramTest):
    def test_the_page_is_that_of_the_program(self):
        path = os.path.join(ROOT, "input/REFERENCE.md")
        with open(path) as stream:
            self.assertEqual(stream.read(), self.call("help", "--reference").stdout,
                             "write it again: build/quadrille help --reference > input/REFERENCE.md")

    def test_all_words_are_on_it(self):
        page = self.call("help", "--reference").stdout
        schema = json.loads(self.call("schema").stdout)
        for path, tree in places(schema):
            if isinstance(tree, dict) and path and path[-1] == "properties":
                for name in tree:
                    self.assertRegex(page, rf"[`.\[]{re.escape(name)}[`.\[]|\b{re.escape(name)}: |\n\| \[?{re.escape(name)}\b", path)
        for line in page.splitlines():
            if line.startswith("|"):
                self.assertIn(len(re.findall(r"(?<!\\)\|", line)), (3, 5), line)
            else:
                self.assertLessEqual(len(line), 120)

    def test_lists(self):
        for topic, words in (("commands", ["report", "convert"]), ("tasks", ["propagator", "generate"]),
                             ("operators", ["twisted_clover"]), ("solvers", ["bicgstab_l", "task solver_study"]),
                             ("sources", ["wall"]), ("formats", ["nersc", "openqcd"]), ("milc", ["32 bits"])):
            process = self.call("help", topic)
            self.assertEqual(process.returncode, 0, process.stderr)
            for word in words:
                self.assertIn(word, process.stdout)


if __name__ == "__main__":
    sys.exit(harness.main(sys.modules[__name__]))
