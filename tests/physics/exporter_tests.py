#!/usr/bin/env python3
"""The exporters (input/exporters) and the tasks that read their files, against the results of PySCF and tblite.

    QUADRILLE_PEERS_FOLDER=build/peers/... QUADRILLE_PROGRAM=build/quadrille exporter_tests.py [CLASS...]
"""

import os
import subprocess
import sys
import unittest

PEERS = os.environ.get("QUADRILLE_PEERS_FOLDER", "")  # of ./run-tests with QUADRILLE_PEERS=1; their numpy comes with them
if PEERS:
    sys.path.insert(0, PEERS)
EXPORTERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "input", "exporters")
sys.path.insert(0, EXPORTERS)

import numpy as np  # noqa: E402

import boxes  # noqa: E402
import harness  # noqa: E402
import xyz  # noqa: E402
from harness import ProgramTest  # noqa: E402

try:
    import h5py
    import pyscf_matrices
    import pyscf_ri_mp2
    import scipy.linalg
    from pyscf import df, gto, scf
    from pyscf.mp import dfmp2
    MISSING = ""
except ImportError as error:
    MISSING = f"{error} (QUADRILLE_PEERS=1 ./run-tests installs PySCF)"

try:
    import h5py  # noqa: F811
    import tblite.interface  # noqa: F401
    import tblite_matrices
    NO_TBLITE = ""
except ImportError as error:
    NO_TBLITE = f"{error} (QUADRILLE_PEERS=1 ./run-tests installs tblite)"

MOLECULES = {
    "water": "O 0 0 0.1173; H 0 0.7572 -0.4692; H 0 -0.7572 -0.4692",
    "ethene": "C 0 0 0.667; C 0 0 -0.667; H 0 0.923 1.238; H 0 -0.923 1.238; H 0 0.923 -1.238; H 0 -0.923 -1.238",
    "methanol": "C -0.047 0.664 0; O -0.047 -0.758 0; H -1.093 0.97 0; H 0.878 -1.046 0; H 0.438 1.071 0.889; H 0.438 1.071 -0.889",
}


class ExporterTest(ProgramTest):
    def start_exporter(self, name, *arguments):
        return subprocess.run([sys.executable, os.path.join(EXPORTERS, name), *arguments], cwd=self.folder, text=True,
                              env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, capture_output=True, check=False)

    def export(self, name, *arguments):
        process = self.start_exporter(name, *arguments)
        self.assertEqual(process.returncode, 0, process.stderr)
        return process.stdout

    def density_and_levels(self, electrons, **more):
        """Results of both tasks on matrices.h5, the density matrix and the levels."""
        matrices = {key: {"file": "matrices.h5", "dataset": name} for key, name in (("hamiltonian", "H"), ("overlap", "S"))}
        job = {"run": [{"task": "density_matrix", **matrices, "blocks": "matrices.blocks", "method": "dense",
                        "electrons": electrons, "eps": 1e-9, "density": "p.h5", **more},
                       {"task": "eigen", "a": matrices["hamiltonian"], "b": matrices["overlap"], "vectors": "none",
                        "save": {"file": "levels.h5"}}]}
        results = self.run_job(job, "--force")
        with h5py.File(self.path("out/levels.h5")) as levels, h5py.File(self.path("out/p.h5")) as density:
            return results["density_matrix"], density["P"][()], levels["eigenvalues"][()]


