# Types of the package for editors and type checkers; `tests/python` compares them with the functions.
from typing import Any, Callable, Mapping, Sequence, Union
from os import PathLike

from . import analysis as analysis, md as md
from ._context import Context as Context
from ._gauge import Gauge as Gauge
from ._operator import Operator as Operator
from ._solver import Solver as Solver, SolveReport as SolveReport
from ._propagator import Propagator as Propagator, point_source as point_source, read_propagator as read_propagator
from ._jobs import Results as Results
from ._dense import eigen as eigen, mgemm as mgemm
from ._blocks import block_matrix as block_matrix
from ._errors import (
    ClosedError as ClosedError, Error as Error, FailedElsewhere as FailedElsewhere, FileError as FileError,
    Inaccurate as Inaccurate, Incomplete as Incomplete, InternalError as InternalError, InvalidInput as InvalidInput,
    NotConverged as NotConverged, NumericalError as NumericalError, OutOfMemory as OutOfMemory, Stopped as Stopped,
    Unsupported as Unsupported)

_Progress = Union[Callable[[int, int, int, float], Any], bool, Any, None]
_Path = Union[str, "PathLike[str]"]

__version__: str

def gauge(source: Union[_Path, Mapping[str, Any], Any, None] = None, *, context: Union[Context, None] = None,
          backend: Union[str, None] = None, device: Union[int, None] = None, threads: Union[int, None] = None,
          **words: Any) -> Gauge: ...
def operator(gauge: Gauge, type: Union[str, Mapping[str, Any], None] = None, *,
             boundary: Union[str, Sequence[Any], None] = None, **words: Any) -> Operator: ...
def solver(op: Operator, type: Union[str, Mapping[str, Any], None] = None, **words: Any) -> Solver: ...
def propagator(solver: Solver, site: Sequence[int] = (0, 0, 0, 0), *,
               source: Union[Callable[[int, int], Any], None] = None, progress: _Progress = None,
               batch: Union[int, str, None] = None, **words: Any) -> Propagator: ...
def run(job: Union[Mapping[str, Any], _Path], *, gauge: Union[Gauge, None] = None,
        set: Union[Mapping[str, Any], None] = None, out: Union[_Path, None] = None, progress: _Progress = None,
        context: Union[Context, None] = None, backend: Union[str, None] = None, device: Union[int, None] = None,
        threads: Union[int, None] = None) -> Results: ...
def help_on(topic: str = "") -> str: ...
def build_id() -> str: ...
