"""Whole jobs under mpirun, against the same jobs in one process; and what happens when a rank fails.

QUADRILLE_MPIEXEC is mpirun; the rest of the environment is that of tests/physics/harness.py.
"""

import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

import harness

MPIEXEC = os.environ.get("QUADRILLE_MPIEXEC", "mpirun")


def job(dims=(8, 8, 4, 12), inner="half", **more):
    return {
        "gauge": {"start": "weak", "epsilon": 0.4, "seed": harness.SEED, "dims": list(dims),
                  "save": {"file": "links.lime", "precision": "double"}},
        "operator": {"type": "wilson", "mass": 0.05, "boundary": ["periodic", {"phase": 0.3}, "antiperiodic", "antiperiodic"]},
        "solver": {"type": "bicgstab", "tolerance": 1e-11, **more,
                   "sloppy": {"precision": inner, "reconstruct": 12, "temporal_gauge": True}},
        "run": [
            {"task": "propagator", "name": "q", "source": {"type": "point", "site": [5, 2, 3, 7]},
             "save": {"file": "q.lime", "precision": "double"}},
            {"task": "mesons", "name": "m", "from": "q"},
        ],
    }


def chain(dims=(8, 4, 4, 12), **more):
    """Pure gauge configurations from a hot start."""
    task = {"task": "generate", "name": "g", "beta": 5.7, "anisotropy": {"xi0": 1.4}, "thermalization": 2, "configurations": 2,
            "separation": 3, "overrelaxation": 2, "reunitarize_every": 2, "seed": harness.SEED,
            "save": {"file": "b_####.lime", "precision": "double"}}
    return {"gauge": {"start": "hot", "seed": harness.SEED, "dims": list(dims)}, "run": [{**task, **more}]}


def dynamics(**more):
    """A melt with a thermostat; there are no links."""
    task = {"task": "md_run", "name": "d", "system": {"source": "fcc", "particles": 2048}, "steps": 200, "every": 50,
            "temperature": 1.0, "thermostat": "langevin", "seed": harness.SEED % 10**9, "trajectory": "d.dcd", "trajectory_every": 50,
            "state": "end.h5"}
    return {"run": [{**task, **more}]}


def blocks(**more):
    """Self-consistent charges of a made insulator, its density matrix from files, and products of random blocks."""
    scf = {"task": "scf_model", "name": "scf", "model": {"atoms": 60, "block_sizes": [1, 4, 5], "seed": harness.SEED % 10**9},
           "screening": 1.0, "eps": 1e-8, "eps_scf": 1e-8, "density": "p.csc", "charges": "charges.txt", **more}
    density = {"task": "density_matrix", "name": "p", "hamiltonian": "h.csc", "blocks": {"size": 7}, "mu": 0.5, "eps": 1e-9,
               "compare": True, "density": "projector.h5"}
    product = {"task": "block_multiply", "name": "c", "m": 40, "block_sizes": [5, 13], "occupations": [0.3], "eps": 1e-2,
               "decay": 0.5, "repeats": 1, "check": True, "seed": harness.SEED % 10**9}
    return {"run": [scf, density, product]}


def on_rank(rank, here, elsewhere=":"):
    """What comes before the program: shell commands on one rank, and on the others."""
    return "bash", "-c", f'if [ "$OMPI_COMM_WORLD_RANK" = {rank} ]; then {here}; else {elsewhere}; fi; exec "$0" "$@"'


