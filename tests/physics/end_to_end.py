#!/usr/bin/env python3
"""The physics of whole jobs: propagators and pions against expected.json and against the independent program.

    QUADRILLE_PROGRAM=build/quadrille end_to_end.py [CLASS...]

Bounds: |S - S_ref| / max |S_ref| and |C - C_ref| / C_ref at most 1e-11 in uniform double at tolerance 1e-14, and at most
100 times the tolerance with a sloppy inner operator.
"""

import ctypes
import json
import os
import shutil
import sys
import unittest

import numpy as np

import harness
import independent
from harness import ProgramTest, job_for, sloppy, solver_name, uniform

# What may differ between two runs of one job that gave the same physics.
NOT_PHYSICS = ("seconds", "gflops", "kernels")
INSTRUCTION_SETS = ("generic", "avx2", "avx512")


def expected_cases():
    if harness.DATA is None:
        raise unittest.SkipTest(harness.WITHOUT_DATA)
    with open(os.path.join(harness.DATA, "expected.json")) as stream:
        return json.load(stream)["cases"]


def params_of(case):
    params = dict(case["params"])
    params["phase"] = independent.boundary_phases(params.pop("bc"))
    return params


class Solved(ProgramTest):
    """Checks that every solve of a job tells the truth about itself."""

    def check_solves(self, results, solver):
        self.assertEqual(len(results["solves"]), 12)
        for solve in results["solves"]:
            self.assertTrue(solve["converged"], solve["stop_reason"])
            self.assertLessEqual(solve["residual"], solver["tolerance"])
            self.assertGreater(solve["iterations"], 0)
            self.assertEqual(solve["solver"], solver["type"])
            self.assertEqual(solve["scheme"], solver["scheme"])
            names = [kernel["name"] for kernel in solve["kernels"] if kernel["calls"] > 0]
            inner = solver.get("sloppy", {}).get("precision", solver.get("precision"))
            self.assertTrue(any(inner in name for name in names), f"no {inner} kernel ran: {names}")
            # Where the extents are too small for the widest vectors of a CPU, narrower ones work.
            ran = {kernel["instruction_set"] for kernel in solve["kernels"]}
            self.assertEqual(results["backend"], harness.BACKEND)
            if harness.BACKEND == "cpu":
                widest = INSTRUCTION_SETS.index(results["isa"])
                self.assertTrue(ran <= set(INSTRUCTION_SETS[: widest + 1]), ran)
            else:
                self.assertEqual(ran, {results["isa"]})
        places = {(solve["spin"], solve["color"]) for solve in results["solves"]}
        self.assertEqual(places, {(spin, color) for spin in range(4) for color in range(3)})


class ExpectedCase(Solved):
    """One case of expected.json."""

    def check_case(self, case, solver, bound, number, threads=1, env=None):
        job = job_for(os.path.join(harness.DATA, case["file"]), params_of(case), case["at"], solver)
        results = self.run_job(job, "--threads", str(threads), out=f"out{number}", env=env)
        gauge = results["gauge"]
        self.assertEqual(results["lattice"]["dims"], case["dims"])
        for name in ("plaquette", "link_trace"):
            self.assertAlmostEqual(gauge[name], case[name], delta=1e-11)
        for plane, value in case["planes"].items():
            self.assertAlmostEqual(gauge["planes"][independent.plane_name(plane)], value, delta=1e-11)
        self.check_solves(results, solver)
        propagator = self.saved_propagator(results, f"out{number}")
        correlator = results["correlators"]["mesons"]["pion"]
        element, pion = independent.deviations(case, propagator, correlator)
        print(f"{case['file']} {case['params']} {solver_name(solver)}: elements {element:.1e}, pion {pion:.1e}")
        self.assertLessEqual(element, bound)
        self.assertLessEqual(pion, bound)
        self.assertAlmostEqual(float(np.max(np.abs(propagator))), case["max_abs_S"], delta=bound)
        return propagator.tobytes(), correlator


