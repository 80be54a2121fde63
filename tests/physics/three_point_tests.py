#!/usr/bin/env python3
"""Three-point functions against numpy contractions of the propagators that the same job saves, and against derivatives of
two-point functions; harness.py says what the environment is."""

import json
import os
import shutil
import sys

import numpy as np

import correlator_tests
import harness
import independent
import lime_files
from chroma_tests import numbers, weak_field
from correlator_tests import GAMMA_NAMES, GAMMA5, gamma, phases, value
from harness import ProgramTest, uniform

DIMS, SITE, SINK, MOMENTUM = (4, 4, 6, 8), (3, 1, 4, 5), 1, [1, 0, -1]
LIGHT, HEAVY = 0.4, 0.9


def operator(mass):
    return {"type": "wilson", "mass": mass, "boundary": ["periodic", {"phase": 0.3}, "periodic", "antiperiodic"]}


def twisted(job):
    """The same with a twisted mass and a chemical potential, reversed behind the current."""
    for task in job["run"]:
        if "operator" in task:
            sign = -1 if task["source"]["type"] == "sequential" else 1
            task["operator"].update(type="twisted_mass", mu=0.2 * sign, chemical_potential=0.1 * sign)
    return job


def propagator(name, mass, source, save=True):
    task = {"task": "propagator", "name": name, "operator": operator(mass), "source": source}
    return {**task, "save": {"file": f"{name}.lime", "precision": "double"}} if save else task


def sequential(name, mass, origin, hadron, **more):
    return propagator(name, mass, {"type": "sequential", "from": origin, "hadron": hadron, "time": SINK,
                                   "momentum": MOMENTUM, **more})


SMEARING = {"type": "gaussian", "sigma": 1.1, "steps": 4}
X, Y, Z, T = (independent.GAMMA[mu] for mu in range(4))
SPINS = {"none": np.eye(4), "x": -1j * Y @ Z, "y": 1j * X @ Z, "z": -1j * X @ Y, "mixed": np.eye(4) - 1j * X @ Y}
CHARGE5 = Y @ T @ GAMMA5
# name: (hadron, operator's task, smearing of the sink)
CASES = {
    "meson": ({"type": "meson", "sink": "gtg5", "source": "gx"}, "q", SMEARING),
    "up": ({"type": "nucleon", "quark": "u", "other": "d", "polarization": "x"}, "q", None),
    "down": ({"type": "nucleon", "quark": "d", "other": "d", "polarization": "mixed"}, "d", SMEARING),
    "negative": ({"type": "nucleon_negative", "quark": "d", "other": "d", "polarization": "y"}, "d", None),
    "nr": ({"type": "nucleon_nr", "quark": "u", "other": "d", "polarization": "z"}, "q", None),
}


# Of bar3ptfn.out.xml of Chroma's regression tests (JeffersonLab/chroma, tests/chroma/hadron/bar3ptfn), a build in single
# precision with CG to 1e-12: the sum of |.|^2 over space, spins and colors. Wilson quarks, kappa 0.11, with an open
# boundary in time; source and sink smeared (2.0, 5 steps), the sink at t = 7. Forward_prop_corr, then by sequential
# source its norm at the sink and, by time, that of its propagator.
CHROMA = {
    "forward": numbers("0.195057149667593 0.0165113004683364 0.00626269116699535 0.00253901386228447 0.00103327022599097 "
                       "0.000420641946060062 0.000171401921273018 6.99144202095747e-05"),
    "pion": (6.57714739606533e-05, numbers("5.15427274454193e-08 1.2599722870226e-07 3.08484321052256e-07 7.55719004208279e-07 "
                                           "1.85144797407014e-06 4.5398331199446e-06 1.11341132248453e-05 2.70417877876901e-05")),
    "u": (2.33773307598926e-09, numbers("1.76312312999631e-12 4.32833300280472e-12 1.06466976751679e-11 2.62037193594346e-11 "
                                        "6.45028968033853e-11 1.58915911830746e-10 3.91558274403562e-10 9.64097063850044e-10")),
    "d": (4.49554678692632e-10, numbers("3.39060671107173e-13 8.32367204086159e-13 2.0474195398236e-12 5.03910135610506e-12 "
                                        "1.24042715376e-11 3.05604189486959e-11 7.52984593878009e-11 1.85400256087533e-10")),
    "bound": 2e-5,
}


