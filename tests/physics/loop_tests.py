"""Loops and gauge fixing as jobs, against programs of their own in numpy; harness.py says what the environment is."""

import sys

import numpy as np

import harness
import independent
import lime_files
from independent import adjoint, ahead, behind

DIMS = (4, 6, 2, 8)
SPACE = ("xy", "xz", "yz")


def line(links, mu, length):
    """The product of `length` links in direction mu, from every site."""
    product = np.eye(3)
    for step in range(length):
        link = links[..., mu, :, :]
        for _ in range(step):
            link = ahead(link, mu)
        product = product @ link
    return product


def moved(field, mu, steps):
    for _ in range(steps):
        field = ahead(field, mu)
    return field


def wilson_loop(links, mu, nu, r, t):
    bottom, side = line(links, mu, r), line(links, nu, t)
    return independent.trace_average(bottom @ moved(side, mu, r) @ adjoint(side @ moved(bottom, nu, t)))


def polyakov_loop(links, mu):
    loop = line(links, mu, links.shape[independent.AXIS[mu]])
    return np.trace(loop, axis1=-2, axis2=-1).mean() / 3


def gauge_state(links, directions):
    """The functional and theta."""
    divergence, functional = 0, 0
    for mu in range(directions):
        u = links[..., mu, :, :]
        a = (u - adjoint(u)) / 2j
        a = a - np.trace(a, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) / 3
        divergence = divergence + a - behind(a, mu)
        functional += independent.trace_average(u) / directions
    return functional, float(np.mean(np.sum(np.abs(divergence) ** 2, axis=(-2, -1)))) / 3