class Expected(ExpectedCase):
    """Every case, in uniform double and in a covering choice of sloppy forms."""

    def test_uniform_double(self):
        for number, case in enumerate(expected_cases()):
            for kind in ("bicgstab", "cg"):
                with self.subTest(case=case["file"], params=case["params"], kind=kind):
                    self.check_case(case, uniform(kind), 1e-11, f"{kind}{number}")

    def test_sloppy(self):
        cases, solvers = expected_cases(), harness.all_sloppy()
        for number, case in enumerate(cases):
            # Six combinations a case, so that ten cases use all 48.
            for step in range(6):
                solver = solvers[(5 * (6 * number + step)) % len(solvers)]
                with self.subTest(case=case["file"], params=case["params"], solver=solver_name(solver)):
                    self.check_case(case, solver, 1e-8, f"{number}-{step}", 1 + step % 3)


class Thorough(ExpectedCase):
    """Every case in every form on every instruction set, and the same bits for 1, 2 and 3 threads: thousands of jobs, so
    only when QUADRILLE_THOROUGH is set."""

    def test_everything(self):
        if not os.environ.get("QUADRILLE_THOROUGH"):
            raise unittest.SkipTest("set QUADRILLE_THOROUGH=1 to run some thousands of jobs")
        solvers = [(uniform(kind), 1e-11) for kind in ("bicgstab", "cg")] + [(s, 1e-8) for s in harness.all_sloppy()]
        for isa in harness.cpu_instruction_sets():
            for number, case in enumerate(expected_cases()):
                for index, (solver, bound) in enumerate(solvers):
                    with self.subTest(case=case["file"], params=case["params"], solver=solver_name(solver), isa=isa):
                        seen = [
                            self.check_case(case, solver, bound, f"{isa}-{number}-{index}-{threads}", threads,
                                            {"QUADRILLE_ISA": isa})
                            for threads in (1, 2, 3)
                        ]
                        self.assertEqual(seen[0], seen[1])
                        self.assertEqual(seen[0], seen[2])
                        for threads in (1, 2, 3):
                            shutil.rmtree(self.path(f"out{isa}-{number}-{index}-{threads}"))


class Independent(Solved):
    """The same against the independent program, on a lattice of unequal extents with a phase in each direction."""

    PARAMS = {"mass": -0.3, "phase": [0.3, 0.5, -0.2, 1.0], "xi0": 1.7, "nu": 0.9}

    @classmethod
    def setUpClass(cls):
        cls.reference = harness.Reference((4, 2, 6, 8), 0.4, cls.PARAMS, (3, 1, 2, 5), harness.SEED)
        assert cls.reference.residual < 1e-14, cls.reference.residual

    def setUp(self):
        super().setUp()
        self.file = self.path("field.lime")
        independent.lime_files.write_gauge(self.file, self.reference.links, 64, "tmlqcd")

    def solve(self, solver, *args, out="out", env=None):
        job = job_for(self.file, self.reference.params, self.reference.site, solver)
        results = self.run_job(job, *args, out=out, env=env)
        self.check_solves(results, solver)
        return results

    def check_against_reference(self, results, bound, out="out"):
        deviations = self.reference.deviations(self.saved_propagator(results, out), results["correlators"]["mesons"]["pion"])
        self.assertLessEqual(max(deviations), bound)
        return max(deviations)