class ChromaSequential(ProgramTest):
    """Sequential sources in numpy, from the contractions that those of the program are compared with, are Chroma's."""
    DIMS = (4, 4, 4, 8)

    def solve(self, links, sources):
        """Of [t, z, y, x, sink spin, source spin, sink color, source color], by iterating x = (b - (M - d) x) / d."""
        mass = 1 / (2 * 0.11) - 4
        matrix = independent.Wilson(links, mass, (0, 0, 0, 0))
        columns = np.transpose(sources, (0, 1, 2, 3, 6, 4, 5, 7))
        shape = columns.shape
        columns = columns.reshape(shape[:6] + (12,))
        x = columns / (mass + 4)
        for _ in range(200):
            x = x + (columns - matrix(x)) / (mass + 4)
        self.assertLess(np.linalg.norm(columns - matrix(x)), 1e-9 * np.linalg.norm(columns))
        return np.transpose(x.reshape(shape), (0, 1, 2, 3, 5, 6, 4, 7))

    def smeared(self, links, quark):
        columns = np.transpose(quark, (0, 1, 2, 3, 6, 4, 5, 7))
        return np.transpose(correlator_tests.smeared(links, columns, 2.0, 5), (0, 1, 2, 3, 5, 6, 4, 7))

    def without(self, correlator):
        """g5 W^+ g5 of C = tr W S, by inserting each matrix with one number for S."""
        w = np.zeros((4, 4, 4, 4, 4, 3, 3), dtype=complex)
        for place in np.ndindex(4, 4, 3, 3):
            unit = np.zeros((4, 4, 4, 4, 4, 3, 3), dtype=complex)
            unit[(..., *place)] = 1
            w[(..., *place)] = correlator(unit)
        return np.einsum("ab,...bcij,cd->...adij", GAMMA5, w.conj(), GAMMA5)

    def test_bar3ptfn(self):
        links = weak_field(self.DIMS, np.float32)[0]
        point = np.zeros(self.DIMS[::-1] + (4, 4, 3, 3), dtype=complex)
        point[0, 0, 0, 0] = np.einsum("ab,ij->abij", np.eye(4), np.eye(3))
        source = self.smeared(links, point)
        links[-1, :, :, :, 3] = 0
        forward = self.solve(links, source)
        norm = lambda quark: (np.abs(quark) ** 2).sum(axis=tuple(range(1, 8)))
        self.assertLess(np.max(np.abs(norm(forward) / CHROMA["forward"] - 1)), CHROMA["bound"])
        sink = self.smeared(links, forward)[7]
        nr = (np.eye(4) + T) / 2
        baryon = lambda quarks: correlator_tests.baryon(quarks, CHARGE5 @ nr, nr @ SPINS["mixed"], ((0, 1, 2), (2, 1, 0)))
        local = {
            "pion": np.einsum("ab,...bcij,cd->...adij", GAMMA5, sink, GAMMA5),
            "u": self.without(lambda unit: baryon((unit, sink, sink)) + baryon((sink, sink, unit))),
            "d": self.without(lambda unit: baryon((sink, unit, sink))),
        }
        for name, (at_sink, correlator) in ((name, CHROMA[name]) for name in ("pion", "u", "d")):
            whole = np.zeros_like(forward)
            whole[7] = local[name]
            whole = self.smeared(links, whole)
            deviation = max(abs(norm(whole)[7] / at_sink - 1),
                            np.max(np.abs(norm(self.solve(links, whole)) / correlator - 1)))
            print(f"{name}: {deviation:.1e}")
            self.assertLess(deviation, CHROMA["bound"], name)


