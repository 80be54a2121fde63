#!/usr/bin/env python3
"""Correlators of the tasks mesons and baryons against numpy contractions of the propagators that the same job saves, and against the free
field, whose propagator is known; harness.py says what the environment is."""

import csv
import itertools
import json
import os
import subprocess
import sys

import numpy as np

import harness
import independent
from harness import ProgramTest, uniform

GAMMA5 = independent.GAMMA5
FACTORS = {"x": independent.GAMMA[0], "y": independent.GAMMA[1], "z": independent.GAMMA[2], "t": independent.GAMMA[3], "5": GAMMA5}
DIRECTIONS = "xyzt"
GAMMA_NAMES = (["1", "g5"] + [f"g{a}" for a in DIRECTIONS] + [f"g{a}g5" for a in DIRECTIONS]
               + [f"g{a}g{b}" for k, a in enumerate(DIRECTIONS) for b in DIRECTIONS[k + 1:]])
MESONS = {"pion": "g5", "pion_2": "gtg5", "a0": "1", "a0_2": "gt", **{f"rho_{a}": f"g{a}" for a in "xyz"},
          **{f"rho_{a}_2": f"g{a}gt" for a in "xyz"}, **{f"a1_{a}": f"g{a}g5" for a in "xyz"},
          "b1_x": "gygz", "b1_y": "gxgz", "b1_z": "gxgy"}


def gamma(name):
    product = np.eye(4, dtype=complex)
    for letter in name[1::2]:
        product = product @ FACTORS[letter]
    return product


def phases(dims, momentum, site):
    """exp(-i p (x - x0)) as [z, y, x]."""
    x, y, z = (np.exp(-2j * np.pi * momentum[mu] * (np.arange(dims[mu]) - site[mu]) / dims[mu]) for mu in range(3))
    return z[:, None, None] * y[:, None] * x


def meson(quark, antiquark, sink, source, phase):
    """sum_x phase tr[A S B g5 S'^+ g5] by time, for propagators [t, z, y, x, sink spin, source spin, sink color, source
    color]."""
    right = np.einsum("...abij,bd->...adij", quark, source @ GAMMA5)
    local = np.einsum("ca,...adij,...cdij->...", GAMMA5 @ sink, right, antiquark.conj(), optimize=True)
    return (phase * local).sum(axis=(1, 2, 3))


def value(correlator):
    return np.array(correlator["re"]) + 1j * np.array(correlator.get("im", 0))


def small_momenta(most):
    reach = range(-most, most + 1)
    return {(x, y, z) for x in reach for y in reach for z in reach if x * x + y * y + z * z <= most}


class Correlators(ProgramTest):
    DIMS, SITE = (4, 6, 8, 10), (3, 1, 6, 7)

    def job(self, *mesons, masses=(0.3, 0.7), **more):
        """Propagators q0, q1, ... of these masses, and the tasks."""
        run = [{"task": "propagator", "name": f"q{k}", "source": {"type": "point", "site": list(self.SITE)},
                "operator": {"type": "wilson", "mass": mass, "boundary": ["periodic", {"phase": 0.3}, "periodic", "antiperiodic"]},
                "save": {"file": f"q{k}.lime", "precision": "double"}} for k, mass in enumerate(masses)]
        return {"gauge": {"start": "weak", "epsilon": 0.4, "seed": harness.SEED, "dims": list(self.DIMS)},
                "solver": uniform(tolerance=1e-10), "run": run + list(mesons), **more}

    def propagators(self, results, out="out"):
        return [self.saved_propagator(results, out, f"q{k}.lime") for k in range(2)]