@unittest.skipIf(MISSING, MISSING)
class Exporters(ExporterTest):
    def hartree_fock(self, name, basis="cc-pvdz"):
        """With positions that are moved at random."""
        mol = gto.M(atom=MOLECULES[name], basis=basis, verbose=0)
        random = np.random.default_rng(harness.SEED)
        mol.set_geom_(mol.atom_coords() + random.uniform(-0.05, 0.05, (mol.natm, 3)), unit="Bohr")
        mf = scf.RHF(mol)
        mf.conv_tol = 1e-11
        mf.kernel()
        return mf

    def correlation(self, **more):
        job = {"run": [{"task": "ri_mp2", "file": "integrals.h5", **more}]}
        return self.run_job(job, "--force")["ri_mp2"]

    def test_correlation_energies_are_those_of_pyscf(self):
        for name, frozen in (("water", 0), ("ethene", 2), ("methanol", 0)):
            with self.subTest(name=name):
                mf = self.hartree_fock(name)
                theirs = dfmp2.DFMP2(mf, frozen=frozen or None)
                theirs.with_df = df.DF(mf.mol, auxbasis="cc-pvdz-ri")
                energy = theirs.kernel(with_t2=False)[0]
                pyscf_ri_mp2.write(mf, self.path("integrals.h5"), frozen=frozen, energy=energy)
                found = self.correlation()
                self.assertLess(abs(found["deviation"]), 1e-9)
                self.assertAlmostEqual(found["same_spin"], theirs.e_corr_ss, delta=1e-9)
                self.assertAlmostEqual(found["opposite_spin"], theirs.e_corr_os, delta=1e-9)
                for target in (1e-6, 1e-8):
                    mixed = self.correlation(precision="mgemm", delta="auto", target_error=target)
                    self.assertLess(abs(mixed["deviation"]), target)

    def test_the_programs_write_what_the_tasks_read(self):
        with open(self.path("water.xyz"), "w") as stream:
            stream.write("3\n\n" + MOLECULES["water"].replace("; ", "\n") + "\n")
        self.export("pyscf_ri_mp2.py", "water.xyz", "integrals.h5", "--basis", "sto-3g", "--auxbasis", "cc-pvdz-ri",
                    "--frozen", "1", "--energy")
        self.assertLess(abs(self.correlation()["deviation"]), 1e-9)
        said = self.export("pyscf_matrices.py", "water.xyz", "matrices.h5", "--basis", "sto-3g", "--xc", "lda")
        self.assertEqual(said, "electrons: 5\n")
        with open(self.path("matrices.blocks")) as stream:
            self.assertEqual(stream.read().split(), ["5", "1", "1"])

    def test_a_molecule_that_is_not_there_is_named(self):
        for name in ("pyscf_ri_mp2.py", "pyscf_matrices.py"):
            process = self.start_exporter(name, "nothere.xyz", "out.h5")
            self.assertEqual(process.returncode, 2)
            self.assertIn("there is no file nothere.xyz: the molecule is read from a file in the format XYZ", process.stderr)
        self.assertEqual(os.listdir(self.folder), [])

    def test_what_fails_leaves_no_file(self):
        mf = self.hartree_fock("water", "sto-3g")
        os.mkdir(self.path("matrices.h5"))  # where a file cannot come
        with self.assertRaises(OSError):
            pyscf_matrices.write(mf, self.path("matrices.h5"))
        self.assertEqual(os.listdir(self.folder), ["matrices.h5"])

    def test_integrals_come_in_blocks(self):
        mf = self.hartree_fock("water")
        pyscf_ri_mp2.write(mf, self.path("whole.h5"))
        most, pyscf_ri_mp2.BLOCK_BYTES = pyscf_ri_mp2.BLOCK_BYTES, 1000
        try:
            pyscf_ri_mp2.write(mf, self.path("integrals.h5"))
        finally:
            pyscf_ri_mp2.BLOCK_BYTES = most
        with h5py.File(self.path("whole.h5")) as whole, h5py.File(self.path("integrals.h5")) as file:
            np.testing.assert_allclose(file["ia_P"][()], whole["ia_P"][()], rtol=0, atol=1e-13)

    def test_what_cannot_be_exported_is_refused(self):
        mf = self.hartree_fock("water", "sto-3g")
        with self.assertRaisesRegex(ValueError, "5 frozen orbitals: there are 5 occupied ones"):
            pyscf_ri_mp2.write(mf, self.path("integrals.h5"), frozen=5)
        mf.converged = False
        for module in (pyscf_ri_mp2, pyscf_matrices):
            with self.assertRaisesRegex(ValueError, "has not converged"):
                module.write(mf, self.path("integrals.h5"))
        radical = scf.UHF(gto.M(atom="O 0 0 0; H 0 0 0.97", basis="sto-3g", spin=1, verbose=0))
        radical.kernel()
        with self.assertRaisesRegex(ValueError, "no closed shell"):
            pyscf_ri_mp2.write(radical, self.path("integrals.h5"))
        with self.assertRaisesRegex(ValueError, "it must be one matrix"):
            pyscf_matrices.write(radical, self.path("integrals.h5"))
        restricted = scf.ROHF(radical.mol)
        restricted.kernel()
        for module in (pyscf_ri_mp2, pyscf_matrices):
            with self.assertRaisesRegex(ValueError, "no closed shell"):
                module.write(restricted, self.path("integrals.h5"))
        self.assertEqual(os.listdir(self.folder), [])

    def test_density_matrices_are_those_of_pyscf(self):
        mf = self.hartree_fock("methanol")
        electrons = pyscf_matrices.write(mf, self.path("matrices.h5"))
        self.assertEqual(electrons, 9)
        self.check_density(mf, electrons)

    def test_density_matrices_in_a_cell_are_those_of_pyscf(self):
        from pyscf.pbc import dft, gto as cells
        cell = cells.M(atom="H 0.3 0 0; H 0.3 0.1 0.74", a=np.diag([3, 3.2, 3.5]), basis="gth-szv", pseudo="gth-pbe",
                       verbose=0)
        mf = dft.RKS(cell, xc="pbe").density_fit()
        mf.kernel()
        electrons = pyscf_matrices.write(mf, self.path("matrices.h5"))
        self.check_density(mf, electrons)

    def check_density(self, mf, electrons):
        """By SciPy from PySCF's matrices; its levels are those of the matrices one cycle before."""
        levels = scipy.linalg.eigvalsh(mf.get_fock(), mf.get_ovlp())
        np.testing.assert_allclose(levels, mf.mo_energy, rtol=0, atol=1e-4)
        found, _, saved = self.density_and_levels(electrons)
        self.assertAlmostEqual(found["energy"], levels[:electrons].sum(), delta=1e-8)
        np.testing.assert_allclose(saved, levels, rtol=0, atol=1e-9)


