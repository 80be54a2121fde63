#!/usr/bin/env python3
"""The task block_multiply: products of random blocks.

    QUADRILLE_PROGRAM=build/quadrille block_multiply_tests.py [CLASS...]
"""

import json
import os
import sys

import harness
from harness import ProgramTest


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

    def test_medians_have_their_spread(self):
        for row in self.rows(occupations=[0.2, 0.5], block_sizes=[5], repeats=4):
            self.assertLessEqual(row["shortest_seconds"], row["seconds"])
            self.assertLessEqual(row["seconds"], row["longest_seconds"])
            self.assertLess(row["shortest_seconds"], row["longest_seconds"])

    def test_the_figure_shows_the_spread(self):
        self.rows(occupations=[0.2, 0.5], block_sizes=[5], repeats=3)
        python = harness.python_with_matplotlib()
        if python is None:
            self.skipTest("no Python with matplotlib (Debian: python3-matplotlib)")
        process = self.call("report", self.path("out"), env={"QUADRILLE_PYTHON": python})
        self.assertEqual(process.returncode, 0, process.stderr)
        with open(self.path("out/report/report.md")) as stream:
            self.assertIn("medians, and bars from the slowest to the fastest of 3 calls", stream.read())
        with open(self.path("out/report/block_multiply_rate.svg")) as stream:
            self.assertIn("LineCollection", stream.read())  # of error bars

    def test_each_size_alone(self):
        rows = self.rows(m=3, k=6, block_sizes=[4, 16, 8], each_size=True, occupations=[1])
        self.assertEqual([row["block_size"] for row in rows], [4, 16, 8])
        for row in rows:
            self.assertEqual((row["rows"], row["inner"], row["columns"]), (48, 96, 48))
            self.assertEqual(row["products"], 48 * 96 * 48 // row["block_size"] ** 3)
            self.assertEqual(row["flops"], 2 * 48 * 96 * 48)
        mixed, = self.rows(m=30, block_sizes=[4, 16, 8], occupations=[1])
        self.assertIsNone(mixed["block_size"])

    def test_numbers_of_threads(self):
        rows = self.rows(threads=[2, 1], drivers=["own", "blas"], occupations=[0.3, 0.6])
        self.assertEqual([(row["probability"], row["threads"], row["driver"]) for row in rows],
                         [(share, threads, driver) for share in (0.3, 0.6) for threads in (2, 1) for driver in ("own", "blas")])
        for row in rows:
            self.assertEqual(row["flops"], next(other["flops"] for other in rows if other["probability"] == row["probability"]))
        row, = self.rows(occupations=[0.3])
        self.assertEqual(row["threads"], self.read_results()["block_products"]["block_multiply"]["threads"])

    def report_on(self, results):
        """The text of the report on a tree of results, and the names and texts of its figures."""
        python = harness.python_with_matplotlib()
        if python is None:
            self.skipTest("no Python with matplotlib (Debian: python3-matplotlib)")
        with open(self.path("changed.json"), "w") as stream:
            json.dump(results, stream)
        process = self.call("report", self.path("changed.json"), "--out", self.path("changed"),
                            env={"QUADRILLE_PYTHON": python})
        self.assertEqual(process.returncode, 0, process.stderr)
        figures = {}
        for name in os.listdir(self.path("changed")):
            with open(os.path.join(self.path("changed"), name)) as stream:
                figures[name] = stream.read()
        figures.pop("report.html")
        return figures.pop("report.md"), figures

    def test_figures_of_sizes_and_threads(self):
        jobs = {"sizes": {"block_sizes": [4, 16, 8], "each_size": True, "m": 4}, "cores": {"threads": [1, 2]}}
        self.run_job({"run": [{"task": "block_multiply", "m": 12, "repeats": 2, "occupations": [0.5], "name": name,
                               "csv": f"{name}.csv", **more} for name, more in jobs.items()]})
        results = self.read_results()
        text, figures = self.report_on(results)
        self.assertEqual(sorted(figures), ["cores_threads.svg", "sizes_sizes.svg"])
        self.assertIn("speed against the size of the blocks, each size alone", text)
        self.assertIn("| blocks of | precision |", text)
        self.assertIn("\n| 4 | double |", text)
        self.assertIn("| threads | precision |", text)
        self.assertIn("<!-- automatic, double, 50% of the blocks -->", figures["sizes_sizes.svg"])
        self.assertNotIn("sum of both", figures["cores_threads.svg"])
        for one in results["block_products"].values():  # as a GPU would say
            one.update(backend="cuda", memory={"device": 4e12, "cache": 9e12})
            row = one["rows"][-1]
            seconds = row["flops"] * 1e-9 / 2e4
            one["rows"].append({**row, "driver": "cuda", "gflops": 2e4, "shortest_seconds": seconds, "longest_seconds": seconds})
        text, figures = self.report_on(results)
        self.assertIn("device's memory, C read and written", figures["sizes_sizes.svg"])
        self.assertIn("<!-- sum of both, 50% of the blocks, double -->", figures["cores_threads.svg"])

    def test_reports_of_earlier_results(self):
        """Those of before rows had sizes of blocks, numbers of threads and probabilities."""
        self.rows(occupations=[0.2, 0.5], drivers=["own", "blas"])
        results = self.read_results()
        now = self.report_on(results)
        one = results["block_products"]["block_multiply"]
        for row in one["rows"]:
            for name in ("block_size", "threads", "probability"):
                del row[name]
        then = self.report_on(results)
        self.assertEqual(then[0], now[0])
        self.assertEqual(list(then[1]), ["block_multiply_rate.svg"])
        for row in one["rows"]:  # and of a GPU
            row["driver"] = "cuda"
            row["flops_per_byte"] *= 1 + row["occupation"]
        one.update(backend="cuda", memory={"device": 4e12, "cache": 9e12})
        self.assertEqual(sorted(self.report_on(results)[1]), ["block_multiply_rate.svg", "block_products_bounds.svg"])

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
            ({"threads": [0]}, r"'threads\[0\]' must be >= 1"),
            ({"threads": []}, "'threads' must be a list .* of 1 or more"),
            ({"m": 10**5, "block_sizes": [4, 64], "each_size": True},
             r"job.yaml:\d+:\d+: 'm': with each_size there are 1.6e\+06 blocks of 4 along a side: at most 1e\+06 can be"),
            ({"precision": "mixed"}, r"job.yaml:\d+:\d+: 'precision': mixed precision needs an eps above 0"),
            ({"symmetric": True, "n": 3}, "'n': a symmetric matrix"),
            ({"m": 1000, "block_sizes": [4096], "occupations": [1]}, r"not enough memory: the product of matrices of 1000 x 1000 and 1000 x 1000 "
             r"blocks with occupation 1 needs 366 TiB, .* are free"),
            ({"m": 10**6, "block_sizes": [4096]}, r"not enough memory: the product of matrices of 1e\+06 x 1e\+06 .* needs .* EiB, .* are free"),
        ):
            with self.subTest(**more):
                job = {"run": [{"task": "block_multiply", "m": 4, **more}]}
                process = self.call("run", self.write_job(job), "--out", self.path("out"), "--force")
                self.assertEqual(process.returncode, 1, process.stderr)
                self.assertRegex(process.stderr, pattern)


