#!/usr/bin/env python3
"""Damaged HDF5, LIME, YAML, JSON, AMBER and LAMMPS files: the program must end, with a result or with one error of its own.

    QUADRILLE_PROGRAM=build/quadrille QUADRILLE_FUZZ_SEEDS=build/fuzz_seeds \\
        fuzz.py --count 20000 [--kinds hdf5 lime yaml json particles] [--seed N] [--seconds S] [--keep FOLDER]

Each mutated file is given to the commands that read its kind, with 4 GiB of address space (of a build with AddressSanitizer,
which reserves all of it: --sanitized, 4 GiB for each allocation), 20 s of processor time and, as the machine may be busy,
two minutes. Wrong are a signal, a
time-out, an exit status that is none of the program's, an error status without an error, and the words of an exception that
nobody caught. A signal is the library's where `h5dump` (Debian: hdf5-tools) of the same libhdf5 ends with one on the same
file too; these are counted and listed. Files that failed stay in --keep. The seed is printed; QUADRILLE_SEED fixes it.
Where QUADRILLE_DATA names the folder of files by other programs, its water.h5 and its peptide are damaged too.
"""

import argparse
import glob
import os
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PROGRAM = os.path.abspath(os.environ.get("QUADRILLE_PROGRAM", "build/quadrille"))
SEEDS = os.path.abspath(os.environ.get("QUADRILLE_FUZZ_SEEDS", "build/fuzz_seeds"))
RAW = re.compile(r"json\.exception|Traceback|terminate called|what\(\):|YAML::|std::|basic_string|bad_alloc|vector::|"
                 r"ERROR: \w+Sanitizer|runtime error|malloc\(\)|free\(\)|double free|smashing|bad conversion|yaml-cpp")
SECONDS, PATIENCE, MEMORY = 20, 120, 4 << 30
NUMBERS = (0, 1, 2, 7, 8, 127, 128, 255, 256, 65535, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**63 - 1, 2**63, 2**64 - 1)
WORDS = ("", "0", "-1", "1", "3", "1e308", "-1e400", "1e-320", "nan", ".inf", "null", "~", "true", "[]", "{}", "[1]", "x", "'",
         "\"", "9223372036854775808", "-9223372036854775809", "4096", "[1, 2, 3]", "{a: 1}", "&a", "*a", "!!int x", "\t", "- -",
         "../../x", "/", "é", "\x00", "\x1b[2J", "9" * 23, " " * 100000, "[" * 40, "a: " * 20, "#", "---", "<<", "0x10", "1_000", "99999999999999999999")
JOB = """gauge: {start: weak, dims: [2, 2, 2, 4], seed: 1, epsilon: 0.3, save: {file: field.lime, precision: %s}}
operator: {type: wilson, mass: 0.3, boundary: [periodic, periodic, periodic, antiperiodic]}
solver: {type: cg, tolerance: 1e-6}
run:
  - {task: propagator, source: {type: point, site: [0, 0, 0, 0]}, save: {file: p.lime, precision: double}}
  - {task: mesons, from: propagator}
  - {task: generate, beta: 6, thermalization: 2, configurations: 2}
"""
CHAIN = """gauge: {start: hot, dims: [2, 2, 2, 2], seed: 1}
run: [{task: generate, beta: 6, thermalization: 3, separation: 200, keep_every: 0}]
"""


SANITIZED = "--sanitized" in sys.argv


def limits():
    os.nice(10)
    if not SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 28, 1 << 28))


def environment():
    variables = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    if SANITIZED:  # what is too large is bad_alloc, as without a sanitizer
        variables["ASAN_OPTIONS"] = f"allocator_may_return_null=1:max_allocation_size_mb={MEMORY >> 20}:detect_leaks=0"
    return variables


def call(*words):
    """(status, output); status None when it took too long."""
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              errors="replace", preexec_fn=limits, timeout=PATIENCE, check=False,
                              env=environment())
    except subprocess.TimeoutExpired:
        return None, "", ""
    late = done.returncode in (-signal.SIGXCPU, -signal.SIGKILL)
    return None if late else done.returncode, done.stdout, done.stderr


def program(*words):
    return call(PROGRAM, *words)


def read(path):
    with open(path, "rb") as stream:
        return stream.read()


def write(path, content):
    with open(path, "wb") as stream:
        stream.write(content)


