#!/usr/bin/env python3
"""Every job in input/examples, made smaller by `--set`, after the jobs that make its input.

    QUADRILLE_PROGRAM=build/quadrille example_tests.py [CLASS...]
"""

import glob
import os
import re
import shutil
import sys
import unittest

import harness
from harness import ProgramTest

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../input/examples")
SMALL, LONG = "[4, 4, 4, 8]", "[4, 4, 4, 32]"
STUDY = ("run[0].masses=[-0.3]", "run[0].deltas=[0.1]", "run[0].source.count=1")
MODEL = "{atoms: 81, block_sizes: [2, 3, 5], coupling: 4, polarity: 0.2, seed: 7}"
ELECTRONS = 159  # of MODEL
SYSTEM = "run[0].generated={occupied: 3, virtual: 8, auxiliary: 24}"

# What makes each example a small one. Quarks are heavy, and the names of outputs stay, which other examples read.
REDUCED = {
    "bicgstab_beta6.0": (*STUDY, "run[1].masses=[-0.3]", "run[1].source.count=1"),
    "bicgstab_rough": (f"gauge.dims={SMALL}", "run[1].masses=[-0.3]", "run[1].source.count=1"),
    "bicgstab_weak": (f"gauge.dims={SMALL}", "run[0].masses=[0.1]", "run[0].source.count=1"),
    "block_multiply": ("run[0].m=10", "run[1].m=10", "run[2].m=3", "run[3].m=10"),
    "clover_beta6.0": ("run[0].masses=[0.1]", "run[0].source.count=1"),
    "critical_mass": tuple(f"run[{2 * k}].operator.mass={0.2 + 0.1 * k}" for k in range(3)),
    "density_matrix": (f"run[0].electrons={ELECTRONS}",),
    "eigen": ("run[0].vectors=all",),
    "generate": (f"gauge.dims={SMALL}",),
    "generate_16": (f"gauge.dims={LONG}",),
    "generate_32": (f"gauge.dims={SMALL}",),
    "matrix_product": (),
    "matrix_product_study": ("run[0].sizes=[60]", "run[0].repeats=1"),
    "md_conservation": tuple(f"run[{k}].{what}" for k in range(10) for what in ("steps=20", "every=10")),
    "matrix_function": tuple(f"run[{k}].model.atoms=64" for k in range(4)),
    "md_forces": ("run[0].system.particles=300", "run[1].system.particles=512", "run[1].repeats=1"),
    "md_run": ("run[0].system.particles=864", "run[0].steps=20", "run[0].every=10", "run[0].trajectory_every=10"),
    "propagator": ("operator.kappa=0.13",),
    "ri_mp2": (SYSTEM,),
    "ri_mp2_study": (SYSTEM, "run[0].repeats=1"),
    "scf_model": (f"run[0].model={MODEL}", f"run[1].model={MODEL}"),
    "shifted_solves": ("operator.kappa=0.125", "run[0].source.count=1"),
    "solver_study": STUDY,
    "three_point": ("operator.kappa=0.13", "run[2].source.time=3", "run[4].source.time=3"),
}


def text_of(name):
    with open(os.path.join(FOLDER, name)) as stream:
        return stream.read()


def needs_of(name):
    """The jobs that make the input of this one, as its comments say."""
    return set(re.findall(r"# made by: quadrille run (\S+)\.yaml", text_of(name + ".yaml")))


def in_order():
    """The examples, each after what makes its input."""
    done, left = [], sorted(REDUCED)
    while left:
        ready = [name for name in left if needs_of(name) <= set(done)]
        if not ready:
            raise ValueError(f"examples need each other, or what is not there: {left}")
        done += ready
        left = [name for name in left if name not in ready]
    return done


def maps_in(tree):
    """All maps of results."""
    if isinstance(tree, dict):
        yield tree
    for inside in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        yield from maps_in(inside)


class Examples(ProgramTest):
    def setUp(self):
        super().setUp()
        self.assertEqual({os.path.basename(path)[:-5] for path in glob.glob(os.path.join(FOLDER, "*.yaml"))}, set(REDUCED),
                         "REDUCED above has an entry for each example")
        for name in REDUCED:
            shutil.copy(os.path.join(FOLDER, name + ".yaml"), self.folder)

    def test_all_run(self):
        results = {}
        for name in in_order():
            with self.subTest(example=name):
                self.assertEqual(self.call("check", name + ".yaml").returncode, 0)
                results[name] = self.reduced(name)
                self.assert_good(results[name])
                for needed in needs_of(name):
                    self.assertIn(f"\n#   quadrille run {needed}.yaml ", text_of(name + ".yaml"), "its top says so")
        self.assert_one_physics(results)

    def reduced(self, name):
        sets = [word for change in REDUCED[name] for word in ("--set", change)]
        process = self.call("run", name + ".yaml", *sets)
        self.assertEqual(process.returncode, 0, process.stderr)
        return self.read_results(name + ".out")

    def assert_good(self, results):
        """What must hold of any: no warnings, which nan would give, too; solves and loops that converged; rows of studies."""
        self.assertEqual(results["warnings"], [])
        maps = [one for block in results if block != "job" for one in maps_in({block: results[block]})]
        known = {name for one in maps for name in (*one, one.get("task"))}
        self.assertLessEqual({task["name"] for task in results["job"]["run"]}, known)
        for one in maps:
            self.assertIn(one.get("converged", True), (True, 1), one)
            if "residual" in one and "tolerance" in one:
                self.assertLessEqual(one["residual"], one["tolerance"])

    def assert_one_physics(self, results):
        """Examples that work on the same matrices agree."""
        levels = results["eigen"]["eigen"]["spectrum"]["value"]
        density = results["density_matrix"]["density_matrix"]
        self.assertAlmostEqual(density["energy"], sum(levels[:ELECTRONS]), delta=1e-3)
        scf = results["scf_model"]
        self.assertAlmostEqual(scf["mixing"]["energy"], scf["curvy"]["energy"], delta=1e-4)
        self.assertAlmostEqual(scf["mixing"]["electrons"], ELECTRONS, delta=1e-3)

    def test_a_missing_input_names_its_job(self):
        for name in REDUCED:
            with self.subTest(example=name):
                process = self.call("check", name + ".yaml")
                self.assertEqual(process.returncode, 1 if needs_of(name) else 0, process.stderr)
                for needed in needs_of(name):
                    self.assertRegex(process.stderr, rf"no such file \(made by: quadrille run {needed}\.yaml")


class ExampleIndex(unittest.TestCase):
    def test_every_example_has_its_row(self):
        rows = {}
        for line in text_of("README.md").splitlines():
            cells = [cell.strip() for cell in line.split("|")]
            if match := re.match(r"\[(\S+)\]\(\1\.yaml\)$", cells[1] if len(cells) > 1 else ""):
                rows[match[1]] = cells[2:-1]
        self.assertEqual(set(rows), set(REDUCED))
        for name, (shows, needs, seconds) in rows.items():
            self.assertTrue(shows and seconds, name)
            self.assertEqual(set(re.findall(r"\w+", needs)), needs_of(name), name)


if __name__ == "__main__":
    sys.exit(harness.main(sys.modules[__name__]))
