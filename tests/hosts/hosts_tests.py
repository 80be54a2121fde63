#!/usr/bin/env python3
"""Host codes: installs Quadrille, builds tests/hosts/outside and the examples of input/capi/EXAMPLES.md against it, and compares
what they find with jobs.

    QUADRILLE_BUILD=build hosts_tests.py [CLASS...]        QUADRILLE_BUILD: the build folder to install from
                                                          QUADRILLE_MPIEXEC: mpirun, for those on ranks
"""

import ctypes
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "physics"))

import numpy as np  # noqa: E402

import block_dft_files  # noqa: E402
import harness  # noqa: E402
import lime_files  # noqa: E402
from harness import ProgramTest  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
README = os.path.join(HERE, "..", "..", "input", "capi", "EXAMPLES.md")
LEAKS_OF_MPI = os.path.join(HERE, "leaks_of_mpi.txt")
MPIEXEC = os.environ.get("QUADRILLE_MPIEXEC")
PLACE = tempfile.mkdtemp(prefix="quadrille-hosts-")
PREFIX = os.path.join(PLACE, "installed")
EXAMPLES = os.path.join(PLACE, "examples")
OPERATOR = {"type": "wilson", "kappa": 0.131, "boundary": ["periodic", {"phase": 0.25}, "periodic", "antiperiodic"]}
SOLVER = {"type": "bicgstab", "tolerance": 1e-11, "sloppy": {"precision": "half", "reconstruct": 12, "temporal_gauge": True}}


def extract_examples():
    """The code of EXAMPLES.md in files of their own."""
    os.makedirs(EXAMPLES)
    with open(README) as stream:
        text = stream.read()
    for language, name in (("c", "readme.c"), ("fortran", "readme.f90")):
        code, = re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)
        with open(os.path.join(EXAMPLES, name), "w") as stream:
            stream.write(code)


def build():
    """Installs, builds, and makes the harness use the installed program."""
    extract_examples()
    quiet = {"check": True, "stdout": subprocess.DEVNULL}
    subprocess.run(["cmake", "--install", os.environ["QUADRILLE_BUILD"], "--prefix", PREFIX], **quiet)
    compilers = [f"-DCMAKE_{language}_COMPILER={os.environ[name]}"
                 for language, name in (("C", "QUADRILLE_CC"), ("CXX", "QUADRILLE_CXX")) if os.environ.get(name)]
    flags = os.environ.get("QUADRILLE_CXX_FLAGS", "")
    subprocess.run(["cmake", "-S", os.path.join(HERE, "outside"), "-B", os.path.join(PLACE, "build"),
                    f"-DCMAKE_PREFIX_PATH={PREFIX}", f"-DREADME_EXAMPLES={EXAMPLES}", "-DCMAKE_BUILD_TYPE=Release",
                    f"-DCMAKE_CXX_FLAGS={flags}", f"-DCMAKE_C_FLAGS={flags}", f"-DWITH_MPI={'ON' if MPIEXEC else 'OFF'}",
                    *compilers], **quiet)
    subprocess.run(["cmake", "--build", os.path.join(PLACE, "build")], **quiet)
    harness.PROGRAM = os.path.join(PREFIX, "bin", "quadrille")


def built(name):
    return os.path.join(PLACE, "build", name)


def library():
    return glob.glob(os.path.join(PREFIX, "lib*", "**", "libquadrille.so"), recursive=True)[0]


def flow(tree):
    """As words: JSON is YAML."""
    return json.dumps(tree)


class HostTest(ProgramTest):
    def host(self, name, *args):
        """The lines of a host program, which must succeed and say nothing else."""
        if not os.path.exists(built(name)):
            self.skipTest("there is no Fortran compiler")
        process = subprocess.run([built(name), *args], cwd=self.folder, text=True, capture_output=True, timeout=300,
                                 check=False)
        self.assertEqual((process.returncode, process.stderr), (0, ""), process.stdout)
        return process.stdout.splitlines()


class Safety(HostTest):
    """Under AddressSanitizer too, in a build with it."""

    def test_every_mistake_has_a_code_and_a_message(self):
        line, = self.host("failing")  # the library says nothing itself
        calls, wrong = re.fullmatch(r"(\d+) calls, (\d+) wrong", line).groups()
        self.assertEqual(wrong, "0")
        self.assertGreater(int(calls), 120)

    def test_two_threads_with_contexts_of_their_own(self):
        self.assertEqual(self.host("two_threads_cpp", "6"), ["6 rounds of two threads, 0 wrong"])