class IndependentUniform(Independent):
    def test_gluonic(self):
        results = self.run_job({"gauge": {"file": self.file}})
        seen = independent.observables(self.reference.links)
        self.assertAlmostEqual(results["gauge"]["plaquette"], seen["plaquette"], delta=1e-13)
        self.assertAlmostEqual(results["gauge"]["link_trace"], seen["link_trace"], delta=1e-13)
        for plane, value in seen["planes"].items():
            self.assertAlmostEqual(results["gauge"]["planes"][plane], value, delta=1e-13)

    def test_double(self):
        for kind in ("bicgstab", "cg"):
            for more in ({}, {"reconstruct": 12}, {"reconstruct": 8}):
                with self.subTest(kind=kind, **more):
                    out = kind + "".join(str(word) for word in more.values())
                    # The codec of 8 numbers alone costs 1e-8 on its worst links, so only 18 and 12 meet the bound, and the
                    # last digits of the tolerance.
                    exact = more.get("reconstruct") != 8
                    results = self.solve(uniform(kind, 1e-14 if exact else 1e-12, **more), out=out)
                    self.check_against_reference(results, 1e-11 if exact else 1e-7, out)

    def test_single(self):
        for kind in ("bicgstab", "cg"):
            results = self.solve(uniform(kind, 1e-5, "single"), out=kind)
            self.check_against_reference(results, 1e-3, kind)

    def test_kappa_is_a_mass(self):
        job = job_for(self.file, self.reference.params, self.reference.site, uniform())
        mass = job["operator"].pop("mass")
        job["operator"]["kappa"] = 1 / (2 * (mass + 4))
        results = self.run_job(job)
        self.assertAlmostEqual(results["solves"][0]["mass"], mass, delta=1e-14)
        self.check_against_reference(results, 1e-11)

    def test_instruction_sets(self):
        present = harness.cpu_instruction_sets()
        for isa in INSTRUCTION_SETS:
            if isa not in present:
                job = self.write_job(job_for(self.file, self.reference.params, self.reference.site, uniform()))
                process = self.call("run", job, "--out", self.path(isa), env={"QUADRILLE_ISA": isa})
                self.assertEqual(process.returncode, 1)
                self.assertIn(isa, process.stderr)
                continue
            for solver, bound in ((uniform(), 1e-11), (sloppy("cg", "reliable", "half", 12, True), 1e-8),
                                  (sloppy("bicgstab", "defect", "single", 8, False), 1e-8)):
                with self.subTest(isa=isa, solver=solver_name(solver)):
                    out = f"{isa} {solver_name(solver)}"
                    results = self.solve(solver, out=out, env={"QUADRILLE_ISA": isa})
                    self.assertEqual(results["isa"], isa)
                    self.check_against_reference(results, bound, out)

    def test_the_instruction_set_asked_for_runs(self):
        job = job_for("unused", {"mass": 0.3, "phase": [0, 0, 0, 1]}, (0, 0, 0, 0),
                      sloppy("cg", "reliable", "half", 12, True))
        # Extents that every vector width fits.
        job["gauge"] = {"start": "weak", "dims": [8, 8, 8, 8], "seed": harness.SEED, "epsilon": 0.3}
        pions = []
        for isa in harness.cpu_instruction_sets():
            results = self.run_job(job, out=isa, env={"QUADRILLE_ISA": isa})
            pions.append(np.array(results["correlators"]["mesons"]["pion"]))
            for solve in results["solves"]:
                self.assertEqual({kernel["instruction_set"] for kernel in solve["kernels"]}, {isa})
        for pion in pions:
            self.assertLess(np.max(np.abs(pion / pions[0] - 1)), 1e-8)

    def test_threads_give_the_same_bits(self):
        # So many sites that kernels and sums are shared between threads; so heavy that a solve takes few iterations.
        gauge = {"start": "weak", "dims": [8, 8, 8, 12], "seed": harness.SEED, "epsilon": 0.3}
        params = {"mass": 1.0, "phase": [0.3, 0.5, -0.2, 1.0], "xi0": 1.7, "nu": 0.9}
        for solver in (uniform("cg", 1e-10), sloppy("bicgstab", "reliable", "half", 12, True),
                       sloppy("cg", "defect", "single", 8, False)):
            seen = []
            for threads in ("1", "2", "3"):
                out = f"{solver_name(solver)} {threads}"
                job = {**job_for("unused", params, (3, 1, 2, 5), solver), "gauge": gauge}
                results = self.run_job(job, "--threads", threads, out=out)
                self.check_solves(results, solver)
                self.assertEqual(results["threads"], int(threads))
                solves = [{key: value for key, value in solve.items() if key not in NOT_PHYSICS}
                          for solve in results["solves"]]
                physics = json.dumps([solves, results["correlators"], results["gauge"]["planes"]], sort_keys=True)
                seen.append((physics, self.saved_propagator(results, out).tobytes()))
            with self.subTest(solver=solver_name(solver)):
                for other in seen[1:]:
                    self.assertEqual(seen[0][0], other[0])
                    self.assertTrue(seen[0][1] == other[1], "propagators differ")


