"""Dense matrices: products in mixed precision and eigenproblems."""

import ctypes

import numpy as np

from ._errors import InvalidInput
from ._modules import (EigenOptions, EigenReport, MgemmOptions, MgemmReport, address, c_char, c_double, c_int64, call, end,
                       matrix, members, number, sized, text, whole)


def mgemm(a, b, target=None, *, delta=None, form=None, depth=0, memory_cap=0, measured=0, always_split=False, backend=None):
    """A B of real matrices in mixed precision: elements with |a| > delta are multiplied in double, the others in less.

    target: no element has a larger absolute error; chooses delta (its default: 0, all in double). measured: how the target
        is kept, 0 by a bound of all errors, 1 as a sample shows (CPU), 2 by the bound of independent errors.
    form, depth, memory_cap (bytes of panels), always_split: modules/mgemm/capi/c_api.h. backend: "cpu", "cuda" or "auto".

    Gives the product [m, n] and a dict that says what was done: split, delta, bound, expected_speedup, reason and more.
    """
    a = matrix(a, "a")
    b = matrix(b, "b")
    if a.shape[1] != b.shape[0]:
        raise InvalidInput(f"b: shape {b.shape}; expected {a.shape[1]} rows, as many as `a` has columns", ["b"])
    c = np.empty((a.shape[0], b.shape[1]))
    if 0 in (*a.shape, b.shape[1]):
        return np.zeros_like(c), {}
    options, report = sized(MgemmOptions), sized(MgemmReport)
    options.backend, options.form = text(backend), text(form)
    options.memory_cap, options.depth = whole(memory_cap, "memory_cap"), whole(depth, "depth")
    options.delta, options.target_error = number(delta or 0, "delta"), number(target or 0, "target")
    options.always_split, options.measured = int(bool(always_split)), whole(measured, "measured", 32)
    call("mgemm", "mgemm", ctypes.byref(options), c_char(b"R"), c_char(b"N"), c_char(b"N"), c_int64(a.shape[0]),
         c_int64(b.shape[1]), c_int64(a.shape[1]), c_double(1), address(a), c_int64(a.shape[1]), address(b),
         c_int64(b.shape[1]), c_double(0), address(c), c_int64(b.shape[1]), ctypes.byref(report))
    return c, members(report)


def eigen(a, b=None, vectors=True, *, numbers=None, interval=None, refine=0, backend=None):
    """Eigenvalues and eigenvectors of A x = lambda B x, A real symmetric or complex Hermitian, B the same and positive
    definite; None: B = 1. The lower triangles are read; imaginary parts of the diagonals that are roundings are left out.

    vectors: False for values alone. numbers: (first, last), from 1, the lowest. interval: (low, high) of lambda.
    refine: steps at most that improve pairs where B is ill-conditioned (CPU). backend: "cpu", "cuda" or "auto".

    Gives values, ascending; vectors [n, count], or None, with X^H B X = 1, the largest component of each real and positive;
    and a dict with the seconds of the phases.
    """
    a = matrix(a, "a", ("float64", "complex128"))
    count = a.shape[0]
    if b is not None:
        b = matrix(b, "b", ("float64", "complex128"), a.shape)
        if b.dtype != a.dtype:
            a, b = a.astype(complex), b.astype(complex)
    if a.shape != (count, count) or count == 0:
        raise InvalidInput(f"a: shape {a.shape}; expected a square matrix", ["a"])
    if numbers is not None and interval is not None:
        raise InvalidInput("numbers, interval: give one of them", ["numbers", "interval"])
    kind = "complex" if a.dtype == complex else "double"
    options, report = _eigen_options(count, vectors, numbers, interval, refine, backend), sized(EigenReport)
    values, found = np.empty(count), np.empty((count, count), a.dtype, order="F")
    factor = ctypes.c_void_p()
    columns = [None if one is None else _by_columns(one) for one in (a, b)]
    try:
        if b is not None:
            call("eigen", f"eigen_factor_create_{kind}_at", text(backend or "cpu"), c_char(b"L"), c_int64(count), address(columns[1]),
                 c_int64(count), ctypes.byref(factor))
        call("eigen", f"eigen_{kind}", ctypes.byref(options), c_int64(count), address(columns[0]), c_int64(count), factor,
             address(values), address(found), c_int64(count), ctypes.byref(report))
    finally:
        if factor:
            end("eigen_factor_destroy", factor.value)
    many = report.count
    return values[:many].copy(), np.ascontiguousarray(found[:, :many]) if vectors else None, members(report)


def _by_columns(hermitian):
    """As LAPACK has it; a product S S^+ of NumPy has a diagonal that is real but for roundings."""
    found = np.array(hermitian, order="F")
    diagonal = np.einsum("ii->i", found)
    if found.dtype.kind == "c" and np.max(abs(diagonal.imag)) <= 1e-14 * np.max(abs(diagonal)):
        diagonal.imag = 0
    return found


def _eigen_options(count, vectors, numbers, interval, refine, backend):
    options = sized(EigenOptions)
    options.triangle, options.vectors = b"L", b"A" if vectors else b"N"
    options.backend, options.refine = text(backend), whole(refine, "refine", EigenOptions.refine.size * 8)
    for name, pair in (("numbers", numbers), ("interval", interval)):
        if pair is not None and not vectors:
            raise InvalidInput(f"{name}: a part of the spectrum is found with its vectors: vectors=True", [name, "vectors"])
    if numbers is not None:
        options.vectors, (options.first, options.last) = b"I", _pair(numbers, "numbers", whole)
    if interval is not None:
        options.vectors, (options.low, options.high), options.room = b"V", _pair(interval, "interval", number), count
    return options


def _pair(values, name, kind):
    try:
        first, last = values
    except (TypeError, ValueError):
        raise InvalidInput(f"{name}: {values!r}; expected two numbers", [name]) from None
    return kind(first, name), kind(last, name)