class Mesons(Correlators):
    def check(self, entry, quark, antiquark, bound=1e-12):
        """All channels and momenta of an entry, relative to the largest pion."""
        scale = (np.abs(quark) * np.abs(antiquark)).sum(axis=tuple(range(1, 8)))
        for name, channel in entry["channels"].items():
            for correlator in channel["correlators"]:
                expected = meson(quark, antiquark, gamma(channel["sink"]), gamma(channel["source"]),
                                 phases(self.DIMS, correlator["momentum"], self.SITE))
                self.assertLess(np.max(np.abs(value(correlator) - expected) / scale), bound, (name, correlator["momentum"]))

    def test_all_mesons_and_random_pairs(self):
        rng = np.random.default_rng(harness.SEED)
        pairs = {tuple(rng.choice(GAMMA_NAMES, 2)) for _ in range(12)} | {("gtg5", "g5"), ("g5", "gtg5")}
        pairs = [{"sink": str(sink), "source": str(source)} for sink, source in sorted(pairs)]
        results = self.run_job(self.job(
            {"task": "mesons", "name": "all", "from": "q0", "channels": list(MESONS), "momenta": {"p2_max": 2}},
            {"task": "mesons", "name": "pairs", "from": "q0", "antiquark": "q1", "channels": pairs, "momenta": 1},
            {"task": "mesons", "name": "swapped", "from": "q1", "antiquark": "q0", "channels": pairs}))
        light, heavy = self.propagators(results)
        found = results["correlators"]
        self.assertEqual({name: (channel["sink"], channel["source"]) for name, channel in found["all"]["channels"].items()},
                         {name: (gamma, gamma) for name, gamma in MESONS.items()})
        self.assertEqual(list(found["pairs"]["channels"]), [f"{pair['sink']}_{pair['source']}" for pair in pairs])
        for name, most in (("all", 2), ("pairs", 1), ("swapped", 0)):
            for channel in found[name]["channels"].values():
                momenta = [tuple(correlator["momentum"]) for correlator in channel["correlators"]]
                self.assertEqual(momenta[0], (0, 0, 0))
                self.assertEqual((len(momenta), set(momenta)), (len(small_momenta(most)), small_momenta(most)))
        self.check(found["all"], light, light)
        self.check(found["pairs"], light, heavy)
        self.check(found["swapped"], heavy, light)
        for entry in found.values():
            self.assertEqual((entry["source"], entry["source_time"]), (list(self.SITE), self.SITE[3]))
        # One propagator at rest: each of these is real, and says so. Two: nothing is.
        for channel in found["all"]["channels"].values():
            self.assertEqual(["im" in correlator for correlator in channel["correlators"]], [False] + [True] * 18)
        self.assertTrue(all("im" in channel["correlators"][0] for channel in found["pairs"]["channels"].values()))
        pion = meson(light, heavy, GAMMA5, GAMMA5, 1).real
        np.testing.assert_allclose(found["pairs"]["pion"], pion, rtol=1e-11)
        np.testing.assert_allclose(found["all"]["pion"], (np.abs(light) ** 2).sum(axis=tuple(range(1, 8))), rtol=1e-12)

    def test_what_was_there_before(self):
        results = self.run_job(self.job({"task": "mesons", "from": "q0"}, masses=(0.3,)))
        self.assertEqual(list(results["correlators"]["mesons"]), ["pion", "source_time", "effective_mass"])

    def test_reversal_of_time_of_a_pair(self):
        """<A4 P> and <P A4> of one propagator are real; a pair with signs of reversal that differ is imaginary at rest."""
        pairs = [{"sink": "gtg5", "source": "g5"}, {"sink": "gx", "source": "g5"}]
        channels = self.run_job(self.job({"task": "mesons", "from": "q0", "channels": pairs}, masses=(0.3,)))["correlators"]["mesons"]["channels"]
        self.assertNotIn("im", channels["gtg5_g5"]["correlators"][0])
        imaginary = channels["gx_g5"]["correlators"][0]
        self.assertLess(np.abs(imaginary["re"]).max(), 1e-12 * np.abs(channels["gtg5_g5"]["correlators"][0]["re"]).max())

    def test_a_job_runs_again(self):
        """What is done is skipped; a propagator that is not saved is solved again for new tasks."""
        job = self.job({"task": "mesons", "from": "q0", "antiquark": "q1", "channels": ["rho_x"], "momenta": 1})
        first = self.run_job(job)["correlators"]
        self.assertEqual(self.run_job(job)["correlators"], first)
        again = self.run_job(job, "--threads", "3", out="threads")["correlators"]
        self.assertEqual(again, first)

    def test_lost_correlators_come_back(self):
        """One propagator is read from its file, the other is solved again: the same bits, with smeared sinks, too."""
        smearing = {"type": "gaussian", "sigma": 1.0, "steps": 3}
        job = self.job({"task": "mesons", "name": "m", "from": "q0", "antiquark": "q1", "channels": ["rho_x"], "momenta": 1},
                       {"task": "mesons", "name": "s", "from": "q0", "antiquark": "q1", "sink_smearing": smearing},
                       {"task": "baryons", "name": "b", "from": "q1", "other": "q0"})
        del job["run"][1]["save"]
        first = self.run_job(job)["correlators"]
        with open(self.path("out/restart.json")) as stream:
            state = json.load(stream)
        for name in "msb":
            del state["tasks"][name]
        with open(self.path("out/restart.json"), "w") as stream:
            json.dump(state, stream)
        process = self.call("run", self.path("job.yaml"), "--out", self.path("out"))
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertIn("q1: already done, but not saved in double precision: solving again", process.stderr)
        self.assertNotIn("q0: already done, but", process.stderr)
        self.assertEqual(self.read_results()["correlators"], first)

    def test_columns_without_a_solution(self):
        job = self.job({"task": "mesons", "name": "m", "from": "q0", "channels": ["pion", "rho_x"], "momenta": 1},
                       {"task": "mesons", "name": "n", "from": "q1", "antiquark": "q0"})
        job["run"][0]["solver"] = {**job["solver"], "max_iterations": 2}
        found = self.run_job(job, status=3)["correlators"]
        for channel in found["m"]["channels"].values():
            self.assertEqual(len(channel["correlators"]), 7)
            for correlator in channel["correlators"]:
                self.assertEqual(correlator["re"], [None] * 10)
        self.assertEqual(found["n"]["pion"], [None] * 10)
        self.assertEqual(found["n"]["effective_mass"], [None] * 5)

    def test_bad_jobs(self):
        mesons = {"task": "mesons", "from": "q0"}
        for change, words in (
                ({"channels": ["roh_x"]}, r"'channels\[0\].meson' must be one of"),
                ({"channels": [{"sink": "g5"}]}, "source"),
                ({"channels": [{"sink": "g5", "source": "g0g5"}]}, "must be one of 1, g5, gx"),
                ({"channels": ["pion", "pion"]}, "in the list already"),
                ({"momenta": 5}, r"'momenta.p2_max' must be <= 4, the square of half of the shortest side"),
                ({"antiquark": "q7"}, "'antiquark' must name an earlier propagator task, got 'q7'"),
                ({"antiquark": "elsewhere"}, "'antiquark' must name a propagator from the same source as 'q0'")):
            job = self.job(masses=(0.3,))
            job["run"].append({**job["run"][0], "name": "elsewhere", "source": {"type": "point", "site": [0, 0, 0, 0]}})
            del job["run"][-1]["save"]
            job["run"].append({**mesons, **change})
            process = self.call("check", self.write_job(job))
            self.assertEqual(process.returncode, 1, change)
            self.assertRegex(process.stderr, rf"job.yaml:\d+:\d+: .*{words}")
        critical = {"task": "critical_mass", "from": ["a", "b"], "window": [1, 3]}
        job = self.job({**mesons, "name": "a"}, {**mesons, "name": "b", "antiquark": "q1"}, critical)
        process = self.call("check", self.write_job(job))
        self.assertRegex(process.stderr, r"job.yaml:\d+:\d+: 'from' must name mesons of one propagator.*'b' has an antiquark")