class IndependentSloppy(Independent):
    def test_every_combination(self):
        worst = 0.0
        for solver in harness.all_sloppy():
            with self.subTest(solver=solver_name(solver)):
                results = self.solve(solver, out=solver_name(solver))
                worst = max(worst, self.check_against_reference(results, 1e-8, solver_name(solver)))
                self.assertEqual(results["solves"][0]["sloppy"]["precision"], solver["sloppy"]["precision"])
        print(f"worst deviation {worst:.1e}")

    def test_reliable_updates_are_counted(self):
        results = self.solve(sloppy("cg", "reliable", "half", 12, True))
        for solve in results["solves"]:
            # Half precision holds a factor of about 1e-3 of the residual: 1e-10 cannot be reached without updates.
            self.assertGreaterEqual(solve["reliable_updates"], 2)


class IndependentMethods(Independent):
    """Methods with parameters of their own, on a rough field (the lightest eigenvalues are far from 1)."""

    WAYS = ({"type": "bicgstab_l"}, {"type": "bicgstab_l", "l": 4},
            {"type": "gcr"}, {"type": "gcr", "restart_length": 5}, {"type": "gcr", "preconditioner": {"type": "mr"}},
            {"type": "gcr", "restart_length": 8, "preconditioner": {"type": "mr", "steps": 2, "omega": 1.1}},
            {"type": "gcr", "preconditioner": {"type": "bicgstab", "tolerance": 0.2}}, {"type": "mr"}, {"type": "mr", "omega": 0.8},
            {"type": "multigrid", "vectors": 8})

    def test_uniform(self):
        for number, way in enumerate(self.WAYS):
            with self.subTest(way=way):
                results = self.solve({**uniform(), **way}, out=str(number))
                self.check_against_reference(results, 1e-11, str(number))

    def test_sloppy(self):
        forms = [("reliable", "half", 12, True), ("reliable", "single", 8, False), ("defect", "half", 18, False)]
        for number, way in enumerate(self.WAYS):
            for form in forms:
                with self.subTest(way=way, form=form):
                    out = f"{number} {form[0]} {form[1]}"
                    results = self.solve({**sloppy(way["type"], *form), **way}, out=out)
                    self.check_against_reference(results, 1e-8, out)

    def test_a_preconditioner_saves_iterations(self):
        def iterations(**more):
            results = self.solve(uniform("gcr", 1e-10, **more), out=str(len(more)))
            return sum(solve["iterations"] for solve in results["solves"])

        self.assertLess(2 * iterations(preconditioner={"type": "mr", "steps": 6}), iterations())


class EveryMethod(Independent):
    """What operators besides Wilson's have in common."""

    # Rounding of a random field's residual can exceed 1e-14 |b|.
    METHODS = ((uniform(tolerance=1e-13), 1e-11), (uniform("cg", 1e-13, reconstruct=12), 1e-11),
               (sloppy("cg", "reliable", "half", 12, True), 1e-8), (sloppy("bicgstab", "reliable", "single", 8, False), 1e-8),
               (sloppy("bicgstab", "defect", "half", 18, True), 1e-8))

    def agree_with_reference(self):
        for solver, bound in self.METHODS:
            with self.subTest(solver=solver_name(solver)):
                self.check_against_reference(self.solve(solver, out=solver_name(solver)), bound, solver_name(solver))

    def even_odd_forms_agree_with_reference(self):
        for form in ("asymmetric", "symmetric"):
            for parity in ("even", "odd"):
                for solver, bound in ((uniform("cg", 1e-13), 1e-11), (sloppy("bicgstab", "reliable", "half", 12, True), 1e-8)):
                    name = f"{form} {parity} {solver_name(solver)}"
                    with self.subTest(name):
                        results = self.solve({**solver, "preconditioning": {"form": form, "parity": parity}}, out=name)
                        self.assertEqual(results["solves"][0]["preconditioning"], {"form": form, "parity": parity})
                        self.check_against_reference(results, bound, name)

    def refuse(self, change, words):
        job = job_for(self.file, self.PARAMS, (3, 1, 2, 5), uniform())
        operator = {key: value for key, value in {**job["operator"], **change}.items() if value is not None}
        with self.subTest(**change):
            process = self.call("check", self.write_job({**job, "operator": operator}))
            self.assertEqual(process.returncode, 1, process.stderr)
            self.assertRegex(process.stderr, rf"job.yaml:\d+:\d+: .*{words}")