def mutate_bytes(draw, content):
    data = bytearray(content)
    for _ in range(draw.choice((1, 1, 1, 2, 4, 16))):
        if not data:
            break
        # Headers are where a byte decides most.
        at = draw.randrange(len(data)) if draw.random() < 0.5 else draw.randrange(min(len(data), 2048))
        kind = draw.randrange(8)
        if kind == 0:
            data[at] ^= 1 << draw.randrange(8)
        elif kind == 1:
            data[at] = draw.choice((0, 1, 2, 4, 8, 16, 127, 128, 254, 255))
        elif kind == 2:
            data[at] = draw.randrange(256)
        elif kind in (3, 4):
            form = draw.choice("HIQ")
            number = struct.pack(draw.choice("<>") + form, draw.choice(NUMBERS) % 2 ** (8 * struct.calcsize("<" + form)))
            data[at:at + len(number)] = number
        elif kind == 5:
            del data[at:at + draw.choice((1, 2, 4, 8, 64))]
        elif kind == 6:
            data[at:at] = bytes(draw.randrange(256) for _ in range(draw.choice((1, 2, 8))))
        elif draw.random() < 0.3:
            del data[at:]
    return bytes(data)


def mutate_text(draw, content):
    text = content.decode(errors="surrogateescape")
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        tokens = [match.span() for match in re.finditer(r"[\w.+\-]+|[\[\]{}:,\"']", text)]
        if not tokens:
            break
        begin, end = draw.choice(tokens)
        kind = draw.randrange(6)
        if kind <= 1:
            text = text[:begin] + draw.choice(WORDS) + text[end:]
        elif kind == 2:
            text = text[:begin] + text[end:]
        elif kind == 3:
            other = draw.choice(tokens)
            text = text[:begin] + text[other[0]:other[1]] + text[end:]
        elif kind == 4:
            text = text[:begin] + text[begin:end + 40] + text[begin:]
        else:
            lines = text.split("\n")
            at = draw.randrange(len(lines))
            lines[at:at + 1] = draw.choice(([], [lines[at]] * 2, ["\t" + lines[at]], [" " + lines[at]]))
            text = "\n".join(lines)
    data = text.encode(errors="surrogateescape")
    return mutate_bytes(draw, data) if draw.random() < 0.15 else data


class Kind:
    """Files of a kind and what reads them. `folder` is where it may write."""

    def __init__(self, folder):
        self.folder = folder
        os.makedirs(folder)
        self.files = self.make()

    def path(self, name):
        return os.path.join(self.folder, name)

    def write_job(self, text, name="job.yaml"):
        write(self.path(name), text.encode())
        return self.path(name)

    mutate = staticmethod(mutate_text)
    suspect = None

    def run(self, text, name, out):
        status, output, errors = program("run", self.write_job(text, name), "--out", self.path(out), "--backend", "cpu")
        if status != 0:
            sys.exit(f"the seed {name} does not run: {status} {output} {errors}")


class Hdf5(Kind):
    mutate = staticmethod(mutate_bytes)

    def make(self):
        subprocess.run([SEEDS, self.folder], check=True)
        self.job = self.write_job("run: [{task: ri_mp2, file: bad.h5}]\n")
        self.product = self.write_job("run: [{task: matrix_product, a: {file: bad.h5, dataset: P_Q}, "
                                      "b: {file: bad.h5, dataset: P_Q}, c: c.h5}]\n", "product.yaml")
        of_others = os.path.join(os.environ.get("QUADRILLE_DATA", ""), "rimp2", "water.h5")
        files = sorted(glob.glob(self.path("*.h5"))) + [of_others] * os.path.exists(of_others)
        return [read(path) for path in files]

    def commands(self, draw, content):
        write(self.path("bad.h5"), content)
        job = self.job if draw.random() < 0.8 else self.product
        yield "check", job
        yield "run", job, "--out", self.path("out"), "--force", "--backend", "cpu"

    def suspect(self):
        """Whether libhdf5 alone ends with a signal, or not at all, on the file."""
        if not shutil.which("h5dump"):
            return False
        status = call("h5dump", self.path("bad.h5"))[0]
        return status is None or status < 0


