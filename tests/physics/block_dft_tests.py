#!/usr/bin/env python3
"""The tasks block_multiply, density_matrix and scf_model: density matrices of files in ELSI's CSC format against numpy.

    QUADRILLE_PROGRAM=build/quadrille block_dft_tests.py [CLASS...]
"""

import itertools
import os
import re
import resource
import shutil
import struct
import subprocess
import sys

import numpy as np

import harness
from harness import ProgramTest


def write_elsi(path, matrix):
    """A dense symmetric matrix as ELSI CSC: a head of 16 integers, column starts, row indices, values, all from 1."""
    n = len(matrix)
    starts, rows, values = [], [], []
    for column in range(n):
        starts.append(len(rows) + 1)
        for row in np.flatnonzero(matrix[:, column]):
            rows.append(row + 1)
            values.append(matrix[row, column])
    with open(path, "wb") as stream:
        stream.write(struct.pack("<16q", 170915, -910910, 0, n, 0, len(rows), *[0] * 10))
        stream.write(struct.pack(f"<{n}q", *starts))
        stream.write(struct.pack(f"<{len(rows)}i", *rows))
        stream.write(struct.pack(f"<{len(rows)}d", *values))


def read_elsi(path):
    with open(path, "rb") as stream:
        data = stream.read()
    head = struct.unpack_from("<16q", data)
    n, count = head[3], head[5]
    starts = list(struct.unpack_from(f"<{n}q", data, 128)) + [count + 1]
    rows = struct.unpack_from(f"<{count}i", data, 128 + 8 * n)
    values = struct.unpack_from(f"<{count}d", data, 128 + 8 * n + 4 * count)
    matrix = np.zeros((n, n))
    for column in range(n):
        for k in range(starts[column] - 1, starts[column + 1] - 1):
            matrix[rows[k] - 1, column] = values[k]
    return matrix


def write_cp2k(path, matrix):
    """A dense matrix as CP2K dumps it as text: row, column, value, from 1."""
    with open(path, "w") as stream:
        for row, column in np.argwhere(matrix):
            stream.write(f"{row + 1:8d}{column + 1:8d} {matrix[row, column]:.17e}\n")


