"""Quadrille: lattice QCD with Wilson, clover and twisted mass quarks, from NumPy.

    import quadrille as q
    gauge = q.gauge("cfg.lime")
    op = q.operator(gauge, "clover", mass=-0.79, csw=1.769)
    solver = q.solver(op, "bicgstab", tolerance=1e-10, sloppy={"precision": "half"})
    S = q.propagator(solver, site=[0, 0, 0, 0]).array()     # [t, z, y, x, spin, spin, color, color]
    results = q.run("job.yaml")                             # as the program does in the folder of the file

gauge, operator, solver, propagator, run: see help(quadrille.solver), which has the parameters. Every exception is a
quadrille.Error. quadrille.analysis has errors and fits; mgemm, eigen, block_matrix and md.forces are calls of modules.
"""

import importlib

from ._errors import (ClosedError, Error, FailedElsewhere, FileError, Inaccurate, Incomplete, InternalError, InvalidInput,
                      NotConverged, NumericalError, OutOfMemory, Stopped, Unsupported)

# What needs NumPy or the library is imported when it is first used: name -> its home.
_HOMES = {
    "Context": "_context", "gauge": "_gauge", "Gauge": "_gauge", "operator": "_operator", "Operator": "_operator",
    "solver": "_solver", "Solver": "_solver", "SolveReport": "_solver", "propagator": "_propagator",
    "Propagator": "_propagator", "point_source": "_propagator", "read_propagator": "_propagator",
    "run": "_jobs", "Results": "_jobs",
    "mgemm": "_dense", "eigen": "_dense", "block_matrix": "_blocks",
}
_MODULES = ("analysis", "md")
# Functions whose words are blocks of a job: topics of `quadrille help` that complete their docstrings.
_TABLES = {"gauge": ("gauge", "links"), "operator": ("operator",), "solver": ("solver",)}
_TYPES = {"operator": ("wilson", "clover", "twisted_mass", "twisted_clover"),
          "solver": ("bicgstab", "cg", "bicgstab_l", "gcr", "mr", "multigrid")}

__all__ = sorted([*_HOMES, "ClosedError", "Error", "FailedElsewhere", "FileError", "Inaccurate", "Incomplete",
                  "InternalError", "InvalidInput", "NotConverged", "NumericalError", "OutOfMemory", "Stopped",
                  "Unsupported", "help_on", "build_id"])


def __getattr__(name):
    if name in _HOMES:
        found = getattr(importlib.import_module("." + _HOMES[name], __name__), name)
        if name in _TABLES:
            found.__doc__ = f"{found.__doc__}\n{_parameters_of(name)}"
        globals()[name] = found
        return found
    if name in _MODULES:
        return importlib.import_module("." + name, __name__)
    if name == "__version__":
        from . import _library

        return _library.version()
    raise AttributeError(f"module 'quadrille' has no attribute {name!r}")


def __dir__():
    return sorted([*globals(), *__all__, *_MODULES])


def build_id():
    """The commit that the library was built from."""
    from . import _library

    return _library.build_id()


def help_on(topic=""):
    """What `quadrille help TOPIC` prints: help_on("solver bicgstab"), help_on("task propagator")."""
    from ._context import Context

    with Context("cpu") as context:
        return context.text("help", context.handle, topic.encode())


def _parameters_of(name):
    """The tables of parameters behind the words of a function."""
    try:
        parts = [help_on(topic) for topic in _TABLES[name]]
        parts += [help_on(f"{name} {kind}") for kind in _TYPES.get(name, ())]
    except Error as trouble:  # the docstring must not be what fails where there is no library
        return f"    (parameters: {trouble})"
    return "\n".join("    " + line for part in parts for line in part.splitlines())