class TwistedMass(EveryMethod):
    PARAMS = {**Independent.PARAMS, "mu": -0.21}

    def test_every_method(self):
        self.agree_with_reference()

    def test_every_even_odd_form(self):
        self.even_odd_forms_agree_with_reference()

    def test_no_twist_is_wilson(self):
        seen = []
        for operator in ({"type": "twisted_mass", "mu": 0}, {"type": "wilson"}):
            job = job_for(self.file, {key: value for key, value in self.PARAMS.items() if key != "mu"}, (3, 1, 2, 5), uniform())
            job["operator"].update(operator)
            results = self.run_job(job, out=operator["type"])
            seen.append((self.saved_propagator(results, operator["type"]).tobytes(), results["correlators"]["mesons"]["pion"]))
        self.assertEqual(seen[0], seen[1])

    def test_bad_jobs(self):
        for change, words in (({"type": "wilson"}, "mu"), ({"mu": None}, "mu"), ({"mu": "much"}, "mu")):
            self.refuse(change, words)


class ChemicalPotential(EveryMethod):
    PARAMS = {**Independent.PARAMS, "chemical_potential": 0.24}

    def test_every_method(self):
        self.agree_with_reference()

    def test_with_every_term(self):
        self.PARAMS = {**self.PARAMS, "mu": 0.17, "csw_r": 0.91, "csw_t": 1.07}
        self.even_odd_forms_agree_with_reference()

    def test_zero_is_none(self):
        job = job_for(self.file, {**self.PARAMS, "chemical_potential": 0}, (3, 1, 2, 5), uniform())
        zero = self.run_job(job, out="zero")["correlators"]["mesons"]["pion"]
        del job["operator"]["chemical_potential"]
        self.assertEqual(self.run_job(job, out="without")["correlators"]["mesons"]["pion"], zero)

    def test_bad_jobs(self):
        for change, words in (({"chemical_potential": "i"}, "chemical_potential"), ({"chemical_potential": 800}, "chemical_potential")):
            self.refuse(change, words)


class Clover(EveryMethod):
    PARAMS = {**Independent.PARAMS, "csw_r": 0.91, "csw_t": 1.07}

    def test_every_method(self):
        self.agree_with_reference()

    def test_every_even_odd_form(self):
        self.even_odd_forms_agree_with_reference()

    def test_one_coefficient_is_that_of_all_planes(self):
        pions = []
        for coefficients in ({"csw": 1.3}, {"csw_r": 1.3, "csw_t": 1.3}):
            job = job_for(self.file, {"mass": 0.1, "phase": [0, 0, 0, 1]}, (3, 1, 2, 5), uniform())
            job["operator"].update({"type": "clover", **coefficients})
            out = "_".join(coefficients)
            pions.append(self.run_job(job, out=out)["correlators"]["mesons"]["pion"])
        self.assertEqual(pions[0], pions[1])

    def test_no_clover_term_is_wilson(self):
        pions = []
        for operator in ({"type": "clover", "csw": 0}, {"type": "wilson"}):
            job = job_for(self.file, {"mass": 0.1, "phase": [0, 0.5, 0, 1]}, (3, 1, 2, 5), uniform())
            job["operator"].update(operator)
            pions.append(self.run_job(job, out=operator["type"])["correlators"]["mesons"]["pion"])
        self.assertEqual(pions[0], pions[1])

    def test_bad_jobs(self):
        for change, words in (({"type": "wilson"}, "csw"), ({"csw_t": None}, "csw_t"), ({"csw": 1}, "csw"), ({"mu": 1}, "mu"),
                              ({"csw_r": None, "csw_t": None}, "csw")):
            self.refuse(change, words)


