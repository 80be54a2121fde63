#!/usr/bin/env python3
"""Runs the cells of each notebook of input/python/notebooks, and the code of its README, in a folder of their own."""

import glob
import importlib.util
import json
import os
import re
import sys

from python_harness import PACKAGE

import harness

try:
    import matplotlib
except ImportError:
    matplotlib = None


class Notebooks(harness.ProgramTest):
    def run_cells(self, name, cells):
        """In one namespace, as a notebook does; what the last line of a cell gives is shown."""
        earlier = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, earlier)
        space = {"__name__": "__main__"}
        for number, cell in enumerate(cells):
            exec(compile(cell, f"{name}, cell {number}", "exec"), space)  # pylint: disable=exec-used
        return space

    def test_notebooks(self):
        if matplotlib is None:
            self.skipTest("matplotlib is not installed")
        matplotlib.use("Agg")
        found = sorted(glob.glob(os.path.join(PACKAGE, "notebooks", "*.ipynb")))
        self.assertEqual(len(found), 3)
        for path in found:
            with self.subTest(notebook=os.path.basename(path)), open(path, encoding="utf-8") as stream:
                cells = [cell for cell in json.load(stream)["cells"] if cell["cell_type"] == "code"]
                self.assertFalse(any(cell["outputs"] for cell in cells), "clear the outputs")
                space = self.run_cells(path, ["".join(cell["source"]) for cell in cells])
                if "fit" in space:
                    self.assertGreater(space["fit"].masses.value[0], 0)
                if "exact" in space:
                    self.assertLess(abs(space["energy"] - space["exact"]), 1e-4)
                    self.assertLess(abs(space["total"][-1] - space["total"][0]), 1)

    def code_of_the_readme(self):
        with open(os.path.join(PACKAGE, "README.md"), encoding="utf-8") as stream:
            return re.findall(r"```python\n(.*?)```", stream.read(), re.DOTALL)

    def test_the_readme(self):
        code = self.code_of_the_readme()
        first = code[0]
        self.assertEqual(len(code), 2)
        self.assertLessEqual(len(first.splitlines()), 15)
        small = self.run_cells("field", ["import quadrille as q\nq.gauge(start='weak', dims=[4, 4, 4, 8]).save('cfg.lime')"])
        self.assertIn("q", small)
        space = self.run_cells("README.md", [first.replace("mass=-0.79", "mass=0.3")])
        self.assertEqual(len(space["results"].correlator("baryons/nucleon")), 8)

    def test_the_ensemble_of_the_readme(self):
        if importlib.util.find_spec("h5py") is None:
            self.skipTest("h5py is not installed")
        self.run_job({
            "gauge": {"start": "hot", "dims": [4, 4, 4, 8]},
            "operator": {"type": "wilson", "kappa": 0.12, "boundary": ["periodic"] * 3 + ["antiperiodic"]},
            "solver": {"type": "bicgstab", "tolerance": 1e-9}, "ensemble": {"from": "generate"},
            "run": [{"task": "generate", "beta": 5.7, "thermalization": 5, "configurations": 10, "separation": 1, "save": "c_####.lime"},
                    {"task": "propagator", "source": {"type": "point", "site": [0, 0, 0, 0]}},
                    {"task": "mesons", "from": "propagator"}]}, "--threads", "1")
        os.rename(self.path("out"), self.path("ensemble.out"))
        second = self.code_of_the_readme()[1]
        changed = second.replace("window=(8, 16)", "window=(1, 4)").replace("c[8] / c[9]", "c[2] / c[3]")
        self.assertEqual(changed.count("(1, 4)") + changed.count("c[2]"), 2)
        space = self.run_cells("README.md", ["import quadrille as q", changed])
        self.assertEqual(space["C"].shape, (10, 8))


if __name__ == "__main__":
    sys.exit(harness.main(sys.modules[__name__]))
