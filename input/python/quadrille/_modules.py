"""Calls of modules: their structs, functions and messages (modules/*/capi/c_api.h; tests/python compares the structs with
tests/hosts/abi.txt)."""

import ctypes

import numpy as np

from . import _library
from ._errors import DONE, InvalidInput, error_of

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


def matrix(array, name, dtypes=("float64",), shape=None):
    """A matrix of numbers in C order, copied where it is not."""
    try:
        found = np.asarray(array)
    except ValueError as trouble:
        raise InvalidInput(f"{name}: {trouble}", [name]) from None
    if found.dtype.kind in "iuf" and found.dtype.itemsize <= 8 and found.dtype.name not in dtypes:
        found = found.astype(float)
    if found.dtype.name not in dtypes or not found.dtype.isnative or found.ndim != 2:
        raise InvalidInput(f"{name}: {found.dtype} {found.shape}; expected a matrix of {' or '.join(dtypes)}", [name])
    if shape is not None and found.shape != tuple(shape):
        raise InvalidInput(f"{name}: shape {found.shape}; expected {tuple(shape)}", [name])
    return np.ascontiguousarray(found)


def address(array):
    return ctypes.c_void_p(None if array is None else array.ctypes.data)