class ExponentialClover(EveryMethod):
    PARAMS = {**Independent.PARAMS, "csw_r": 0.91, "csw_t": 1.07, "exponential": True}

    def test_every_method(self):
        self.agree_with_reference()


class TwistedClover(EveryMethod):
    PARAMS = {**Independent.PARAMS, "csw_r": 0.91, "csw_t": 1.07, "mu": 0.17}

    def test_every_method(self):
        self.agree_with_reference()

    def test_bad_jobs(self):
        for change, words in (({"type": "clover"}, "mu"), ({"mu": None}, "mu"), ({"exponential": 2}, "exponential")):
            self.refuse(change, words)


class ShiftedSolves(Independent):
    """<b, x> of (S^+ S + shift) x = b, b 1 in one number, for even-odd preconditioned operators of all kinds."""

    SHIFTS = [0.0, 0.002, 0.05, 1.5]
    OPERATORS = ({}, {"mu": 0.17, "csw_r": 0.91, "csw_t": 1.07}, {"csw_r": 0.91, "csw_t": 1.07, "exponential": True})

    def solve_shifts(self, params, site, solver, out, shifts=SHIFTS):
        job = job_for(self.file, params, site, solver)
        job["run"] = [{"task": "shifted_solves", "shifts": shifts, "source": {"type": "point", "site": site}}]
        return self.run_job(job, out=out)["solves"]

    def expected(self, params, site, symmetric):
        links = self.reference.links
        matrix = independent.Wilson(links, **params)
        operator = independent.EvenOdd(matrix, links.shape[:4], sum(site) % 2, symmetric)
        source = np.zeros(links.shape[:4] + (3, 4, 1), dtype=complex)
        x, y, z, t = site
        source[t, z, y, x, 0, 0, 0] = 1
        return [independent.shifted_solution(operator, shift, source)[t, z, y, x, 0, 0, 0].real for shift in self.SHIFTS]

    def test_agrees_with_numpy(self):
        for number, terms in enumerate(self.OPERATORS):
            params, site = {**self.PARAMS, **terms}, ((3, 1, 2, 5), (2, 1, 2, 4), (0, 1, 5, 0))[number]
            for form in ("asymmetric", "symmetric"):
                expected = self.expected(params, site, form == "symmetric")
                where = {"preconditioning": {"form": form, "parity": "odd" if sum(site) % 2 else "even"}}
                for solver, bound in ((uniform("cg", 1e-13), 1e-11), (sloppy("cg", "reliable", "half", 12, True), 1e-7),
                                      (sloppy("cg", "reliable", "single", 8, False), 1e-7)):
                    name = f"{number} {form} {solver_name(solver)}"
                    with self.subTest(name):
                        solves = self.solve_shifts(params, site, {**solver, **where}, name)
                        self.assertEqual([solve["shift"] for solve in solves], self.SHIFTS)
                        for solve, product in zip(solves, expected):
                            self.assertTrue(solve["converged"])
                            self.assertLessEqual(solve["residual"], solver["tolerance"])
                            self.assertAlmostEqual(solve["product"] / product, 1, delta=bound)

    def test_bad_jobs(self):
        good = uniform("cg", 1e-10)
        for site, solver, shifts, words in (
                ((3, 1, 2, 5), good, [0.0], "the site is odd, the solver works on even ones"),
                ((3, 1, 2, 4), good, [0.2, 0.1], "ascending order"), ((3, 1, 2, 4), good, [-0.2], "shifts"),
                ((3, 1, 2, 4), uniform("bicgstab", 1e-10), [0.2], "type: cg"),
                ((3, 1, 2, 4), sloppy("cg", "defect", "half", 12, True), [0.2], "scheme: reliable")):
            job = job_for(self.file, self.PARAMS, site, solver)
            job["run"] = [{"task": "shifted_solves", "shifts": shifts, "source": {"type": "point", "site": site}}]
            process = self.call("check", self.write_job(job))
            self.assertEqual(process.returncode, 1, process.stderr)
            self.assertRegex(process.stderr, rf"job.yaml:\d+:\d+: .*{words}")