def foreign_files():
    """Gauge fields of NERSC, MILC and openQCD, a matrix in ELSI CSC."""
    links = 2**4 * 4
    nersc = "".join(f"{key} = {value}\n" for key, value in {
        "DATATYPE": "4D_SU3_GAUGE", **{f"DIMENSION_{mu}": 2 for mu in (1, 2, 3, 4)}, "PLAQUETTE": 0.5, "LINK_TRACE": 0.25,
        "CHECKSUM": "7f", "FLOATING_POINT": "IEEE32BIG"}.items())
    milc = struct.pack("<5I64s3I", 20103, 2, 2, 2, 2, b"Thu Feb 12 13:40:21 1998", 0, 1, 2)
    csc = struct.pack("<16q", 170915, -910910, 0, 4, 2, 6, *[-910910] * 10) + struct.pack("<4q", 1, 3, 5, 7)
    return [b"BEGIN_HEADER\n" + nersc.encode() + b"END_HEADER\n" + bytes(links * 12 * 4), milc + bytes(links * 18 * 4),
            struct.pack("<4Id", 2, 2, 2, 2, 1.5) + bytes(links * 18 * 8), csc + bytes(6 * 12)]


class Lime(Kind):
    """LIME files, and those of other programs that `info` knows."""

    mutate = staticmethod(mutate_bytes)

    def make(self):
        files = []
        for precision in ("single", "double"):
            self.run(JOB % precision, "seed.yaml", precision)
            files.append(read(self.path(precision + "/field.lime")))
        files.append(read(self.path("double/p.lime")))
        self.job = self.write_job("gauge: {file: bad.lime}\nrun: []\n")
        return files + foreign_files()

    def commands(self, draw, content):
        write(self.path("bad.lime"), content)
        yield "info", self.path("bad.lime")
        if draw.random() < 0.3:
            yield "run", self.job, "--out", self.path("out"), "--force", "--backend", "cpu"


class Yaml(Kind):
    def make(self):
        examples = sorted(glob.glob(os.path.join(ROOT, "input", "examples", "*.yaml")))
        return [read(path) for path in examples] + [(JOB % "single").encode(), CHAIN.encode()]

    def commands(self, draw, content):
        write(self.path("bad.yaml"), content)
        yield "check", self.path("bad.yaml")