class ThreePoint(ProgramTest):
    POINT = {"type": "point", "site": list(SITE)}

    def job(self, light, heavy, *tasks):
        return {"gauge": {"start": "weak", "epsilon": 0.4, "seed": harness.SEED, "dims": list(DIMS)},
                "solver": uniform(tolerance=1e-13),
                "run": [propagator("q", light, self.POINT), propagator("d", heavy, self.POINT), *tasks]}

    def sequential_job(self, **more):
        run = []
        for name, (hadron, line, smearing) in CASES.items():
            source = {"smearing": smearing} if smearing else {}
            run.append(sequential(name, LIGHT if line == "q" else HEAVY, "d" if name == "meson" else "q", hadron, **source))
            run.append({"task": "three_point", "name": f"c_{name}", "from": line, "sequential": name, **more})
        return self.job(LIGHT, HEAVY, *run)

    def two_points(self, light, heavy, change):
        """Of each case, at the sink with MOMENTUM, from propagators that the program saves."""
        out = f"{light}_{heavy}"
        results = self.run_job(change(self.job(light, heavy)), "--force", out=out)
        links = self.links()
        quarks = {}
        for name in "qd":
            saved = self.saved_propagator(results, out, f"{name}.lime")
            columns = correlator_tests.smeared(links, correlator_tests.columns_of(saved), SMEARING["sigma"], SMEARING["steps"])
            quarks[name, None], quarks[name, "gaussian"] = saved, np.transpose(columns, (0, 1, 2, 3, 5, 6, 4, 7))
        phase, found = phases(DIMS, MOMENTUM, SITE), {}
        for name, (hadron, _, smearing) in CASES.items():
            like, other = (quarks[one, smearing and "gaussian"] for one in "qd")
            if name == "meson":
                found[name] = correlator_tests.meson(like, other, gamma(hadron["sink"]), gamma(hadron["source"]), phase)[SINK]
                continue
            parity = (np.eye(4) + (-1 if "negative" in hadron["type"] else 1) * T) / 2
            sink = CHARGE5 @ parity if hadron["type"] == "nucleon_nr" else CHARGE5
            local = correlator_tests.baryon((like, other, like), sink, parity @ SPINS[hadron["polarization"]],
                                            ((0, 1, 2), (2, 1, 0)))
            found[name] = (phase * local).sum(axis=(1, 2, 3))[SINK]
        return found

    def derivatives(self, masses, change):
        """dC/dm of each case to fourth order; masses(step) gives the two."""
        step = 0.01
        at = {k: self.two_points(*masses(k * step), change) for k in (-2, -1, 1, 2)}
        return {name: (8 * (at[1][name] - at[-1][name]) - (at[2][name] - at[-2][name])) / (12 * step) for name in CASES}

    def links(self):
        results = self.run_job({**self.job(LIGHT, HEAVY), "gauge": {**self.job(LIGHT, HEAVY)["gauge"], "save": {"file": "links.lime", "precision": "double"}},
                                "run": []}, out="links")
        return lime_files.read_gauge(self.path("links/links.lime"))[0]

    def check_scalar_current(self, change):
        """sum_y S(x, y) S(y, x0) = -dS/dm, so that the currents 1 of all times add up to that of the correlator."""
        found = self.run_job(change(self.sequential_job(currents=["1"])))["correlators"]
        expected = {"q": self.derivatives(lambda step: (LIGHT + step, HEAVY), change),
                    "d": self.derivatives(lambda step: (LIGHT, HEAVY + step), change)}
        for name, (_, line, _) in CASES.items():
            terms = value(found[f"c_{name}"]["channels"]["1"]["correlators"][0])
            deviation = abs(terms.sum() + expected[line][name]) / np.abs(terms).sum()
            print(f"{name}: {deviation:.1e}")
            self.assertLess(deviation, 1e-5, name)

    def test_the_scalar_current_is_minus_the_derivative_by_the_mass(self):
        self.check_scalar_current(lambda job: job)

    def test_twisted_mass_and_chemical_potential_are_reversed(self):
        self.check_scalar_current(twisted)

    def test_charges_of_heavy_quarks(self):
        """Without gauge field, of quarks that stay where they are: those of SU(6), across the edge of the lattice too."""
        for start, sink, phase in ((0, 3, "periodic"), (6, 1, "antiperiodic")):  # nearer than the other way round
            self.check_charges({"type": "point", "site": [0, 0, 0, start]}, sink, phase)

    def check_charges(self, at, sink, phase):
        mass = 96.0
        hadron = {"type": "nucleon", "polarization": "mixed"}
        run = [propagator("q", mass, at, False), {"task": "baryons", "name": "c2", "from": "q"}]
        for quark in "ud":
            run.append(propagator(quark, mass, {"type": "sequential", "from": "q", "time": sink, "hadron": {**hadron, "quark": quark}},
                                  False))
            run.append({"task": "three_point", "name": f"c_{quark}", "from": "q", "sequential": quark, "currents": ["gt", "gzg5"]})
        job = {"gauge": {"start": "cold", "dims": list(DIMS)}, "solver": uniform(tolerance=1e-14), "run": run}
        for task in run:
            if "operator" in task:
                task["operator"]["boundary"] = ["periodic"] * 3 + [phase]
        found = self.run_job(job, "--force")["correlators"]
        norm = value(found["c2"]["channels"]["nucleon"]["correlators"][0])[sink] / (mass + 4)  # a bare current splits a line in two
        for quark, vector, axial in (("u", 2, 4 / 3), ("d", 1, -1 / 3)):
            channels = found[f"c_{quark}"]["channels"]
            charge, spin = (value(channels[name]["correlators"][0])[sink - 1] / norm for name in ("gt", "gzg5"))
            print(quark, charge, spin)
            self.assertLess(abs(charge - vector), 0.01)
            self.assertLess(abs(spin - 1j * axial), 0.01)

    def test_the_other_quark_is_like_the_first(self):
        hadron = {"type": "nucleon", "quark": "u"}
        job = self.job(LIGHT, HEAVY, sequential("a", LIGHT, "q", hadron), sequential("b", LIGHT, "q", {**hadron, "other": "q"}),
                       *({"task": "three_point", "name": f"c_{one}", "from": "q", "sequential": one} for one in "ab"))
        found = self.run_job(job)["correlators"]
        self.assertEqual(found["c_a"]["channels"], found["c_b"]["channels"])

    def test_saved_files_say_what_they_are(self):
        hadron = {"type": "nucleon", "quark": "u", "polarization": "x"}
        job = self.job(LIGHT, HEAVY, sequential("s", LIGHT, "q", hadron, smearing=SMEARING))
        self.run_job(job)
        self.run_job(self.job(LIGHT, HEAVY, propagator("f", LIGHT, {"type": "file", "file": "out/q.lime", "site": list(SITE)})), out="f")
        where = f"<t_srce>{' '.join(map(str, SITE))}</t_srce>"
        for file, elements in (("out/q.lime", ("<SourceType>POINT_SOURCE</SourceType>", where)),
                               ("out/s.lime", ("<SourceType>SEQUENTIAL_SOURCE</SourceType>", where, f"<t_sink>{SINK}</t_sink>",
                                               "<sink_mom>1 0 -1</sink_mom>", "<hadron>nucleon quark u polarization x</hadron>")),
                               ("f/f.lime", ("<SourceType>FILE_SOURCE</SourceType>", where, "<file>out/q.lime</file>"))):
            with open(self.path(file), "rb") as stream:
                content = stream.read()
            for element in elements:
                self.assertIn(element.encode(), content, file)

    def test_averages_on_four_times(self):
        """A place has as many numbers as the lattice times there, and is none of its functions."""
        site, n = [1, 2, 3, 2], [0, 1, 0]
        files = []
        for seed in (1, 2, 3):
            links = {"gauge": {"start": "weak", "epsilon": 0.4, "seed": seed, "dims": [4] * 4, "save": {"file": f"{seed}.lime"}}, "run": []}
            self.run_job(links, out=f"links{seed}")
            files.append(f"links{seed}/{seed}.lime")
        run = [propagator("q", LIGHT, {"type": "point", "site": site}, False),
               propagator("s", LIGHT, {"type": "sequential", "from": "q", "time": 0, "momentum": n}, False),
               {"task": "three_point", "name": "c", "from": "q", "sequential": "s"}]
        found = self.run_job({"gauge": {"files": files}, "solver": uniform(), "run": run})["averages"]["correlators"]["c"]
        single = [self.read_results(f"out/configurations/{seed}.lime")["correlators"]["c"] for seed in (1, 2, 3)]
        self.assertEqual((found["source"], found["source_time"], found["sink_time"], found["sink_momentum"]), (site, site[3], 0, n))
        self.assertEqual(found["hadron"], single[0]["hadron"])
        mean = np.mean([one["channels"]["gt"]["correlators"][0]["re"] for one in single], axis=0)
        self.assertTrue(np.allclose(found["channels"]["gt"]["correlators"][0]["re"]["mean"], np.roll(mean, -site[3]), rtol=1e-12))
        with open(self.path("out/correlators.h5"), "rb") as stream:
            content = stream.read()
        self.assertIn(b"channels\0", content)
        self.assertNotIn(b"source\0", content)

    def test_a_file_for_each_configuration(self):
        point, files = {"type": "point", "site": list(SITE)}, []
        for seed in (1, 2):
            gauge = {"start": "weak", "epsilon": 0.4, "seed": seed, "dims": list(DIMS), "save": {"file": "links.lime"}}
            self.run_job({"gauge": gauge, "solver": uniform(), "run": [propagator("q", LIGHT, point)]}, out=f"made{seed}")
            os.rename(self.path(f"made{seed}/links.lime"), self.path(f"b_{seed}"))
            files.append(f"b_{seed}")
            shutil.copy(self.path(f"made{seed}/q.lime"), self.path(f"source_b_{seed}.lime"))
        run = [propagator("f", HEAVY, {"type": "file", "file": "source_{name}.lime", "site": list(SITE)}, False),
               {"task": "mesons", "name": "pion", "from": "f"}]
        job = {"gauge": {"files": files}, "solver": uniform(), "run": run}
        self.assertEqual(self.run_job(job)["warnings"], [])
        pion = lambda out: self.read_results(out)["correlators"]["pion"]["pion"]
        for seed in (1, 2):
            run[0]["source"]["file"] = f"source_b_{seed}.lime"
            self.run_job({**job, "gauge": {"file": f"b_{seed}"}}, out=f"alone{seed}")
            self.assertEqual(pion(f"out/configurations/b_{seed}"), pion(f"alone{seed}"))
        self.assertIn("f: 'source.file' is one file for all configurations; {name} in it would stand for the name of each",
                      self.run_job(job, out="shared")["warnings"])
        run[0]["source"]["file"] = "source_{name}.lime"
        shutil.copy(self.path("source_b_1.lime"), self.path("source_b_2.lime"))
        self.run_job(job)  # that of one has changed
        self.assertEqual(pion("out/configurations/b_1"), pion("alone1"))
        self.assertNotEqual(pion("out/configurations/b_2"), pion("alone2"))
        os.remove(self.path("source_b_2.lime"))
        process = self.call("check", self.write_job(job))
        self.assertEqual(process.returncode, 1)
        self.assertRegex(process.stderr, r"job.yaml:\d+:\d+: 'source.file': .*source_b_2.lime")

    def test_what_is_unusual_is_said(self):
        nucleon = {"type": "nucleon", "quark": "d", "other": "d"}
        here = sequential("here", HEAVY, "q", "meson")
        here["source"]["time"] = SITE[3]
        smear = {"task": "smear", "type": "stout", "rho": 0.1, "steps": 1}
        late = propagator("late", LIGHT, self.POINT)
        job = self.job(LIGHT, HEAVY, sequential("s", HEAVY, "q", nucleon), here,
                       {"task": "three_point", "name": "c", "from": "q", "sequential": "s"}, smear, late,
                       sequential("mixed", LIGHT, "q", "meson"), {"task": "mesons", "name": "m", "from": "q", "antiquark": "late"})
        warnings = self.run_job(job)["warnings"]
        for words in (f"c: the current changes the flavour: the mass of 'q' is {LIGHT}, that of 's' {HEAVY}",
                      "c: the hadron at the sink lacks a quark with the operator of 'd', and the current is on 'q', which has "
                      "another one",
                      f"here: the sink is at the time of the source, {SITE[3]}",
                      "mixed: the quark 'q' of the hadron is on other links than this propagator",
                      "m: the propagators 'q' and 'late' are on different links"):
            self.assertIn(words, warnings)
        self.assertEqual([one for one in self.run_job(self.sequential_job(), out="usual")["warnings"]], [])

    def test_all_currents_and_momenta(self):
        results = self.run_job(self.sequential_job(currents=GAMMA_NAMES, momenta=2))
        for name, (hadron, line, _) in CASES.items():
            entry = results["correlators"][f"c_{name}"]
            self.assertEqual((entry["source"], entry["source_time"], entry["sink_time"], entry["sink_momentum"]),
                             (list(SITE), SITE[3], SINK, MOMENTUM))
            self.assertEqual(entry["hadron"]["type"], hadron["type"])
            quark, back = (self.saved_propagator(results, "out", f"{one}.lime") for one in (line, name))
            scale = (np.abs(quark) * np.abs(back)).sum(axis=tuple(range(1, 8)))
            self.assertEqual(list(entry["channels"]), GAMMA_NAMES)
            for current, channel in entry["channels"].items():
                self.assertEqual(len(channel["correlators"]), 19)
                for correlator in channel["correlators"][::5]:
                    phase = phases(DIMS, correlator["momentum"], SITE).conj()
                    expected = correlator_tests.meson(quark, back, gamma(current), np.eye(4), phase)
                    self.assertLess(np.max(np.abs(value(correlator) - expected) / scale), 1e-12, (name, current))

    def test_a_source_from_a_file(self):
        """A propagator as a source: the same as to solve for its columns."""
        first = self.run_job(self.job(LIGHT, HEAVY))
        again = {"type": "file", "file": "out/q.lime", "site": list(SITE)}
        job = self.job(LIGHT, HEAVY, propagator("twice", HEAVY, again))
        sequence = self.run_job(job, out="again")
        # D(x, y) Q(y) summed over y, from either side: (M_d^-1 M_q^-1) = (M_q^-1 - M_d^-1) / (m_d - m_q)
        light, heavy, twice = (self.saved_propagator(sequence, "again", f"{name}.lime") for name in ("q", "d", "twice"))
        expected = (light - heavy) / (HEAVY - LIGHT)
        self.assertLess(np.abs(twice - expected).max(), 1e-11 * np.abs(expected).max())
        self.assertEqual(first["correlators"], {})

    def test_quarks_without_a_solution(self):
        """What is made of them is left out, with a warning; the rest of the job is done, as of any job in an ensemble."""
        job = self.sequential_job(currents=["gt"])
        for task in job["run"]:
            task.pop("save", None)
        good = self.run_job(job, out="good")["correlators"]
        job["run"][1]["solver"] = {**job["solver"], "max_iterations": 2}  # the quark d
        alone = self.run_job(job, status=3)
        self.forget("c_meson", "c_up", "c_nr")
        again = self.run_job(job, status=3)
        links = {"gauge": {**job["gauge"], "save": {"file": "links.lime", "precision": "double"}}, "run": []}
        self.run_job(links, out="links")
        chain = self.run_job({**job, "gauge": {"files": ["links/links.lime"]}, "ensemble": {"on_error": "continue"}}, out="chain",
                             status=3)
        self.assertEqual([entry["state"] for entry in chain["configurations"]], ["done"])
        for results in (alone, again, self.read_results("chain/configurations/links.lime")):
            for name in CASES:  # each has a quark d
                for channel in results["correlators"][f"c_{name}"]["channels"].values():
                    self.assertEqual(channel["correlators"][0]["re"], [None] * DIMS[3])
                self.assertEqual(list(good[f"c_{name}"]), list(results["correlators"][f"c_{name}"]))
                solves = [solve for solve in results["solves"] if solve["task"] == name]
                self.assertEqual(len(solves), 12)
                self.assertFalse(any(solve["converged"] for solve in solves))
            for name, of in (("meson", "d"), ("up", "d")):
                self.assertIn(f"{name}: no solve, no correlator: '{of}', which the source is made of, has no solution",
                              results["warnings"])

    def test_a_changed_file_of_a_source(self):
        """What was solved from the file, and what is made of that, is done again; nothing else."""
        self.run_job(self.job(LIGHT, HEAVY), out="made")
        shutil.copy(self.path("made/q.lime"), self.path("source.lime"))
        pion = lambda name: {"task": "mesons", "name": f"pion_{name}", "from": name}
        job = self.job(LIGHT, HEAVY, propagator("f", HEAVY, {"type": "file", "file": "source.lime", "site": list(SITE)}),
                       pion("f"), pion("d"))
        first = self.run_job(job)["correlators"]
        shutil.copy(self.path("made/d.lime"), self.path("source.lime"))
        again = self.call("run", self.path("job.yaml"), "--out", self.path("out"))
        self.assertEqual(again.returncode, 0, again.stderr)
        for name in ("q", "d", "pion_d"):
            self.assertIn(f"{name}: already done, skipped", again.stderr)
        for name in ("f", "pion_f"):
            self.assertNotIn(f"{name}: already done", again.stderr)
        found = self.read_results()["correlators"]
        self.assertEqual(found["pion_d"], first["pion_d"])
        self.assertNotEqual(found["pion_f"]["pion"], first["pion_f"]["pion"])
        self.assertEqual(found, self.run_job(job, out="fresh")["correlators"])

    def forget(self, *tasks):
        """As if the run had been killed before these tasks were finished."""
        with open(self.path("out/restart.json"), "a") as stream:
            stream.write(json.dumps({"tasks": dict.fromkeys(tasks)}) + "\n")

    def test_a_killed_job_goes_on(self):
        """Where nothing is saved, the quarks that a sequential source is made of are solved for again as well."""
        for saved in (False, True):
            job = self.sequential_job(currents=["gt"])
            for task in job["run"] if not saved else []:
                task.pop("save", None)
            out = self.run_job(job, "--force")
            first = out["correlators"]
            for forgotten in (["c_up"], ["c_down", "c_negative"], ["meson", "c_meson"], ["d", "c_nr"]):
                self.forget(*forgotten)
                again = self.run_job(job)
                self.assertEqual(again["correlators"], first, forgotten)
                self.assertEqual(len(again["solves"]), len(out["solves"]))

    def test_another_number_of_threads(self):
        job = self.sequential_job(currents=["gt"])
        first = self.run_job(job)["correlators"]
        job["run"].append({"task": "three_point", "name": "more", "from": "q", "sequential": "up", "currents": ["gt"]})
        self.assertEqual(self.run_job(job, "--threads", "2", out="two")["correlators"]["more"], first["c_up"])

    def test_help_finds_the_charges(self):
        for words in (("gA",), ("axial", "charge")):
            process = self.call("help", *words)
            self.assertEqual(process.returncode, 0, process.stderr)
            self.assertIn("three_point", process.stdout)

    def test_bad_jobs(self):
        good = sequential("s", LIGHT, "q", "meson")
        elsewhere = propagator("e", LIGHT, {"type": "point", "site": [0, 0, 0, 0]})
        three = {"task": "three_point", "from": "q", "sequential": "s"}
        smear = {"task": "smear", "type": "stout", "rho": 0.1, "steps": 1}
        phase = {**good, "operator": {**good["operator"], "boundary": ["periodic"] * 4}}
        same = twisted(self.job(LIGHT, HEAVY, good))["run"]
        same[2]["operator"]["mu"] = 0.2
        nucleon = {"type": "nucleon", "quark": "u"}
        noise = propagator("n", LIGHT, {"type": "noise", "time": 5})
        self.run_job({"gauge": {"start": "cold", "dims": [4, 4, 4, 4]}, "solver": uniform(),
                      "run": [propagator("q", LIGHT, {"type": "point", "site": [0, 0, 0, 0]})]}, out="other")
        process = self.call("check", self.write_job({**self.job(LIGHT, HEAVY), "run": [*same, three]}))
        self.assertEqual(process.returncode, 1)
        self.assertIn("its 'mu' must be -0.2, got 0.2", process.stderr)
        for tasks, words in (
                ([phase, three], r"'sequential': the operator of 's' must be that of 'q' with mu and chemical_potential reversed: "
                                 r"its 'boundary' must be \["),
                ([smear, good, three], "'sequential': 'q' and 's' must be on the same links, got those of the gauge block and "
                                       "those of 'smear'"),
                ([noise, sequential("s", LIGHT, "n", nucleon)], "'source.from' must name quarks that make a nucleon: those of 'n' "
                                                                "are from a source of the type noise"),
                ([good, sequential("t", LIGHT, "s", nucleon)], "those of 's' are from a source of the type sequential"),
                ([{**good, "source": {**good["source"], "momentum": [0, -3, 0]}}],
                 r"'source.momentum\[1\]' must be >= -2 and <= 2, half of the extent 4 of this lattice, got -3"),
                ([good, sequential("t", LIGHT, "q", "meson", momentum=[0, 1, 0]), {"task": "mesons", "from": "s", "antiquark": "t"}],
                 "'antiquark' must name a propagator from the same source as 's'"),
                ([propagator("f", LIGHT, {"type": "file", "file": "other/q.lime", "site": list(SITE)})],
                 "'source.file': .*q.lime: this source is on a 4x4x4x4 lattice, not on one of 4x4x6x8"),
                ([sequential("s", LIGHT, "nobody", "meson")], "'source.from' must name an earlier propagator task, got 'nobody'"),
                ([sequential("s", LIGHT, "q", "nucleon")], "'quark' is missing in hadron nucleon: give one of u, d"),
                ([elsewhere, sequential("s", LIGHT, "q", {"type": "nucleon", "quark": "u", "other": "e"})],
                 "'source.hadron.other' must name a propagator from the same source"),
                ([{**good, "source": {**good["source"], "time": 8}}], r"'source.time' must be >= 0 and < 8"),
                ([good, {**three, "sequential": "d"}], "must name a propagator whose source is sequential; that of 'd' is point"),
                ([elsewhere, good, {**three, "from": "e"}], "'from' must name a propagator from the same source as 'q'"),
                ([good, {**three, "currents": ["g6"]}], "must be one of 1, g5"),
                ([propagator("f", LIGHT, {"type": "file", "file": "none.lime", "site": [0, 0, 0, 0]})], "'source.file': .*none.lime")):
            process = self.call("check", self.write_job(self.job(LIGHT, HEAVY, *tasks)))
            self.assertEqual(process.returncode, 1, words)
            self.assertRegex(process.stderr, rf"job.yaml:\d+:\d+: .*{words}")


if __name__ == "__main__":
    sys.exit(harness.main(sys.modules[__name__]))
