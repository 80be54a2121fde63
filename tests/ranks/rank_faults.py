"""What happens when ranks fail, or differ, or are killed; rank_testing.py says what the environment is."""

import json
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import time

import numpy

import harness
from rank_testing import MPIEXEC, RankTest, blocks, chain, dynamics, eigenproblem, job, on_rank, write_matrix


class RankFaults(RankTest):
    def test_lattices_that_do_not_divide(self):
        err = self.run_ranks(5, job(), out="bad", status=1)
        self.assertIn("cannot be divided over 5 ranks", err)
        self.assertIn("start 4 or 6", err)
        self.assertEqual(err.count("quadrille: error"), 1, err)
        err = self.run_ranks(4, job(), "--grid", "1", "1", "4", "1", out="bad", status=1)
        self.assertIn("error: --grid: the grid 1 1 4 1 does not divide", err)
        self.assertIn("possible grids are 1 1 1 ", err.replace("1 2 1 2", "1 1 1 "))
        err = self.run_ranks(2, dynamics(), "--grid", "1", "1", "1", "2", out="bad", status=1)
        self.assertIn("--grid: divides a lattice over ranks, and this job has no 'gauge' block", err)
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

    def test_eigenproblems_that_do_not_work_out(self):
        """Each error is that of one rank, said once, with the place of what is wrong in the job."""
        draw = numpy.random.default_rng(harness.SEED)
        a = draw.standard_normal((90, 90))
        a += a.T
        b = numpy.identity(90)
        b[60, 60] = -1
        bent = a.copy()
        bent[70, 3] += 1
        for name, matrix in (("a.mtx", a), ("b.mtx", b), ("bent.mtx", bent)):
            write_matrix(self.path(name), matrix)
        with open(self.path("a.mtx")) as whole, open(self.path("short.mtx"), "w") as short:
            short.writelines(whole.readlines()[:-9])
        for more in ({"b": "b.mtx"}, {"a": "bent.mtx"}, {"a": "short.mtx"}, {"a": "none.mtx"}, {"vectors": {"last": 91}},
                     {"vectors": {"interval": [500, 501]}}, {"b": {"generate": "overlap", "size": 80}},
                     {"a": {"generate": "random", "size": 4000000}, "b": {"generate": "overlap", "size": 4000000}}):
            with self.subTest(**more):
                tree = eigenproblem(**more)
                err = self.run_ranks_with_scalapack(3, tree, "--force", out="bad")
                self.assertIsInstance(err, str, "there was no error")
                alone = self.call("run", self.write_job(tree), "--force", "--out", self.path("alone")).stderr
                says, expected = (re.search("quadrille: error: (.*)", text)[1] for text in (err, alone))
                if "not enough memory" in expected:
                    self.assertRegex(says, "not enough memory: .* by the 3 ranks of a host, needs|counts in 32 bits")
                else:
                    self.assertEqual(says, expected)
                self.assertEqual(err.count("quadrille: error"), 1, err)
                self.assertFalse(os.path.exists(self.path("bad/pairs.h5")))
        if harness.BACKEND == "cpu":
            err = self.run_ranks(2, eigenproblem(refine=1), "--force", out="bad", status=1)
            self.assertIn("pairs are refined on one rank: start it without mpirun", err)

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
        # A particle has gone too far in a step, or too near to another one.
        self.assertRegex(err, "the time step, 0.2, is too large|the force on particle [0-9]+ is not finite")
        self.assertEqual(err.count("quadrille: error"), 1, err)

    def test_dynamics_whose_ranks_are_killed(self):
        """They go on from the last state that was kept, on other numbers of ranks, to the bits of one run."""
        tree = dynamics(system={"source": "fcc", "particles": 864}, steps=500, every=50, keep_every=50)
        one = self.run_job(tree, out="one")
        self.kill_ranks(4, tree, lambda many: self.assert_same_dynamics(one, many, "one", "many"))

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

    def kill_ranks(self, times, tree, compare):
        """A rank dies at so many moments of a job, or of one that goes on; compare(results) where it comes to its end."""
        chance = random.Random(harness.SEED)
        begun = time.monotonic()
        compare(self.run_ranks(3, tree, out="many"))
        seconds = time.monotonic() - begun
        killed = 0
        shutil.rmtree(self.path("many"))
        while killed < times:
            process = self.start(chance.choice((2, 3, 4)), "run", self.write_job(tree), "--out", self.path("many"))
            time.sleep(chance.uniform(0, seconds))
            self.kill_one(process, chance)
            # mpirun of Open MPI 4 can wait for ever for a rank that died while it connected, when all ranks have ended.
            code, _, _ = self.finish(process, 10, without_mpirun=True)
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
        self.kill_ranks(6, tree, lambda many: self.assert_same_physics(one, many, "many"))

    def test_a_chain_whose_ranks_are_killed(self):
        """It goes on from the last state that was kept, on other numbers of ranks, to the links of one run."""
        tree = chain((8, 8, 8, 12), separation=20, keep_every=0)
        one = self.run_job({**tree, "run": [{**tree["run"][0], "keep_every": 300}]}, out="one")["chains"]["g"]
        self.kill_ranks(4, tree, lambda many: self.assert_same_chain(one, many["chains"]["g"], "one", "many"))


if __name__ == "__main__":
    sys.exit(harness.main(sys.modules[__name__]))
