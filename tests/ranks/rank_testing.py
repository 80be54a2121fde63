"""What the tests of whole jobs under mpirun share: jobs, and classes that start them on ranks.

QUADRILLE_MPIEXEC is mpirun; the rest of the environment is that of tests/physics/harness.py.
"""

import json
import os
import re
import signal
import subprocess
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


def hadrons(dims=(8, 4, 4, 12)):
    """Mesons, baryons and three-point functions with momenta from a smeared wall and from noise, smeared at the sink."""
    tree = job(dims, inner="single")
    smearing = {"type": "gaussian", "sigma": 1.3, "steps": 4}
    wall = {"type": "wall", "time": 7, "momentum": [1, 0, -1], "smearing": smearing}
    noise = {"type": "noise", "time": 7, "kind": "gaussian", "seed": harness.SEED}
    sequential = {"type": "sequential", "from": "q", "time": 1, "momentum": [0, 1, 1], "smearing": smearing,
                  "hadron": {"type": "nucleon", "quark": "u", "polarization": "mixed"}}
    tree["run"] = [
        {"task": "propagator", "name": "q", "source": wall},
        {"task": "propagator", "name": "r", "source": noise, "save": {"file": "q.lime", "precision": "double"}},
        {"task": "mesons", "name": "m", "from": "q", "channels": ["rho_x", {"sink": "gtg5", "source": "g5"}], "momenta": 1,
         "sink_smearing": smearing},
        {"task": "mesons", "name": "n", "from": "r", "channels": ["a0", "b1_y"], "momenta": 2},
        {"task": "baryons", "name": "b", "from": "q", "channels": ["nucleon", "delta_negative"], "momenta": 1},
        {"task": "propagator", "name": "x", "source": sequential},
        {"task": "three_point", "name": "s", "from": "q", "sequential": "x", "currents": ["gt", "gxg5"], "momenta": 1}]
    return tree


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
    """Self-consistent charges of a made insulator, its density matrix from files, products of random blocks, and a root."""
    scf = {"task": "scf_model", "name": "scf", "model": {"atoms": 60, "block_sizes": [1, 4, 5], "seed": harness.SEED % 10**9},
           "screening": 1.0, "eps": 1e-8, "eps_scf": 1e-8, "density": "p.csc", "charges": "charges.txt", **more}
    density = {"task": "density_matrix", "name": "p", "hamiltonian": "h.csc", "blocks": {"size": 7}, "mu": 0.5, "eps": 1e-9,
               "compare": True, "density": "projector.h5"}
    product = {"task": "block_multiply", "name": "c", "m": 40, "block_sizes": [5, 13], "occupations": [0.3], "eps": 1e-2,
               "decay": 0.5, "repeats": 1, "check": True, "seed": harness.SEED % 10**9}
    roots = {"task": "matrix_function", "name": "f", "model": {"atoms": 30, "block_sizes": [1, 4, 5], "seed": harness.SEED % 10**9},
             "function": "inverse_square_root", "eps": 1e-9, "save": "f.csc"}
    return {"run": [scf, density, product, roots]}


def eigenproblem(**more):
    """A x = lambda B x for a Hermitian A in a file and a generated B."""
    return {"run": [{"task": "eigen", "name": "e", "a": "a.mtx", "b": {"generate": "overlap", "size": 90}, "save": "pairs.h5",
                     "check": True, **more}]}


def write_matrix(path, a):
    """Matrix Market, in full."""
    kind = "complex" if a.dtype.kind == "c" else "real"
    with open(path, "w") as stream:
        stream.write(f"%%MatrixMarket matrix array {kind} general\n{a.shape[0]} {a.shape[1]}\n")
        for x in a.T.flatten().tolist():
            stream.write(f"{x.real!r} {x.imag!r}\n" if kind == "complex" else f"{x!r}\n")


def on_rank(rank, here, elsewhere=":"):
    """What comes before the program: shell commands on one rank, and on the others."""
    return "bash", "-c", f'if [ "$OMPI_COMM_WORLD_RANK" = {rank} ]; then {here}; else {elsewhere}; fi; exec "$0" "$@"'


class RankTest(harness.ProgramTest):
    def start(self, ranks, *args, env=None, wrapper=()):
        """mpirun of the program, in a group of processes of its own."""
        words = [MPIEXEC, "--oversubscribe", "-n", str(ranks), *wrapper, *harness.command(*args)]
        return subprocess.Popen(words, cwd=self.folder, env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)

    def finish(self, process, seconds=120, without_mpirun=False):
        """Exit status, output and errors. It must end in so many seconds; `without_mpirun` asks that of the ranks alone."""
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            left = self.ranks_of(process)
            os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            if left or not without_mpirun:
                self.fail(f"still there after {seconds} s\n{out}\n{err}")
        return process.returncode, out, err

    def ranks_of(self, process):
        """Process numbers of those that have begun and not ended."""
        found = subprocess.run(["pgrep", "-P", str(process.pid), "--runstates", "RSDT", "-f", harness.PROGRAM],
                               stdout=subprocess.PIPE, text=True, check=False)
        return [int(pid) for pid in found.stdout.split()]

    def run_ranks(self, ranks, tree, *args, out, status=0, **more):
        code, stdout, stderr = self.finish(self.start(ranks, "run", self.write_job(tree), "--out", self.path(out), *args, **more))
        if status is not None:
            self.assertEqual(code, status, f"{stdout}\n{stderr}")
        file = os.path.join(self.path(out), "results.json")
        if code not in (0, 3):
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

    def run_ranks_with_scalapack(self, ranks, tree, *args, **more):
        """Skips the test where Quadrille is built without."""
        result = self.run_ranks(ranks, tree, *args, status=None, **more)
        if isinstance(result, str) and "solved by ScaLAPACK or ELPA, but" in result:
            self.assertIn("install libscalapack-openmpi-dev", result)
            self.assertEqual(result.count("quadrille: error"), 1, result)
            self.skipTest("no ScaLAPACK")
        return result

    def content(self, out, name):
        with open(self.path(f"{out}/{name}"), "rb") as stream:
            return stream.read()

    def wait_for(self, process, file):
        while process.poll() is None and not os.path.exists(self.path(file)):
            time.sleep(0.01)

    def kill_one(self, process, chance):
        """Of the ranks, if they are there already."""
        ranks = self.ranks_of(process)
        if ranks:
            os.kill(chance.choice(ranks), signal.SIGKILL)

    def assert_whole_files_only(self, out):
        left = sorted(os.listdir(self.path(out)))
        self.assertFalse([name for name in left if name.endswith(".lime") and os.path.getsize(self.path(f"{out}/{name}")) == 0], left)
        for name in left:
            if name.endswith(".lime"):
                self.assertEqual(self.call("info", self.path(f"{out}/{name}")).returncode, 0, name)