def distances(atoms, others, edges):
    return np.linalg.norm(boxes.between(atoms[:, None, :], others[None, :, :], edges), axis=2)


class Boxes(ExporterTest):
    def box(self, *arguments):
        """Symbols, positions and edges of what the program writes."""
        said = self.export("boxes.py", arguments[0], "box.xyz", *arguments[1:])
        found = xyz.read(self.path("box.xyz"))
        self.assertEqual(said, f"atoms: {len(found.symbols)}\n")
        np.testing.assert_array_equal(found.lattice, np.diag(np.diag(found.lattice)))
        return np.array(found.symbols), found.positions, np.diag(found.lattice)

    def test_water_is_made_of_molecules_at_its_density(self):
        symbols, atoms, edges = self.box("water", "--copies", "2", "1", "1", "--seed", str(harness.SEED))
        self.assertEqual(symbols.tolist(), ["O", "H", "H"] * 64)
        self.assertAlmostEqual(64 * 18.015 / 0.602214 / np.prod(edges), 1, delta=3e-3)  # g/cm^3
        apart = distances(atoms, atoms, edges)
        of_molecule = np.arange(192) // 3
        inside = of_molecule[:, None] == of_molecule[None, :]
        oxygens = np.arange(0, 192, 3)
        for hydrogen in (1, 2):
            np.testing.assert_allclose(apart[oxygens, oxygens + hydrogen], 0.9572, atol=1e-6)
        np.testing.assert_allclose(apart[oxygens + 1, oxygens + 2], 1.5139, atol=1e-4)
        self.assertGreater(apart[~inside].min(), 1.2)  # 3.49 less two bonds and two moves
        cells = atoms[:96], atoms[96:] - (edges[0] / 2, 0, 0)
        self.assertGreater(abs(boxes.between(*cells, edges)).max(), 0.2)  # copies differ by more than the jitter

    def test_seeds(self):
        first, second, other = (self.box("water", "--seed", seed)[1] for seed in ("3", "3", "4"))
        np.testing.assert_array_equal(first, second)
        self.assertGreater(abs(first - other).max(), 0.1)

    def test_anatase_has_its_neighbours(self):
        symbols, atoms, edges = self.box("anatase", "--copies", "3", "2", "1", "--jitter", "0")
        np.testing.assert_allclose(edges, (3 * 3.784, 2 * 3.784, 9.515))
        self.assertEqual((len(symbols), np.count_nonzero(symbols == "O")), (72, 48))
        near = distances(atoms[symbols == "Ti"], atoms[symbols == "O"], edges) < 2.05
        self.assertEqual(set(near.sum(axis=1)), {6})
        self.assertEqual(set(near.sum(axis=0)), {3})
        moved = self.box("anatase", "--copies", "3", "2", "1", "--jitter", "0.05")[1]
        self.assertLess(0.03, abs(moved - atoms).max())
        self.assertLess(abs(moved - atoms).max(), 0.05 + 1e-6)

    def test_glass_is_a_random_network(self):
        symbols, atoms, edges = self.box("glass", "--copies", "1", "2", "1", "--jitter", "0", "--seed", "1")
        self.assertAlmostEqual(128 * 60.084 / 0.602214 / np.prod(edges), 2.2, delta=0.01)  # g/cm^3
        apart = distances(atoms[symbols == "Si"], atoms[symbols == "O"], edges)
        bonds = apart < 1.9
        self.assertEqual(bonds.shape, (128, 256))
        self.assertEqual(set(bonds.sum(axis=1)), {4})
        self.assertEqual(set(bonds.sum(axis=0)), {2})
        self.assertGreater(apart[~bonds].min(), 2.2)
        neighbours = bonds.astype(int) @ bonds.T.astype(int) - 4 * np.eye(128, dtype=int)
        steps = [neighbours]
        while len(steps) < 5:
            steps.append(steps[-1] @ neighbours)
        self.assertGreater(np.trace(steps[4]), 0)  # closed ways of five bonds, which a diamond lattice does not have

    def test_bad_arguments(self):
        os.mkdir(self.path("folder"))
        for arguments, pattern in (
            (("ice", "box.xyz"), "invalid choice: 'ice'"),
            (("water", "box.xyz", "--copies", "1", "0", "1"), "argument --copies: 0: there must be one copy or more"),
            (("water", "box.xyz", "--jitter", "0.4"), "argument --jitter: 0.4: atoms are moved by 0 to 0.3 Angstrom"),
            (("anatase", "folder"), "boxes.py: .*folder"),
            (("anatase", "not/there.xyz"), "boxes.py: .*No such file"),
        ):
            with self.subTest(arguments=arguments):
                process = self.start_exporter("boxes.py", *arguments)
                self.assertNotEqual(process.returncode, 0)
                self.assertRegex(process.stderr, pattern)
                self.assertNotIn("Traceback", process.stderr)
        self.assertEqual(os.listdir(self.folder), ["folder"])

    def test_bad_xyz(self):
        for text, pattern in (
            ("", "line 1 must be the number of atoms"),
            ("two\n\nH 0 0 0\n", "line 1 must be the number of atoms"),
            ("2\n\nH 0 0 0\n", "line 1 says 2 atoms, but 1 follow"),
            ("1\n\nH 0 0\n", "line 3 must be an element and x, y, z in Angstrom, got 'H 0 0'"),
            ("1\nLattice=\"1 0 0 0 1 0\"\nH 0 0 0\n", "line 2: Lattice must be nine numbers"),
            ("1\nLattice=\"1 0 0 0 1 0 0 0 1\" pbc=\"T T F\"\nH 0 0 0\n", "must be periodic along all three edges"),
        ):
            with self.subTest(text=text):
                with open(self.path("bad.xyz"), "w") as stream:
                    stream.write(text)
                with self.assertRaisesRegex(ValueError, pattern):
                    xyz.read(self.path("bad.xyz"))


