"""What calls raise: one class for each status of the C API, all of them kinds of `Error`."""

import re


class Error(Exception):
    """What went wrong, where, and what would be right.

    message: the whole text, a line for each mistake.
    where: the arguments at fault, such as "solver.sloppy.precision", or files with line and column; empty where the
        message is not about a place.
    """

    def __init__(self, message, where=()):
        super().__init__(message)
        self.message = message
        self.where = tuple(where)

    def __str__(self):
        return self.message


class InvalidInput(Error, ValueError):
    """Arguments, words of a job, shapes or numbers that cannot be right."""


class FileError(Error, OSError):
    """A file is missing, unreadable, unwritable or corrupt."""


class Unsupported(Error):
    """Valid in itself, but not possible here: a GPU on a machine without one, links that a form cannot hold."""


class NumericalError(Error, ArithmeticError):
    """Not-a-number or infinity where a finite value is required; links that are not in SU(3)."""


class InternalError(Error, RuntimeError):
    """A bug in Quadrille."""


class ClosedError(Error, ReferenceError):
    """An object was used after its close(), or after that of its context."""


class OutOfMemory(Error, MemoryError):
    """The host or the GPU is out of memory."""


class Stopped(Error):
    """A progress function ended the work."""


class FailedElsewhere(Error):
    """Another rank failed; its exception says why."""


class Incomplete(Error):
    """The results exist but are not what was asked for; `results` has them, `reports` what each solve did."""

    def __init__(self, message, where=(), results=None, reports=()):
        super().__init__(message, where)
        self.results = results
        self.reports = reports


class NotConverged(Incomplete):
    """An iteration ended above its tolerance."""


class Inaccurate(Incomplete):
    """The results are further off than their tolerance explains."""


DONE = 0
INVALID_HANDLE = 8
NOT_CONVERGED = 10
INACCURATE = 12

# The numbers are those of quadrille_status (modules/shared/plugin/handles.h).
BY_STATUS = {
    1: Error,
    2: Stopped,
    3: InvalidInput,
    4: FileError,
    5: Unsupported,
    6: NumericalError,
    7: InternalError,
    8: ClosedError,
    9: OutOfMemory,
    10: NotConverged,
    11: FailedElsewhere,
    12: Inaccurate,
}

_PLACE = re.compile(r"^(\w+):(\d+):(\d+): ", re.MULTILINE)


def error_of(status, message, words=None):
    """The exception for a status. Places in `words` (quadrille._words.Words), "solver:3:12", become names of arguments,
    "solver.sloppy.precision"."""
    where = []

    def argument(match):
        name, line = match.group(1), int(match.group(2))
        path = words.path(name, line) if words is not None else None
        where.append(path or match.group(0)[:-2])
        return f"{where[-1]}: "

    message = _PLACE.sub(argument, message or f"status {status} without a message")
    return BY_STATUS.get(status, Error)(message, where)
