"""libquadrille.so: where it is, and its functions with their types. Loaded when it is first needed, not on import."""

import ctypes
import functools
import os

from ._errors import DONE, INVALID_HANDLE, Error, error_of

HERE = os.path.dirname(os.path.abspath(__file__))
NAME = "libquadrille.so.0"

PROGRESS = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int, ctypes.c_double)
LOG = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p)


class Report(ctypes.Structure):
    """quadrille_report of modules/shared/plugin/handles.h."""

    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("stop_reason", ctypes.c_int32),
        ("iterations", ctypes.c_int32),
        ("reliable_updates", ctypes.c_int32),
        ("restarts", ctypes.c_int32),
        ("converged", ctypes.c_int32),
        ("residual", ctypes.c_double),
        ("solve_seconds", ctypes.c_double),
        ("import_seconds", ctypes.c_double),
        ("export_seconds", ctypes.c_double),
        ("flops", ctypes.c_double),
        ("host_bytes", ctypes.c_uint64),
    ]


_handle, _text, _size = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
_arrays = ctypes.POINTER(ctypes.c_void_p)
_new, _new_text = ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_char_p)

# Arguments of the functions of input/capi/quadrille.h without their prefix; all return a status.
_FUNCTIONS = {
    "context_create": [_text, _new],
    "context_create_mpi": [_text, ctypes.c_void_p, _new],
    "context_destroy": [_handle],
    "context_set_log": [_handle, ctypes.c_int, LOG, ctypes.c_void_p],
    "context_set_progress": [_handle, PROGRESS, ctypes.c_void_p],
    "context_set_stream": [_handle, ctypes.c_void_p],
    "help": [_handle, _text, _new_text],
    "gauge_create": [_handle, _text, _new],
    "gauge_from_memory": [_handle, _text, _arrays, _size, _new],
    "gauge_update": [_handle, _text, _arrays, _size],
    "gauge_to_memory": [_handle, _text, _arrays, _size],
    "gauge_save": [_handle, _text],
    "gauge_dims": [_handle, ctypes.c_int * 4],
    "gauge_part": [_handle, ctypes.c_int * 4, ctypes.c_int * 4],
    "gauge_plaquettes": [_handle, ctypes.c_double * 7],
    "gauge_json": [_handle, _new_text],
    "gauge_destroy": [_handle],
    "operator_create": [_handle, _text, _new],
    "operator_set_clover": [_handle, _text, ctypes.c_void_p],
    "operator_apply": [_handle, ctypes.c_int, _text, _arrays, _arrays, _size],
    "operator_destroy": [_handle],
    "solver_create": [_handle, _text, _new],
    "solver_solve": [_handle, _text, _arrays, _arrays, _size, ctypes.POINTER(Report)],
    "solver_solve_shifts": [_handle, _text, ctypes.POINTER(ctypes.c_double), ctypes.c_void_p, _arrays, _size,
                            ctypes.POINTER(Report)],
    "solver_json": [_handle, _new_text],
    "solver_destroy": [_handle],
    "propagator_read": [_handle, _text, _text, _arrays, _size],
    "statistics": [_handle, _text, ctypes.POINTER(ctypes.c_double), _size, _size, _new_text],
    "job_run": [_handle, _handle, _text, _text, _new_text],
}


def path():
    """The library: that of the environment variable QUADRILLE_LIBRARY, or the one that came with this package."""
    named = os.environ.get("QUADRILLE_LIBRARY")
    return named or os.path.join(HERE, "lib", NAME)


@functools.lru_cache(maxsize=None)
def library():
    """The loaded library. Raises Error where there is none."""
    try:
        loaded = ctypes.CDLL(path())
    except OSError as trouble:
        raise Error(f"the library of Quadrille cannot be loaded: {trouble}; install the wheel, or set QUADRILLE_LIBRARY to "
                    f"the libquadrille.so of a build") from None
    for name, arguments in _FUNCTIONS.items():
        function = getattr(loaded, "quadrille_" + name, None)
        if function is None:
            raise Error(f"{path()} has no quadrille_{name}: it is of another version than this package; build or install both "
                        "from one source")
        function.argtypes, function.restype = arguments, ctypes.c_int
    loaded.quadrille_message.argtypes, loaded.quadrille_message.restype = [_handle], _text
    for name in ("version", "build_id"):
        getattr(loaded, "quadrille_" + name).restype = _text
    return loaded


def message(context=None, status=None):
    """Of the last call with a handle of a context that failed; without one, and where a handle was not valid, of the last
    call of this thread, which may be that of the collector in another context."""
    return library().quadrille_message(None if status == INVALID_HANDLE else context).decode(errors="replace")


def check(status, words=None):
    """Raises the exception of a status other than done."""
    if status != DONE:
        raise error_of(status, message(), words)


def version():
    return library().quadrille_version().decode()


def build_id():
    return library().quadrille_build_id().decode()