class RankTest(harness.ProgramTest):
    def start(self, ranks, *args, env=None, wrapper=()):
        """mpirun of the program, in a group of processes of its own."""
        words = [MPIEXEC, "--oversubscribe", "-n", str(ranks), *wrapper, *harness.command(*args)]
        return subprocess.Popen(words, cwd=self.folder, env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)

    def finish(self, process, seconds=120):
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            self.fail(f"still there after {seconds} s\n{out}\n{err}")
        return process.returncode, out, err

    def run_ranks(self, ranks, tree, *args, out, status=0, **more):
        code, stdout, stderr = self.finish(self.start(ranks, "run", self.write_job(tree), "--out", self.path(out), *args, **more))
        self.assertEqual(code, status, f"{stdout}\n{stderr}")
        file = os.path.join(self.path(out), "results.json")
        if status not in (0, 3):
            return stderr
        with open(file) as stream:
            return json.load(stream)

    def assert_same_physics(self, one, many, out):
        self.assertEqual(one["gauge"]["checksum"], many["gauge"]["checksum"])
        self.assertEqual(one["gauge"]["plaquette"], many["gauge"]["plaquette"])
        for a, b in zip(one["correlators"]["m"]["pion"], many["correlators"]["m"]["pion"], strict=True):
            self.assertAlmostEqual(b / a, 1, delta=1e-8)
        self.assertTrue(all(solve["residual"] <= 1e-11 for solve in many["solves"]))
        expected, found = (self.saved_propagator(one, name, "q.lime") for name in ("one", out))
        self.assertLess(abs(expected - found).max(), 1e-9 * abs(expected).max())

    def assert_same_chain(self, one, many, first, second):
        """Links have the same bits; what is summed over ranks agrees to rounding."""
        for key in ("acceptance", "largest_drift", "files", "precision", "reconstruct"):
            self.assertEqual(one[key], many[key])
        single = one["precision"] == "single"
        for name in ("plaquette", "plaquette_spatial", "plaquette_temporal"):
            seen = [tree["history"][name] for tree in (one, many)]
            self.assertEqual(len(seen[0]), len(seen[1]))
            self.assertLess(max(abs(a - b) for a, b in zip(*seen)), 1e-13)
        for part in ("re", "im"):
            seen = [tree["history"]["polyakov_loop"][part] for tree in (one, many)]
            self.assertLess(max(abs(a - b) for a, b in zip(*seen, strict=True)), 1e-7 if single else 1e-13)
        for file in one["files"]:
            contents = []
            for out in (first, second):
                with open(self.path(f"{out}/{file}"), "rb") as stream:
                    contents.append(re.sub(b"<date>.*?</date>", b"", stream.read()))
            self.assertEqual(len(contents[0]), len(contents[1]))
            self.assertTrue(contents[0] == contents[1], f"{file}: other bytes than those of the date differ")

    def assert_same_dynamics(self, one, many, first, second):
        self.assertEqual(one["dynamics"]["d"]["rows"], many["dynamics"]["d"]["rows"])
        for name in ("d.dcd", "end.h5", "md_run.csv"):
            self.assertTrue(self.content(first, name) == self.content(second, name), name)

    def content(self, out, name):
        with open(self.path(f"{out}/{name}"), "rb") as stream:
            return stream.read()

    def wait_for(self, process, file):
        while process.poll() is None and not os.path.exists(self.path(file)):
            time.sleep(0.01)

    def kill_one(self, process, chance):
        """Of the ranks, if they are there already."""
        ranks = subprocess.run(["pgrep", "-P", str(process.pid), "-f", harness.PROGRAM], stdout=subprocess.PIPE, text=True,
                               check=False).stdout.split()
        if ranks:
            os.kill(int(chance.choice(ranks)), signal.SIGKILL)

    def assert_whole_files_only(self, out):
        left = sorted(os.listdir(self.path(out)))
        self.assertFalse([name for name in left if name.endswith(".lime") and os.path.getsize(self.path(f"{out}/{name}")) == 0], left)
        for name in left:
            if name.endswith(".lime"):
                self.assertEqual(self.call("info", self.path(f"{out}/{name}")).returncode, 0, name)


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

    def test_files_are_read_by_ranks(self):
        self.run_job(job(), out="one")
        tree = job(inner="single")
        tree["gauge"] = {"file": "one/links.lime"}
        one = self.run_job(tree, out="from_one")
        os.rename(self.path("from_one"), self.path("one_more"))
        many = self.run_ranks(4, tree, out="many")
        for a, b in zip(one["correlators"]["m"]["pion"], many["correlators"]["m"]["pion"], strict=True):
            self.assertAlmostEqual(b / a, 1, delta=1e-8)

    def test_the_same_grid_gives_the_same_bits(self):
        results = [self.run_ranks(4, job(), "--grid", "1", "2", "1", "2", out=out) for out in ("a", "b")]
        self.assertEqual(*(tree["correlators"] for tree in results))
        self.assertEqual(*([solve["history"] for solve in tree["solves"]] for tree in results))

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
                rows = [results["block_products"]["c"]["rows"][0] for results in (one, many)]
                for key in ("flops", "products", "skipped", "filtered_blocks"):
                    self.assertEqual(rows[1][key], rows[0][key], key)
                self.assertGreater(rows[1]["skipped"], 0)
                self.assertLess(rows[1]["error"], rows[1]["bound"])
                self.assertEqual(many["block_products"]["c"]["grid"], list(grid or (ranks // 2, 2)))
                charges = [[float(line) for line in self.content(out, "charges.txt").split()] for out in ("one", f"many{ranks}")]
                self.assertLess(max(abs(a - b) for a, b in zip(*charges, strict=True)), 1e-5)

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
        self.assertRegex(loads(os.path.join(os.path.dirname(library), "libquadrille_ranks.so")), "libmpi")

    def test_a_benchmark(self):
        code, out, err = self.finish(self.start(2, "bench", "dslash", "--dims", "8", "8", "8", "16", "--precision", "single",
                                                "--reconstruct", "12", "--memory-mib", "16", "--json", self.path("b.json")))
        self.assertEqual(code, 0, err)
        with open(self.path("b.json")) as stream:
            rows = json.load(stream)["kernels"]
        self.assertEqual([row["grid"] for row in rows], [[1, 1, 1, 2]] * 3)
        self.assertEqual(out.count("dslash on the backend"), 1)


class RankFaults(RankTest):
    def test_lattices_that_do_not_divide(self):
        err = self.run_ranks(5, job(), out="bad", status=1)
        self.assertIn("cannot be divided over 5 ranks", err)
        self.assertIn("start 4 or 6", err)
        self.assertEqual(err.count("quadrille: error"), 1, err)
        err = self.run_ranks(4, job(), "--grid", "1", "1", "4", "1", out="bad", status=1)
        self.assertIn("the grid 1 1 4 1 does not divide", err)
        self.assertIn("possible grids are 1 1 1 ", err.replace("1 2 1 2", "1 1 1 "))
        err = self.run_ranks(2, dynamics(), "--grid", "1", "1", "1", "2", out="bad", status=1)
        self.assertIn("--grid divides a lattice over ranks, and this job has no 'gauge' block", err)
        err = self.run_ranks(4, job(), "--grid", "1", "1", "1", "2", out="bad", status=1)
        self.assertIn("has 2 ranks, but 4 were started", err)
        self.assertFalse(os.path.exists(self.path("bad/results.json")))

    def test_tasks_that_run_on_one_rank_only(self):
        tree = job()
        tree["run"] += [{"task": "matrix_product_study", "name": "f", "sizes": [64], "salts": [100]}]
        err = self.run_ranks(2, tree, out="bad", status=1)
        self.assertRegex(err, r"job.yaml:\d+:\d+: the task f \(matrix_product_study\) runs on one rank only")
        code, _, err = self.finish(self.start(2, "bench", "accuracy", "--dims", "8", "8", "8", "8"))
        self.assertEqual(code, 1)
        self.assertIn("bench accuracy runs on one rank only", err)

    def test_ranks_without_gpus(self):
        alone = self.call("run", self.write_job(job()), "--backend", "cuda", "--out", self.path("bad"))
        if alone.returncode == 0:
            self.skipTest("there is a GPU")
        err = self.run_ranks(3, job(), "--backend", "cuda", out="bad", status=1)
        self.assertIn(alone.stderr, err)
        self.assertEqual(err.count("quadrille: error"), 1, err)

    def test_matrices_that_do_not_work_out(self):
        """Grids, numbers of electrons and files: each error is said once, and no half file stays."""
        tree = blocks(grid={"rows": 2, "columns": 2})
        tree["run"] = tree["run"][:1]
        err = self.run_ranks(3, tree, out="bad", status=1)
        self.assertIn("a grid of 2 x 2 has 4 ranks, but there are 3: a grid of 1 x 3 has as many", err)
        self.assertEqual(err.count("quadrille: error"), 1, err)
        tree = blocks()
        tree["run"] = tree["run"][:1]
        self.run_job(tree, out="before")
        for name, cut, mu, says in (("short.csc", 9, 0.5, "short.csc"), ("h.csc", 0, 7.0, "mu = 7 is outside the spectrum")):
            content = self.content("before", "p.csc")
            with open(self.path(name), "wb") as stream:
                stream.write(content[:len(content) - cut])
            job = {"run": [{"task": "density_matrix", "name": "p", "hamiltonian": name, "mu": mu, "density": "p.csc"}]}
            err = self.run_ranks(3, job, "--force", out="bad", status=1)
            self.assertIn(says, err)
            self.assertEqual(err.count("quadrille: error"), 1, err)
            self.assertFalse(os.path.exists(self.path("bad/p.csc")))

    def test_dumps_are_read_by_rank_0_alone(self):
        """That of rank 1 is damaged behind its beginning, which alone is looked at there."""
        good = "".join(f"{k:8d}{k:8d} {(-1) ** k}.0\n" for k in range(1, 9))
        tree = {"run": [{"task": "density_matrix", "name": "p", "hamiltonian": "h.csr", "mu": 0.0, "blocks": {"size": 2}}]}
        for place, dump in (("here", good), ("there", good + "no numbers\n")):
            os.mkdir(self.path(place))
            self.write_job(tree, f"{place}/job.yaml")
            with open(self.path(f"{place}/h.csr"), "w") as stream:
                stream.write(dump)
        for bad, status in ((1, 0), (0, 1)):
            process = self.start(2, "run", "job.yaml", "--out", self.path(f"out{bad}"),
                                 wrapper=on_rank(bad, "cd there", "cd here"))
            code, _, err = self.finish(process)
            self.assertEqual(code, status, err)
            self.assertEqual(err.count("h.csr:9: 'no numbers' is not row, column and one real value"), status, err)
        with open(self.path("out1/results.json")) as stream:
            self.assertAlmostEqual(json.load(stream)["p"]["electrons"], 4, delta=1e-9)

    def test_particles_that_ranks_read_differently(self):
        text = ("t\n\n2 atoms\n1 atom types\n0 9 xlo xhi\n0 9 ylo yhi\n0 9 zlo zhi\n\nPair Coeffs\n\n1 1 1\n\nAtoms\n\n"
                "1 1 0 0 0\n2 1 {} 0 0\n")
        tree = dynamics(system={"source": "lammps", "data": "data.lmp"})
        for place, x in (("here", 1.5), ("there", 1.6)):
            os.mkdir(self.path(place))
            self.write_job(tree, f"{place}/job.yaml")
            with open(self.path(f"{place}/data.lmp"), "w") as stream:
                stream.write(text.format(x))
        process = self.start(2, "run", "job.yaml", "--out", self.path("bad"),
                             wrapper=on_rank(1, "cd there", "cd here"))
        code, _, err = self.finish(process)
        self.assertEqual(code, 1, err)
        self.assertIn("this rank has other particles than rank 0", err)
        self.assertEqual(err.count("quadrille: error"), 1, err)

    def test_dynamics_that_fail(self):
        err = self.run_ranks(3, dynamics(time_step=0.2, temperature=3.0), out="bad", status=1)
        self.assertIn("the time step, 0.2, is too large", err)
        self.assertEqual(err.count("quadrille: error"), 1, err)

    def test_dynamics_whose_ranks_are_killed(self):
        """They go on from the last state that was kept, on other numbers of ranks, to the bits of one run."""
        tree = dynamics(system={"source": "fcc", "particles": 864}, steps=500, every=50, keep_every=50)
        one = self.run_job(tree, out="one")
        self.kill_ten_times(tree, lambda many: self.assert_same_dynamics(one, many, "one", "many"))

    def test_different_jobs(self):
        for place, inner in (("here", "single"), ("there", "half")):
            os.mkdir(self.path(place))
            self.write_job(job(inner=inner), f"{place}/job.yaml")
        process = self.start(3, "run", "job.yaml", "--out", self.path("bad"), wrapper=on_rank(2, "cd there", "cd here"))
        code, _, err = self.finish(process)
        self.assertEqual(code, 1, err)
        self.assertEqual(err.count("quadrille: error"), 1, err)
        self.assertIn(f"quadrille: rank 2 of 3 on {socket.gethostname()}:\n", err)
        self.assertIn("job.yaml: this rank has read another job than rank 0: solver.sloppy.precision is \"single\" there but "
                      "\"half\" here", err)
        self.assertFalse(os.path.exists(self.path("bad")))

    def test_different_commands(self):
        """Two programs of mpirun: one would otherwise wait for the other."""
        words = [[*harness.command("bench", "dslash", "--dims", "4", "4", "4", "8", "--precision", precision)]
                 for precision in ("single", "double")]
        process = subprocess.Popen([MPIEXEC, "--oversubscribe", "-n", "1", *words[0], ":", "-n", "1", *words[1]], cwd=self.folder,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   start_new_session=True)
        code, _, err = self.finish(process)
        self.assertEqual(code, 1, err)
        self.assertEqual(err.count("quadrille: error"), 1, err)
        self.assertRegex(err, r"this rank was started with '.*double.*', rank 0 with '.*single.*'")

    def copies_of_another_build(self, *patched):
        """A folder with copies of both libraries, of which those whose names begin with one of `patched` say that they are of
        another commit; the builds before and after."""
        linked = subprocess.run(["ldd", harness.PROGRAM], stdout=subprocess.PIPE, text=True, check=True).stdout
        library = re.search(r"libquadrille\.so\S* => (\S+)", linked)[1]
        read_id = ("import ctypes, sys; f = ctypes.CDLL(sys.argv[1])._ZN9quadrille8build_idEv; "
                   "f.restype = ctypes.c_char_p; print(f().decode())")
        build = subprocess.run([sys.executable, "-c", read_id, library], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
        other = ("0" if build[-1] != "0" else "1").rjust(len(build), "x")
        os.mkdir(self.path("other"))
        for name in (os.path.basename(library), "libquadrille_ranks.so"):
            with open(os.path.join(os.path.dirname(library), name), "rb") as stream:
                content = stream.read()
            if name.startswith(patched):
                content = content.replace(build.encode() + b"\0", other.encode() + b"\0")
            with open(self.path(f"other/{name}"), "wb") as stream:
                stream.write(content)
        return self.path("other"), build, other

    def test_different_builds(self):
        folder, build, other = self.copies_of_another_build("libquadrille.so", "libquadrille_ranks.so")
        process = self.start(2, "run", self.write_job(job()), "--out", self.path("bad"),
                             wrapper=on_rank(1, f"export LD_LIBRARY_PATH={folder}"))
        code, _, err = self.finish(process)
        self.assertEqual(code, 1, err)
        self.assertIn(f"this rank runs the build {other} of Quadrille, rank 0 {build}: start all ranks with the same one", err)
        self.assertFalse(os.path.exists(self.path("bad")))

    def test_ranks_of_another_build_than_the_library(self):
        folder, build, other = self.copies_of_another_build("libquadrille_ranks.so")
        process = subprocess.run(harness.command("run", self.write_job(job()), "--out", self.path("bad")), text=True,
                                 env={**os.environ, "OMPI_COMM_WORLD_SIZE": "2", "LD_LIBRARY_PATH": folder},
                                 capture_output=True, timeout=30, check=False)
        self.assertEqual(process.returncode, 1, process.stderr)
        self.assertIn(f"{folder}/libquadrille_ranks.so is of the build '{other}' of Quadrille, and what has loaded it '{build}': "
                      "install both from one build, or start it without mpirun\n", process.stderr)
        self.assertFalse(os.path.exists(self.path("bad")))

    def test_a_rank_that_fails_alone(self):
        """Its job file is gone; the others, which have read theirs, do not wait for ever."""
        for place in ("here", "there"):
            os.mkdir(self.path(place))
        self.write_job(job(), "here/job.yaml")
        begun = time.monotonic()
        process = self.start(3, "run", "job.yaml", "--out", self.path("bad"), wrapper=on_rank(1, "cd there", "cd here"))
        code, _, err = self.finish(process, 30)
        self.assertEqual(code, 1, err)
        self.assertIn(f"quadrille: rank 1 of 3 on {socket.gethostname()} failed and ends the others\nquadrille: error: job.yaml", err)
        self.assertLess(time.monotonic() - begun, 10)

    def test_a_full_disk_on_one_rank(self):
        """When links are saved, when a propagator is and when the state of a chain is kept."""
        unsaved = job()
        del unsaved["gauge"]["save"]
        for tree, file in ((job(), "links.lime"), (unsaved, "q.lime"),
                           (chain((8, 8, 8, 12), keep_every=0), r"g\.unfinished\.\d\.links\.lime")):
            with self.subTest(file=file):
                err = self.run_ranks(3, tree, out="bad", status=1,
                                     wrapper=on_rank(2, 'trap "" XFSZ; ulimit -f 300'))
                self.assertRegex(err, rf"bad/{file}: writing failed: file too large; the incomplete file was removed")
                self.assertEqual(err.count("quadrille: error"), 1, err)
                self.assertFalse([name for name in os.listdir(self.path("bad")) if name.endswith(".part")])
                self.assert_whole_files_only("bad")
                self.run_ranks(2, tree, out="bad")
                shutil.rmtree(self.path("bad"))

    def kill_ten_times(self, tree, compare):
        """A rank dies at ten moments of a job, or of one that goes on; compare(results) where it comes to its end."""
        chance = random.Random(harness.SEED)
        begun = time.monotonic()
        compare(self.run_ranks(3, tree, out="many"))
        seconds = time.monotonic() - begun
        killed = 0
        shutil.rmtree(self.path("many"))
        while killed < 10:
            process = self.start(chance.choice((2, 3, 4)), "run", self.write_job(tree), "--out", self.path("many"))
            time.sleep(chance.uniform(0, seconds))
            self.kill_one(process, chance)
            code, _, _ = self.finish(process, 10)
            if os.path.exists(self.path("many")):
                self.assert_whole_files_only("many")
            if code == 0:
                compare(self.run_ranks(2, tree, out="many"))
                shutil.rmtree(self.path("many"))
            else:
                killed += 1
        compare(self.run_ranks(2, tree, out="many"))

    def test_a_rank_that_is_killed(self):
        """Nothing hangs, no half file stays under its name, and the job goes on."""
        tree = job((8, 8, 8, 24), inner="single")
        one = self.run_job(tree, out="one")
        self.kill_ten_times(tree, lambda many: self.assert_same_physics(one, many, "many"))

    def test_a_chain_whose_ranks_are_killed(self):
        """It goes on from the last state that was kept, on other numbers of ranks, to the links of one run."""
        tree = chain((8, 8, 8, 12), separation=20, keep_every=0)
        one = self.run_job({**tree, "run": [{**tree["run"][0], "keep_every": 300}]}, out="one")["chains"]["g"]
        self.kill_ten_times(tree, lambda many: self.assert_same_chain(one, many["chains"]["g"], "one", "many"))


if __name__ == "__main__":
    sys.exit(harness.main(sys.modules[__name__]))