class Loops(harness.ProgramTest):
    def links(self, epsilon=0.4, dims=DIMS):
        links = independent.random_links(dims, epsilon, harness.SEED)
        lime_files.write_gauge(self.path("field.lime"), links, 64, "qio")
        return links

    def run_tasks(self, *tasks, **more):
        return self.run_job({"gauge": {"file": "field.lime"}, "run": list(tasks)}, **more)

    def test_wilson_loops(self):
        links = self.links()
        found = self.run_tasks({"task": "wilson_loops", "name": "w", "planes": "all", "max_r": 2, "max_t": 5})
        loops = found["loops"]["w"]
        self.assertEqual(set(loops["planes"]), {"xy", "xz", "xt", "yz", "yt", "zt"})
        for plane, table in loops["planes"].items():
            mu, nu = ("xyzt".index(letter) for letter in plane)
            self.assertEqual(np.shape(table), (2, 5 if nu == 3 else 2))
            for r, row in enumerate(table):
                for t, loop in enumerate(row):
                    self.assertAlmostEqual(loop, wilson_loop(links, mu, nu, r + 1, t + 1), delta=1e-12)
        for name, planes in (("time", ("xt", "yt", "zt")), ("space", SPACE)):
            np.testing.assert_allclose(loops[name], np.mean([loops["planes"][p] for p in planes], axis=0), atol=1e-15)
        by_default = self.run_tasks({"task": "wilson_loops"}, out="default")["loops"]["wilson_loops"]
        self.assertEqual((by_default["max_r"], by_default["max_t"]), (1, 4))
        np.testing.assert_allclose(by_default["time"], np.array(loops["time"])[:1, :4], atol=1e-14)

    def test_smeared_lines(self):
        links = self.links()
        smear = {"task": "smear", "type": "ape", "alpha": 0.5, "directions": "spatial", "save": "smeared.lime"}
        found = self.run_tasks(smear, {"task": "wilson_loops", "name": "w", "max_r": 2, "max_t": 2})
        smeared, _ = lime_files.read_gauge(self.path("out/smeared.lime"))
        np.testing.assert_array_equal(smeared[..., 3, :, :], links[..., 3, :, :])
        for r in range(2):
            for t in range(2):
                expected = np.mean([wilson_loop(smeared, mu, 3, r + 1, t + 1) for mu in range(3)])
                self.assertAlmostEqual(found["loops"]["w"]["time"][r][t], expected, delta=1e-12)

    def test_polyakov_loops(self):
        links = self.links()
        found = self.run_tasks({"task": "polyakov", "directions": "all"}, {"task": "polyakov", "name": "t"})
        found = found["loops"]
        self.assertEqual(list(found["t"]), ["t"])
        for mu, name in enumerate("xyzt"):
            seen, expected = found["polyakov"][name], polyakov_loop(links, mu)
            self.assertAlmostEqual(complex(seen["re"], seen["im"]), expected, delta=1e-13)
            self.assertAlmostEqual(seen["abs"], abs(expected), delta=1e-13)

    def test_averages_over_configurations(self):
        rows = []
        for seed in range(4):
            links = independent.random_links(DIMS, 0.4, harness.SEED + seed)
            lime_files.write_gauge(self.path(f"c{seed}.lime"), links, 64, "qio")
            rows.append([polyakov_loop(links, 3).imag, wilson_loop(links, 1, 3, 2, 3)])
        tasks = [{"task": "polyakov"}, {"task": "wilson_loops", "max_r": 2, "max_t": 3}]
        results = self.run_job({"gauge": {"files": "c*.lime"}, "run": tasks})
        blocks = results["averages"]["blocks"]
        mean, error = np.mean(rows, axis=0), np.std(rows, axis=0) / np.sqrt(3)
        loop = blocks["loops"]["polyakov"]["t"]["im"]
        self.assertAlmostEqual(loop["mean"], mean[0], delta=1e-13)
        self.assertAlmostEqual(loop["error"], error[0], delta=1e-13)
        loop = blocks["loops"]["wilson_loops"]["planes"]["yt"][1]
        self.assertAlmostEqual(loop["mean"][2], mean[1], delta=1e-13)
        self.assertAlmostEqual(loop["error"][2], error[1], delta=1e-13)

    def test_bad_jobs(self):
        self.links()
        for more, says in (({"max_r": 3}, "'max_r' is 3: loops may be as long as the 2 sites of the lattice there"),
                           ({"max_t": 9}, "'max_t' is 9"), ({"max_t": 0}, "'max_t' must be >= 1"),
                           ({"planes": "xt"}, "'planes' must be one of time, space, all")):
            with self.subTest(**more):
                job = {"gauge": {"file": "field.lime"}, "run": [{"task": "wilson_loops", **more}]}
                process = self.call("run", self.write_job(job), "--out", self.path("bad"), "--force")
                self.assertEqual(process.returncode, 1)
                self.assertIn("job.yaml:", process.stderr)
                self.assertIn(says, process.stderr)

    def test_the_report(self):
        self.links()
        self.run_tasks({"task": "polyakov"}, {"task": "wilson_loops"}, {"task": "gauge_fix", "gauge": "coulomb"})
        python = harness.python_with_matplotlib()
        process = self.call("report", self.path("out"), env={"QUADRILLE_PYTHON": python} if python else None)
        self.assertEqual(process.returncode, 0, process.stderr)
        with open(self.path("out/report/report.md")) as stream:
            said = stream.read()
        for part in ("## Polyakov loops `polyakov`", "## Wilson loops `wilson_loops`", "## Gauge fixing"):
            self.assertIn(part, said)
        if python:
            for figure in ("wilson_loops_wilson_loops", "gauge_fixing"):
                self.assertIn(f"]({figure}.svg)", said)