class Hosts(HostTest):
    def job(self):
        """A field in a file, and the propagator of a job on it: its numbers and its results."""
        dims = [4, 4, 2, 8]
        start = {"start": "hot", "dims": dims, "seed": harness.SEED, "save": {"file": "field.lime"}}
        results = self.run_job({"gauge": start, "operator": OPERATOR, "solver": SOLVER,
                                "run": [{"task": "propagator", "source": {"type": "point", "site": [0, 0, 0, 0]},
                                         "save": {"file": "propagator.lime", "precision": "double"}}]}, "--threads", "1")
        return results, self.saved_propagator(results)

    def test_solutions_have_the_bits_of_the_job(self):
        results, propagator = self.job()
        # [t, z, y, x][sink spin, source spin][sink color, source color] -> [column][site][sink spin][sink color]
        wanted = propagator.reshape(-1, 4, 4, 3, 3).transpose(2, 4, 0, 1, 3).reshape(12, -1, 4, 3)
        iterations = [solve["iterations"] for solve in results["solves"]]
        for name in ("solve_c", "solve_cpp", "solve_fortran"):
            with self.subTest(host=name):
                lines = self.host(name, os.path.join(self.folder, "out", "field.lime"), flow(OPERATOR), flow(SOLVER),
                                  self.path(name))
                found = np.fromfile(self.path(name), dtype=complex).reshape(wanted.shape)
                self.assertEqual([int(line.split()[0]) for line in lines], iterations)
                self.assertEqual([float(line.split()[1]) for line in lines],
                                 [solve["residual"] for solve in results["solves"]])
                self.assertTrue(np.array_equal(found.view(np.int64), np.ascontiguousarray(wanted).view(np.int64)),
                                f"largest difference {abs(found - wanted).max()}")

    def test_the_examples_of_the_readme(self):
        job = {"gauge": {"start": "weak", "seed": 7, "dims": [4, 4, 4, 8]},
               "operator": {"type": "wilson", "mass": 0.1, "boundary": ["periodic"] * 3 + ["antiperiodic"]},
               "solver": {"type": "bicgstab", "tolerance": 1e-10, "sloppy": {"precision": "half"}},
               "run": [{"task": "propagator", "source": {"type": "point", "site": [0, 0, 0, 0]}},
                       {"task": "mesons", "from": "propagator"}]}
        wanted = self.run_job(job)["correlators"]["mesons"]["pion"]
        for name in ("readme_c", "readme_fortran"):
            with self.subTest(host=name):
                lines = [line.split() for line in self.host(name)]
                self.assertEqual([int(t) for t, _ in lines], list(range(8)))
                np.testing.assert_allclose([float(c) for _, c in lines], wanted, rtol=1e-12)

    def test_the_correlation_energy_of_arrays(self):
        """By its definition, with numpy."""
        random = np.random.default_rng(harness.SEED)
        o, v, n = 4, 9, 17
        ia_p, root = 0.1 * random.standard_normal((o, v, n)), random.standard_normal((n, n))
        p_q = root @ root.T + n * np.eye(n)
        occupied, virtuals = -0.3 - random.random(o), 0.2 + random.random(v)
        with open(self.path("arrays"), "wb") as stream:
            for array in (np.array([o, v, n]), ia_p, p_q, occupied, virtuals):
                stream.write(array.tobytes())
        x = np.einsum("iap,pq,jbq->iajb", ia_p, np.linalg.inv(p_q), ia_p)
        gaps = (occupied[:, None, None, None] + occupied[None, None, :, None] - virtuals[None, :, None, None]
                - virtuals[None, None, None, :])
        opposite, same = (x * x / gaps).sum(), (x * (x - x.transpose(0, 3, 2, 1)) / gaps).sum()
        for precision, allowed in (("double", 1e-12), ("mgemm", 2e-6), ("single", 1e-5)):
            with self.subTest(precision=precision):
                line, = self.host("ri_mp2", self.path("arrays"), precision)
                found = [float(word) for word in line.split()]
                for one, wanted in zip(found, (opposite + same, opposite, same)):
                    self.assertAlmostEqual(one, wanted, delta=allowed)
                self.assertEqual(np.isnan(found[3]), precision == "single", line)

    def test_memory_that_runs_out_in_any_call(self):
        line, = self.host("short_of_memory_cpp")
        failures, wrong = re.fullmatch(r"(\d+) failures, (\d+) wrong", line).groups()
        self.assertEqual(wrong, "0")
        self.assertGreater(int(failures), 40)

    def test_pkg_config(self):
        if shutil.which("pkg-config") is None:
            self.skipTest("there is no pkg-config")
        place = os.path.join(os.path.dirname(library()), "pkgconfig")
        said = subprocess.run(["pkg-config", "--cflags", "--libs", "quadrille"], text=True, capture_output=True, check=True,
                              env={**os.environ, "PKG_CONFIG_PATH": place}).stdout.split()
        program = self.path("pion")
        subprocess.run([os.environ.get("QUADRILLE_CC", "cc"), "-std=c99", os.path.join(EXAMPLES, "readme.c"), "-o", program,
                        *os.environ.get("QUADRILLE_CXX_FLAGS", "").split(), *said,
                        f"-Wl,-rpath,{os.path.dirname(library())}"], check=True)
        self.assertEqual(len(subprocess.run([program], text=True, capture_output=True, check=True).stdout.splitlines()), 8)

    def test_what_the_library_exports(self):
        """C symbols are the stable ones: those that the header declares."""
        with open(os.path.join(PREFIX, "include", "quadrille", "quadrille.h")) as stream:
            declared = set(re.findall(r"QUADRILLE_C_API [\w ]+?\*? ?(quadrille_\w+)\(", stream.read()))
        symbols = subprocess.run(["nm", "-D", "--defined-only", library()], text=True, capture_output=True,
                                 check=True).stdout
        exported = {line.split()[-1] for line in symbols.splitlines()}
        self.assertGreater(len(declared), 20)
        self.assertEqual(declared - exported, set())
        with open(os.path.join(PREFIX, "share", "quadrille", "fortran", "quadrille.f90")) as stream:
            bound = re.findall(r'function (\w+)\(.*?\) bind\(c(?:, name="(\w+)")?\)', stream.read())
        self.assertEqual({name or own for own, name in bound} - {"strlen"} - declared, set())

    def test_the_binary_interface_is_the_one_that_is_kept(self):
        """abi.txt: the exported C functions, the layout of structs, the values of enumerators. Lines may be added; one that
        changes or goes breaks hosts that were compiled before, and is another SONAME."""
        symbols = subprocess.run(["nm", "-D", "--defined-only", library()], text=True, capture_output=True,
                                 check=True).stdout
        functions = sorted(name for name in (line.split()[-1] for line in symbols.splitlines())
                           if not name.startswith((".", "_Z")))  # what is not C++
        dynamic = subprocess.run(["readelf", "-d", library()], text=True, capture_output=True, check=True).stdout
        soname = re.search(r"SONAME.*\[(.*)\]", dynamic).group(1)
        found = [f"soname {soname}"] + [f"function {name}" for name in functions] + self.host("layout")
        with open(os.path.join(HERE, "abi.txt")) as stream:
            self.assertEqual(found, stream.read().splitlines())

    def test_the_constants_of_fortran_are_those_of_c(self):
        in_c = {line.split()[0].lower(): line.split()[1] for line in self.host("layout")}
        with open(os.path.join(PREFIX, "share", "quadrille", "fortran", "quadrille.f90")) as stream:
            lists = re.findall(r"parameter, public :: (.*?)\n(?!\s{6})", stream.read(), re.DOTALL)
        in_fortran = {name: value for text in lists for name, value in re.findall(r"(quadrille_\w+) = (\d+)", text)}
        self.assertGreater(len(in_fortran), 20)
        self.assertEqual({name: in_c.get(name) for name in in_fortran}, in_fortran)