def free_propagator(dims, mass, phase):
    """S(x, 0) of the free Wilson operator as [t, z, y, x, sink spin, source spin], from 1 / (m + sum_mu (1 - cos p_mu)
    + i sum_mu gamma_mu sin p_mu), p_mu = (2 pi n_mu + pi phase_mu) / L_mu."""
    p = np.meshgrid(*((2 * np.pi * np.arange(dims[mu]) + np.pi * phase[mu]) / dims[mu] for mu in (3, 2, 1, 0)), indexing="ij")[::-1]
    scalar = mass + sum(1 - np.cos(component) for component in p)
    slash = sum(np.sin(p[mu])[..., None, None] * independent.GAMMA[mu] for mu in range(4))
    square = scalar**2 + sum(np.sin(component) ** 2 for component in p)
    of_p = (scalar[..., None, None] * np.eye(4) - 1j * slash) / square[..., None, None]
    of_x = np.fft.ifftn(of_p, axes=(0, 1, 2, 3))
    for mu in range(4):
        shape = [1] * 6
        shape[3 - mu] = dims[mu]
        of_x = of_x * np.exp(1j * np.pi * phase[mu] * np.arange(dims[mu]) / dims[mu]).reshape(shape)
    return of_x


class FreeMesons(Correlators):
    """On unit links all correlators are known: three colors of the free propagator, moved to the source."""

    def test_all_mesons(self):
        phase = (0, 0.3, 0, 1)
        job = self.job({"task": "mesons", "from": "q0", "channels": list(MESONS) + [{"sink": "gtg5", "source": "g5"}], "momenta": 2},
                       masses=(0.3,))
        job["gauge"] = {"start": "cold", "dims": list(self.DIMS)}
        job["solver"] = uniform(tolerance=1e-13)
        found = self.run_job(job)["correlators"]["mesons"]
        free = free_propagator(self.DIMS, 0.3, phase)
        whole = free[..., None, None] * np.eye(3)
        scale = meson(whole, whole, GAMMA5, GAMMA5, 1).real
        for channel in found["channels"].values():
            for correlator in channel["correlators"]:
                expected = meson(whole, whole, gamma(channel["sink"]), gamma(channel["source"]),
                                 phases(self.DIMS, correlator["momentum"], (0, 0, 0)))
                seen = np.roll(value(correlator), -self.SITE[3])
                self.assertLess(np.max(np.abs(seen - expected) / scale), 1e-10)
        for name in MESONS:  # the signs with which norms are positive, and what falls has a mass
            channel = found["channels"][name]
            sign = -1 if name == "a0" or name.endswith("_2") else 1
            after = sign * np.roll(channel["correlators"][0]["re"], -self.SITE[3])
            self.assertTrue(np.all(after[1:5] > 0), name)
            folded = 0.5 * (after + np.roll(after[::-1], 1))
            for t, mass in enumerate(channel["effective_mass"]):
                if mass is not None:
                    ratio = np.cosh(mass * (5 - t)) / np.cosh(mass * (4 - t))
                    self.assertAlmostEqual(folded[t] / folded[t + 1] / ratio, 1, delta=1e-9)
                else:
                    self.assertFalse(folded[t] > folded[t + 1] > 0, name)
        self.assertNotIn("effective_mass", found["channels"]["gtg5_g5"])
        np.testing.assert_allclose(found["channels"]["pion"]["effective_mass"], found["effective_mass"], rtol=1e-10)


