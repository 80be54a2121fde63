"""The generator: deterministic, held to its golden files, its projectors exact, its errors placed."""

import itertools
import os
import pathlib
import random
import re
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
sys.dont_write_bytecode = True

from codegen import contraction, gen, spin  # noqa: E402
from codegen.emit import cuda  # noqa: E402
from codegen.operators import wilson  # noqa: E402


def generated(folder):
    gen.generate(folder)
    return {path.name: path.read_text() for path in folder.iterdir()}


class Contraction(unittest.TestCase):
    def test_sums_of_products_keep_their_value(self):
        """In whole numbers, where nothing is rounded, a statement and its fused form give the same."""
        randint = random.Random(int(os.environ.get("QUADRILLE_SEED", random.randrange(2**32)))).randint
        leaves = ["a", "b", "f(c + d)", "g[1]", "-e", "half<1, 2>(k)"]
        for _ in range(300):
            factors = lambda: " * ".join(leaves[randint(0, 5)] for _ in range(randint(1, 3)))
            expression = factors() + "".join(f" {'+-'[randint(0, 1)]} {factors()}" for _ in range(randint(0, 4)))
            line = f"    x {['=', '+=', '-='][randint(0, 2)]} {expression};  // {expression}"
            fused = contraction.contracted_line(line)
            with self.subTest(line=line, fused=fused):
                self.assertEqual(self.value(fused), self.value(line))
                self.assertEqual(fused.split("//")[1], line.split("//")[1])

    def test_every_product_behind_another_term_is_fused(self):
        for line, fused in (("  v = a * b - c * d;", "  v = fused<Real>(-c, d, a * b);"),
                            ("const Real v = a * b + c;", "const Real v = fused<Real>(a, b, c);"),
                            ("  v -= s * t * u;", "  v = fused<Real>(-s * t, u, v);"),
                            ("  v = a * (b + c);", "  v = a * (b + c);"),
                            ("  Real v = a + b;", "  Real v = a + b;")):
            self.assertEqual(contraction.contracted_line(line), fused)

    @staticmethod
    def value(line):
        known = {"a": 3, "b": -7, "c": 2, "d": 11, "e": 13, "k": 5, "x": 17, "g": [0, 19], "f": lambda y: 3 * y + 1,
                 "fused": lambda y, z, w: y * z + w, "half": lambda y: y - 29}
        code = re.sub(r"<\w+(, \w+)*>", "", line.split(";")[0]).strip()
        exec(code, known)
        return known["x"]


class Generator(unittest.TestCase):
    def test_output_is_deterministic_and_matches_the_golden_files(self):
        with tempfile.TemporaryDirectory() as a, tempfile.TemporaryDirectory() as b:
            first, second = generated(pathlib.Path(a)), generated(pathlib.Path(b))
        self.assertEqual(first, second)
        golden = sorted((ROOT / "tests" / "codegen" / "golden").glob("[!.]*"))
        kernels = [path.stem for path in golden if path.name.startswith("wilson_")]
        self.assertEqual({stem.split("_")[-1] for stem in kernels}, gen.KNOWN["backend"])
        for path in golden:
            self.assertEqual(first[path.name], path.read_text(), f"{path.name} differs: see codegen/README.md")

    def test_an_unchanged_file_is_not_rewritten(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            gen.generate(folder)
            before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
            gen.generate(folder)
            self.assertEqual(before, {path: path.stat().st_mtime_ns for path in folder.iterdir()})

    def test_the_hash_covers_every_header_in_the_kernels(self):
        sources = gen.sources_of(gen.all_kernels(), "cuda")
        headers = [str(path.relative_to(ROOT)) for path in gen.headers_of(sources.values(), ROOT)]
        for name in ("dirac/cuda/hop.cuh", "core/numbers/half_words.h", "core/numbers/half.h", "core/layout/grouped_layout.h"):
            self.assertIn(name, headers)
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            for name in headers:
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / name).write_text((ROOT / name).read_text())
            before = gen.kernel_hash(sources, folder)
            self.assertEqual(before, gen.kernel_hash(sources, ROOT))
            for name in headers:
                text = (folder / name).read_text()
                (folder / name).write_text(text + "// changed\n")
                self.assertNotEqual(before, gen.kernel_hash(sources, folder), name)
                (folder / name).write_text(text)
            sources[min(sources)] += "\n"
            self.assertNotEqual(before, gen.kernel_hash(sources, folder))

    def test_spec_errors_name_the_line(self):
        for text, line, word in (
            ("- operator: wilson\n  precison: [double]\n", 2, "precison"),
            ("- operator: wilson\n  precision: [double, quad]\n", 2, "quad"),
            ("operator wilson\n", 1, "expected"),
        ):
            with tempfile.NamedTemporaryFile("w", suffix=".yaml") as spec:
                spec.write(text)
                spec.flush()
                with self.assertRaises(gen.SpecError) as caught:
                    gen.read_spec(pathlib.Path(spec.name))
                self.assertIn(f":{line}:", str(caught.exception))
                self.assertIn(word, str(caught.exception))