class RankTest(ProgramTest):
    """Hosts under mpirun."""

    def setUp(self):
        super().setUp()
        if not MPIEXEC:
            self.skipTest("this Quadrille is built without MPI")

    def on_ranks(self, *command, silent=True, ranks=2):
        process = subprocess.run([MPIEXEC, "--oversubscribe", "-n", str(ranks), *command], cwd=self.folder, text=True,
                                 stdin=subprocess.DEVNULL, capture_output=True, timeout=300, check=False,
                                 env={**os.environ, "LSAN_OPTIONS":
                                      f"suppressions={LEAKS_OF_MPI}:print_suppressions=0:leak_check_at_exit=0"})
        self.assertEqual(process.returncode, 0, process.stdout + process.stderr)
        if silent:
            # AddressSanitizer doubts stacks that change, though it is told of each change (core/system/fibers.cpp).
            said = re.sub(r"==\d+==WARNING: ASan doesn't fully support makecontext/swapcontext .*\n", "", process.stderr)
            self.assertEqual(said, "", process.stdout)
        return process.stdout.splitlines()

    def skip_without_scalapack(self):
        if not glob.glob(os.path.join(os.path.dirname(library()), "libquadrille_eigen_ranks.so")):
            self.skipTest("Quadrille is built without ScaLAPACK")


