#!/usr/bin/env python3
"""quadrille.analysis against the averages of a job and NumPy."""

import sys
import unittest

from python_harness import q, random

import numpy as np

import harness
from quadrille import analysis

EXTENT = 12


def correlators(count, masses=(0.4, 1.1), noise=0.01):
    """Of two states, with correlated noise; [configuration, t]."""
    t = np.arange(EXTENT)
    clean = sum(a * (np.exp(-m * t) + np.exp(-m * (EXTENT - t))) for a, m in zip((1.0, 0.7), masses))
    common = random.normal(size=(count, 1))
    return clean * (1 + noise * (common + 0.3 * random.normal(size=(count, EXTENT))))


class Analysis(unittest.TestCase):
    def test_printed_errors(self):
        for value, error, wanted in ((0.54321, 0.00123, "0.5432(12)"), (12.34, 1.53, "12.3(1.5)"), (1234.4, 56.2, "1234(56)"),
                                     (0.5, 0.0996, "0.50(10)"), (-1.5e-3, 2.5e-5, "-0.001500(25)"), (123456, 1234, "123500(1200)"),
                                     (2.0, 0, "2(0)"), (np.nan, 1, "nan"), (0.25, np.nan, "0.25(?)"), (1, 9.96, "1(10)")):
            self.assertEqual(analysis.with_error(value, error), wanted)
        self.assertEqual(str(analysis.Estimate(np.array([1.0, 2.0]), np.array([0.1, 0.25]))), "[1.00(10), 2.00(25)]")

    def test_jackknife_and_bootstrap(self):
        x = random.normal(size=(40, 5)) + 3
        found = analysis.jackknife(x)
        np.testing.assert_allclose(found.value, x.mean(axis=0), rtol=1e-14)
        np.testing.assert_allclose(found.error, x.std(axis=0, ddof=1) / np.sqrt(40), rtol=1e-12)
        binned = x.reshape(10, 4, 5).mean(axis=1)
        np.testing.assert_allclose(analysis.jackknife(x, bin=4).error, binned.std(axis=0, ddof=1) / np.sqrt(10), rtol=1e-12)
        ratio = analysis.jackknife(x, lambda m: m[0] / m[1])
        without = (x.sum(axis=0) - x) / 39
        samples = without[:, 0] / without[:, 1]
        self.assertAlmostEqual(ratio.error, np.sqrt(39 / 40 * ((samples - samples.mean()) ** 2).sum()), delta=1e-14)
        self.assertAlmostEqual(ratio.value, x[:, 0].mean() / x[:, 1].mean(), delta=1e-14)
        np.testing.assert_array_equal(found.bias, np.zeros(5))
        one = analysis.jackknife(x[:, 0])
        self.assertEqual((one.value, one.error), (found.value[0], found.error[0]))
        drawn = analysis.bootstrap(x, samples=2000)
        np.testing.assert_allclose(drawn.error, found.error, rtol=0.2)  # 2000 samples: 1.6 % in one standard deviation
        np.testing.assert_allclose(analysis.bootstrap(x, lambda m: m, samples=2000).error, drawn.error, rtol=1e-12)
        self.assertFalse(np.array_equal(analysis.bootstrap(x, samples=2000, seed=2).error, drawn.error))

    def test_gamma_method(self):
        chain = np.zeros(20000)
        for k in range(1, len(chain)):
            chain[k] = 0.8 * chain[k - 1] + random.normal()
        found = analysis.gamma_method(chain)
        self.assertAlmostEqual(found.tau_int, 4.5, delta=6 * found.tau_int_error)  # (1 + 0.8) / (1 - 0.8) / 2
        self.assertAlmostEqual(found.error, np.sqrt(2 * 4.5 / 20000 / (1 - 0.64)), delta=0.3 * found.error)
        self.assertTrue(np.isnan(analysis.gamma_method(chain[:5]).window))

    def test_masses(self):
        clean = correlators(1, masses=(0.4,), noise=0)
        np.testing.assert_allclose(analysis.effective_mass(clean).value, 0.4, rtol=1e-10)
        np.testing.assert_allclose(analysis.effective_mass(clean[0]).value, 0.4, rtol=1e-10)
        fitted = analysis.fit(correlators(60), window=(1, 6), states=2)
        self.assertAlmostEqual(fitted.masses.value[0], 0.4, delta=8 * fitted.masses.error[0])
        self.assertEqual(fitted.dof, 2)
        for correlated in (False, True):
            one = analysis.fit(correlators(60, masses=(0.4,)), window=(2, 5), correlated=correlated)
            self.assertAlmostEqual(one.masses.value[0], 0.4, delta=8 * one.masses.error[0])
        self.assertRegex(str(one.masses[0]), r"^0\.4\d*\(\d+\)|^0\.3\d*\(\d+\)")

    def test_windows_beyond_the_lattice(self):
        """Refused before the times of a window are read; numbers beyond 32 bits do not come round to times that exist."""
        for window in ((0, 10 ** 6), (0, 40), (0, EXTENT // 2 + 1), (1, 2 ** 32 + 5), (2 ** 32 + 1, 2 ** 32 + 5), (1, 2 ** 63 - 1)):
            with self.subTest(window=window), self.assertRaisesRegex(q.InvalidInput, "0 to T/2 = 6"):
                analysis.fit(correlators(9, masses=(0.4,)), window=window)
        self.assertEqual(analysis.fit(correlators(9, masses=(0.4,)), window=(1, EXTENT // 2)).warning, "")

    def test_fits_without_a_minimum(self):
        same = np.tile(correlators(1, masses=(0.4,), noise=0), (9, 1))
        with self.assertRaisesRegex(q.NotConverged, "covariance"):  # all configurations alike
            analysis.fit(same, window=(1, 5), correlated=True)

    def test_bad_input(self):
        for function, pattern in ((lambda: analysis.jackknife([1j, 2]), "take .real"), (lambda: analysis.jackknife([]), "expected real"),
                                  (lambda: analysis.jackknife([1.0, 2.0], bin=0), "statistics.bin"),
                                  (lambda: analysis.jackknife(np.ones((4, 2)), lambda m: m[0] + 1j), "function: gave complex128"),
                                  (lambda: analysis.bootstrap(np.ones(4), lambda m: m + 1j, samples=3), "function: gave complex128"),
                                  (lambda: analysis.effective_mass([[1.0, 2.0], [3.0]]), "correlators: "),
                                  (lambda: analysis.fit(correlators(9), window=(5, 2)), "window"),
                                  (lambda: analysis.fit(correlators(9), window=5), "window: 5; expected .first, last."),
                                  (lambda: analysis.fit(correlators(9), window=(0.5, 3)), "window"),
                                  (lambda: analysis.fit(correlators(9), window=(2, 6), correlated=True, bin=3), "needs more than 5 bins"),
                                  (lambda: analysis.fit(correlators(9)[:, :5], window=(0, 2)), "even number of times"),
                                  (lambda: analysis.bootstrap([1.0, 2.0], samples=1), "samples")):
            with self.assertRaisesRegex(q.InvalidInput, pattern):
                function()
        with self.assertRaises(q.NumericalError):
            analysis.jackknife([1.0, np.nan])


class AverageOfAJob(harness.ProgramTest):
    def test_averages_and_fits_have_the_bits_of_the_job(self):
        results = self.run_job({
            "gauge": {"start": "hot", "dims": [4, 4, 4, 8]},
            "operator": {"type": "wilson", "kappa": 0.12, "boundary": ["periodic"] * 3 + ["antiperiodic"]},
            "solver": {"type": "bicgstab", "tolerance": 1e-9},
            "ensemble": {"from": "generate", "bin": 2, "bootstrap": 50,
                         "fits": [{"name": "pion", "correlator": "mesons/pion", "window": [1, 4]}]},
            "run": [{"task": "generate", "beta": 5.7, "thermalization": 5, "configurations": 12, "separation": 1,
                     "save": "c_####.lime"},
                    {"task": "propagator", "source": {"type": "point", "site": [0, 0, 0, 0]},
                     "save": {"file": "propagator.lime", "precision": "double"}},
                    {"task": "mesons", "from": "propagator", "channels": ["pion", "rho_x"], "momenta": {"p2_max": 1}}]},
            "--threads", "1")
        rows = np.array([self.read_results(f"out/configurations/{one['name']}")["correlators"]["mesons"]["pion"]
                         for one in results["configurations"]])
        wanted = results["averages"]["correlators"]["mesons"]["pion"]
        found = analysis.jackknife(rows, bin=2)
        self.assertEqual((list(found.value), list(found.error)), (wanted["mean"], wanted["error"]))
        self.assertEqual(list(analysis.bootstrap(rows, samples=50, bin=2).error), wanted["bootstrap_error"])
        np.testing.assert_array_equal(analysis.gamma_method(rows).error, np.array(wanted["gamma_error"], dtype=float))
        masses = results["averages"]["correlators"]["mesons"]["effective_mass"]
        np.testing.assert_array_equal(analysis.effective_mass(rows, bin=2).value, np.array(masses["mean"], dtype=float))
        fitted, job = analysis.fit(rows, (1, 4), bin=2), results["fits"]["pion"]
        self.assertEqual([(fitted.masses.value[0], fitted.masses.error[0]), fitted.chi2],
                         [(job["masses"][0]["value"], job["masses"][0]["error"]), job["chi2"]])
        folder = q.Results(self.path("out"))
        try:
            import h5py  # noqa: F401
        except ImportError:
            self.skipTest("h5py is not installed")
        np.testing.assert_array_equal(folder.correlator("mesons/pion"), rows)
        self.assertEqual(folder.correlator("mesons").dtype, float)
        each = [self.read_results(f"out/configurations/{one['name']}")["correlators"]["mesons"]["channels"]
                for one in results["configurations"]]
        for channel in ("pion", "rho_x"):
            for k, momentum in enumerate(one["momentum"] for one in each[0][channel]["correlators"]):
                if channel == "pion" and not any(momentum):
                    continue  # the list over t of above
                with self.subTest(channel=channel, momentum=momentum):
                    both = [one[channel]["correlators"][k] for one in each]
                    wanted = np.array([np.array(one["re"]) + 1j * np.array(one.get("im", 0)) for one in both])
                    np.testing.assert_array_equal(folder.correlator(f"mesons/{channel}", momentum), wanted)
                    np.testing.assert_array_equal(folder.correlator(f"mesons/{channel}", momentum, configuration=2), wanted[2])
        self.refusals(folder)

    def refusals(self, folder):
        for words, pattern in ((("mesons/rho_y",), "no channel 'rho_y'; there are pion, rho_x"), (("baryons",), "there are mesons"),
                               (("mesons/pion", (0, 0, 5)), r"momentum: \(0, 0, 5\) was not computed; there are \(0, 0, 0\)"),
                               (("mesons/pion", 7), "momentum: 7; expected three"), ((7,), "name: 7; expected TASK/CHANNEL"),
                               (("mesons/pion", (0, 0, 0), 12), "configuration: 12; expected 0 to 11"),
                               (("mesons/pion", (0, 0, 0), -1), "configuration: -1; expected 0 to 11")):
            with self.assertRaisesRegex(q.InvalidInput, pattern):
                folder.correlator(*words)
        with self.assertRaisesRegex(q.InvalidInput, "each of the configurations has a propagator"):
            folder.propagator()
        one = folder.configuration(4)
        np.testing.assert_allclose(folder.propagator(configuration=4).pion(), one.correlator("mesons/pion"), rtol=1e-12)
        with self.assertRaisesRegex(q.InvalidInput, "results of one configuration"):
            one.correlator("mesons/pion", configuration=0)


if __name__ == "__main__":
    sys.exit(harness.main(sys.modules[__name__]))
