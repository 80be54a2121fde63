#!/usr/bin/env python3
"""Runs the cells of each notebook of input/python/notebooks, and the code of its README, in a folder of their own."""

import glob
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

    def test_the_readme(self):
        with open(os.path.join(PACKAGE, "README.md"), encoding="utf-8") as stream:
            code = re.findall(r"```python\n(.*?)```", stream.read(), re.DOTALL)
        first = code[0]
        self.assertEqual(len(code), 2)
        self.assertLessEqual(len(first.splitlines()), 15)
        small = self.run_cells("field", ["import quadrille as q\nq.gauge(start='weak', dims=[4, 4, 4, 8]).save('cfg.lime')"])
        self.assertIn("q", small)
        space = self.run_cells("README.md", [first.replace("mass=-0.79", "mass=0.3")])
        self.assertEqual(len(space["results"].correlator("baryons/nucleon")), 8)


if __name__ == "__main__":
    sys.exit(harness.main(sys.modules[__name__]))