def smeared(links, field, sigma, steps):
    """(1 + sigma^2 / (4 N) D^2)^N of fields [t, z, y, x, color, ...], D^2 the covariant Laplacian of x, y, z."""
    def times(link, psi):
        return (link @ psi.reshape(psi.shape[:5] + (-1,))).reshape(psi.shape)

    for _ in range(steps):
        laplacian = -6 * field
        for mu in range(3):
            link = links[..., mu, :, :]
            laplacian = laplacian + times(link, independent.ahead(field, mu))
            laplacian = laplacian + independent.behind(times(independent.adjoint(link), field), mu)
        field = field + sigma**2 / (4 * steps) * laplacian
    return field


def columns_of(propagator):
    """[t, z, y, x, color, spin, source spin, source color] of [t, z, y, x, sink spin, source spin, sink color, source color]."""
    return np.transpose(propagator, (0, 1, 2, 3, 6, 4, 5, 7))


class Sources(Correlators):
    """The Wilson matrix of numpy, applied to saved propagators, gives their sources."""

    MASS, PHASE = 0.3, (0, 0.3, 0, 1)

    def job(self, sources, *tasks, **more):
        job = super().job(*tasks, masses=[self.MASS] * len(sources), **more)
        job["gauge"]["save"] = {"file": "links.lime", "precision": "double"}
        job["solver"] = uniform(tolerance=1e-12)
        for propagator, source in zip(job["run"], sources):
            propagator["source"] = source
        return job

    def links(self, out="out"):
        return independent.lime_files.read_gauge(self.path(f"{out}/links.lime"))[0]

    def sources(self, results, count, out="out"):
        """[t, z, y, x, color, spin, source spin, source color] of each propagator."""
        matrix = independent.Wilson(self.links(out), self.MASS, self.PHASE)
        found = []
        for k in range(count):
            columns = columns_of(self.saved_propagator(results, out, f"q{k}.lime"))
            found.append(matrix(columns.reshape(columns.shape[:6] + (12,))).reshape(columns.shape))
        return found

    def in_each_component(self, numbers):
        """The source that is `numbers` [t, z, y, x] in the spin and color solved for."""
        return numbers[..., None, None, None, None] * np.einsum("ij,ab->iabj", np.eye(3), np.eye(4))

    def on_slice(self, time, numbers):
        whole = np.zeros(self.DIMS[::-1], dtype=complex)
        whole[time] = numbers
        return whole

    def assert_close(self, found, expected, bound=1e-9):
        self.assertLess(np.abs(found - expected).max(), bound * np.abs(expected).max())

    def test_walls(self):
        results = self.run_job(self.job([{"type": "wall", "time": 7}, {"type": "wall", "time": 0, "momentum": [1, -2, 1]}]))
        plain, moving = self.sources(results, 2)
        self.assert_close(plain, self.in_each_component(self.on_slice(7, 1)))
        self.assert_close(moving, self.in_each_component(self.on_slice(0, phases(self.DIMS, (-1, 2, -1), (0, 0, 0)))))

    def test_noise(self):
        kinds = ("z2", "z4", "u1", "gaussian")
        sources = [{"type": "noise", "time": 4, "kind": kind, "seed": harness.SEED} for kind in kinds]
        sources += [{"type": "noise", "time": 4, "seed": harness.SEED, "momentum": [0, 1, 0]}, {"type": "noise", "time": 4, "seed": harness.SEED + 1}]
        found = self.sources(self.run_job(self.job(sources)), len(sources))
        noise = [source[4, ..., 0, 0, 0, 0] for source in found]
        for source, numbers in zip(found, noise):
            self.assert_close(source, self.in_each_component(self.on_slice(4, numbers)))
        sites = noise[0].size
        for numbers in noise:
            self.assertLess(abs(numbers.mean()), 6 / np.sqrt(sites))
        for numbers, roots in zip(noise[:2], (2, 4)):
            self.assertLess(np.abs(numbers**roots - 1).max(), 1e-8)
            turns = np.round(np.angle(numbers) / (2 * np.pi / roots)).astype(int) % roots
            self.assertEqual(len(np.unique(turns)), roots)
        self.assertLess(np.abs(np.abs(noise[2]) - 1).max(), 1e-8)
        self.assertLess(abs((noise[2] ** 2).mean()), 6 / np.sqrt(sites))
        self.assertLess(abs((np.abs(noise[3]) ** 2).mean() - 1), 6 / np.sqrt(sites))
        self.assertLess(abs((noise[3] ** 2).mean()), 6 * np.sqrt(2 / sites))
        self.assert_close(noise[4], noise[1] * phases(self.DIMS, (0, -1, 0), (0, 0, 0)))
        self.assertGreater(np.abs(noise[5] - noise[1]).max(), 0.5, "another seed")

    def test_smeared_sources(self):
        smearing = {"type": "gaussian", "sigma": 1.7, "steps": 9}
        noise = {"type": "noise", "time": 2, "seed": harness.SEED}
        results = self.run_job(self.job([{"type": "point", "site": list(self.SITE), "smearing": smearing}, noise,
                                         {**noise, "smearing": smearing}]))
        point, plain, rough = self.sources(results, 3)
        x, y, z, t = self.SITE
        numbers = np.zeros(self.DIMS[::-1])
        numbers[t, z, y, x] = 1
        self.assert_close(point, smeared(self.links(), self.in_each_component(numbers), 1.7, 9))
        self.assert_close(rough, smeared(self.links(), plain, 1.7, 9), 1e-8)

    def test_smearing_of_a_point_on_unit_links_is_a_gaussian(self):
        """exp(-r^2 / sigma^2), to what a lattice spacing and the walls of the box let it be."""
        job = self.job([{"type": "point", "site": [8, 8, 8, 1], "smearing": {"type": "gaussian", "sigma": 3.0, "steps": 200}}])
        job["gauge"].update(start="cold", dims=[16, 16, 16, 2])
        del job["gauge"]["epsilon"], job["gauge"]["seed"]
        source = self.sources(self.run_job(job), 1)[0][1, ..., 0, 0, 0, 0].real
        distances = np.arange(16) - 8
        expected = np.exp(-(distances**2) / 9)
        line = source[8, 8] / source[8, 8, 8]
        self.assertLess(np.abs(line - expected)[4:13].max(), 0.04)

    def test_smeared_sinks(self):
        smearing = {"type": "gaussian", "sigma": 1.2, "steps": 5}
        mesons = {"task": "mesons", "name": "m", "from": "q0", "antiquark": "q1", "channels": ["pion", "a1_z"], "momenta": 1, "sink_smearing": smearing}
        job = self.job([{"type": "point", "site": list(self.SITE)}] * 2, mesons,
                       {"task": "mesons", "name": "n", "from": "q1", "sink_smearing": smearing})
        job["run"][1]["operator"] = {**job["run"][1]["operator"], "mass": 0.8}
        results = self.run_job(job)
        quark, antiquark = (np.transpose(smeared(self.links(), columns_of(self.saved_propagator(results, "out", f"q{k}.lime")), 1.2, 5),
                                         (0, 1, 2, 3, 5, 6, 4, 7)) for k in range(2))
        Mesons.check(self, results["correlators"]["m"], quark, antiquark)
        Mesons.check(self, results["correlators"]["n"], antiquark, antiquark)
        np.testing.assert_allclose(results["correlators"]["n"]["pion"], (np.abs(antiquark) ** 2).sum(axis=tuple(range(1, 8))), rtol=1e-12)

    def test_sinks_on_links_that_a_task_makes(self):
        """The links of the propagator's task, not those of the gauge block; and again from restart.json."""
        smearing = {"type": "gaussian", "sigma": 1.2, "steps": 5}
        mesons = {"task": "mesons", "from": "q0", "sink_smearing": smearing}
        made = self.job([{"type": "point", "site": list(self.SITE)}], mesons)
        made["run"].insert(0, {"task": "generate", "beta": 6.0, "thermalization": 1, "configurations": 1, "separation": 1,
                               "save": {"file": "b_####.lime", "precision": "double"}})
        first = self.run_job(made)
        read = self.job([{"type": "point", "site": list(self.SITE)}], mesons)
        read["gauge"] = {"file": self.path("out/" + first["chains"]["generate"]["files"][-1])}
        np.testing.assert_allclose(self.run_job(read, out="read")["correlators"]["mesons"]["pion"],
                                   first["correlators"]["mesons"]["pion"], rtol=1e-9)
        more = {**made, "run": made["run"] + [{**mesons, "name": "more", "channels": ["rho_x"]}]}
        self.assertEqual(self.run_job(made)["correlators"], first["correlators"])
        self.assertIn("rho_x", self.run_job(more, out="more")["correlators"]["more"]["channels"])

    def test_mesons_from_walls(self):
        """A wall has a time and no place: phases are counted from x = 0."""
        results = self.run_job(self.job([{"type": "wall", "time": 3}, {"type": "wall", "time": 3, "momentum": [1, 0, 0]}],
                                        {"task": "mesons", "from": "q1", "antiquark": "q0", "channels": ["pion"], "momenta": 1}))
        entry = results["correlators"]["mesons"]
        self.assertEqual((entry["source"], entry["source_time"]), ([0, 0, 0, 3], 3))
        moving, still = self.saved_propagator(results, "out", "q1.lime"), self.saved_propagator(results, "out", "q0.lime")
        scale = (np.abs(moving) * np.abs(still)).sum(axis=tuple(range(1, 8)))
        for correlator in entry["channels"]["pion"]["correlators"]:
            expected = meson(moving, still, GAMMA5, GAMMA5, phases(self.DIMS, correlator["momentum"], (0, 0, 0)))
            self.assertLess(np.max(np.abs(value(correlator) - expected) / scale), 1e-12)

    def test_bad_jobs(self):
        for source, words in (({"type": "wall"}, "time"), ({"type": "wall", "time": 10}, r"'source.time' must be >= 0 and < 10"),
                              ({"type": "wall", "time": 1, "momentum": [1, 0]}, "momentum"),
                              ({"type": "noise", "time": 1, "kind": "z3"}, "one of z2, z4, u1, gaussian"),
                              ({"type": "wall", "time": 1, "smearing": {"type": "gaussian", "sigma": 0, "steps": 5}},
                               r"'sigma' must be > 0")):
            process = self.call("check", self.write_job(self.job([source])))
            self.assertEqual(process.returncode, 1, source)
            self.assertRegex(process.stderr, rf"job.yaml:\d+:\d+: .*{words}")