@unittest.skipIf(NO_TBLITE, NO_TBLITE)
class Tblite(ExporterTest):
    def molecule(self, name):
        """With positions that are moved at random."""
        lines = [line.split() for line in MOLECULES[name].split("; ")]
        positions = np.array([line[1:] for line in lines], float)
        positions += np.random.default_rng(harness.SEED).uniform(-0.05, 0.05, positions.shape)
        return xyz.Structure([line[0] for line in lines], positions, None)

    def test_density_matrices_are_those_of_tblite(self):
        for method, orbitals in (("GFN1-xTB", 16), ("GFN2-xTB", 12)):
            with self.subTest(method=method):
                calculator, result = tblite_matrices.calculated(self.molecule("methanol"), method)
                electrons = tblite_matrices.write(calculator, result, self.path("matrices.h5"))
                self.assertEqual(electrons, 7)
                found, density, levels = self.density_and_levels(electrons)
                self.assertEqual(found["orbitals"], orbitals)
                np.testing.assert_allclose(levels, result.get("orbital-energies"), rtol=0, atol=1e-9)
                np.testing.assert_allclose(2 * density, result.get("density-matrix"), rtol=0, atol=1e-8)

    def test_a_box_of_water(self):
        boxes.write("water", self.path("box.xyz"), seed=harness.SEED)
        self.assertEqual(self.export("tblite_matrices.py", "box.xyz", "matrices.h5", "--together", "3"), "electrons: 128\n")
        with open(self.path("matrices.blocks")) as stream:
            self.assertEqual(stream.read().split(), ["8"] * 32)
        found, _, levels = self.density_and_levels(128, method="trs4", eps=1e-7)
        self.assertTrue(found["converged"])
        self.assertAlmostEqual(found["energy"], levels[:128].sum(), delta=1e-5)
        self.assertGreater(levels[128] - levels[127], 0.05)

    def test_copies_of_a_box(self):
        """Every tile is one of the calculated box, whose levels are among those of the larger one."""
        boxes.write("anatase", self.path("box.xyz"), seed=harness.SEED)
        structure = xyz.read(self.path("box.xyz"))
        calculator, result = tblite_matrices.calculated(structure)
        small = tblite_matrices.write(calculator, result, self.path("small.h5"))
        large = tblite_matrices.write(calculator, result, self.path("large.h5"), 1, structure, (2, 1, 3))
        self.assertEqual((small, large), (32, 6 * 32))
        with open(self.path("small.blocks")) as one, open(self.path("large.blocks")) as many:
            self.assertEqual(many.read(), 6 * one.read())
        matrices = []
        with h5py.File(self.path("small.h5")) as one, h5py.File(self.path("large.h5")) as many:
            for name in ("H", "S"):
                matrix, copies = one[name][()], many[name][()]
                side = len(matrix)
                self.assertEqual(copies.shape, (6 * side,) * 2)
                np.testing.assert_array_equal(copies, copies.T)
                tiles = copies.reshape(6, side, 6, side)
                self.assertGreater(np.count_nonzero(np.abs(tiles).max(axis=(1, 3))), 6)
                for row in range(6):
                    np.testing.assert_allclose(tiles[row].sum(axis=1), matrix, rtol=0, atol=1e-12)
                matrices.append(copies)
        vectors = np.tile(result.get("orbital-coefficients"), (6, 1))
        found = matrices[1] @ vectors * result.get("orbital-energies")
        np.testing.assert_allclose(matrices[0] @ vectors, found, rtol=0, atol=1e-9)

    def test_what_cannot_be_exported_is_refused(self):
        def file(name, text):
            with open(self.path(name), "w") as stream:
                stream.write(text)
        file("unknown.xyz", "2\n\nXx 0 0 0\nH 0 0 1\n")
        file("radical.xyz", "2\n\nO 0 0 0\nH 0 0 0.97\n")
        file("close.xyz", "2\n\nO 0 0 0\nO 0 0 0\n")
        file("water.xyz", "3\n\n" + MOLECULES["water"].replace("; ", "\n") + "\n")
        files = sorted(os.listdir(self.folder))
        for arguments, pattern in (
            (("nothere.xyz", "out.h5"), "there is no file nothere.xyz: the molecule is read from a file in the format XYZ"),
            (("unknown.xyz", "out.h5"), "Xx: no element has this symbol"),
            (("radical.xyz", "out.h5"), "this is no closed shell with a gap"),
            (("close.xyz", "out.h5"), "tblite_matrices.py: .*close"),
            (("water.xyz", "out.h5", "--together", "2"), "3 atoms cannot be taken 2 together: their number must be a multiple"),
            (("water.xyz", "out.h5", "--copies", "1", "2", "1"), "a molecule without Lattice has no copies"),
            (("water.xyz", "out.h5", "--copies", "0", "2", "1"), "--copies 0 2 1: there must be one copy or more"),
            (("water.xyz", "not/out.h5"), "tblite_matrices.py: .*No such file"),
        ):
            with self.subTest(arguments=arguments):
                process = self.start_exporter("tblite_matrices.py", *arguments)
                self.assertNotEqual(process.returncode, 0)
                self.assertRegex(process.stderr, pattern)
                self.assertNotIn("Traceback", process.stderr)
        self.assertEqual(sorted(os.listdir(self.folder)), files)


if __name__ == "__main__":
    sys.exit(harness.main(sys.modules[__name__]))