class Tuning(Solved):
    """Tuning chooses how kernels are launched, never what they give: the same bits without it, with it, with what an
    earlier run kept, with any candidate, and beside a file of choices that is none."""

    GAUGE = {"start": "weak", "dims": [16, 8, 8, 12], "seed": harness.SEED, "epsilon": 0.3}
    PARAMS = {"mass": 0.5, "phase": [0, 0, 0, 1]}

    def bits(self, solver, out, **env):
        job = {**job_for("unused", self.PARAMS, (3, 1, 2, 5), solver), "gauge": self.GAUGE}
        results = self.run_job(job, out=out, env={"QUADRILLE_TUNING_FILE": self.path("tuning.json"), **env})
        self.check_solves(results, solver)
        return self.saved_propagator(results, out).tobytes(), [solve["iterations"] for solve in results["solves"]]

    def test_the_same_bits(self):
        for solver in (sloppy("bicgstab", "reliable", "half", 12, True), sloppy("cg", "reliable", "single", 8, False)):
            name = solver_name(solver)
            untuned = self.bits(solver, f"{name} off", QUADRILLE_TUNING="off")
            settings = [("measured", {}), ("kept", {})]
            settings += [(f"candidate {k}", {"QUADRILLE_TUNING": f"force:{k}"}) for k in range(1, 40, 3)]
            with open(self.path("garbage.json"), "w") as stream:
                stream.write("no choices")
            settings.append(("garbage", {"QUADRILLE_TUNING_FILE": self.path("garbage.json")}))
            for what, env in settings:
                with self.subTest(solver=name, tuning=what):
                    self.assertTrue(self.bits(solver, f"{name} {what}", **env) == untuned)


class HostMemory(Solved):
    """A solve on a CPU takes the memory of its parts, from a start and from a file, and nothing is held twice."""

    def test_the_peak_is_the_sum_of_the_parts(self):
        if harness.BACKEND != "cpu":
            self.skipTest("of a CPU")
        # One iteration per solve.
        solver = sloppy("bicgstab", "reliable", "half", 12, True, tolerance=0.5)

        def solved(gauge, out):
            job = job_for("unused", {"mass": 0.5, "phase": [0, 0, 0, 1]}, (0, 0, 0, 0), solver)
            return self.run_job({**job, "gauge": gauge}, out=out)["memory"]

        weak = {"start": "weak", "seed": harness.SEED, "epsilon": 0.3}
        of_program = solved({**weak, "dims": [2, 2, 2, 4]}, "small")["host_peak"]
        dims = [16, 16, 16, 24]
        sites = int(np.prod(dims))
        started = solved({**weak, "dims": dims, "save": {"file": "field.lime", "precision": "double"}}, "started")
        read = solved({"file": self.path("started/field.lime")}, "read")
        for memory in (started, read):
            parts = memory["parts"]
            self.assertEqual(parts["propagators"], 12 * sites * 24 * 8)
            self.assertLess(parts["links"], 2.01 * sites * 4 * 18 * 8)  # each link once for each of its two hops
            self.assertLessEqual(memory["host_peak"] - of_program, 1.15 * sum(parts.values()))
            self.assertGreater(memory["host_peak"], 0.9 * sum(parts.values()), "parts that were never there")