EPSILON = np.zeros((3, 3, 3))
for even in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
    EPSILON[even], EPSILON[even[::-1]] = 1, -1


def determinant(x, y, z):
    """eps_abc eps_def X_ad Y_be Z_cf of color matrices."""
    two = np.einsum("abc,def,...ad->...becf", EPSILON, EPSILON, x, optimize=True)
    return np.einsum("...becf,...be,...cf->...", two, y, z, optimize=True)


def baryon(quarks, sink, projector, joins):
    """tr[P <B Bbar>] at each site for B = eps (q1^T A q2) q3 and Bbar = B^+ g4 (A the matrix `sink`). `joins` are the ways to
    join the quarks of the source: an order (i, j, k) says that quark 1 of B goes to number i of those of Bbar, and so on."""
    source = FACTORS["t"] @ sink.conj() @ FACTORS["t"].T
    total = 0
    for a, b in zip(*np.nonzero(sink)):
        for a2, b2 in zip(*np.nonzero(source)):
            for c2, c in zip(*np.nonzero(projector)):
                at_source = (a2, b2, c2)
                for join in joins:
                    x, y, z = (quarks[n][..., spin, at_source[join[n]], :, :] for n, spin in enumerate((a, b, c)))
                    total = total + sink[a, b] * source[a2, b2] * projector[c2, c] * determinant(x, y, z)
    return total