class RankSafety(RankTest):
    """Under AddressSanitizer too."""

    def test_a_mistake_of_one_rank_ends_the_call_on_all(self):
        line, = self.on_ranks(built("failing_on_ranks"))  # the library says nothing itself
        calls, wrong = re.fullmatch(r"(\d+) calls, (\d+) wrong", line).groups()
        self.assertEqual(wrong, "0")
        self.assertGreater(int(calls), 45)

    def test_a_mistake_with_blocks_on_one_rank_ends_the_call_on_all(self):
        line, = self.on_ranks(built("blocks_failing_on_ranks"))
        calls, wrong = re.fullmatch(r"(\d+) calls, (\d+) wrong", line).groups()
        self.assertEqual(wrong, "0")
        self.assertGreater(int(calls), 65)

    def test_a_mistake_with_an_eigenproblem_on_one_rank_ends_the_call_on_all(self):
        self.skip_without_scalapack()
        line, = self.on_ranks(built("eigen_failing_on_ranks"))
        calls, wrong = re.fullmatch(r"(\d+) calls, (\d+) wrong", line).groups()
        self.assertEqual(wrong, "0")
        self.assertGreater(int(calls), 60)


class Ranks(RankTest):
    """Against the same job there on the same grid."""

    def job(self, grid):
        """That of Hosts, on ranks."""
        start = {"start": "hot", "dims": [4, 8, 4, 8], "seed": harness.SEED, "save": {"file": "field.lime"}}
        job = {"gauge": start, "operator": OPERATOR, "solver": SOLVER,
               "run": [{"task": "propagator", "source": {"type": "point", "site": [0, 0, 0, 0]},
                        "save": {"file": "propagator.lime", "precision": "double"}},
                       {"task": "mesons", "from": "propagator"}]}
        out = f"out_{'_'.join(map(str, grid))}"
        self.on_ranks(*harness.command("run", self.write_job(job), "--out", self.path(out), "--threads", "1", "--grid",
                                       *map(str, grid)), silent=False)
        with open(os.path.join(self.path(out), "results.json")) as stream:
            results = json.load(stream)
        self.assertEqual(results["ranks"], {"count": 2, "grid": grid})
        return results, self.saved_propagator(results, out), os.path.join(self.path(out), "field.lime")

    def whole(self, file, dims):
        """[column][t, z, y, x][spin][color] of what all ranks have written."""
        found = np.full((12, *reversed(dims), 4, 3), np.nan, dtype=complex)
        for rank in range(2):
            with open(f"{file}.{rank}", "rb") as stream:
                part, origin = np.fromfile(stream, dtype=np.int32, count=8).reshape(2, 4)[:, ::-1]
                mine = np.fromfile(stream, dtype=complex).reshape(12, *part, 4, 3)
            found[(slice(None), *(slice(o, o + n) for o, n in zip(origin, part, strict=True)))] = mine
        return found

    def test_solutions_have_the_bits_of_the_job_on_the_same_grid(self):
        for grid in ([1, 1, 1, 2], [1, 2, 1, 1]):
            results, propagator, field = self.job(grid)
            wanted = propagator.transpose(5, 7, 0, 1, 2, 3, 4, 6).reshape(12, *propagator.shape[:4], 4, 3)
            for name in ("on_ranks_c", "on_ranks_cpp", "on_ranks_fortran"):
                with self.subTest(host=name, grid=grid):
                    if not os.path.exists(built(name)):
                        self.skipTest("there is no Fortran compiler, or no MPI for it")
                    lines = self.on_ranks(built(name), field, flow(OPERATOR), flow(SOLVER), flow(grid), self.path(name))
                    found = self.whole(self.path(name), results["lattice"]["dims"])
                    self.assertEqual([int(line.split()[0]) for line in lines],
                                     [solve["iterations"] for solve in results["solves"]])
                    # The C++ host numbers its ranks from the end: a sum of two has the same bits.
                    self.assertEqual([float(line.split()[1]) for line in lines],
                                     [solve["residual"] for solve in results["solves"]])
                    self.assertTrue(np.array_equal(found.view(np.int64), np.ascontiguousarray(wanted).view(np.int64)),
                                    f"largest difference {abs(found - wanted).max()}")
            with open(os.path.join(self.path("on_ranks_cpp") + ".job", "results.json")) as stream:
                of_host = json.load(stream)
            shutil.rmtree(self.path("on_ranks_cpp") + ".job")
            self.assertEqual(of_host["ranks"], results["ranks"])
            self.assertEqual(of_host["correlators"], results["correlators"])
            self.assertEqual([solve["residual"] for solve in of_host["solves"]],
                             [solve["residual"] for solve in results["solves"]])

    def write_insulator(self):
        system = block_dft_files.Insulator(np.random.default_rng(harness.SEED))
        for name, matrix in (("h.csc", system.h), ("s.csc", system.s)):
            block_dft_files.write_elsi(self.path(name), matrix)
        with open(self.path("sizes"), "w") as stream:
            stream.write(" ".join(str(size) for size in system.sizes))
        return system

    def test_density_matrices_have_the_bits_of_the_job_on_as_many_ranks(self):
        system = self.write_insulator()
        electrons = str(system.electrons)
        trace_of_root = np.sqrt(np.linalg.eigvalsh(system.s)).sum()
        for ranks, method in ((1, "trs4"), (2, "trs4"), (2, "sign"), (2, "dense"), (3, "trs4")):
            task = {"task": "density_matrix", "hamiltonian": "h.csc", "overlap": "s.csc", "blocks": "sizes",
                    "density": "p.csc", "electrons": system.electrons, "method": method, "eps": 1e-7}
            out = self.path(f"out_{ranks}_{method}")
            self.on_ranks(*harness.command("run", self.write_job({"run": [task]}), "--out", out, "--threads", "1",
                                           "--backend", "cpu"), silent=False, ranks=ranks)
            with open(os.path.join(out, "results.json")) as stream:
                job = json.load(stream)["density_matrix"]
            with open(os.path.join(out, "p.csc"), "rb") as stream:
                wanted = stream.read()
            files = self.path("h.csc"), self.path("s.csc"), self.path("sizes")
            for cycle in ("0", "3"):
                with self.subTest(ranks=ranks, method=method, cycle=cycle):
                    line, = self.on_ranks(built("blocks_on_ranks_c"), *files, method, electrons, "1e-7", cycle,
                                          self.path("p_host.csc"), ranks=ranks)
                    energy, mu, within, converged, root, residual = line.split()
                    self.assertEqual(float(energy), job["energy"])
                    np.testing.assert_equal(float(mu), np.nan if job["mu"] is None else job["mu"])
                    self.assertAlmostEqual(float(within), job["electrons"], delta=1e-9)
                    self.assertEqual(converged, "1")
                    self.assertAlmostEqual(float(root), trace_of_root, delta=1e-8 * trace_of_root)
                    self.assertLess(float(residual), 1e-8)
                    with open(self.path("p_host.csc"), "rb") as stream:
                        self.assertEqual(stream.read(), wanted)
            if method == "trs4" and os.path.exists(built("blocks_on_ranks_fortran")):
                with self.subTest(ranks=ranks, host="blocks_on_ranks_fortran"):
                    line, = self.on_ranks(built("blocks_on_ranks_fortran"), *files, electrons, "1e-7", ranks=ranks)
                    energy, within = map(float, line.split())
                    self.assertEqual(energy, job["energy"])
                    self.assertAlmostEqual(within, job["electrons"], delta=1e-9)

    def test_eigenproblems_on_a_grid_are_those_of_one_process(self):
        self.skip_without_scalapack()
        for ranks, library, n, *grid in ((1, "auto", 30, 0, 0, 0, "R"), (3, "auto", 53, 1, 3, 7, "R"), (4, "auto", 60, 0, 0, 0, "C"),
                                         (4, "scalapack", 60, 0, 0, 0, "C"), (6, "auto", 47, 3, 2, 5, "C"),
                                         (4, "scalapack", 30, 2, 2, 40, "R")):  # in the last one rank has all
            with self.subTest(ranks=ranks, library=library, grid=grid):
                line, = self.on_ranks(built("eigen_on_ranks_c"), library, *map(str, (n, *grid, harness.SEED)), ranks=ranks)
                count, values, vectors = re.fullmatch(r"(\d+) problems, values (\S+), vectors (\S+)", line).groups()
                self.assertEqual(count, "24")
                self.assertLess(float(values), 1e-11)
                self.assertLess(float(vectors), 1e-8)
        if os.path.exists(built("eigen_on_ranks_fortran")):
            line, = self.on_ranks(built("eigen_on_ranks_fortran"), "70", ranks=4)
            values, vectors = re.fullmatch(r"values +(\S+), vectors +(\S+)", line).groups()
            self.assertLess(float(values), 1e-14)
            self.assertLess(float(vectors), 1e-12)

    def test_threads_with_contexts_of_their_own(self):
        said, = self.on_ranks(built("threads_on_ranks_cpp"), "funneled")
        self.assertIn("only the thread that initialized MPI may call it", said)
        said, = self.on_ranks(built("threads_on_ranks_cpp"), "multiple")
        if said == "no threads here":
            self.skipTest("MPI has no MPI_THREAD_MULTIPLE")
        self.assertEqual(said, "0 wrong")


