#!/usr/bin/env python3
"""The command `bench` and reports of what it wrote, from outside.

    QUADRILLE_PROGRAM=build/quadrille bench_tests.py [CLASS...]

How fast anything is does not matter here: the figures of a row must agree with each other.
"""

import json
import os
import sys

import harness
from harness import ProgramTest

SMALL = ("--dims", "4", "4", "4", "8")
METHODS = ("cg", "bicgstab", "bicgstab_l", "gcr", "mr")
KEYS = ["kernel", "precision", "reconstruct", "temporal_gauge", "xpay", "rhs", "parity", "dims", "grid", "sites",
        "bytes_per_site", "backend", "isa", "threads", "seconds", "gflops", "gbs", "fraction"]
NUMBER_BYTES = {"double": 8, "single": 4, "half": 2}
DSLASH_FLOPS, XPAY_FLOPS = 1320, 48


def spinor_bytes(precision):
    """24 numbers; half has a float norm as well."""
    return 24 * NUMBER_BYTES[precision] + (4 if precision == "half" else 0)


def dslash_bytes(row):
    """Everything once: eight links (two time links fewer in temporal gauge), which right-hand sides share, a spinor read, one
    written, one added."""
    links = 6 if row["temporal_gauge"] else 8
    return (links * row["reconstruct"] * NUMBER_BYTES[row["precision"]] / row["rhs"]
            + (3 if row["xpay"] else 2) * spinor_bytes(row["precision"]))


class BenchTest(ProgramTest):
    def bench(self, *args, out="bench.json"):
        """`quadrille bench` must end well; what it printed and its JSON file. It measures little memory: that is fast."""
        process = self.call("bench", *args, "--memory-mib", "1", "--json", self.path(out))
        self.assertEqual(process.returncode, 0, process.stderr)
        with open(self.path(out)) as stream:
            return process.stdout, json.load(stream)

    def accuracy(self, *args, **more):
        process = self.call("bench", "accuracy", *args, "--json", self.path("accuracy.json"), **more)
        self.assertEqual(process.returncode, 0, process.stderr)
        with open(self.path("accuracy.json")) as stream:
            return process.stdout, json.load(stream)["accuracy"]


