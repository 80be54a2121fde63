#!/usr/bin/env python3
"""The Python package on a GPU: arrays in its memory, by __cuda_array_interface__ as CuPy and PyTorch offer it, against arrays
of the host. QUADRILLE_TEST_BACKEND=cuda; without it all of it skips."""

import ctypes
import glob
import sys
import unittest

from python_harness import DIMS, SITES, SOLVER, WORDS, np, q, spinor

import harness


def runtime():
    """libcudart; None where there is none."""
    for name in ("libcudart.so", *sorted(glob.glob("/usr/local/cuda*/lib*/libcudart.so*"))):
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


class OnTheDevice:
    """An array in the memory of the GPU, such as those of CuPy."""

    def __init__(self, cuda, array):
        self.cuda, self.pointer, self.nbytes = cuda, ctypes.c_void_p(), array.nbytes
        assert cuda.cudaMalloc(ctypes.byref(self.pointer), ctypes.c_size_t(array.nbytes)) == 0
        self.interface = {"shape": array.shape, "typestr": array.dtype.str, "data": (self.pointer.value, False), "version": 3,
                          "strides": None}
        self.set(array)

    @property
    def __cuda_array_interface__(self):
        return self.interface

    def set(self, array):
        array = np.ascontiguousarray(array)
        assert self.cuda.cudaMemcpy(self.pointer, ctypes.c_void_p(array.ctypes.data), ctypes.c_size_t(array.nbytes), 4) == 0

    def get(self):
        array = np.empty(self.interface["shape"], self.interface["typestr"])
        assert self.cuda.cudaMemcpy(ctypes.c_void_p(array.ctypes.data), self.pointer, ctypes.c_size_t(array.nbytes), 4) == 0
        return array

    def __del__(self):
        self.cuda.cudaFree(self.pointer)


class Device(unittest.TestCase):
    def setUp(self):
        if harness.BACKEND != "cuda":
            self.skipTest("QUADRILLE_TEST_BACKEND is not cuda")
        self.cuda = runtime()
        if self.cuda is None:
            self.skipTest("there is no libcudart.so")
        self.gauge = q.gauge(start="hot", dims=DIMS, seed=harness.SEED, backend="cuda")
        self.solver = q.solver(q.operator(self.gauge, WORDS), SOLVER)

    def on_device(self, array):
        return OnTheDevice(self.cuda, array)

    def test_spinors_stay_on_the_device(self):
        for dtype in (np.complex128, np.complex64):
            b = spinor(dtype=dtype)
            wanted = self.solver(b)
            out = self.on_device(np.zeros_like(b))
            self.assertIs(self.solver(self.on_device(b), out=out), out)
            np.testing.assert_array_equal(out.get(), wanted)
            self.assertEqual(self.solver.reports[0].host_bytes, 0)
            product = self.on_device(np.zeros_like(b))
            self.solver.op(out, out=product)
            np.testing.assert_array_equal(product.get(), self.solver.op(wanted))
        sources = spinor((2, *SITES))
        out = self.on_device(np.zeros_like(sources))
        self.solver.batch(self.on_device(sources), out=out)
        np.testing.assert_array_equal(out.get(), self.solver.batch(sources))

    def test_links(self):
        links = self.gauge.array()
        field = q.gauge(self.on_device(links), backend="cuda")
        np.testing.assert_array_equal(field.array(), links)
        out = self.on_device(np.zeros_like(links))
        field.array(out=out)
        np.testing.assert_array_equal(out.get(), links)

    def test_bad_input(self):
        b = spinor()
        device = self.on_device(b)
        with self.assertRaisesRegex(q.Unsupported, "out="):
            self.solver(device)  # nobody knows how this library makes an array
        with self.assertRaises(q.InvalidInput):
            self.solver(device, out=b)
        with self.assertRaises(q.Error):
            q.solver(q.operator(q.gauge(start="cold", dims=DIMS, backend="cpu"), WORDS), SOLVER)(device, out=device)
        with self.assertRaises(q.InvalidInput):
            self.solver(self.on_device(b.real.copy()))
        device.interface["strides"] = tuple(2 * stride for stride in b.strides)
        with self.assertRaisesRegex(q.Unsupported, "on a GPU"):
            self.solver(device, out=self.on_device(b))

    def test_streams(self):
        """The array is filled by a copy that waits for long work on the same stream."""
        b, stream, pinned, ballast = spinor(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        wanted = self.solver(b)  # kernels are tuned, too, before something is to last
        device, out = self.on_device(np.zeros_like(b)), self.on_device(np.zeros_like(b))
        size = ctypes.c_size_t(1 << 30)
        for status in (self.cuda.cudaStreamCreate(ctypes.byref(stream)), self.cuda.cudaMalloc(ctypes.byref(ballast), size),
                       self.cuda.cudaMallocHost(ctypes.byref(pinned), ctypes.c_size_t(b.nbytes))):
            self.assertEqual(status, 0)
        ctypes.memmove(pinned, b.ctypes.data, b.nbytes)
        self.gauge.context.set_stream(stream.value)
        try:
            for _ in range(400):  # 0.1 s
                self.assertEqual(self.cuda.cudaMemsetAsync(ballast, 0, size, stream), 0)
            self.assertEqual(self.cuda.cudaMemcpyAsync(device.pointer, pinned, ctypes.c_size_t(b.nbytes), 4, stream), 0)
            self.assertEqual(self.cuda.cudaStreamQuery(stream), 600)  # cudaErrorNotReady
            self.cuda.cudaGetLastError()
            self.solver(device, out=out)
        finally:
            self.gauge.context.set_stream(None)
        np.testing.assert_array_equal(out.get(), wanted)
        self.cuda.cudaFreeHost(pinned)
        self.cuda.cudaFree(ballast)
        self.cuda.cudaStreamDestroy(stream)

    def test_a_guess_on_the_device_is_refused(self):
        b = spinor()
        with self.assertRaises(q.InvalidInput):
            self.solver(self.on_device(b), out=self.on_device(b), guess=b)


if __name__ == "__main__":
    sys.exit(harness.main(sys.modules[__name__]))