class Json(Kind):
    """results.json of a report, and restart.json of a finished and of an interrupted job."""

    def make(self):
        self.run(JOB % "double", "done.yaml", "done")
        self.interrupt(self.write_job(CHAIN, "chain.yaml"))
        self.whole = {name: {os.path.basename(path): read(path) for path in glob.glob(self.path(name + "/*"))
                             if os.path.isfile(path)} for name in ("done", "chain")}
        return [("results", self.whole["done"]["results.json"]), ("done", self.whole["done"]["restart.json"]),
                ("chain", self.whole["chain"]["restart.json"])]

    def interrupt(self, job):
        """Leaves the state of a chain; on a busy machine it may be over before the signal comes."""
        for _ in range(50):
            process = subprocess.Popen([PROGRAM, "run", job, "--out", self.path("chain"), "--backend", "cpu", "--force"],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            while process.poll() is None and not os.path.exists(self.path("chain/generate.unfinished.1.links.lime")):
                time.sleep(0.001)
            process.send_signal(signal.SIGTERM)  # SIGINT is ignored in the background of a script
            if process.wait() == 143:
                return
        sys.exit("the chain could not be interrupted")

    def mutate(self, draw, seed):
        return seed[0], mutate_text(draw, seed[1])

    def commands(self, draw, content):
        name, text = content
        if name == "results":
            write(self.path("bad.json"), text)
            yield "report", self.path("bad.json"), "--out", self.path("report")
            return
        out = self.path("out")
        shutil.rmtree(out, ignore_errors=True)
        os.makedirs(out)
        for file, before in self.whole[name].items():
            write(os.path.join(out, file), before)
        write(os.path.join(out, "restart.json"), text)
        yield "run", self.path(name + ".yaml"), "--out", out, "--backend", "cpu"


def amber_topology():
    """Six atoms in a box: a chain of four with bonds, angles and torsions, and two free ones."""
    pointers = [0] * 31
    pointers[:20] = [6, 2, 2, 1, 1, 1, 1, 0, 0, 0, 9, 3, 1, 1, 0, 2, 1, 1, 2, 0]
    pointers[27] = 1
    integers = {"POINTERS": pointers, "NONBONDED_PARM_INDEX": [1, 2, 2, 3], "ATOM_TYPE_INDEX": [1, 2, 2, 1, 2, 2],
                "NUMBER_EXCLUDED_ATOMS": [3, 2, 1, 1, 1, 1], "EXCLUDED_ATOMS_LIST": [2, 3, 4, 3, 4, 4, 0, 0, 0],
                "BONDS_INC_HYDROGEN": [0, 3, 1, 6, 9, 1], "BONDS_WITHOUT_HYDROGEN": [3, 6, 2],
                "ANGLES_INC_HYDROGEN": [0, 3, 6, 1], "ANGLES_WITHOUT_HYDROGEN": [3, 6, 9, 1],
                "DIHEDRALS_INC_HYDROGEN": [0, 3, 6, 9, 1], "DIHEDRALS_WITHOUT_HYDROGEN": [],
                "SOLVENT_POINTERS": [1, 3, 2], "RESIDUE_POINTER": [1, 5, 6]}
    reals = {"CHARGE": [1.5, -1.5, 1, -1, 2, -2], "MASS": [1, 12, 12, 1, 16, 16], "LENNARD_JONES_ACOEF": [100, 1e4, 5e5],
             "LENNARD_JONES_BCOEF": [10, 100, 600], "HBOND_ACOEF": [], "HBOND_BCOEF": [], "BOND_FORCE_CONSTANT": [300, 400],
             "BOND_EQUIL_VALUE": [1.1, 1.5], "ANGLE_FORCE_CONSTANT": [50], "ANGLE_EQUIL_VALUE": [1.9],
             "DIHEDRAL_FORCE_CONSTANT": [1.4], "DIHEDRAL_PERIODICITY": [3], "DIHEDRAL_PHASE": [0.5],
             "SCEE_SCALE_FACTOR": [1.2], "SCNB_SCALE_FACTOR": [2]}

    def lines(values, count, form):
        rows = [values[n:n + count] for n in range(0, len(values), count)] or [[]]
        return "".join("".join(form % value for value in row) + "\n" for row in rows)

    out = "%VERSION  VERSION_STAMP = V0001.000  DATE = 01/01/01  00:00:00\n"
    for flag, values in integers.items():
        out += f"%FLAG {flag}\n%FORMAT(10I8)\n" + lines(values, 10, "%8d")
    for flag, values in reals.items():
        out += f"%FLAG {flag}\n%FORMAT(5E16.8)\n" + lines(values, 5, "%16.8E")
    return out.encode()


AMBER_COORDINATES = b"""six atoms
    6
   1.0000000   1.0000000   1.0000000   2.0000000   1.5000000   1.0000000
   3.2000000   0.7000000   1.3000000   4.0000000   1.2000000   2.0000000
   8.0000000   8.0000000   8.0000000  12.0000000  12.5000000   9.0000000
  20.0000000  20.0000000  20.0000000  90.0000000  90.0000000  90.0000000
"""
FORMATS = ("0I8", "10I0", "9" * 23 + "I8", "10I" + "9" * 23, "10001I8", " " * 100000, "10I8" + " " * 100000, "I", "", "10X8",
           "10I8.", "-1I8", "10I8)(5E16.8")
LAMMPS_DATA = b"""four atoms

4 atoms
2 atom types
0 20 xlo xhi
-1 19 ylo yhi
0 20.5 zlo zhi

Masses

1 1.0
2 2.5

Pair Coeffs # lj/cut

1 1.0 1.0
2 0.5 1.2

Atoms # charge

1 1 0.5 1 1 1
2 2 -0.5 3 1 1.5
3 1 0 5 6 7
4 2 0 15 16 17

Velocities

1 0.1 0 0
2 0 0.1 0
3 0 0 -0.1
4 -0.1 -0.1 0.1
"""
MOTION = ("run: [{task: md_run, system: {%s}, coulomb: plain, cutoff: 5, time_step: 0.001, temperature: 1, steps: 3, every: 1, "
          "velocities: %s}]\n")


class Particles(Kind):
    """AMBER topologies and coordinates, and LAMMPS files, which are also cut short."""

    def make(self):
        files = [("bad.prmtop", amber_topology()), ("bad.inpcrd", AMBER_COORDINATES), ("bad.lmp", LAMMPS_DATA)]
        self.whole = dict(files)
        amber, lammps = "source: amber, topology: bad.prmtop, coordinates: bad.inpcrd", "source: lammps, data: bad.lmp"
        self.amber, self.lammps = MOTION % (amber, "thermal"), MOTION % (lammps, "file")
        for name, content in files:
            write(self.path(name), content)
        self.run(self.amber, "amber.yaml", "out")
        self.run(self.lammps, "lammps.yaml", "lammps")
        of_others = os.path.join(os.environ.get("QUADRILLE_DATA", ""), "md", "alanine-dipeptide-explicit")
        if os.path.exists(of_others + ".prmtop"):
            self.peptide = {"bad" + end: read(of_others + end) for end in (".prmtop", ".inpcrd")}
            files += [(name + " of others", content) for name, content in self.peptide.items()]
        return files

    def mutate(self, draw, seed):
        name, content = seed
        chance = draw.random()
        if chance < 0.3:
            return name, content[:draw.randrange(len(content))]
        if chance < 0.4 and "prmtop" in name:
            at = draw.choice([found.span() for found in re.finditer(rb"(?<=%FORMAT)\([^)]*\)", content)])
            return name, content[:at[0]] + f"({draw.choice(FORMATS)})"[:draw.choice((None, None, -1))].encode() + content[at[1]:]
        if chance < 0.42:
            return name, draw.choice((b"CDF\x01", b"CDF\x02", b"\x89HDF\r\n\x1a\n", b"\x00")) + content
        return name, mutate_text(draw, content)

    def commands(self, draw, content):
        name, text = content
        given = {**self.whole, **(self.peptide if name.endswith(" of others") else {}), name.split()[0]: text}
        for file, whole in given.items():
            write(self.path(file), whole)
        job = "lammps.yaml" if name == "bad.lmp" else "amber.yaml"
        yield "run", self.path(job), "--out", self.path("out"), "--force", "--backend", "cpu"


KINDS = {"hdf5": Hdf5, "lime": Lime, "yaml": Yaml, "json": Json, "particles": Particles}


def wrong(status, output, errors):
    """What is wrong with how a command ended; empty when nothing is."""
    if status is None:
        return f"it took more than {SECONDS} s of processor time, or {PATIENCE} s"
    if status < 0:
        return f"signal {signal.Signals(-status).name}"
    if status not in (0, 1, 2, 3):
        return f"exit status {status}"
    raw = RAW.search(errors)
    if raw:
        return f"raw words: {raw.group()}"
    if status in (1, 2) and "quadrille: error: " not in errors:
        return "no error is printed"
    if re.search(r"[\x00-\x08\x0b-\x1f\x7f]", output + errors):
        return "control characters are printed"
    return ""


def main():
    parser = argparse.ArgumentParser(description="Damaged files: no hang, no raw exception, no signal")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--seed", type=int, default=int(os.environ.get("QUADRILLE_SEED") or
                                                        random.SystemRandom().randrange(1, 2**31)))
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--keep", default="fuzz-failures")
    parser.add_argument("--sanitized", action="store_true", help="the program is built with AddressSanitizer")
    args = parser.parse_args()
    print(f"program {PROGRAM}; seed {args.seed} (--seed fixes it)", flush=True)
    folder = tempfile.mkdtemp(prefix="quadrille-fuzz-")
    counts, library, failures, began = dict.fromkeys(args.kinds, 0), 0, 0, time.monotonic()
    try:
        kinds = {name: KINDS[name](os.path.join(folder, name)) for name in args.kinds}
        for number in range(args.count):
            if time.monotonic() - began > args.seconds:
                break
            draw = random.Random(f"{args.seed} {number}")
            name = args.kinds[number % len(args.kinds)]
            kind = kinds[name]
            content = kind.mutate(draw, draw.choice(kind.files))
            counts[name] += 1
            for command in kind.commands(draw, content):
                status, output, errors = program(*command)
                problem = wrong(status, output, errors)
                if not problem:
                    continue
                os.makedirs(args.keep, exist_ok=True)
                file = os.path.join(args.keep, f"{args.seed}.{number}.{name}")
                write(file, content[1] if isinstance(content, tuple) else content)
                if (status is None or status < 0) and kind.suspect and kind.suspect():
                    library += 1
                    print(f"libhdf5's own: {file}: {problem} ({command[0]}); h5dump too", flush=True)
                else:
                    failures += 1
                    print(f"FAILED: {file}: {problem}: {' '.join(command)}\n{errors[-800:]}", flush=True)
                break
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{sum(counts.values())} files ({', '.join(f'{count} {name}' for name, count in counts.items())}) in "
          f"{time.monotonic() - began:.0f} s: {failures} failed, {library} end in libhdf5 as h5dump does")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