class Bench(BenchTest):
    def check_rows(self, results, said, dims=(4, 4, 4, 8), threads=None, backend=harness.BACKEND):
        """The keys, and that all figures of a row are of one measurement. `threads`: those of the environment."""
        threads = threads or int(os.environ.get("OMP_NUM_THREADS") or os.cpu_count())
        self.assertEqual(list(results), ["memory", "kernels"])
        self.assertEqual(list(results["memory"]), ["read_gbs", "copy_gbs", "triad_gbs"])
        for rate in results["memory"].values():
            self.assertGreater(rate, 0)
        sites = dims[0] * dims[1] * dims[2] * dims[3] // 2
        for row in results["kernels"]:
            with self.subTest(row=row):
                more = {**{method: ["traffic_seconds", "operator_gflops"] for method in METHODS},
                        "heatbath": ["link_updates_per_second"], "overrelaxation": ["link_updates_per_second"]}
                keys = KEYS + more.get(row["kernel"], [])
                if row["backend"] == "cuda" and row["kernel"].startswith("dslash"):
                    keys.append("resources")
                    self.assertRegex(row["resources"], r"^\d+ registers, \d+ bytes local, \d+ of \d+ warps, walk ")
                self.assertEqual(list(row), keys)
                self.assertEqual(row["dims"], list(dims))
                self.assertEqual((row["backend"], row["threads"]), (backend, threads))
                self.assertEqual(row["sites"], sites * {"one": 1, "both": 2}[row["parity"]])
                self.assertGreater(row["seconds"], 0)
                gigabytes = row["bytes_per_site"] * row["sites"] * row["rhs"] * 1e-9
                self.assertAlmostEqual(row["gbs"] * row["seconds"] / gigabytes, 1, delta=1e-9)
                reads = row["reconstruct"] or row["kernel"] in ("norm2", "dot", "dots4", "mr_alpha", "cg_alpha", "cg_beta",
                                                                "bicgstab_alpha", "bicgstab_omega")
                rate = results["memory"]["read_gbs" if reads else "copy_gbs"]
                self.assertAlmostEqual(row["fraction"] * rate / row["gbs"], 1, delta=1e-9)
                self.assertIn(f" {row['gbs']:.2f} {row['fraction']:8.3f}", said)

    def check_dslash(self, row):
        flops = DSLASH_FLOPS + (XPAY_FLOPS if row["xpay"] else 0)
        self.assertAlmostEqual(row["gflops"] * row["seconds"] * 1e9 / (flops * row["sites"] * row["rhs"]), 1, delta=1e-9)

    def test_memory(self):
        said, results = self.bench("memory")
        self.check_rows(results, said)
        self.assertEqual(results["kernels"], [])
        self.assertIn("read {read_gbs:.2f}, copy {copy_gbs:.2f}, triad {triad_gbs:.2f}\n".format(**results["memory"]),
                      said)

    def test_dslash(self):
        said, results = self.bench("dslash", *SMALL, "--precision", "half")
        self.check_rows(results, said)
        self.assertEqual([(row["reconstruct"], row["temporal_gauge"], row["xpay"]) for row in results["kernels"]],
                         [(reconstruct, *form) for reconstruct in (18, 12, 8)
                          for form in ((False, False), (True, False), (False, True))])
        for row in results["kernels"]:
            self.assertEqual((row["kernel"], row["precision"], row["parity"]), ("dslash", "half", "one"))
            self.check_dslash(row)
            self.assertEqual(row["bytes_per_site"], dslash_bytes(row))

    def test_right_hand_sides(self):
        for rhs in (1, 3, 12):
            said, results = self.bench("dslash", *SMALL, "--precision", "single", "--reconstruct", "12", "--rhs", str(rhs))
            self.check_rows(results, said)
            for row in results["kernels"]:
                self.check_dslash(row)
                self.assertEqual((row["rhs"], row["bytes_per_site"]), (rhs, dslash_bytes(row)))
                form = "single 12" + (" temporal gauge" if row["temporal_gauge"] else "") + (" xpay" if row["xpay"] else "")
                self.assertIn(form + (f" {rhs} rhs " if rhs > 1 else "  "), said)
        said, alone = self.bench("operator", *SMALL, "--precision", "half", "--reconstruct", "8")
        said, results = self.bench("operator", *SMALL, "--precision", "half", "--reconstruct", "8", "--rhs", "4")
        for one, row in zip(alone["kernels"], results["kernels"], strict=True):
            self.assertEqual((one["rhs"], row["rhs"]), (1, 4))
            spinors = 5 * spinor_bytes("half")  # of two hops, one with the xpay term
            self.assertAlmostEqual(row["bytes_per_site"], spinors + (one["bytes_per_site"] - spinors) / 4, delta=1e-6)
            self.assertAlmostEqual(row["gflops"] * row["seconds"] / (one["gflops"] * one["seconds"]), 4, delta=1e-9)

    def test_filters_and_threads(self):
        said, results = self.bench("dslash_full", "--dims", "4", "2", "6", "4", "--reconstruct", "12", "--threads", "2",
                                   "--backend", "cpu")
        self.check_rows(results, said, (4, 2, 6, 4), 2, "cpu")
        self.assertEqual([(row["precision"], row["reconstruct"], row["temporal_gauge"]) for row in results["kernels"]],
                         [(precision, 12, temporal) for precision in ("double", "single", "half")
                          for temporal in (False, True)])
        for row in results["kernels"]:
            self.assertEqual((row["kernel"], row["parity"]), ("dslash_full", "both"))
            self.check_dslash(row)

    def test_field_algebra(self):
        said, results = self.bench("blas", *SMALL, "--precision", "single")
        self.check_rows(results, said)
        # Numbers per site in and out.
        fields = {"zero": 1, "copy": 2, "scale": 2, "axpy": 3, "xpay": 3, "caxpy": 3, "norm2": 1, "dot": 2,
                  "axpy_norm2": 3, "caxpy_norm2": 3, "dots4": 5, "caxpys4": 6, "axpy_xpay": 5, "mr_alpha": 2, "mr_update": 5, "mr_update_norm2": 5,
                  "cg_alpha": 1, "cg_residual": 3, "cg_beta": 1, "cg_update": 5}
        found = {row["kernel"]: row for row in results["kernels"]}
        self.assertEqual(len(found), len(results["kernels"]))
        for name, count in fields.items():
            self.assertEqual(found[name]["bytes_per_site"], count * spinor_bytes("single"), name)
        for row in found.values():
            self.assertEqual((row["precision"], row["reconstruct"]), ("single", None))

    def test_solvers(self):
        said, results = self.bench("solver", *SMALL, "--precision", "double", "--reconstruct", "18")
        self.check_rows(results, said)
        self.assertEqual([(row["kernel"], row["temporal_gauge"]) for row in results["kernels"]],
                         [(kernel, temporal) for kernel in METHODS for temporal in (False, True)])
        for row in results["kernels"]:
            # An iteration applies M^+ M, or M twice (GCR and MR: M): four hopping terms, and field algebra on top of them.
            hops = 2 if row["kernel"] in ("gcr", "mr") else 4
            hop = dslash_bytes({**row, "xpay": False})
            self.assertGreater(row["gflops"] * row["seconds"] * 1e9, hops * DSLASH_FLOPS * row["sites"])
            self.assertGreater(row["bytes_per_site"], hops * hop)
            self.assertLess(row["bytes_per_site"], 10 * hop)

    def test_gauge_updates(self):
        said, results = self.bench("generate", *SMALL)
        self.check_rows(results, said)
        self.assertEqual([(row["precision"], row["reconstruct"], row["kernel"]) for row in results["kernels"]],
                         [(precision, reconstruct, kernel) for precision in ("double", "single")
                          for reconstruct in (18, 12) for kernel in ("heatbath", "overrelaxation")])
        for row in results["kernels"]:
            self.assertEqual(row["parity"], "both")
            # Of four links a site: eight links read and one written for each.
            self.assertEqual(row["bytes_per_site"], 4 * 9 * row["reconstruct"] * NUMBER_BYTES[row["precision"]])
            self.assertAlmostEqual(row["link_updates_per_second"] * row["seconds"] / (4 * row["sites"]), 1, delta=1e-9)
            self.assertIn(f"{row['link_updates_per_second'] * 1e-6:.1f} million link updates/s", said)

    def test_bad_calls(self):
        for status, call, *words in (
            (2, (), "WHAT"),
            (2, ("speed",), "speed", "memory", "dslash", "blas", "solver", "generate", "accuracy"),
            (2, ("dslash", "--dims", "4", "4", "4"), "--dims", "X Y Z T"),
            (2, ("dslash", "--dims", "4", "4", "4", "many"), "--dims", "'many'", "even numbers X Y Z T"),
            (1, ("dslash", "--dims", "4", "4", "3", "4"), "4 4 3 4", "z is 3", "positive even"),
            (1, ("accuracy", "--dims", "4", "4", "4", "0"), "4 4 4 0", "t is 0", "positive even"),
            (1, ("dslash", *SMALL, "--dims", "-4", "4", "4", "4"), "-4 4 4 4", "x is -4", "positive even"),
            (2, ("dslash", "--precision", "quarter"), "quarter", "double", "single", "half"),
            (2, ("dslash", "--reconstruct", "9"), "9", "18", "12", "8"),
            (2, ("dslash", "--threads", "0"), "--threads", "whole number", "1024"),
            (2, ("dslash", "--backend", "abacus"), "abacus", "auto", "cpu"),
            (2, ("memory", "--memory-mib", "0"), "--memory-mib", "whole number", "1048576"),
            (2, ("dslash", "--xpay"), "--xpay"),
            (2, ("dslash", "--rhs", "0"), "--rhs", "whole number", "1048576"),
            (1, ("dslash_full", "--rhs", "2"), "--rhs 2", "dslash_full", "bench dslash and bench operator"),
        ):
            with self.subTest(call=call):
                process = self.call("bench", *call, "--json", self.path("bench.json"))
                self.assertEqual(process.returncode, status, process.stderr)
                self.assertEqual(process.stdout, "", "nothing was begun")
                for word in words:
                    self.assertIn(word, process.stderr)
                self.assertEqual(process.stderr.count("\n"), 1, process.stderr)
                self.assertEqual(os.listdir(self.folder), [])

    def test_files_that_cannot_be_written(self):
        os.mkdir(self.path("taken"))
        for name in ("nowhere/bench.json", "taken"):
            process = self.call("bench", "accuracy", *SMALL, "--json", self.path(name))
            self.assertEqual(process.returncode, 1)
            self.assertIn(self.path(name), process.stderr)
            self.assertEqual(process.stdout, "", "nothing was begun")
        process = self.call("bench", "accuracy", *SMALL, "--json", self.path("bench.json"),
                            preexec=harness.limit_file_size(100))
        self.assertEqual(process.returncode, 1)
        self.assertIn("bench.json", process.stderr)
        self.assertEqual(os.listdir(self.folder), ["taken"])


