#!/usr/bin/env python3
"""The exporters for PySCF (input/exporters) and the tasks that read their files, against PySCF's own results.

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

import harness  # noqa: E402
from harness import ProgramTest  # noqa: E402

try:
    import h5py
    import numpy as np
    import pyscf_matrices
    import pyscf_ri_mp2
    import scipy.linalg
    from pyscf import df, gto, scf
    from pyscf.mp import dfmp2
    MISSING = ""
except ImportError as error:
    MISSING = f"{error} (QUADRILLE_PEERS=1 ./run-tests installs PySCF)"

MOLECULES = {
    "water": "O 0 0 0.1173; H 0 0.7572 -0.4692; H 0 -0.7572 -0.4692",
    "ethene": "C 0 0 0.667; C 0 0 -0.667; H 0 0.923 1.238; H 0 -0.923 1.238; H 0 0.923 -1.238; H 0 -0.923 -1.238",
    "methanol": "C -0.047 0.664 0; O -0.047 -0.758 0; H -1.093 0.97 0; H 0.878 -1.046 0; H 0.438 1.071 0.889; H 0.438 1.071 -0.889",
}


@unittest.skipIf(MISSING, MISSING)
class Exporters(ProgramTest):
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

    def start_exporter(self, name, *arguments):
        return subprocess.run([sys.executable, os.path.join(EXPORTERS, name), *arguments], cwd=self.folder, text=True,
                              env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, capture_output=True, check=False)

    def export(self, name, *arguments):
        process = self.start_exporter(name, *arguments)
        self.assertEqual(process.returncode, 0, process.stderr)
        return process.stdout

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
        matrices = {key: {"file": "matrices.h5", "dataset": name} for key, name in (("hamiltonian", "H"), ("overlap", "S"))}
        job = {"run": [{"task": "density_matrix", **matrices, "blocks": "matrices.blocks", "method": "dense",
                        "electrons": electrons, "eps": 1e-9},
                       {"task": "eigen", "a": matrices["hamiltonian"], "b": matrices["overlap"], "vectors": "none",
                        "save": {"file": "levels.h5"}}]}
        results = self.run_job(job, "--force")
        self.assertAlmostEqual(results["density_matrix"]["energy"], levels[:electrons].sum(), delta=1e-8)
        with h5py.File(self.path("out/levels.h5")) as file:
            np.testing.assert_allclose(file["eigenvalues"][()], levels, rtol=0, atol=1e-9)


if __name__ == "__main__":
    sys.exit(harness.main(sys.modules[__name__]))
