#!/usr/bin/env python3
"""The task scf_model: self-consistent charges against numpy.

    QUADRILLE_PROGRAM=build/quadrille scf_model_tests.py [CLASS...]
"""

import sys

import numpy as np

import harness
from block_dft_files import Insulator, read_elsi, write_elsi
from harness import ProgramTest


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

    def atom_of_orbitals(self):
        return np.repeat(np.arange(len(self.system.sizes)), self.system.sizes)

    def gamma(self):
        atoms = np.arange(len(self.system.sizes))
        distance = np.abs(np.subtract.outer(atoms, atoms))
        return np.exp(-distance / self.SCREENING) / np.sqrt(distance**2 + self.HUBBARD**-2)

    def hamiltonian(self, charges):
        v = (self.gamma() @ (charges - self.neutral))[self.atom_of_orbitals()]
        return self.system.h + self.system.s * (v[:, None] + v[None, :]) / 2

    def solve(self):
        """Energy and charges of the same by eigenvectors; None where the loop does not converge."""
        system = self.system
        atom = self.atom_of_orbitals()
        lower = np.linalg.inv(np.linalg.cholesky(system.s))
        charges = self.neutral.copy()
        for _ in range(150):
            _, vectors = np.linalg.eigh(lower @ self.hamiltonian(charges) @ lower.T)
            occupied = lower.T @ vectors[:, :system.electrons]
            p = occupied @ occupied.T
            found = np.bincount(atom, np.sum(p * system.s, axis=1))
            if np.max(np.abs(found - charges)) < 1e-13:
                break
            charges += 0.3 * (found - charges)
        else:
            return None
        moved = charges - self.neutral
        return float(np.sum(p * system.h) + moved @ self.gamma() @ moved / 2), charges, p

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

    def test_saved_matrices_are_those_of_the_charges(self):
        save = {"hamiltonian": "final.csc", "overlap": "overlap.csc", "blocks": "sizes.txt"}
        for more in ({}, {"method": "curvy"}):
            with self.subTest(**more):
                self.run_job(self.job(save=save, **more), "--force")
                self.assertTrue(np.array_equal(np.loadtxt(self.path("out/sizes.txt")), self.system.sizes))
                self.assertTrue(np.array_equal(read_elsi(self.path("out/overlap.csc")), self.system.s))
                h = self.hamiltonian(np.loadtxt(self.path("out/q.txt")))
                self.assertLess(np.max(np.abs(read_elsi(self.path("out/final.csc")) - h)), 1e-11)

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
                self.assertRegex(process.stderr, "not enough memory: method dense, which computes eigenvectors of 5000000 "
                                                 "orbitals on one rank, needs 1.[12] PiB, .* are free")

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
        results = self.run_job(self.job(max_scf=2), status=3)
        self.assertFalse(results["scf_model"]["converged"])
        self.assertIn("has not converged after 2 iterations: the last changed the energy by", str(results["warnings"]))
        for more in ({}, {"method": "curvy"}):
            with self.subTest(**more):
                results = self.run_job(self.job(max_scf=1, **more), "--force", status=3)
                self.assertEqual(results["warnings"], [
                    "scf_model: the self-consistent loop has not converged after 1 iteration: at least two are needed"])

    def test_a_density_matrix_that_does_not_converge_ends_the_loop(self):
        for more in ({}, {"method": "curvy"}):
            with self.subTest(**more):
                results = self.run_job(self.job(overlap=None, max_iterations=2, **more), "--force", status=3)
                self.assertFalse(results["scf_model"]["converged"])
                self.assertEqual(len(results["scf_model"]["iterations"]), 1)
                self.assertIn("a density matrix of the self-consistent loop has not converged: residual", str(results["warnings"]))

    def test_good_ones_have_no_warning(self):
        for more in ({}, {"method": "curvy"}, {"eps": 1e-5}):
            self.assertEqual(self.run_job(self.job(**more), "--force")["warnings"], [])


if __name__ == "__main__":
    sys.exit(harness.main(sys.modules[__name__]))
