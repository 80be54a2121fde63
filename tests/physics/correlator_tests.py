#!/usr/bin/env python3
"""Correlators of the task mesons against numpy contractions of the propagators that the same job saves, and against the free
field, whose propagator is known; harness.py says what the environment is."""

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
            job["run"].append({**job["run"][0], "name": "elsewhere", "source": {"type": "point", "site": [0, 0, 0, 0]}, "save": None})
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


if __name__ == "__main__":
    sys.exit(harness.main(sys.modules[__name__]))