class HeldDeviceMemory:
    """All memory of the GPU but `left` bytes, through the driver, while the block lasts."""

    def __init__(self, left):
        self.left = left

    def call(self, name, *args):
        status = getattr(self.driver, name)(*args)
        if status != 0:
            raise RuntimeError(f"{name}: {status}")

    def __enter__(self):
        self.driver = ctypes.CDLL("libcuda.so.1")
        self.device, self.memory = ctypes.c_int(), ctypes.c_uint64()
        context, free, total = ctypes.c_void_p(), ctypes.c_size_t(), ctypes.c_size_t()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(self.device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), self.device)
        self.call("cuCtxSetCurrent", context)
        self.call("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
        self.call("cuMemAlloc_v2", ctypes.byref(self.memory), ctypes.c_size_t(free.value - self.left))

    def __exit__(self, *_):
        self.call("cuMemFree_v2", self.memory)
        self.call("cuDevicePrimaryCtxRelease_v2", self.device)


class DeviceMemory(Solved):
    """Solves that do not fit into the GPU's memory, and solutions that do not fit beside each other."""

    def test_solutions_move_to_the_host(self):
        if harness.BACKEND != "cuda":
            raise unittest.SkipTest("of a GPU")
        params = {"mass": 0.5, "phase": [0, 0, 0, 1]}
        solver = {**uniform(), "tolerance": 1e-8}
        job = {**job_for("unused", params, (0, 0, 0, 0), solver),
               "gauge": {"start": "weak", "dims": [24, 24, 24, 48], "seed": harness.SEED, "epsilon": 0.3}}
        source = job["run"][0]["source"]
        names = ("first", "second")
        job["run"] = [{"task": "propagator", "name": name, "source": {**source, "site": [0, 0, 0, t]}}
                      for t, name in enumerate(names)]
        job["run"] += [{"task": "mesons", "name": f"mesons_{name}", "from": name} for name in names]
        free = self.run_job(job, out="free")
        self.assertEqual(free["memory"]["propagators_on_host"], [])
        # Twelve columns take 1.53 GB: two propagators would fit into what is left but for links, solver and context.
        with HeldDeviceMemory(4 << 30):
            short = self.run_job(job, out="short")
        self.assertIn("first", short["memory"]["propagators_on_host"])
        self.assertLess(short["memory"]["backend_peak"], free["memory"]["backend_peak"])
        for name in names:
            here, there = (results["correlators"][f"mesons_{name}"]["pion"] for results in (free, short))
            np.testing.assert_allclose(there, here, rtol=1e-12)

    def test_ends_with_a_clear_error_and_the_next_one_works(self):
        if harness.BACKEND != "cuda":
            raise unittest.SkipTest("of a GPU")
        params = {"mass": 0.5, "phase": [0, 0, 0, 1]}

        def job(dims):
            return {**job_for("unused", params, (0, 0, 0, 0), uniform()),
                    "gauge": {"start": "weak", "dims": dims, "seed": harness.SEED, "epsilon": 0.3}}

        # Double links of 32^4 alone take 1.2 GB; what is left must hold the program's context too.
        with HeldDeviceMemory(3 << 29):
            process = self.call("run", self.write_job(job([32, 32, 32, 32])), "--out", self.path("out"))
        self.assertEqual(process.returncode, 1, process.stderr)
        error = [line for line in process.stderr.splitlines() if ": error: " in line]
        self.assertEqual(len(error), 1, process.stderr)
        self.assertRegex(error[0], r"\d+ bytes.*are free")
        left = os.listdir(self.path("out")) if os.path.isdir(self.path("out")) else []
        self.assertFalse([name for name in left if name.endswith(".lime")], "a file of a solve that was not done")
        self.check_solves(self.run_job(job([4, 4, 4, 4]), out="small"), uniform())


class IndependentProgram(unittest.TestCase):
    """The judge is judged: the independent program reproduces expected.json by itself."""

    def test_expected(self):
        expected_cases()
        self.assertEqual(independent.compare_with_expected(harness.DATA), 0)


del Solved, ExpectedCase, Independent, EveryMethod  # the bases hold no tests of their own

if __name__ == "__main__":
    sys.exit(harness.main(sys.modules[__name__]))