class BlockMultiplyThreads(ProgramTest):
    """Also on a GPU, where the CPU's products are measured beside it."""

    def test_products_on_the_cpu_and_on_the_gpu(self):
        sizes = [5, 13]
        job = {"run": [{"task": "block_multiply", "m": 12, "repeats": 2, "occupations": [0.5], "block_sizes": sizes,
                        "each_size": True, "threads": [1, 2], "drivers": ["own", "blas"], "dense": True}]}
        rows = self.run_job(job)["block_products"]["block_multiply"]["rows"]
        gpu = [("cuda", None)] if harness.BACKEND == "cuda" else []
        expected = [(size, *one) for size in sizes for one in [("own", 1), ("blas", 1), ("own", 2), ("blas", 2), *gpu]]
        self.assertEqual([(row["block_size"], row["driver"], None if row["driver"] == "cuda" else row["threads"])
                          for row in rows], expected)
        for row in rows:
            self.assertEqual(row["dense_seconds"] is None, row["driver"] == "cuda")
            self.assertEqual(row["transfer_seconds"] is None, row["driver"] != "cuda")
            self.assertEqual({other["flops"] for other in rows if other["block_size"] == row["block_size"]}, {row["flops"]})


if __name__ == "__main__":
    sys.exit(harness.main(sys.modules[__name__]))