class Insulator:
    """A chain of atoms with random couplings that fall off, a gap around 0, and an overlap that is not the identity."""

    def __init__(self, rng, atoms=40):
        self.sizes = rng.choice([2, 3, 5], atoms)
        atom = np.repeat(np.arange(atoms), self.sizes)
        n = len(atom)
        distance = np.abs(atom[:, None] - atom[None, :])
        fall = np.where((distance > 0) & (distance < 8), np.exp(-1.5 * distance), 0)

        def couplings(radius):
            matrix = rng.uniform(-1, 1, (n, n)) * fall
            matrix += matrix.T
            return matrix * radius / np.abs(matrix).sum(axis=1).max()

        self.h = couplings(0.5) + np.diag(np.where(np.arange(n) % 2 == 0, -1.0, 1.0))
        self.s = couplings(0.4) + np.eye(n)
        lower = np.linalg.inv(np.linalg.cholesky(self.s))
        self.levels, vectors = np.linalg.eigh(lower @ self.h @ lower.T)
        self.electrons = int(np.sum(self.levels < 0))
        occupied = lower.T @ vectors[:, :self.electrons]
        self.p = occupied @ occupied.T
        self.energy = float(np.sum(self.p * self.h))


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
                found, _ = self.density(eps=eps, method=method, electrons=self.system.electrons)
                errors.append(abs(found["energy"] - self.system.energy))
            with self.subTest(method=method, errors=errors):
                self.assertLess(errors[-1], min(errors[:-1]))
                self.assertLess(errors[-1], 1e-4)

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
            ({"electrons": n}, rf"job.yaml:\d+:\d+: 'electrons': must be less than the number of orbitals, {n}"),
            ({"electrons": 0}, r"'electrons' must be > 0"),
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
        with open(self.path("out/p.h5"), "rb") as stream:
            before = stream.read()
        n = len(self.system.h)
        for limit in (harness.limit_file_size(size // 2), lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size // 2, size // 2))):
            process = self.call("run", self.write_job(job), "--out", self.path("out"), "--force", preexec=limit)
            self.assertEqual(process.returncode, 1, process.stderr)
            self.assertRegex(process.stderr, r"p.h5: cannot be written, as it needs (\d+) bytes: file too large")
            needed = int(re.search(r"needs (\d+) bytes", process.stderr)[1])
            self.assertGreaterEqual(needed, 8 * n * n)
            self.assertLessEqual(needed, size)
            with open(self.path("out/p.h5"), "rb") as stream:
                self.assertTrue(stream.read() == before)
            self.assertEqual([name for name in os.listdir(self.path("out")) if name.endswith(".part")], [])

    def test_an_iteration_that_does_not_converge_is_a_warning(self):
        results = self.run_job(self.job(mu=0.0, overlap=None, max_iterations=2))
        self.assertFalse(results["density_matrix"]["converged"])
        self.assertIn("has not converged", str(results["warnings"]))


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


class ScfModel(ProgramTest):
    """A chain whose atoms are one apart, with charges that interact along it."""

    HUBBARD, SCREENING = 2.0, 1.5

    def setUp(self):
        super().setUp()
        rng = np.random.default_rng(harness.SEED)
        self.solution = None
        while self.solution is None:  # some oscillate with this mixing
            self.system = Insulator(rng, atoms=20)
            sizes = self.system.sizes
            self.neutral = self.system.electrons * sizes / sizes.sum() + 0.05 * np.where(np.arange(len(sizes)) % 2, 1, -1)
            self.solution = self.solve()
        write_elsi(self.path("h.csc"), self.system.h)
        write_elsi(self.path("s.csc"), self.system.s)
        np.savetxt(self.path("sizes"), sizes, fmt="%d")
        np.savetxt(self.path("neutral"), self.neutral)
        np.savetxt(self.path("positions"), [[atom, 0.5, 0] for atom in range(len(sizes))])

    def solve(self):
        """Energy and charges of the same by eigenvectors; None where the loop does not converge."""
        system = self.system
        atoms = len(system.sizes)
        atom = np.repeat(np.arange(atoms), system.sizes)
        distance = np.abs(np.subtract.outer(np.arange(atoms), np.arange(atoms)))
        gamma = np.exp(-distance / self.SCREENING) / np.sqrt(distance**2 + self.HUBBARD**-2)
        lower = np.linalg.inv(np.linalg.cholesky(system.s))
        charges = self.neutral.copy()
        for _ in range(150):
            v = (gamma @ (charges - self.neutral))[atom]
            h = system.h + system.s * (v[:, None] + v[None, :]) / 2
            _, vectors = np.linalg.eigh(lower @ h @ lower.T)
            occupied = lower.T @ vectors[:, :system.electrons]
            p = occupied @ occupied.T
            found = np.bincount(atom, np.sum(p * system.s, axis=1))
            if np.max(np.abs(found - charges)) < 1e-13:
                break
            charges += 0.3 * (found - charges)
        else:
            return None
        moved = charges - self.neutral
        return float(np.sum(p * system.h) + moved @ gamma @ moved / 2), charges, p

    def job(self, **more):
        task = {"task": "scf_model", "hamiltonian": "h.csc", "overlap": "s.csc", "blocks": "sizes", "neutral": "neutral",
                "positions": "positions", "electrons": self.system.electrons, "hubbard": self.HUBBARD,
                "screening": self.SCREENING, "eps": 1e-9, "eps_scf": 1e-11, "charges": "q.txt", "density": "p.csc", **more}
        return {"run": [{key: value for key, value in task.items() if value is not None}]}

    def test_methods_agree_with_numpy(self):
        energy, charges, p = self.solution
        self.assertGreater(np.max(np.abs(charges - self.neutral)), 0.01)
        for more in ({}, {"method": "sign", "order": 3}, {"method": "dense"}, {"method": "curvy"},
                     {"method": "curvy", "direction": "steepest_descent", "max_scf": 500}):
            with self.subTest(**more):
                found = self.run_job(self.job(compare=True, **more), "--force")["scf_model"]
                self.assertTrue(found["converged"])
                self.assertAlmostEqual(found["energy"], energy, delta=1e-6)
                self.assertAlmostEqual(found["dense_energy"], energy, delta=1e-9)
                self.assertLess(np.max(np.abs(np.loadtxt(self.path("out/q.txt")) - charges)), 1e-4)
                self.assertLess(np.max(np.abs(read_elsi(self.path("out/p.csc")) - p)), 1e-3)
                self.assertLess(found["idempotency"], 1e-6)
                self.assertLess(found["commutation"], 1e-3)

    def test_a_model_needs_no_files(self):
        found = self.run_job({"run": [{"task": "scf_model", "model": 30, "compare": True, "check": False}]})["scf_model"]
        self.assertTrue(found["converged"])
        self.assertLess(found["energy_error_per_block"], 1e-4)
        self.assertNotIn("idempotency", found)
        self.assertEqual(found["device_share"], 0)
        changes = [abs(one["change"]) for one in found["iterations"][1:]]
        self.assertLess(changes[-1], 1e-7 * found["electrons"])

    def test_eigenvectors_that_do_not_fit_are_refused_at_once(self):
        for more in ({"method": "dense"}, {"compare": True}):
            with self.subTest(**more):
                task = {"task": "scf_model", "model": {"atoms": 10**6, "block_sizes": [5]}, **more}
                process = self.call("run", self.write_job({"run": [task]}), "--out", self.path("out"), "--force")
                self.assertEqual(process.returncode, 1, process.stderr)
                self.assertRegex(process.stderr, "not enough memory: method dense, which computes all eigenvectors of 5000000 "
                                                 "orbitals on one rank, needs 1.1 PiB, .* are free")

    def test_bad_input(self):
        with open(self.path("short"), "w") as stream:
            stream.write("1 2\n")
        with open(self.path("h.csc"), "rb") as stream:
            data = stream.read()
        with open(self.path("short.csc"), "wb") as stream:
            stream.write(data[:-9])
        n = len(self.system.h)
        write_elsi(self.path("indefinite.csc"), self.system.s - 2 * np.eye(n))
        singular = np.eye(n)
        singular[0, 1] = singular[1, 0] = 1
        write_elsi(self.path("singular.csc"), singular)
        for more, pattern in (
            ({"model": 8}, "model"),
            ({"hamiltonian": None, "overlap": None, "blocks": None, "positions": None}, "give either `model` or `hamiltonian`"),
            ({"electrons": None}, "matrices from files need `electrons`"),
            ({"electrons": n}, rf"'electrons': must be less than the number of orbitals, {n}"),
            ({"positions": None}, r"'screening': needs `positions`"),
            ({"positions": "short"}, "short: has 2 numbers, but x, y, z of 20 atoms need 60"),
            ({"neutral": "short"}, "short: has 2 numbers, but the charges of 20 neutral atoms need 20"),
            ({"cell": {"x": -1}}, r"'cell.x' must be >= 0"),
            ({"mixing": 0}, r"'mixing' must be > 0"),
            ({"mixing": 0.5, "method": "curvy"}, "'mixing'"),
            ({"eps_scf": 0}, r"'eps_scf' must be > 0"),
            ({"order": 6}, "'order'"),
            ({"hamiltonian": "short.csc"}, "short.csc.*nor a complete ELSI CSC"),
            ({"overlap": "indefinite.csc"}, "S is not positive definite"),
            ({"overlap": "singular.csc"}, "S is not positive definite, or too ill-conditioned"),
            ({"hubbard": 60, "mixing": 1, "method": "dense"}, "the self-consistent loop oscillates: .* curvy steps"),
        ):
            with self.subTest(**more):
                process = self.call("run", self.write_job(self.job(**more)), "--out", self.path("out"), "--force")
                self.assertEqual(process.returncode, 1, process.stderr)
                self.assertRegex(process.stderr, pattern)

    def test_a_loop_that_is_not_done_is_a_warning(self):
        results = self.run_job(self.job(max_scf=2))
        self.assertFalse(results["scf_model"]["converged"])
        self.assertIn("has not converged after 2 iterations", str(results["warnings"]))


class BlockMultiply(ProgramTest):
    def rows(self, **more):
        job = {"run": [{"task": "block_multiply", "m": 12, "repeats": 2, **more}]}
        return self.run_job(job, "--force")["block_products"]["block_multiply"]["rows"]

    def test_flops_are_those_of_dense_products_when_all_blocks_are_there(self):
        row, = self.rows(occupations=[1], block_sizes=[5], k=7, n=3, dense=True)
        self.assertEqual(row["flops"], 2 * 60 * 35 * 15)
        self.assertEqual((row["rows"], row["inner"], row["columns"]), (60, 35, 15))
        self.assertEqual(row["products"], 12 * 7 * 3)
        self.assertGreater(row["dense_seconds"], 0)
        self.assertAlmostEqual(row["flops_per_byte"], 2 * 125 / (8 * 50))

    def test_errors_stay_within_their_bound(self):
        for precision in ("double", "single"):
            for symmetric in (False, True):
                with self.subTest(precision=precision, symmetric=symmetric):
                    row, = self.rows(occupations=[0.8], block_sizes=[5, 13], decay=0.8, eps=1e-2, check=True, m=30,
                                     precision=precision, symmetric=symmetric, seed=harness.SEED)
                    self.assertGreater(row["skipped"], 0)
                    self.assertGreater(row["error"], 0)
                    self.assertLessEqual(row["error"], row["bound"] * (1 + 1e-6) + 1e-4 * (precision == "single"))

    def test_mixed_precision_stays_within_its_bound(self):
        double, mixed = self.rows(occupations=[0.8], block_sizes=[5, 13], decay=0.4, eps=1e-4, check=True, m=40,
                                  precision="mixed", seed=harness.SEED)
        self.assertEqual((double["precision"], mixed["precision"]), ("double", "mixed"))
        self.assertEqual(double["single_flops"], 0)
        self.assertGreater(mixed["single_flops"], 0.1 * mixed["flops"])
        self.assertGreater(mixed["bound"], double["bound"])
        self.assertNotEqual(mixed["error"], double["error"])
        for row in (double, mixed):
            self.assertLessEqual(row["error"], row["bound"] * (1 + 1e-6))

    def test_accumulated_products_have_the_blocks_of_both(self):
        first, = self.rows(occupations=[0.1], block_sizes=[5], seed=harness.SEED)
        second, = self.rows(occupations=[0.1], block_sizes=[5], seed=harness.SEED, accumulate=True)
        self.assertEqual(first["flops"], second["flops"])
        self.assertGreater(second["occupation_of_c"], first["occupation_of_c"])

    def test_a_transposed_factor_has_the_same_size(self):
        first, = self.rows(occupations=[1], block_sizes=[2, 7], n=5, k=9, seed=harness.SEED)
        second, = self.rows(occupations=[1], block_sizes=[2, 7], n=5, k=9, seed=harness.SEED, transpose=True)
        for name in ("rows", "inner", "columns", "flops", "products"):
            self.assertEqual(first[name], second[name])

    def test_small_blocks_that_are_all_there_are_multiplied_densely(self):
        row, = self.rows(occupations=[1], block_sizes=[5], m=60)
        self.assertTrue(row["dense"])
        row, = self.rows(occupations=[0.1], block_sizes=[5], m=60)
        self.assertFalse(row["dense"])

    def test_rows_of_all_drivers(self):
        rows = self.rows(drivers=["own", "blas", "automatic"], occupations=[0.2, 0.5], precision="both")
        self.assertEqual(len(rows), 12)
        self.assertEqual(len({(row["flops"], row["inner"]) for row in rows}), 2)

    def test_pinned_memory_without_a_gpu_is_refused_before_the_run(self):
        job = {"run": [{"task": "block_multiply", "m": 4, "memory": "pinned"}]}
        process = self.call("run", self.write_job(job), "--out", self.path("out"), "--backend", "cpu")
        self.assertEqual(process.returncode, 1, process.stderr)
        self.assertRegex(process.stderr, r"job.yaml:\d+:\d+: 'memory': pinned is for products on a GPU: leave it out, or use "
                                         "--backend cuda")
        self.assertFalse(os.path.exists(self.path("out")))
        self.assertEqual(self.call("check", self.path("job.yaml")).returncode, 0)
        self.assertEqual(self.call("check", self.path("job.yaml"), "--backend", "cpu").returncode, 1)

    def test_bad_input(self):
        for more, pattern in (
            ({"drivers": ["fast"]}, r"job.yaml:\d+:\d+: 'drivers\[0\]' must be one of automatic, own, blas, xsmm, got 'fast'"),
            ({"drivers": []}, "'drivers' must be a list .* of 1 or more"),
            ({"block_sizes": [0]}, "must be >= 1"),
            ({"occupations": [1.5]}, "must be > 0 and <= 1"),
            ({"eps": -1}, "'eps' must be >= 0"),
            ({"precision": "mixed"}, r"job.yaml:\d+:\d+: 'precision': mixed precision needs an eps above 0"),
            ({"symmetric": True, "n": 3}, "'n': a symmetric matrix"),
            ({"m": 1000, "block_sizes": [4096], "occupations": [1]}, r"not enough memory: a matrix of 1000000 blocks needs 122 TiB, .* are free"),
        ):
            with self.subTest(**more):
                job = {"run": [{"task": "block_multiply", "m": 4, **more}]}
                process = self.call("run", self.write_job(job), "--out", self.path("out"), "--force")
                self.assertEqual(process.returncode, 1, process.stderr)
                self.assertRegex(process.stderr, pattern)


if __name__ == "__main__":
    sys.exit(harness.main(sys.modules[__name__]))
