#!/usr/bin/env python3
"""The task density_matrix: density matrices of matrices in files against numpy, and of water by CP2K.

    QUADRILLE_PROGRAM=build/quadrille density_matrix_tests.py [CLASS...]
"""

import itertools
import os
import re
import resource
import shutil
import subprocess
import sys
import unittest

import numpy as np

import harness
from block_dft_files import Insulator, read_elsi, write_cp2k, write_elsi
from harness import ProgramTest


class DensityMatrix(ProgramTest):
    def setUp(self):
        super().setUp()
        self.system = Insulator(np.random.default_rng(harness.SEED))
        write_elsi(self.path("h.csc"), self.system.h)
        write_elsi(self.path("s.csc"), self.system.s)
        with open(self.path("sizes"), "w") as stream:
            stream.write(" ".join(str(size) for size in self.system.sizes))

    def job(self, **more):
        task = {"task": "density_matrix", "hamiltonian": "h.csc", "overlap": "s.csc", "blocks": "sizes",
                "density": "p.csc", **more}
        return {"run": [{key: value for key, value in task.items() if value is not None}]}

    def density(self, **more):
        found = self.run_job(self.job(**more), "--force")["density_matrix"]
        return found, read_elsi(self.path("out/p.csc"))

    def test_methods_agree_with_numpy(self):
        for more in ({"mu": 0.0}, {"electrons": self.system.electrons},
                     {"electrons": self.system.electrons, "method": "trs4"},
                     {"electrons": self.system.electrons, "method": "dense"},
                     {"mu": 0.0, "blocks": {"size": 7}}, {"mu": 0.0, "blocks": None}, {"mu": 0.0, "order": 5}):
            with self.subTest(**more):
                found, p = self.density(eps=1e-9, compare=True, **more)
                self.assertTrue(found["converged"])
                self.assertLess(np.max(np.abs(p - self.system.p)), 1e-6)
                self.assertLess(abs(found["energy"] - self.system.energy), 1e-6)
                self.assertLess(abs(found["dense_energy"] - self.system.energy), 1e-10)
                self.assertLess(abs(found["electrons"] - self.system.electrons), 1e-6)
                self.assertLess(found["idempotency"], 1e-6)
                self.assertLess(found["commutation"], 1e-6)
                self.assertEqual(found["device_share"], None if more.get("method") == "dense" else 0)

    def test_errors_fall_with_eps(self):
        for method in ("sign", "trs4"):
            errors = []
            for eps in (1e-3, 1e-5, 1e-7):
                found, p = self.density(eps=eps, method=method, electrons=self.system.electrons)
                errors.append(np.linalg.norm(p - self.system.p))
            with self.subTest(method=method, errors=errors):
                self.assertEqual(errors, sorted(errors, reverse=True))
                self.assertLess(abs(found["energy"] - self.system.energy), 1e-4)

    def test_dense_levels(self):
        found, _ = self.density(method="dense", mu=0.0)
        levels = self.system.levels
        self.assertAlmostEqual(found["levels"]["highest_occupied"], levels[self.system.electrons - 1], delta=1e-10)
        self.assertAlmostEqual(found["levels"]["lowest_empty"], levels[self.system.electrons], delta=1e-10)

    def test_bad_input(self):
        n = len(self.system.h)
        skew = self.system.h.copy()
        skew[3, 4] += 1
        write_elsi(self.path("skew.csc"), skew)
        write_elsi(self.path("indefinite.csc"), self.system.s - 2 * np.eye(n))
        unknown = self.system.s.copy()
        unknown[7, 7] = np.nan
        write_elsi(self.path("unknown.csc"), unknown)
        with open(self.path("h.csc"), "rb") as stream:
            data = stream.read()
        with open(self.path("short.csc"), "wb") as stream:
            stream.write(data[:-5])
        with open(self.path("few"), "w") as stream:
            stream.write("2 3")
        write_cp2k(self.path("h.csr"), self.system.h)
        write_cp2k(self.path("short.csr"), self.system.s[:-1, :-1])
        for more, pattern in (
            ({}, "give either `mu` or `electrons`"),
            ({"mu": 0, "electrons": 3}, "electrons"),
            ({"mu": 0, "method": "trs4"}, r"job.yaml:\d+:\d+: 'mu': trs4 needs"),
            ({"mu": 0, "method": "canonical"}, r"job.yaml:\d+:\d+: 'mu': canonical needs"),
            ({"electrons": n}, rf"job.yaml:\d+:\d+: 'electrons': must be less than the number of orbitals, {n}"),
            ({"electrons": 0}, r"'electrons' must be > 0"),
            ({"electrons": 15.5}, r"job.yaml:\d+:\d+: 'electrons': 15.5 electrons: their number must be whole"),
            ({"electrons": 0.5, "method": "dense"}, r"'electrons': 0.5 electrons: their number must be whole"),
            ({"mu": 0, "eps": 0}, r"'eps' must be > 0"),
            ({"mu": -50}, "mu = -50 is outside the spectrum: none of the"),
            ({"mu": 50, "method": "dense"}, "mu = 50 is outside the spectrum: all of the"),
            ({"mu": 0, "hamiltonian": "skew.csc"}, r"skew.csc: the matrix must be symmetric: elements \[4, 5\] and \[5, 4\]"),
            ({"mu": 0, "overlap": "indefinite.csc"}, "S is not positive definite"),
            ({"mu": 0, "overlap": "unknown.csc"}, r"unknown.csc: byte \d+: element \d+ in row 8 is nan: it must be finite"),
            ({"mu": 0, "hamiltonian": "short.csc"}, "short.csc.*nor a complete ELSI CSC"),
            ({"mu": 0, "blocks": "few"}, rf"'hamiltonian.file': has {n} rows, but the 2 blocks have 5"),
            ({"mu": 0, "hamiltonian": "h.csr", "overlap": None, "blocks": "few"}, rf"'hamiltonian.file': has {n} rows, but the 2 blocks have 5"),
            ({"mu": 0, "overlap": "short.csr"}, rf"'overlap.file': has {n - 1} rows, but the \d+ blocks have {n}"),
            ({"electrons": n, "hamiltonian": "h.csr", "blocks": None}, rf"'electrons': must be less than .* orbitals, {n}"),
        ):
            with self.subTest(**more):
                process = self.call("run", self.write_job(self.job(**more)), "--out", self.path("out"), "--force")
                self.assertEqual(process.returncode, 1, process.stderr)
                self.assertRegex(process.stderr, pattern)

    def test_dumps_of_cp2k_are_as_good_as_elsi(self):
        of_elsi, _ = self.density(mu=0.0)
        write_cp2k(self.path("h.csr"), self.system.h)
        write_cp2k(self.path("s.csr"), self.system.s)
        of_cp2k, _ = self.density(mu=0.0, hamiltonian="h.csr", overlap="s.csr")
        self.assertEqual(of_cp2k["energy"], of_elsi["energy"])

    def test_a_disk_that_is_too_full_for_hdf5(self):
        """Found when the file is to be written; an older one stays."""
        job = self.job(mu=0.0, density="p.h5")
        self.run_job(job)
        size = os.path.getsize(self.path("out/p.h5"))
        with open(self.path("out/p.h5"), "ab") as stream:
            stream.write(b"x")  # so that it is made again
        with open(self.path("out/p.h5"), "rb") as stream:
            before = stream.read()
        n = len(self.system.h)
        for limit in (harness.limit_file_size(size // 2), lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size // 2, size // 2))):
            process = self.call("run", self.write_job(job), "--out", self.path("out"), preexec=limit)
            self.assertEqual(process.returncode, 1, process.stderr)
            self.assertRegex(process.stderr, r"p.h5: cannot be written, as it needs (\d+) bytes: file too large")
            needed = int(re.search(r"needs (\d+) bytes", process.stderr)[1])
            self.assertGreaterEqual(needed, 8 * n * n)
            self.assertLessEqual(needed, size)
            with open(self.path("out/p.h5"), "rb") as stream:
                self.assertTrue(stream.read() == before)
            self.assertEqual([name for name in os.listdir(self.path("out")) if name.endswith(".part")], [])

    def test_an_iteration_that_does_not_converge_is_a_warning(self):
        results = self.run_job(self.job(mu=0.0, overlap=None, max_iterations=2), status=3)
        self.assertFalse(results["density_matrix"]["converged"])
        self.assertIn("has not converged", str(results["warnings"]))

    def test_one_of_many_is_a_warning(self):
        """A ring of atoms has two levels at 0: one of them is occupied with 20 electrons, both with 21."""
        ring = np.roll(np.eye(40), 1, axis=1)
        write_elsi(self.path("ring.csc"), -ring - ring.T)
        for electrons, many in ((20, True), (21, False)):
            results = self.run_job(self.job(hamiltonian="ring.csc", overlap=None, blocks={"size": 4}, method="dense",
                                            electrons=electrons), "--force")
            self.assertEqual("the density matrix is not unique" in str(results["warnings"]), many, results["warnings"])

    def test_good_ones_have_no_warning(self):
        for method, eps in itertools.product(("sign", "trs4", "canonical", "dense"), (1e-4, 1e-6, 1e-9)):
            with self.subTest(method=method, eps=eps):
                results = self.run_job(self.job(electrons=self.system.electrons, method=method, eps=eps), "--force")
                self.assertEqual(results["warnings"], [])



class HartreeFock(ProgramTest):
    """Matrices of PySCF in the folder that QUADRILLE_DATA names."""

    FOLDER = os.path.join(os.environ.get("QUADRILLE_DATA", ""), "density")

    @unittest.skipUnless("QUADRILLE_DATA" in os.environ and os.path.isdir(FOLDER), "QUADRILLE_DATA names no such files")
    def test_what_has_no_warning_is_right(self):
        for (name, electrons), method, eps in itertools.product((("h60", 30), ("w8dz", 40), ("w8aug", 40)), ("sign", "trs4"),
                                                                (1e-4, 1e-6)):
            with self.subTest(name=name, method=method, eps=eps):
                file, blocks = (os.path.join(self.FOLDER, name + suffix) for suffix in (".h5", ".blocks"))
                with open(blocks) as stream:
                    atoms = len(stream.read().split())
                task = {"task": "density_matrix", "hamiltonian": file, "overlap": file, "blocks": blocks,
                        "electrons": electrons, "method": method, "eps": eps, "compare": True}
                results = self.run_job({"run": [task]}, "--force")
                found = results["density_matrix"]
                off = abs(found["electrons"] - electrons) > 10 * eps * electrons or found["idempotency"] > 100 * eps
                self.assertEqual("the density matrix is inaccurate" in str(results["warnings"]), off, results["warnings"])
                if not off:
                    self.assertLess(abs(found["energy"] - found["dense_energy"]) / atoms, 10 * eps)


class WaterBox(ProgramTest):
    """H and S of a box of water by CP2K: every method and eps against eigenvectors. QUADRILLE_WATER_BOX: molecules."""

    MOLECULES, ORBITALS = int(os.environ.get("QUADRILLE_WATER_BOX", "8")), {"SZV": (4, 1, 1), "DZVP": (13, 5, 5)}
    BASIS = "SZV" if MOLECULES <= 8 else "DZVP"

    def atoms(self):
        """Molecules of random orientation on a cubic lattice at 1 g/cm^3 (lengths in angstrom), and the length of the box."""
        rng = np.random.default_rng(harness.SEED)
        per_side = int(np.ceil(self.MOLECULES ** (1 / 3) - 1e-9))
        length = (29.97 * self.MOLECULES) ** (1 / 3)
        bond, half_angle = 0.9572, np.deg2rad(104.52 / 2)
        found = []
        for place in list(itertools.product(range(per_side), repeat=3))[:self.MOLECULES]:
            oxygen = (np.array(place) + 0.5) * length / per_side + rng.uniform(-0.1, 0.1, 3)
            axes, _ = np.linalg.qr(rng.normal(size=(3, 3)))
            along, across = bond * np.cos(half_angle) * axes[0], bond * np.sin(half_angle) * axes[1]
            found += [("O", oxygen), ("H", oxygen + along + across), ("H", oxygen + along - across)]
        return found, length

    def write_input(self):
        atoms, length = self.atoms()
        coordinates = "\n".join(f"{name} {x:.8f} {y:.8f} {z:.8f}" for name, (x, y, z) in atoms)
        kinds = "\n".join(f"&KIND {name}\nBASIS_SET {self.BASIS}-MOLOPT-SR-GTH\nPOTENTIAL GTH-PBE-q{charge}\n&END"
                          for name, charge in (("O", 6), ("H", 1)))
        printed = "\n".join(f"&{name}_CSR_WRITE ON\nBINARY\nUPPER_TRIANGULAR\n&END" for name in ("KS", "S"))
        with open(self.path("water.inp"), "w") as stream:
            stream.write(f"""&GLOBAL
PROJECT water
RUN_TYPE ENERGY
&END
&FORCE_EVAL
METHOD QS
&DFT
BASIS_SET_FILE_NAME BASIS_MOLOPT
POTENTIAL_FILE_NAME GTH_POTENTIALS
&MGRID
CUTOFF {280 if self.BASIS == "DZVP" else 120}
&END
&QS
EPS_DEFAULT 1.0E-12
&END
&SCF
MAX_SCF {40 if self.BASIS == "DZVP" else 4}
EPS_SCF 1.0E-6
&OT
MINIMIZER DIIS
PRECONDITIONER FULL_SINGLE_INVERSE
&END
&END
&XC
&XC_FUNCTIONAL PBE
&END
&END
&PRINT
{printed}
&END
&END
&SUBSYS
&CELL
ABC {length} {length} {length}
&END
&COORD
{coordinates}
&END
{kinds}
&END
&END
""")
        with open(self.path("sizes"), "w") as stream:
            stream.write(" ".join(str(size) for size in self.ORBITALS[self.BASIS] * self.MOLECULES))

    def setUp(self):
        super().setUp()
        program = shutil.which("cp2k.psmp") or shutil.which("cp2k")
        if program is None:
            self.skipTest("there is no CP2K")
        self.write_input()
        subprocess.run([program, "-i", "water.inp", "-o", "water.log"], cwd=self.folder, check=True, timeout=1800,
                       env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True)

    def test_errors_are_below_eps(self):
        for method in ("sign", "trs4"):
            errors = []
            for eps in (1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9):
                task = {"task": "density_matrix", "hamiltonian": "water-KS_SPIN_1-1_0.csr",
                        "overlap": "water-S_SPIN_1-1_0.csr", "blocks": "sizes", "electrons": 4 * self.MOLECULES,
                        "method": method, "eps": eps, "compare": True}
                found = self.run_job({"run": [task]}, "--force")["density_matrix"]
                error = abs(found["energy"] - found["dense_energy"]) / (3 * self.MOLECULES)
                print(f"{method} eps {eps:.0e}: {error:.1e} an atom, idempotency {found['idempotency']:.1e}, "
                      f"commutation {found['commutation']:.1e}, occupation {found['occupation']:.2f}")
                with self.subTest(method=method, eps=eps):
                    self.assertTrue(found["converged"])
                    self.assertLess(error, eps)
                    self.assertLess(found["idempotency"], 100 * eps)
                errors.append(error)
            with self.subTest(method=method, errors=errors):
                self.assertLess(errors[5], 1e-3 * errors[0])


if __name__ == "__main__":
    sys.exit(harness.main(sys.modules[__name__]))