def delta_spins(up):
    """The matrix of the first two quarks and the projector of the third one's spin, of J_z = 3/2 up."""
    return (FACTORS["y"] @ FACTORS["t"] @ (FACTORS["x"] - 1j * up * FACTORS["y"]) / 2,
            (np.eye(4) - 1j * up * FACTORS["x"] @ FACTORS["y"]) / 2)


def named_baryon(name, like, other):
    """Of three like quarks there are six ways to join them, of u, d, u two. Colors and quarks both change sign."""
    charge = FACTORS["y"] @ FACTORS["t"]
    parity = (np.eye(4) + (-1 if "negative" in name else 1) * FACTORS["t"]) / 2
    if name.startswith("nucleon"):
        return baryon((like, other, like), charge @ GAMMA5 @ (parity if name == "nucleon_nr" else np.eye(4)), parity, ((0, 1, 2), (2, 1, 0)))
    return sum(baryon((like,) * 3, sink, parity @ spin, tuple(itertools.permutations(range(3)))) / 2
               for sink, spin in map(delta_spins, (1, -1)))


BARYONS = ("nucleon", "nucleon_negative", "nucleon_nr", "delta", "delta_negative")


class Baryons(Correlators):
    DIMS, SITE = (4, 2, 6, 8), (3, 1, 4, 5)

    def check(self, channels, like, other, site, bound):
        for name, channel in channels.items():
            local = named_baryon(name, like, other)
            scale = np.abs(local).sum(axis=(1, 2, 3))
            for correlator in channel["correlators"]:
                expected = (phases(self.DIMS, correlator["momentum"], site) * local).sum(axis=(1, 2, 3))
                self.assertLess(np.max(np.abs(value(correlator) - expected) / scale), bound, (name, correlator["momentum"]))

    def test_all_baryons(self):
        results = self.run_job(self.job(
            {"task": "baryons", "name": "same", "from": "q0", "channels": list(BARYONS), "momenta": 1},
            {"task": "baryons", "name": "two", "from": "q0", "other": "q1"}))
        light, heavy = self.propagators(results)
        found = results["correlators"]
        self.assertEqual(list(found["same"]["channels"]), list(BARYONS))
        self.assertEqual(list(found["two"]["channels"]), ["nucleon"])
        self.assertEqual([len(channel["correlators"]) for channel in found["same"]["channels"].values()], [7] * len(BARYONS))
        self.assertEqual((found["two"]["source"], found["two"]["source_time"]), (list(self.SITE), 5))
        self.check(found["same"]["channels"], light, light, self.SITE, 1e-11)
        self.check(found["two"]["channels"], light, heavy, self.SITE, 1e-11)

    def test_free_baryons(self):
        """On unit links from the free propagator; and those of either parity are positive after the source."""
        job = self.job({"task": "baryons", "from": "q0", "channels": list(BARYONS), "momenta": 1}, masses=(0.3,))
        job["gauge"] = {"start": "cold", "dims": list(self.DIMS)}
        job["solver"] = uniform(tolerance=1e-13)
        job["run"][0]["source"]["site"] = [0, 0, 0, 0]
        job["run"][0]["operator"]["boundary"] = ["periodic", "periodic", "periodic", "antiperiodic"]
        channels = self.run_job(job)["correlators"]["baryons"]["channels"]
        whole = free_propagator(self.DIMS, 0.3, (0, 0, 0, 1))[..., None, None] * np.eye(3)
        self.check(channels, whole, whole, (0, 0, 0), 1e-10)
        for name in ("nucleon", "delta"):
            rest = value(channels[name]["correlators"][0])
            self.assertTrue(np.all(rest[1:3].real > 0), name)
            self.assertLess(np.abs(rest.imag).max(), 1e-12 * np.abs(rest).max())
            negative = value(channels[name + "_negative"]["correlators"][0])
            np.testing.assert_allclose(negative[:0:-1], -rest[1:], rtol=1e-9, atol=1e-12 * abs(rest[0]))

    def test_delta_turns_about_z(self):
        """The operator of the delta has J_z = 3/2: a turn by an angle multiplies it by exp(-3 i angle / 2)."""
        angle = 0.7
        for up in (1, -1):
            sink, spin = delta_spins(up)
            turn = np.cos(angle / 2) * np.eye(4) - np.sin(angle / 2) * FACTORS["x"] @ FACTORS["y"]
            np.testing.assert_allclose(turn.T @ sink @ turn, np.exp(-1j * up * angle) * sink, atol=1e-15)
            np.testing.assert_allclose(spin @ turn, np.exp(-0.5j * up * angle) * spin, atol=1e-15)

    def test_columns_without_a_solution_and_bad_jobs(self):
        job = self.job({"task": "baryons", "from": "q0", "channels": ["delta"], "momenta": 1}, masses=(0.3,))
        job["run"][0]["solver"] = {**job["solver"], "max_iterations": 2}
        for correlator in self.run_job(job, status=3)["correlators"]["baryons"]["channels"]["delta"]["correlators"]:
            self.assertEqual((correlator["re"], correlator["im"]), ([None] * 8, [None] * 8))
        for change, words in (({"channels": ["proton"]}, "must be one of nucleon, nucleon_negative, nucleon_nr, delta, delta_negative"),
                              ({"momenta": 2}, r"'momenta.p2_max' must be <= 1"), ({"other": "q9"}, "'other' must name an earlier")):
            job["run"][1] = {"task": "baryons", "from": "q0", **change}
            process = self.call("check", self.write_job(job))
            self.assertEqual(process.returncode, 1, change)
            self.assertRegex(process.stderr, rf"job.yaml:\d+:\d+: .*{words}")

    def test_report(self):
        """Every correlator is in the CSV file of its task, with its digits, counted from the source."""
        results = self.run_job(self.job({"task": "mesons", "name": "m", "from": "q0", "channels": ["rho_z"], "momenta": 1},
                                        {"task": "baryons", "name": "b", "from": "q0"}, masses=(0.3,)))
        process = self.call("report", self.path("out"))
        self.assertEqual(process.returncode, 0, process.stderr)
        for task, names in (("m", ("t_after_source", "t", "pion", "effective_mass", "rho_z effective_mass", "rho_z 0 0 0 re", "rho_z -1 0 0 re", "rho_z -1 0 0 im")),
                            ("b", ("t_after_source", "t", "nucleon 0 0 0 re", "nucleon 0 0 0 im"))):
            with open(self.path(f"out/report/correlator_{task}.csv"), newline="") as stream:
                rows = list(csv.DictReader(stream))
            self.assertEqual(list(rows[0])[:len(names)], list(names))
            last = names[-1].split()
            correlators = results["correlators"][task]["channels"][last[0]]["correlators"]
            numbers = next(one for one in correlators if one["momentum"] == [int(word) for word in last[1:4]])[last[4]]
            self.assertEqual([float(row[names[-1]]) for row in rows], numbers[5:] + numbers[:5])
        with open(self.path("out/report/report.md")) as stream:
            said = stream.read()
        self.assertIn("with rho_z at each momentum", said)
        self.assertIn("(correlator_b.csv)", said)
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../input/examples/show_results.py")
        shown = subprocess.run([sys.executable, script, self.path("out/results.json")], stdout=subprocess.PIPE, text=True, check=True)
        self.assertIn("nucleon", shown.stdout)


if __name__ == "__main__":
    sys.exit(harness.main(sys.modules[__name__]))