class Ctypes(ProgramTest):
    """The C API from Python, with nothing but the shared library."""

    def setUp(self):
        super().setUp()
        self.lib = ctypes.CDLL(library())
        self.lib.quadrille_message.restype = ctypes.c_char_p
        self.context = ctypes.c_void_p()
        self.done(self.lib.quadrille_context_create(b"{threads: 1}", ctypes.byref(self.context)))
        self.addCleanup(lambda: self.done(self.lib.quadrille_context_destroy(self.context)))

    def done(self, status):
        self.assertEqual(status, 0, self.lib.quadrille_message(None))

    def make(self, kind, source, words, *more):
        made = ctypes.c_void_p()
        self.done(getattr(self.lib, kind)(source, words.encode(), *more, ctypes.byref(made)))
        return made

    def test_a_solve(self):
        gauge = self.make("quadrille_gauge_create", self.context, "{start: hot, dims: [4, 4, 4, 4]}")
        links = np.empty((256, 4, 3, 3), dtype=complex)
        array = (ctypes.c_void_p * 1)(links.ctypes.data)
        self.done(self.lib.quadrille_gauge_to_memory(gauge, b"", array, ctypes.c_size_t(1)))
        determinants = np.linalg.det(links)
        self.assertLess(abs(determinants - 1).max(), 1e-12)
        again = self.make("quadrille_gauge_from_memory", self.context, "{dims: [4, 4, 4, 4]}", array, ctypes.c_size_t(1))
        op = self.make("quadrille_operator_create", again, flow(OPERATOR))
        solver = self.make("quadrille_solver_create", op, flow(SOLVER))
        random = np.random.default_rng(harness.SEED)
        b = random.normal(size=(256, 4, 3)) + 1j * random.normal(size=(256, 4, 3))
        x, mx = np.empty_like(b), np.empty_like(b)
        pointers = [(ctypes.c_void_p * 1)(a.ctypes.data) for a in (b, x, mx)]
        self.done(self.lib.quadrille_solver_solve(solver, b"", pointers[0], pointers[1], ctypes.c_size_t(1), None))
        self.done(self.lib.quadrille_operator_apply(op, 0, b"", pointers[1], pointers[2], ctypes.c_size_t(1)))
        residual = np.linalg.norm(b - mx) / np.linalg.norm(b)
        self.assertLess(residual, 1.01e-11)
        text = ctypes.c_char_p()
        self.done(self.lib.quadrille_solver_json(solver, ctypes.byref(text)))
        self.assertAlmostEqual(json.loads(text.value)[0]["residual"], residual, delta=1e-14)

    def test_a_mistake(self):
        made = ctypes.c_void_p()
        self.assertEqual(self.lib.quadrille_gauge_create(self.context, b"{start: luke}", ctypes.byref(made)), 3)
        self.assertIn(b"gauge:1:9: 'start' must be one of cold, hot, weak", self.lib.quadrille_message(self.context))
        self.assertEqual(self.lib.quadrille_gauge_destroy(ctypes.c_void_p(12345)), 8)
        self.assertEqual(self.lib.quadrille_gauge_destroy(None), 8)


if __name__ == "__main__":
    try:
        build()
        sys.exit(harness.main(sys.modules[__name__]))
    finally:
        shutil.rmtree(PLACE, ignore_errors=True)
