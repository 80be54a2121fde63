"""Whole jobs under mpirun, against the same jobs in one process; rank_testing.py says what the environment is."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

import numpy

import harness
from block_dft_files import read_elsi
from rank_testing import RankTest, blocks, chain, dynamics, eigenproblem, hadrons, job, on_rank, write_matrix


class RankJobs(RankTest):
    def test_the_physics_of_one_rank(self):
        one = self.run_job(job(), out="one")
        for ranks, grid in ((2, None), (3, None), (4, (2, 2, 1, 1)), (4, None), (6, (1, 2, 1, 3)), (8, None)):
            out = f"many{ranks}{grid is None}"
            many = self.run_ranks(ranks, job(), *(("--grid", *map(str, grid)) if grid else ()), out=out)
            self.assertEqual(many["ranks"]["count"], ranks)
            if grid:
                self.assertEqual(many["ranks"]["grid"], list(grid))
            self.assert_same_physics(one, many, out)

    def test_hadrons_of_any_source(self):
        def numbers(results):
            """{(task, channel, momentum, part): list over t}"""
            return {(task, name, tuple(one["momentum"]), part): numpy.array(one[part])
                    for task, entry in results["correlators"].items() for name, channel in entry["channels"].items()
                    for one in channel["correlators"] for part in ("re", "im") if part in one}

        one = numbers(self.run_job(hadrons(), out="one"))
        self.assertGreater(len(one), 100)
        for ranks, grid in ((2, (1, 1, 1, 2)), (4, (2, 1, 2, 1)), (3, (1, 1, 1, 3))):
            many = numbers(self.run_ranks(ranks, hadrons(), "--grid", *map(str, grid), out=f"many{ranks}"))
            self.assertEqual(one.keys(), many.keys())
            for task in "mnbs":  # each time has its own size, and a channel may be small beside the others
                mine = [key for key in one if key[0] == task]
                scale = numpy.max([abs(one[key]) for key in mine], axis=0)
                for key in mine:
                    self.assertLess((abs(many[key] - one[key]) / scale).max(), 1e-8, key)

    def test_files_are_read_by_ranks(self):
        self.run_job(job(), out="one")
        tree = job(inner="single")
        tree["gauge"] = {"file": "one/links.lime"}
        one = self.run_job(tree, out="from_one")
        os.rename(self.path("from_one"), self.path("one_more"))
        many = self.run_ranks(4, tree, out="many")
        for a, b in zip(one["correlators"]["m"]["pion"], many["correlators"]["m"]["pion"], strict=True):
            self.assertAlmostEqual(b / a, 1, delta=1e-8)

    def test_several_configurations(self):
        """Made and measured; then read, one of them broken."""
        tree = {**job(inner="single"), "gauge": chain()["gauge"], "ensemble": {"from": "g"}}
        tree["run"] = [*chain(configurations=3)["run"], *tree["run"]]
        one = self.run_job(tree, out="one")
        for ranks, out in ((2, "many2"), (4, "many4")):
            many = self.run_ranks(ranks, tree, out=out)
            self.assert_same_averages(one, many)
            self.assertEqual(self.run_ranks(ranks, tree, out=out)["averages"], many["averages"])
        with open(self.path("one/b_0008.lime"), "r+b") as stream:
            stream.seek(os.path.getsize(stream.name) // 2)
            stream.write(b"not as it was")
        read = {**tree, "gauge": {"files": "one/*.lime"}, "ensemble": {"on_error": "continue"}, "run": tree["run"][1:]}
        one = self.run_job(read, out="read_one", status=1)
        stderr = self.run_ranks(2, read, out="read_many", status=1)
        self.assertIn("left out: 1 of 3 configurations", stderr)
        many = self.read_results("read_many")
        self.assertEqual([entry["state"] for entry in many["configurations"]], ["done", "failed", "done"])
        self.assert_same_averages(one, many)
        stderr = self.run_ranks(2, {**read, "ensemble": {}}, out="read_many", status=1)
        self.assertRegex(stderr, r"job.yaml:\d+:\d+: configuration b_0008.lime: .*checksum")

    def assert_same_averages(self, one, many):
        self.assertEqual([entry["checksum"] for entry in one["configurations"] if "checksum" in entry],
                         [entry["checksum"] for entry in many["configurations"] if "checksum" in entry])
        self.assertEqual(one["lattice"], many["lattice"])
        pions = [tree["averages"]["correlators"]["m"]["pion"] for tree in (one, many)]
        numpy.testing.assert_allclose(pions[0]["mean"], pions[1]["mean"], rtol=1e-8)
        numpy.testing.assert_allclose(pions[0]["error"], pions[1]["error"], rtol=1e-6)

    def test_the_same_grid_gives_the_same_bits(self):
        def run(out, **of_propagator):
            tree = job()
            tree["run"][0].update(of_propagator)
            return self.run_ranks(4, tree, "--grid", "1", "2", "1", "2", out=out)

        first = run("first")
        for again in (run("again"), run("at_once", batch=5)):
            self.assertEqual(first["correlators"], again["correlators"])
            self.assertEqual(*([solve["history"] for solve in tree["solves"]] for tree in (first, again)))

    def test_a_solver_study(self):
        tree = job()
        tree["run"] = [{"task": "solver_study", "name": "s", "masses": [0.05], "solvers": ["bicgstab"],
                        "source": {"type": "point", "site": [0, 0, 0, 0]}}]
        one, many = self.run_job(tree, out="one"), self.run_ranks(2, tree, out="many")
        rows = [tree["studies"]["s"]["rows"] for tree in (one, many)]
        self.assertEqual(len(rows[0]), len(rows[1]))
        for a, b in zip(*rows):
            self.assertTrue(b["converged"] == a["converged"], (a, b))

    def test_a_stopped_job_goes_on_with_other_ranks(self):
        tree = job((16, 8, 8, 24), inner="single")
        tree["solver"]["tolerance"] = 1e-13
        tree["solver"]["sloppy"]["precision"] = "double"
        one = self.run_job(tree, out="one")
        process = self.start(2, "run", self.write_job(tree), "--out", self.path("many"))
        self.wait_for(process, "many/restart.json")  # before the first solve
        process.send_signal(signal.SIGUSR1)
        code, _, err = self.finish(process)
        if code == 0:
            self.skipTest("the job ended before the signal")
        self.assertEqual(code, 138, err)
        self.assertEqual(err.count("run again to continue"), 1, err)
        many = self.run_ranks(3, tree, out="many")
        for a, b in zip(one["correlators"]["m"]["pion"], many["correlators"]["m"]["pion"], strict=True):
            self.assertAlmostEqual(b / a, 1, delta=1e-9)

    def test_chains_have_the_links_of_one_rank(self):
        for form, runs in (({}, ((2, None), (3, None), (4, (1, 2, 1, 2)), (8, None))),
                           ({"precision": "single", "reconstruct": 12}, ((4, (2, 1, 2, 1)), (6, (1, 2, 1, 3))))):
            tree = chain((8, 4, 4, 24), **form)
            first = f"one{len(form)}"
            one = self.run_job(tree, out=first)["chains"]["g"]
            for ranks, grid in runs:
                with self.subTest(ranks=ranks, grid=grid, **form):
                    out = f"many{ranks}{len(form)}"
                    many = self.run_ranks(ranks, tree, *(("--grid", *map(str, grid)) if grid else ()), out=out)
                    self.assertEqual(many["ranks"]["count"], ranks)
                    self.assert_same_chain(one, many["chains"]["g"], first, out)

    def test_a_stopped_chain_goes_on_with_other_ranks(self):
        """SIGUSR1 to mpirun; the state is kept because of it, keep_every is far away."""
        tree = chain((8, 8, 8, 12), separation=200)
        one = self.run_job(tree, out="one")["chains"]["g"]
        process = self.start(2, "run", self.write_job(tree), "--out", self.path("many"))
        self.wait_for(process, "many/results.json")
        time.sleep(0.3)
        process.send_signal(signal.SIGUSR1)
        code, _, err = self.finish(process)
        if code == 0:
            self.skipTest("the chain ended before the signal")
        self.assertEqual(code, 138, err)
        self.assertEqual(err.count("run again to continue"), 1, err)
        self.assertRegex(err, r"stopped after sweep \d+;")
        self.assert_whole_files_only("many")
        with open(self.path("many/restart.json")) as stream:
            self.assertGreater(json.load(stream)["unfinished"]["g"]["so_far"]["so_far"]["generation"], 0)
        many = self.run_ranks(3, tree, out="many")["chains"]["g"]
        self.assert_same_chain(one, many, "one", "many")
        self.assertEqual([name for name in os.listdir(self.path("many")) if "unfinished" in name], [])

    def test_dynamics_have_the_bits_of_one_rank(self):
        for method in ("D", "F"):
            tree = dynamics(method=method)
            one = self.run_job(tree, out="one" + method)
            for ranks in (2, 3):
                with self.subTest(method=method, ranks=ranks):
                    out = f"many{method}{ranks}"
                    many = self.run_ranks(ranks, tree, out=out)
                    self.assertEqual(many["ranks"], {"count": ranks, "grid": [1, 1, 1, ranks]})
                    self.assert_same_dynamics(one, many, "one" + method, out)

    def test_stopped_dynamics_go_on_with_other_ranks(self):
        tree = dynamics(steps=3000, keep_every=10**6)
        one = self.run_job(tree, out="one")
        process = self.start(2, "run", self.write_job(tree), "--out", self.path("many"))
        self.wait_for(process, "many/d.dcd")
        time.sleep(0.3)
        process.send_signal(signal.SIGUSR1)
        code, _, err = self.finish(process)
        if code == 0:
            self.skipTest("the run ended before the signal")
        self.assertEqual(code, 138, err)
        self.assertRegex(err, r"stopped after step \d+;")
        many = self.run_ranks(3, tree, out="many")
        self.assertLess(many["dynamics"]["d"]["steps_timed"], 3000)
        self.assert_same_dynamics(one, many, "one", "many")

    def test_forces_have_the_bits_of_one_rank(self):
        tree = {"run": [{"task": "md_forces", "name": "f", "system": {"source": "random", "particles": 700, "types": 3},
                         "repeats": 1, "forces_csv": "forces.csv"}]}
        rows = [[{key: value for key, value in row.items() if key not in ("seconds", "pairs_per_second")}
                 for row in results["pair_forces"]["f"]["rows"]]
                for results in (self.run_job(tree, out="one"), self.run_ranks(2, tree, out="many"))]
        self.assertEqual(*rows)
        self.assertTrue(self.content("one", "forces.csv") == self.content("many", "forces.csv"))

    def test_block_sparse_matrices(self):
        """The density matrix of one run is the Hamiltonian of the next: its eigenvalues are 0, or above 1 / 1.4."""
        first = blocks()
        first["run"] = first["run"][:1]
        self.run_job(first, out="before")
        shutil.copy(self.path("before/p.csc"), self.path("h.csc"))
        tree = blocks()
        one = self.run_job(tree, out="one")
        for ranks, grid in ((2, None), (3, (3, 1)), (4, None)):
            with self.subTest(ranks=ranks, grid=grid):
                asked = {"grid": {"rows": grid[0], "columns": grid[1]}} if grid else {}
                job = {"run": [{**task, **asked} for task in tree["run"]]}
                many = self.run_ranks(ranks, job, out=f"many{ranks}")
                for task, key in (("scf", "energy"), ("scf", "electrons"), ("p", "energy"), ("p", "electrons")):
                    self.assertAlmostEqual(many[task][key], one[task][key], delta=1e-5, msg=(task, key))
                self.assertLess(many["p"]["energy_error_per_block"], 1e-6)
                self.assertLess(many["scf"]["idempotency"], 1e-6)
                self.assertLess(many["f"]["identity_residual"], 1e-7)
                roots = [read_elsi(self.path(out + "/f.csc")) for out in ("one", f"many{ranks}")]
                self.assertLess(abs(roots[0] - roots[1]).max(), 1e-6)
                rows = [results["block_products"]["c"]["rows"][0] for results in (one, many)]
                for key in ("flops", "products", "skipped", "filtered_blocks"):
                    self.assertEqual(rows[1][key], rows[0][key], key)
                self.assertGreater(rows[1]["skipped"], 0)
                self.assertLess(rows[1]["error"], rows[1]["bound"])
                self.assertEqual(many["block_products"]["c"]["grid"], list(grid or (ranks // 2, 2)))
                charges = [[float(line) for line in self.content(out, "charges.txt").split()] for out in ("one", f"many{ranks}")]
                self.assertLess(max(abs(a - b) for a, b in zip(*charges, strict=True)), 1e-5)

    def test_eigenproblems(self):
        """Real and complex, all vectors and some, a few ranks more than the grid takes."""
        n, draw = 90, numpy.random.default_rng(harness.SEED)
        for complex_ in (False, True):
            a = draw.standard_normal((n, n)) + (1j * draw.standard_normal((n, n)) if complex_ else 0)
            write_matrix(self.path("a.mtx"), a + a.conj().T)
            on_gpus = harness.BACKEND == "cuda"
            library = {} if on_gpus else {"library": "scalapack"}
            grids = {2: [1, 2], 3: [1, 3], 5: [1, 5] if on_gpus else [2, 2]}
            run_ranks = self.run_ranks if on_gpus else self.run_ranks_with_scalapack
            for ranks, more in ((2, {}), (3, {"vectors": {"count": 7}}), (5, {"vectors": {"interval": [-3, 3]}}),
                                (2, {**library, "a": {"file": "a.mtx", "triangle": "upper"}})):
                with self.subTest(complex=complex_, ranks=ranks, **more):
                    out = f"e{complex_}{ranks}{'a' in more}"
                    many = run_ranks(ranks, eigenproblem(**more), out="many" + out)["e"]
                    one = self.run_job(eigenproblem(**more), out="one" + out)["e"]
                    for key in ("n", "complex", "generalized", "first", "last", "vectors"):
                        self.assertEqual(many[key], one[key], key)
                    self.assertEqual(many["grid"], grids[ranks])
                    self.assertLess(max(many["residual"], many["orthogonality"]), 1e-14)
                    self.assertEqual(many["spectrum"]["number"], one["spectrum"]["number"])
                    for x, y in zip(many["spectrum"]["value"], one["spectrum"]["value"], strict=True):
                        self.assertAlmostEqual(x, y, delta=1e-11)
                    numbers = one["vectors"] * (1 + n * (2 if complex_ else 1))
                    files = [self.numbers_in_file(folder + out, result, numbers)
                             for folder, result in (("one", one), ("many", many))]
                    self.assertLess(abs(files[0] - files[1]).max(), 1e-8)

    def test_what_eigenproblems_on_the_gpus_of_ranks_refuse(self):
        if harness.BACKEND != "cuda":
            self.skipTest("it takes a GPU")
        write_matrix(self.path("a.mtx"), numpy.eye(90))
        self.assertIn("'library': names a library for CPUs",
                      self.run_ranks(2, eigenproblem(library="elpa"), out="bad", status=1))
        self.assertIn("pairs are refined on one rank, on a CPU", self.run_ranks(2, eigenproblem(refine=1), out="bad", status=1))

    def test_eigenproblems_of_electronic_structure(self):
        """Hamiltonian and overlap matrix of another program."""
        folder = os.path.join(os.environ.get("QUADRILLE_DATA", ""), "eigen")
        if harness.BACKEND == "cuda" or not os.path.exists(os.path.join(folder, "H_real.csc")):
            self.skipTest("it takes a CPU and QUADRILLE_DATA")
        for kind in ("real", "cmplx"):
            files = {name: os.path.join(folder, f"{letter}_{kind}.csc") for name, letter in (("a", "H"), ("b", "S"))}
            for more in ({}, {"vectors": {"count": 60}}, {"vectors": "none"}):
                with self.subTest(kind=kind, **more):
                    tree = eigenproblem(**files, **more)
                    many = self.run_ranks_with_scalapack(4, tree, "--force", out="many")["e"]
                    one = self.run_job(tree, "--force", out="one")["e"]
                    for x, y in zip(many["spectrum"]["value"], one["spectrum"]["value"], strict=True):
                        self.assertAlmostEqual(x, y, delta=1e-9)
                    if more.get("vectors") != "none":
                        self.assertLess(max(many["residual"], many["orthogonality"]), 1e-13)

    def numbers_in_file(self, out, result, count):
        """Of pairs.h5: values, which the results have, too, and vectors behind them."""
        content = self.content(out, "pairs.h5")
        at = content.index(numpy.array(result["spectrum"]["value"]).tobytes())
        values = numpy.frombuffer(content[at:at + 8 * result["vectors"]])
        vectors = numpy.frombuffer(content[len(content) - 8 * (count - result["vectors"]):])
        return numpy.concatenate([values, vectors])

    def test_a_rank_without_a_gpu(self):
        if harness.BACKEND != "cuda":
            self.skipTest("it takes a GPU")
        without = on_rank(1, "export CUDA_VISIBLE_DEVICES=")
        for backend, says in (("cuda", "backend cuda: "),
                              ("auto", "the backend of this rank is cpu, that of rank 0 cuda (here ")):
            err = self.run_ranks(2, job(), "--backend", backend, out="bad", status=1, wrapper=without)
            self.assertIn(f"quadrille: rank 1 of 2 on {socket.gethostname()}:\nquadrille: error: {says}", err)
            self.assertEqual(err.count("quadrille: error"), 1, err)
            self.assertFalse(os.path.exists(self.path("bad")))

    def test_one_process_loads_neither_mpi_nor_nccl(self):
        """The library of ranks is beside that which the program is linked with, and is alone linked with them."""
        def loads(file):
            return subprocess.run(["ldd", file], stdout=subprocess.PIPE, text=True, check=True).stdout

        linked = loads(harness.PROGRAM)
        library = re.search(r"libquadrille\.so\S* => (\S+)", linked)[1]
        self.assertNotRegex(linked, "libmpi|libnccl|libquadrille_ranks")
        self.assertNotRegex(linked, "scalapack|libelpa")
        self.assertRegex(loads(os.path.join(os.path.dirname(library), "libquadrille_ranks.so")), "libmpi")

    def test_a_benchmark(self):
        code, out, err = self.finish(self.start(2, "bench", "dslash", "--dims", "8", "8", "8", "16", "--precision", "single",
                                                "--reconstruct", "12", "--memory-mib", "16", "--json", self.path("b.json")))
        self.assertEqual(code, 0, err)
        with open(self.path("b.json")) as stream:
            rows = json.load(stream)["kernels"]
        self.assertEqual([row["grid"] for row in rows], [[1, 1, 1, 2]] * 3)
        self.assertEqual(out.count("dslash on the backend"), 1)


if __name__ == "__main__":
    sys.exit(harness.main(sys.modules[__name__]))