class GaugeFixing(harness.ProgramTest):
    def fixed(self, links, *more_tasks, status=0, out="out", **more):
        lime_files.write_gauge(self.path("field.lime"), links, 64, "qio")
        task = {"task": "gauge_fix", "name": "g", "save": "fixed.lime", **more}
        results = self.run_job({"gauge": {"file": "field.lime"}, "run": [task, *more_tasks]}, status=status, out=out)
        return results, lime_files.read_gauge(self.path(f"{out}/fixed.lime"))[0]

    def test_fixed_links(self):
        links = independent.random_links(DIMS, 0.4, harness.SEED)
        for gauge, directions in (("landau", 4), ("coulomb", 3)):
            with self.subTest(gauge=gauge):
                results, fixed = self.fixed(links, {"task": "polyakov"}, gauge=gauge, tolerance=1e-18, out=gauge)
                seen = results["gauge_fixings"]["g"]
                functional, theta = gauge_state(fixed, directions)
                self.assertTrue(seen["converged"])
                self.assertLess(seen["theta"], 1e-18)
                self.assertLess(theta, 1e-18 + 1e-25)
                self.assertAlmostEqual(seen["functional"], functional, delta=1e-13)
                self.assertAlmostEqual(seen["plaquette"], independent.observables(links)["plaquette"], delta=1e-13)
                self.assertAlmostEqual(seen["link_trace"], independent.observables(fixed)["link_trace"], delta=1e-13)
                history = {name: np.array(values) for name, values in seen["history"].items()}
                self.assertEqual(len(history["functional"]), seen["iterations"] + 1)
                self.assertEqual(len(history["theta"]), seen["iterations"] + 1)
                self.assertGreater(np.min(np.diff(history["functional"])), -1e-14)
                np.testing.assert_allclose([history[name][0] for name in ("functional", "theta")],
                                           gauge_state(links, directions), rtol=1e-12)
                loop, expected = results["loops"]["polyakov"]["t"], polyakov_loop(links, 3)
                self.assertAlmostEqual(complex(loop["re"], loop["im"]), expected, delta=1e-13)
                said = self.call("info", self.path(f"{gauge}/fixed.lime")).stdout
                self.assertIn(f"gauge_fixing: {gauge}", said)

    def test_it_is_a_gauge_transformation(self):
        """All plaquettes at a site have the traces that they had."""
        links = independent.random_links(DIMS, 0.6, harness.SEED)
        _, fixed = self.fixed(links, gauge="landau", tolerance=1e-10)
        def traces(u):
            return [np.trace(u[..., mu, :, :] @ ahead(u[..., nu, :, :], mu)
                             @ adjoint(u[..., nu, :, :] @ ahead(u[..., mu, :, :], nu)), axis1=-2, axis2=-1)
                    for mu in range(4) for nu in range(mu)]
        np.testing.assert_allclose(traces(fixed), traces(links), atol=1e-13)
        self.assertGreater(np.max(np.abs(fixed - links)), 0.1)

    def test_too_few_iterations(self):
        links = independent.random_links(DIMS, 0.6, harness.SEED)
        results, fixed = self.fixed(links, gauge="landau", max_iterations=3, status=3)
        seen = results["gauge_fixings"]["g"]
        self.assertFalse(seen["converged"])
        self.assertEqual(seen["iterations"], 3)
        self.assertAlmostEqual(seen["theta"], gauge_state(fixed, 4)[1], delta=1e-12)
        self.assertRegex(results["warnings"][0], "theta is .* after 3 iterations, above the tolerance")

    def test_bad_jobs(self):
        lime_files.write_gauge(self.path("field.lime"), independent.random_links((4, 4, 4, 4), 0.5, 1), 64, "qio")
        for more, says in (({}, "'gauge'"), ({"gauge": "axial"}, "'gauge' must be one of landau, coulomb"),
                           ({"gauge": "landau", "omega": 2}, "'omega' must be >= 1 and <= 1.99"),
                           ({"gauge": "landau", "tolerance": 0}, "'tolerance' must be > 0")):
            with self.subTest(**more):
                job = {"gauge": {"file": "field.lime"}, "run": [{"task": "gauge_fix", **more}]}
                process = self.call("run", self.write_job(job), "--out", self.path("bad"))
                self.assertEqual(process.returncode, 1)
                self.assertIn("job.yaml:", process.stderr)
                self.assertIn(says, process.stderr)


if __name__ == "__main__":
    sys.exit(harness.main(sys.modules[__name__]))
