#!/usr/bin/env python3
"""Arrays of NumPy and of others, in every layout, through the operators and solvers of the Python package."""

import sys
import threading
import unittest

from python_harness import DIMS, SITES, SOLVER, WORDS, hot, norm, q, spinor

import numpy as np

import harness
import independent


class Arrays(unittest.TestCase):
    def setUp(self):
        self.gauge = hot()
        self.op = q.operator(self.gauge, WORDS)
        self.solver = q.solver(self.op, SOLVER)

    def test_the_operator_is_that_of_numpy(self):
        matrix = independent.Wilson(np.moveaxis(self.gauge.array(), 0, 4), 0.2, [0, 0.25, 0, 1], csw_r=1.1, csw_t=1.1)
        psi = spinor()
        for product, sign in (("m", 1), ("m_dagger", -1)):
            wanted = matrix(psi.swapaxes(-1, -2)[..., None], sign)[..., 0].swapaxes(-1, -2)
            self.assertLess(norm(self.op.apply(psi, product) - wanted) / norm(wanted), 1e-14)
        # gamma5-hermiticity, with gamma5 = diag(1, 1, -1, -1) of the DeGrand-Rossi basis up to a sign
        chirality = np.array([1, 1, -1, -1])[:, None]
        self.assertLess(norm(chirality * self.op(chirality * psi) - self.op.dagger(psi)) / norm(psi), 1e-14)
        self.assertLess(norm(self.op.apply(psi, "m_dagger_m") - self.op.dagger(self.op(psi))) / norm(psi), 1e-13)

    def test_every_layout_gives_the_same_solution_and_says_whether_it_was_copied(self):
        b = spinor()
        wanted = self.solver(b)
        self.assertLess(norm(self.op(wanted) - b) / norm(b), 1.1e-11)
        exchanged = np.ascontiguousarray(np.swapaxes(b, -1, -2)).swapaxes(-1, -2)
        gaps = np.empty((*SITES, 4, 6), complex)[..., ::2]
        gaps[...] = b
        unaligned = np.empty(b.nbytes + 1, np.uint8)[1:].view(complex).reshape(b.shape)
        unaligned[...] = b
        for given, copied in ((b, False), (np.asfortranarray(b), True), (gaps, True), (b[::-1].copy()[::-1], True),
                              (exchanged, False), (unaligned, True)):
            with self.subTest(strides=given.strides):
                x = self.solver(given)
                np.testing.assert_array_equal(x, wanted)
                self.assertEqual(self.solver.reports[0].copied, copied)
                self.assertEqual(x.strides, b.strides if copied else given.strides)
                np.testing.assert_array_equal(self.op(given), self.op(b))
        for given, out, copied in ((exchanged, np.empty_like(b), True), (b, np.empty((*SITES, 3, 4), complex).swapaxes(-1, -2), True),
                                   (exchanged, np.empty((*SITES, 3, 4), complex).swapaxes(-1, -2), False)):
            self.assertIs(self.solver(given, out=out), out)
            np.testing.assert_array_equal(out, wanted)
            self.assertEqual(self.solver.reports[0].copied, copied)
        both = np.stack((exchanged, exchanged)).swapaxes(-1, -2).copy().swapaxes(-1, -2)
        np.testing.assert_array_equal(self.solver.batch(both), [wanted, wanted])
        np.testing.assert_array_equal(self.solver(b, out=b), wanted)  # in place
        self.assertIs(type(b), np.ndarray)

    def test_single_precision_subsets_bases_and_guesses(self):
        b = spinor(dtype=np.complex64)
        x = self.solver(b)
        self.assertEqual(x.dtype, np.complex64)
        self.assertLess(norm(self.op(x.astype(complex)) - b) / norm(b), 1e-6)
        half = spinor((self.gauge.volume // 2,))
        y = self.solver(half, system="even_odd", subset="odd")
        self.assertLess(norm(self.op.apply(y, "even_odd", subset="odd") - half) / norm(half), 1.1e-11)
        b = spinor()
        for basis in ("ukqcd", "openqcd"):
            z = self.solver(b, basis=basis, normalization="kappa")
            self.assertLess(norm(self.op(z, basis=basis, normalization="kappa") - b) / norm(b), 1.1e-11)
        x = self.solver(b)
        self.solver(b, guess=x)
        self.assertEqual(self.solver.reports[0].iterations, 0)

    def test_boundaries(self):
        """The argument goes before a dict, the dict before the default; as words, lists and arrays."""
        def product(*args, **words):
            return q.operator(self.gauge, *args, **words)(b)

        b, bare = spinor(), {"type": "wilson", "mass": 0.2}
        periodic = product({**bare, "boundary": ["periodic"] * 4})
        antiperiodic = product({**bare, "boundary": ["periodic"] * 3 + ["antiperiodic"]})
        self.assertGreater(norm(periodic - antiperiodic), 1e-3)
        for found, wanted in ((product(bare), antiperiodic), (product(bare, boundary="periodic"), periodic),
                              (product({**bare, "boundary": ["periodic"] * 4}, boundary="antiperiodic"), antiperiodic),
                              (product({**bare, "boundary": "periodic"}), periodic), (product({**bare, "boundary": None}), antiperiodic),
                              (product(bare, boundary=np.array(["periodic"] * 3 + ["antiperiodic"])), antiperiodic)):
            np.testing.assert_array_equal(found, wanted)

    def test_reports_of_a_solver_that_threads_share(self):
        reports, own = {}, [q.solver(self.op, SOLVER)] * 3

        def work(k):
            for _ in range(3):
                reports.setdefault(k, []).append(len(q.propagator(own[k], [k, 0, 0, 0]).reports))
                own[k](spinor())

        threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(reports, {k: [12] * 3 for k in range(3)})

    def test_sources_of_the_caller(self):
        sources = {(spin, color): spinor() for spin in range(4) for color in range(3)}
        found = q.propagator(self.solver, source=lambda spin, color: sources[spin, color])
        self.assertIsNone(found.site)
        self.assertIn("source of the caller", repr(found))
        np.testing.assert_array_equal(found.columns[7], self.solver(sources[2, 1]))

    def test_batches_and_shifts(self):
        sources = spinor((3, *SITES))
        found = self.solver.batch(sources)
        self.assertEqual(len(self.solver.reports), 3)
        for k in range(3):
            np.testing.assert_array_equal(found[k], self.solver(sources[k]))
        np.testing.assert_array_equal(self.solver.batch(list(sources), batch=2), found)
        cg = q.solver(self.op, "cg", tolerance=1e-10)
        b = spinor((self.gauge.volume // 2,))
        shifts = [0, 0.1, 2.5]
        for s, x in zip(shifts, cg.shifts(b, shifts)):
            back = self.op.apply(x, "even_odd_normal", subset="even") + s * x
            self.assertLess(norm(back - b) / norm(b), 1.1e-10)

    def test_links(self):
        links = self.gauge.array()
        columns = np.ascontiguousarray(links.swapaxes(-1, -2)).swapaxes(-1, -2)
        for given, copied in ((links, False), (columns, False), (np.asfortranarray(links), True)):
            field = q.gauge(given, backend="cpu", threads=1)
            self.assertEqual(field.copied, copied)
            np.testing.assert_array_equal(field.array(), links)
        np.testing.assert_array_equal(self.gauge.array(out=np.empty_like(columns)), links)
        np.testing.assert_allclose(links @ links.conj().swapaxes(-1, -2), np.broadcast_to(np.eye(3), links.shape), atol=1e-12)
        self.assertEqual(self.gauge.array(np.complex64).dtype, np.complex64)
        # the plaquette of numpy
        u, v = links[0], np.roll(links[1], -1, axis=3)
        w, z = np.roll(links[0], -1, axis=2), links[1]
        loops = np.einsum("...ab,...bc,...dc,...ad->...", u, v, w.conj(), z.conj())
        self.assertAlmostEqual(self.gauge.plaquettes()["xy"], loops.real.mean() / 3, delta=1e-14)
        x = self.solver(b := spinor())
        self.gauge.update(q.gauge(start="cold", dims=DIMS, backend="cpu").array())
        self.assertAlmostEqual(self.gauge.plaquette(), 1, delta=1e-14)
        self.assertGreater(norm(self.solver(b) - x) / norm(x), 1e-3)

    def test_tensors_of_pytorch(self):
        try:
            import torch
        except ImportError:
            self.skipTest("PyTorch is not installed")
        b = spinor()
        x = self.solver(torch.from_numpy(b))
        self.assertIsInstance(x, torch.Tensor)
        np.testing.assert_array_equal(x.numpy(), self.solver(b))
        np.testing.assert_array_equal(self.solver(torch.from_numpy(b).conj()).numpy(), self.solver(b.conj()))
        with self.assertRaisesRegex(q.InvalidInput, "out: a read-only array"):
            self.solver(b, out=torch.from_numpy(b.copy()).conj())
        exchanged = torch.from_numpy(np.ascontiguousarray(b.swapaxes(-1, -2))).transpose(-1, -2)
        for other in (torch.from_numpy(np.asfortranarray(b)), exchanged):
            x = self.solver(other)
            self.assertIsInstance(x, torch.Tensor)
            np.testing.assert_array_equal(x.numpy(), self.solver(b))

    def test_dlpack_of_anything(self):
        class Foreign:
            def __init__(self, array):
                self.array = array

            def __dlpack__(self, **words):
                return self.array.__dlpack__(**words)

            def __dlpack_device__(self):
                return self.array.__dlpack_device__()

        class Copying(Foreign):
            """The capsule alone has the numbers, as that of arrays of other libraries in another layout or precision."""

            def __dlpack__(self, **words):
                return self.array.copy().__dlpack__(**words)

        class Lazy(Foreign):
            """A tensor of PyTorch of which the conjugation is still to be done."""

            def is_conj(self):
                return True

            def resolve_conj(self):
                return Foreign(self.array.conj())

            def is_neg(self):
                return False

        Foreign.resolve_neg = lambda self: self
        b = spinor()
        np.testing.assert_array_equal(self.solver(Foreign(b)), self.solver(b))
        np.testing.assert_array_equal(self.solver(Lazy(b)), self.solver(b.conj()))
        wanted = self.solver.batch([b, 2 * b])
        for _ in range(5):
            held = Copying(np.stack((b, 2 * b)))
            np.testing.assert_array_equal(self.solver.batch(held), wanted)
            np.testing.assert_array_equal(q.gauge(Copying(self.gauge.array()), backend="cpu").array(), self.gauge.array())
        for out in (Foreign(b.copy()), Lazy(b)):
            with self.assertRaisesRegex(q.InvalidInput, "out: a read-only array"):
                self.solver(b, out=out)

    def test_arrays_that_say_they_are_on_a_gpu(self):
        """Reach the library, which has no GPU here, or are refused by their strides."""
        class OnAGpu:
            def __init__(self, array, strides=None):
                self.array = array
                self.__cuda_array_interface__ = {"shape": array.shape, "typestr": array.dtype.str, "version": 3,
                                                 "data": (array.ctypes.data, False), "strides": strides or array.strides}

        b = spinor()
        exchanged = np.ascontiguousarray(b.swapaxes(-1, -2)).swapaxes(-1, -2)
        for one in (b, exchanged):
            with self.assertRaisesRegex(q.Unsupported, "need a context with `backend: cuda`"):
                self.solver(OnAGpu(one), out=OnAGpu(one.copy("K")))
        with self.assertRaisesRegex(q.Unsupported, "b and out have different orders"):
            self.solver(OnAGpu(b), out=OnAGpu(exchanged))
        with self.assertRaisesRegex(q.Unsupported, "give an array of CuPy or PyTorch for them, out="):
            self.solver(OnAGpu(b))
        with self.assertRaisesRegex(q.Unsupported, r"b: strides .* on a GPU; expected C order: b.contiguous\(\) of PyTorch"):
            self.solver(OnAGpu(b, tuple(2 * stride for stride in b.strides)), out=OnAGpu(b.copy()))

    def test_results_that_overlap_the_input_are_refused(self):
        buffer = spinor((4, *SITES))
        sources = buffer[:2].copy()
        wanted = self.solver.batch(sources)
        for given, out in ((buffer[:2], buffer[1:3]), (buffer[1:3], buffer[:2]), (buffer[:2], buffer[1::-1]),
                           (buffer[:2], np.lib.stride_tricks.as_strided(buffer[2:], sources.shape, (0, *buffer.strides[1:])))):
            with self.subTest(), self.assertRaisesRegex(q.InvalidInput, "out: .*overlap"):
                self.solver.batch(given, out=out)
        np.testing.assert_array_equal(buffer[:2], sources)
        flat = np.empty(2 * sources[0].size, complex)
        flat[:sources[0].size] = sources[0].ravel()
        near = flat[12:12 + sources[0].size].reshape(sources[0].shape)
        with self.assertRaisesRegex(q.InvalidInput, "overlaps"):
            self.op(flat[:sources[0].size].reshape(sources[0].shape), out=near)
        np.testing.assert_array_equal(self.solver.batch(buffer[:2], out=buffer[2:]), wanted)  # side by side
        np.testing.assert_array_equal(self.solver.batch(buffer[:2], out=buffer[:2]), wanted)  # in place
        same = np.broadcast_to(sources[0], sources.shape)
        np.testing.assert_array_equal(self.solver.batch(same), [wanted[0]] * 2)


if __name__ == "__main__":
    sys.exit(harness.main(sys.modules[__name__]))
