#!/usr/bin/env python3
"""The task ri_mp2 on files of another program (QUADRILLE_DATA/rimp2).

    QUADRILLE_PROGRAM=build/quadrille ri_mp2_tests.py [CLASS...]
"""

import os
import shutil
import sys
import unittest

import harness
from harness import ProgramTest

FOLDER = os.path.join(os.environ["QUADRILLE_DATA"], "rimp2") if os.environ.get("QUADRILLE_DATA") else None


@unittest.skipUnless(FOLDER, harness.WITHOUT_DATA)
class RiMp2(ProgramTest):
    def energy(self, name, **more):
        job = {"run": [{"task": "ri_mp2", "file": os.path.join(FOLDER, name + ".h5"), **more}]}
        return self.run_job(job, "--force")["ri_mp2"]

    def test_energies_are_those_of_the_other_program(self):
        for name in ("water", "butane", "octane"):
            with self.subTest(name=name):
                found = self.energy(name)
                self.assertLess(abs(found["e_corr"] - found["of_file"]), 1e-9)
                self.assertEqual(found["deviation"], found["e_corr"] - found["of_file"])
                self.assertAlmostEqual(found["e_corr"], found["opposite_spin"] + found["same_spin"], delta=1e-14)
                for step in ("step3", "step4"):
                    self.assertEqual(found[step]["form"], "double")
                    self.assertGreater(found[step]["gflops"], 0)

    def test_the_report_names_the_energies(self):
        found = self.energy("water")
        process = self.call("report", self.path("out"))
        self.assertEqual(process.returncode, 0, process.stderr)
        with open(self.path("out/report/report.md")) as stream:
            said = stream.read()
        self.assertIn(f"| correlation energy, Hartree | {found['e_corr']:.12g} |", said)
        self.assertIn(f"| reference energy (file), Hartree | {found['of_file']:.12g} |", said)
        self.assertIn(f"| deviation from it, kcal/mol | {found['deviation'] * 627.5094740631:.4g} |", said)
        self.assertNotIn("of_file", said)

    def test_small_memory(self):
        self.assertLess(abs(self.energy("butane", memory=1)["deviation"]), 1e-9)

    def test_single_precision_is_worse_and_mixed_precision_is_not(self):
        for name in ("water", "butane"):
            with self.subTest(name=name):
                single = abs(self.energy(name, precision="single")["deviation"])
                self.assertTrue(1e-9 < single < 1e-4, single)
                mixed = self.energy(name, precision="mgemm", delta=0.01, always_split=True)
                self.assertIn("mgemm", mixed["step4"]["form"])
                self.assertLess(abs(mixed["deviation"]), 0.1 * single)

    def test_automatic_cutoffs_keep_their_targets(self):
        for name in ("water", "butane", "octane"):
            for target in (1e-6, 1e-7, 1e-8):
                with self.subTest(name=name, target=target):
                    found = self.energy(name, precision="mgemm", target_error=target, always_split=True)
                    self.assertLess(abs(found["deviation"]), target)
                    step = found["step4"]
                    if "double" in step["form"]:  # what single precision keeps depends on the processor
                        self.assertEqual(target, 1e-8)
                        continue
                    self.assertLessEqual(step["energy_error"], target)
                    self.assertGreater(step["energy_error"], abs(found["deviation"]))

    def test_a_certain_target_is_kept_too(self):
        found = self.energy("water", precision="mgemm", target_error=1e-6, assurance="certain", always_split=True)
        self.assertLess(abs(found["deviation"]), 1e-6)

    def test_small_systems_are_not_split(self):
        form = self.energy("water", precision="mgemm")["step4"]["form"]
        self.assertRegex(form, "double: (no cutoff|products of .* too small to split)")

    def test_bad_input(self):
        water = os.path.join(FOLDER, "water.h5")
        for job, pattern in (
            ({"file": "none.h5"}, r"job.yaml:\d+:\d+: 'file': .*none.h5: no such file"),
            ({"file": "text.h5"}, "text.h5: cannot be opened as an HDF5 file"),
            ({"file": "half.h5"}, "half.h5"),
            ({"file": water, "delta": "much"}, r"job.yaml:\d+:\d+: 'delta' must be auto or a real number such as 0, got 'much'"),
            ({"file": water, "delta": -1}, r"'delta' must be >= 0, got -1"),
            ({"file": water, "target_error": 0}, r"'target_error' must be > 0"),
            ({"file": water, "memory": 0}, r"'memory' must be >= 1"),
            ({}, "needs exactly one of 'file', 'generated'; none is given"),
        ):
            with self.subTest(job=job):
                with open(self.path("text.h5"), "w") as stream:
                    stream.write("no HDF5")
                shutil.copyfile(water, self.path("half.h5"))
                os.truncate(self.path("half.h5"), os.path.getsize(water) // 2)
                process = self.call("check", self.write_job({"run": [{"task": "ri_mp2", **job}]}))
                self.assertEqual(process.returncode, 1)
                self.assertRegex(process.stderr, pattern)


if __name__ == "__main__":
    sys.exit(harness.main(sys.modules[__name__]))
