"""Calls of modules: their structs, functions and messages (modules/*/capi/c_api.h; tests/python compares the structs with
tests/hosts/abi.txt)."""

import contextlib
import ctypes
import operator
import threading
import weakref

import numpy as np

from . import _library
from ._errors import DONE, ClosedError, InvalidInput, error_of

c_text, c_int32, c_int64, c_double, c_char = (ctypes.c_char_p, ctypes.c_int32, ctypes.c_int64, ctypes.c_double,
                                              ctypes.c_char)


class MgemmOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("on_device", c_int32), ("backend", c_text), ("form", c_text),
                ("memory_cap", c_int64), ("depth", c_int64), ("delta", c_double), ("target_error", c_double),
                ("always_split", c_int32), ("measured", c_int32)]


class MgemmReport(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("split", c_int32), ("analysed", c_int32), ("padding", c_int32),
                ("delta", c_double), ("depth", c_int64), ("large_a", c_double), ("large_b", c_double), ("bound", c_double),
                ("probable_bound", c_double), ("measured", c_double), ("expected_speedup", c_double),
                ("panel_bytes", c_int64), ("reason", c_char * 256)]


class EigenOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("triangle", c_char), ("vectors", c_char), ("padding", c_char * 2),
                ("first", c_int64), ("last", c_int64), ("low", c_double), ("high", c_double), ("room", c_int64),
                ("refine", c_int64), ("backend", c_text)]


class EigenReport(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("padding", c_int32), ("first", c_int64), ("count", c_int64),
                ("standard_form_seconds", c_double), ("tridiagonalization_seconds", c_double),
                ("tridiagonal_seconds", c_double), ("back_transformation_seconds", c_double),
                ("refinement_seconds", c_double), ("refinements", c_int64), ("defect_before", c_double), ("defect", c_double)]


class MdOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("on_device", c_int32), ("backend", c_text), ("method", c_text),
                ("coulomb", c_text), ("coulomb_constant", c_double), ("cutoff", c_double), ("dielectric", c_double),
                ("afterwards", c_int32), ("exclusion_count", c_int64), ("exclusions", ctypes.c_void_p), ("skin", c_double),
                ("truncation", c_text)]


class BlockReport(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_uint32), ("padding", ctypes.c_uint32), ("products", c_int64), ("skipped", c_int64),
                ("filtered_blocks", c_int64), ("flops", c_double), ("bound", c_double), ("seconds", c_double)]


def sized(kind):
    """A struct of zeros that says how large it is."""
    made = kind()
    made.struct_size = ctypes.sizeof(kind)
    return made


def members(report):
    """Of a report, as a dict."""
    found = {name: getattr(report, name) for name, _ in report._fields_ if name not in ("struct_size", "padding")}
    return {name: value.decode(errors="replace") if isinstance(value, bytes) else value for name, value in found.items()}


def text(value):
    return None if value is None else str(value).encode()


def call(module, name, *arguments, may_fail=()):
    """Calls quadrille_NAME of a module. Statuses in `may_fail` are returned with their message; others but done are
    raised. The GIL is released."""
    lib = _library.library()
    function = getattr(lib, "quadrille_" + name)
    function.restype = ctypes.c_int
    status = function(*arguments)
    if status == DONE:
        return status, ""
    last = getattr(lib, f"quadrille_{module}_message")
    last.restype = ctypes.c_char_p
    said = last().decode(errors="replace")
    if status in may_fail:
        return status, said
    raise error_of(status, said)


class Owned:
    """An object of a module: one call at a time, in whatever thread; ended once, by close(), at the end of a with block, or
    with its last reference."""

    def _take(self, handle, destroy):
        """`destroy`: the name of the function that ends the handle, without quadrille_."""
        self._value = handle
        self._lock = threading.RLock()
        self._end = weakref.finalize(self, end, destroy, handle)

    def close(self):
        """Frees it now."""
        with self._lock:
            self._end()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def end(destroy, handle):
    """By the module's function quadrille_DESTROY."""
    function = getattr(_library.library(), "quadrille_" + destroy)
    function.restype = None
    function(ctypes.c_void_p(handle))


@contextlib.contextmanager
def held(*objects):
    """The handles of objects, which no other thread uses within the block. All calls lock in one order, so that no two wait
    for each other."""
    with contextlib.ExitStack() as stack:
        for one in sorted({id(one): one for one in objects}.values(), key=id):
            stack.enter_context(one._lock)  # pylint: disable=protected-access
        for one in objects:
            if not one._end.alive:  # pylint: disable=protected-access
                raise ClosedError(f"this {type(one).__name__} has been closed")
        yield [ctypes.c_void_p(one._value) for one in objects]  # pylint: disable=protected-access


def number(value, name):
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidInput(f"{name}: {value!r}; expected a number", [name]) from None


def whole(value, name, bits=64):
    """A whole number that has room in so many bits; ctypes would leave out the others."""
    try:
        found = operator.index(value)
    except TypeError:
        raise InvalidInput(f"{name}: {value!r}; expected a whole number", [name]) from None
    if not -2**(bits - 1) <= found < 2**(bits - 1):
        raise InvalidInput(f"{name}: {found}; expected a whole number of {bits} bits", [name])
    return found


def integers(values, name, dimensions, lowest=0):
    """Whole numbers as the library has them, of 32 bits."""
    found = _array(values, name)
    if found.ndim != dimensions or found.dtype.kind not in "iu":
        raise InvalidInput(f"{name}: {found.dtype} {found.shape}; expected whole numbers in {dimensions} "
                           f"dimension{'s' if dimensions > 1 else ''}", [name])
    if found.size and (found.min() < lowest or found.max() >= 2**31):
        raise InvalidInput(f"{name}: numbers from {found.min()} to {found.max()}; expected {lowest} to 2^31 - 1", [name])
    return np.ascontiguousarray(found, dtype=np.int32)


def _array(values, name):
    try:
        return np.asarray(values)
    except (ValueError, TypeError, RuntimeError) as trouble:  # rows of different lengths; arrays on a GPU
        raise InvalidInput(f"{name}: {trouble}", [name]) from None


def matrix(array, name, dtypes=("float64",), shape=None):
    """A matrix of numbers in C order, copied where it is not."""
    found = _array(array, name)
    if found.dtype.kind in "iuf" and found.dtype.itemsize <= 8 and found.dtype.name not in dtypes:
        found = found.astype(float)
    if found.dtype.name not in dtypes or not found.dtype.isnative or found.ndim != 2:
        raise InvalidInput(f"{name}: {found.dtype} {found.shape}; expected a matrix of {' or '.join(dtypes)}", [name])
    if shape is not None and found.shape != tuple(shape):
        raise InvalidInput(f"{name}: shape {found.shape}; expected {tuple(shape)}", [name])
    return np.ascontiguousarray(found)


def address(array):
    return ctypes.c_void_p(None if array is None else array.ctypes.data)