class QuantaSum(unittest.TestCase):
    MAGIC = 3 << 22

    def value(self, text, words):
        """What the expression gives for words of two quanta each, kept as q + 32768 (core/numbers/half_words.h)."""
        number = lambda word, k: word >> 16 * k & 0xFFFF
        scope = {
            "begin": lambda k: lambda word: self.MAGIC + number(word, k),
            "add": lambda k, sign: lambda word, to: to + sign * number(word, k),
            "from_magic": lambda numbers: lambda bits: bits - self.MAGIC - numbers * 32768,
            "magic": self.MAGIC,
            **words,
        }
        return eval(re.sub(r"<([^>]*)>", r"(\1)", text.replace("half::", "").replace(".", "_")), {}, scope)

    def test_any_signs_give_the_sum_of_quanta(self):
        generator = random.Random(seed := int(os.environ.get("QUADRILLE_SEED") or random.randrange(1 << 32)))
        for signs in itertools.chain.from_iterable(itertools.product("+-", repeat=n) for n in (1, 2, 3, 4)):
            terms, words, expected = [], {}, 0
            for i, sign in enumerate(signs):
                quanta = [generator.choice((-32767, 32767, generator.randint(-32767, 32767))) for _ in range(2)]
                words[f"p{i}_x"] = quanta[0] + 32768 | quanta[1] + 32768 << 16
                terms.append((sign, cuda.Quantum(i % 2, f"p{i}.x")))
                expected += int(sign + "1") * quanta[i % 2]
            text = cuda.quanta_sum(terms)
            self.assertEqual(self.value(text, words), expected, f"{text}, seed {seed}")

    def test_the_first_that_is_added_begins(self):
        plus, minus = ("+", cuda.Quantum(0, "p0.x")), ("-", cuda.Quantum(1, "q1.y"))
        text = "from_magic<0>(add<1, -1>(q1.y, begin<0>(p0.x)))"
        self.assertEqual(cuda.quanta_sum([plus, minus]), text)
        self.assertEqual(cuda.quanta_sum([minus, plus]), text)
        self.assertEqual(cuda.quanta_sum([minus]), "from_magic<-1>(add<1, -1>(q1.y, half::magic))")


class Spin(unittest.TestCase):
    def test_gammas_anticommute_and_gamma5_exchanges_halves(self):
        for mu in range(4):
            for nu in range(4):
                ab = spin.product(spin.GAMMA[mu], spin.GAMMA[nu])
                ba = spin.product(spin.GAMMA[nu], spin.GAMMA[mu])
                for i in range(4):
                    for j in range(4):
                        expected = (2, 0) if mu == nu and i == j else (0, 0)
                        self.assertEqual(spin.add(ab[i][j], ba[i][j]), expected)
        gamma5 = spin.IDENTITY
        for mu in range(4):
            gamma5 = spin.product(gamma5, spin.GAMMA[mu])
        self.assertEqual(gamma5, spin.matrix([[0, 0, 1, 0], [0, 0, 0, 1], [1, 0, 0, 0], [0, 1, 0, 0]]))

    def test_project_and_reconstruct_give_back_the_projector(self):
        for hop in wilson.SPATIAL_HOPS + wilson.TIME_HOPS:
            rows = [[(0, 0)] * 4 for _ in range(4)]
            for s, a, coefficient in hop.projector.reconstruct:
                for r, c in hop.projector.project[a]:
                    value = spin.multiply(coefficient, c)
                    rows[s][r] = spin.add(rows[s][r], (value[0] * hop.projector.scale, value[1] * hop.projector.scale))
            expected = spin.one_plus(-1 if hop.forward else 1, spin.GAMMA[hop.mu])
            self.assertEqual(tuple(map(tuple, rows)), expected, hop.formula)


if __name__ == "__main__":
    unittest.main()