class Accuracy(BenchTest):
    """What is deduced of the curves themselves is in tests/input/accuracy_test.cpp."""

    def test_rows(self):
        said, rows = self.accuracy(*SMALL, "--dims", "2", "4", "2", "6")
        forms = [(precision, reconstruct, temporal) for precision in ("double", "single", "half")
                 for reconstruct in (18, 12, 8) for temporal in (False, True)]
        self.assertEqual([(tuple(row["dims"]), row["precision"], row["reconstruct"], row["temporal_gauge"])
                          for row in rows], [(dims, *form) for dims in ((4, 4, 4, 8), (2, 4, 2, 6)) for form in forms])
        for row in rows:
            with self.subTest(row=row):
                dims = row["dims"]
                self.assertEqual(row["count"], 24 * dims[0] * dims[1] * dims[2] * dims[3])
                order = [row[key] for key in ("smallest", "percent_10", "median", "percent_90", "largest")]
                self.assertEqual(order, sorted(order))
                self.assertIn(" ".join(f"{value:10.2e}" for value in order) + "\n", said)
                self.check_curve(row)

    def check_curve(self, row):
        """It goes from the smallest to the largest deviation in eighths of a decade, and through the percentiles."""
        epsilons, fractions = zip(*row["curve"])
        for before, after in zip(epsilons, epsilons[1:]):
            self.assertAlmostEqual(after / before, 10 ** 0.125, delta=1e-9)
        self.assertEqual(list(fractions), sorted(fractions))
        self.assertEqual(fractions[-1], 1)
        self.assertLess(fractions[-2], 1)
        self.assertTrue(epsilons[0] < row["smallest"] <= epsilons[1])
        self.assertTrue(epsilons[-2] < row["largest"] <= epsilons[-1])
        for key, fraction in (("percent_10", 0.1), ("median", 0.5), ("percent_90", 0.9)):
            at = next(k for k, epsilon in enumerate(epsilons) if epsilon >= row[key])
            slack = 1 / row["count"]
            self.assertTrue(fractions[at - 1] <= fraction + slack and fraction <= fractions[at] + slack, key)

    def test_filters(self):
        _, rows = self.accuracy(*SMALL, "--precision", "single", "--reconstruct", "8")
        self.assertEqual([(row["precision"], row["reconstruct"], row["temporal_gauge"]) for row in rows],
                         [("single", 8, False), ("single", 8, True)])

    def test_instruction_sets_and_threads(self):
        """The same bits for any number of threads; in every instruction set the same deviations but for rounding."""
        first = None
        for isa in harness.cpu_instruction_sets():
            said, rows = self.accuracy(*SMALL, "--threads", "1", env={"QUADRILLE_ISA": isa})
            self.assertEqual({row["isa"] for row in rows}, {isa})
            _, again = self.accuracy(*SMALL, "--threads", "3", env={"QUADRILLE_ISA": isa})
            self.assertEqual([{**row, "threads": 1} for row in again], rows)
            first = first or rows
            for row, other in zip(rows, first):
                self.assertTrue(0.5 < row["median"] / other["median"] < 2, row)


class AccuracyOfBackends(BenchTest):
    """On another backend than the CPU every form deviates by the same orders as there."""

    def test_orders(self):
        if harness.BACKEND == "cpu":
            self.skipTest("QUADRILLE_TEST_BACKEND names no other backend than the CPU")
        _, here = self.accuracy(*SMALL, "--backend", "cpu")
        _, there = self.accuracy(*SMALL)
        self.assertEqual(len(here), len(there))
        for row, other in zip(there, here):
            self.assertEqual((row["backend"], other["backend"]), (harness.BACKEND, "cpu"))
            for key in ("percent_10", "median", "percent_90", "largest"):
                with self.subTest(row=row, key=key):
                    self.assertTrue(0.5 < row[key] / other[key] < 2, other[key])


class BenchReports(BenchTest):
    def report(self, name, python, out="report"):
        process = self.call("report", self.path(name), "--out", self.path(out), "--format", "png",
                            env={"QUADRILLE_PYTHON": python, "QUADRILLE_REPORT_AGAIN": "1"})
        self.assertEqual(process.returncode, 0, process.stderr)
        with open(self.path(out + "/report.md")) as stream:
            return stream.read()

    def test_tables(self):
        _, results = self.bench("dslash", *SMALL, "--precision", "single", "--reconstruct", "8")
        said = self.report("bench.json", sys.executable)
        self.assertIn("read {read_gbs:.2f}, copy {copy_gbs:.2f}".format(**results["memory"]), said)
        self.assertIn("### 4 x 4 x 4 x 8", said)
        for row, form in zip(results["kernels"], ("single 8", "single 8 temporal gauge", "single 8 xpay")):
            self.assertIn(f"| dslash | {form} | {row['bytes_per_site']:.0f} |", said)
            self.assertIn(f" | {row['gbs']:.2f} | {row['fraction']:.3f} |\n", said)
        _, rows = self.accuracy(*SMALL)
        said = self.report("accuracy.json", sys.executable)
        for row in rows:
            form = f"{row['precision']} {row['reconstruct']}" + (" temporal gauge" if row["temporal_gauge"] else "")
            self.assertIn(f"| {form} | {row['smallest']:.2e} | {row['percent_10']:.2e} | {row['median']:.2e} |", said)

    def test_rates_against_time_extents(self):
        python = harness.python_with_matplotlib()
        _, results = self.bench("dslash", *SMALL, "--dims", "4", "4", "4", "4", "--precision", "half", "--reconstruct", "12")
        said = self.report("bench.json", python or sys.executable)
        rates = {(row["temporal_gauge"], row["xpay"], row["dims"][3]): row["gflops"] for row in results["kernels"]}
        section = said.split("### dslash, GFLOP/s on 4 x 4 x 4 x T\n\n")[1]
        self.assertTrue(section.startswith("| form | T = 4 | T = 8 |"))
        for name, form in (("", (False, False)), (" temporal gauge", (True, False)), (" xpay", (False, True))):
            self.assertIn(f"| half 12{name} | {rates[*form, 4]:.4g} | {rates[*form, 8]:.4g} |\n", section)
        if python:
            self.assertIn("](rates_dslash_4_4_4.png)", said)

    def test_solvers_over_their_operator(self):
        _, results = self.bench("solver", *SMALL, "--precision", "single", "--reconstruct", "12")
        said = self.report("bench.json", sys.executable)
        for row in results["kernels"]:
            self.assertGreater(row["operator_gflops"], 0)
            self.assertIn(f"| {row['kernel']} | {row['operator_gflops']:.4g} | {row['gflops']:.4g} | "
                          f"{row['gflops'] / row['operator_gflops']:.2f} |\n", said)

    def test_figure(self):
        python = harness.python_with_matplotlib()
        if python is None:
            self.skipTest("no Python with matplotlib (Debian: python3-matplotlib)")
        self.accuracy(*SMALL, "--dims", "2", "4", "2", "6")
        said = self.report("accuracy.json", python)
        for name in ("accuracy_4_4_4_8.png", "accuracy_2_4_2_6.png"):
            self.assertIn(f"]({name})", said)
            with open(self.path("report/" + name), "rb") as stream:
                self.assertEqual(stream.read(4), b"\x89PNG")


if __name__ == "__main__":
    sys.exit(harness.main(sys.modules[__name__]))
