"""Whole jobs, as `quadrille run` runs them, and their results."""

import ctypes
import html
import json
import numbers
import operator
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import weakref

from . import _library
from ._arrays import known
from ._context import context_of, log
from ._errors import NOT_CONVERGED, Error, FileError, InvalidInput, NotConverged, Stopped
from ._gauge import Gauge
from ._gauge import gauge as gauge_of
from ._progress import function_of
from ._propagator import read_propagator
from ._words import Words, plain


def run(job, *, gauge=None, set=None, out=None, progress=None,  # pylint: disable=redefined-builtin
        context=None, backend=None, device=None, threads=None):
    """Runs a job and gives its Results: the same tasks, numbers and files as those of `quadrille run`.

    job: a dict with the blocks gauge, operator, solver and run; YAML text; or the path of a YAML file. Files that it reads
        are relative to the working directory.
    gauge: a Gauge whose links the job uses, in its context; then the job has no gauge block.
    set: changes of a job that is a dict: {"operator.kappa": 0.12, "run[0].source.site": [1, 2, 3, 5]}.
    out: folder of results.json and of files that the job writes; default: JOB.out of a file JOB.yaml, otherwise a
        temporary folder, which lasts as long as the Results. A folder with an unfinished run of the job continues it. On
        several ranks that of the first counts, and one must be given.
    progress, Ctrl-C: as for solves (quadrille.solver); for work other than solves `solves` is 0 and `residual` the
        fraction that is left. A job that is stopped saves its state in its folder, also a temporary one, which then stays
        and is named: the same call with out= that folder continues it.
    context, backend, device, threads: as for quadrille.gauge, where there is no `gauge`.

    Jobs of one process take turns. Raises InvalidInput with all mistakes of the job, a line each; NotConverged, with the
    Results as `results`.
    """
    if gauge is not None and not isinstance(gauge, Gauge):
        raise InvalidInput(f"gauge: {type(gauge).__name__} is not a gauge field; make one with quadrille.gauge(...)", ["gauge"])
    text, words, folder = _read(job, set)
    here = gauge.context if gauge is not None else context_of(context, backend, device, threads)
    folder = folder if out is None else _path(out, "out")
    if folder is None and here.communicator is not None:
        raise InvalidInput("out: a job on several ranks needs a folder that it is told", ["out"])
    temporary = None if folder is not None else _TemporaryFolder()
    try:
        return _results(here, gauge, text, words, folder or temporary.path, progress, temporary)
    except FileError as trouble:
        if words is None and _of_another_folder(job):
            raise FileError(f"{trouble}; files that a job reads are relative to the working directory, {os.getcwd()}",
                            trouble.where) from None
        raise
    except (Stopped, KeyboardInterrupt) as end:
        if temporary is not None and temporary.keep():
            said = f"out={temporary.path!r} continues it"
            log.warning("the job was stopped: %s", said)
            if isinstance(end, Stopped):
                raise Stopped(f"{end}; {said}", end.where) from None
        raise


# Before Ctrl-C is held back: the library waits for the jobs of other threads without asking for it. A progress function of
# a job may run another.
_ONE_JOB = threading.RLock()


def _results(here, gauge, text, words, folder, progress, temporary):
    out, found = ctypes.c_char_p(), []
    with _ONE_JOB:
        status, said = here.call("job_run", here.handle, gauge.handle if gauge is not None else None, text, os.fsencode(folder),
                                 ctypes.byref(out), words=words, progress=function_of(progress), may_fail=(NOT_CONVERGED,),
                                 after=lambda: found.append(out.value))
    results = Results._of(folder, found[0], temporary)  # pylint: disable=protected-access
    if status == NOT_CONVERGED:
        raise NotConverged(said, results=results)
    return results


class _TemporaryFolder:
    """Removed with the last reference, unless it is kept."""

    def __init__(self):
        self.path = tempfile.mkdtemp(prefix="quadrille-")
        self._end = weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)

    def keep(self):
        """Says whether there is something in it that is worth it."""
        return bool(os.listdir(self.path)) and self._end.detach() is not None


def _of_another_folder(job):
    return os.path.exists(job) and not os.path.samefile(os.path.dirname(job) or ".", ".")


def _path(path, name):
    try:
        os.fsencode(path)
        return os.fspath(path)
    except (TypeError, UnicodeEncodeError):
        raise InvalidInput(f"{name}: {path!r}; expected a path", [name]) from None


def _read(job, changes):
    """The text of a job, its Words where it is a dict, and the folder that its results go to, if it names one."""
    if isinstance(job, dict):
        words = Words(_changed(job, {} if changes is None else changes))
        return words.encoded(), words, None
    if changes:
        raise InvalidInput("set: changes of a job that is a dict; write those of a text into the text", ["set"])
    if not isinstance(job, (str, os.PathLike)):  # open() would take a number for a file descriptor
        raise InvalidInput(f"job: {type(job).__name__} must be a dict, YAML text or a path", ["job"])
    try:
        if isinstance(job, str) and ("\n" in job or ":" in job) and not os.path.exists(job):
            return job.encode(), None, None
        with open(job, encoding="utf-8") as stream:
            return stream.read().encode(), None, os.path.splitext(os.fspath(job))[0] + ".out"
    except UnicodeEncodeError as trouble:
        raise InvalidInput(f"job: {trouble}", ["job"]) from None
    except (OSError, ValueError) as trouble:
        raise FileError(f"job: {trouble}", ["job"]) from None


def _changed(job, changes):
    """A copy of a job with changes by path; None takes a key away."""
    if not isinstance(changes, dict) or not all(isinstance(path, str) for path in changes):
        raise InvalidInput(f"set: {changes!r}; expected a dict with paths, {{'operator.kappa': 0.12}}", ["set"])
    job = plain(job)
    for path, value in changes.items():
        steps = [int(number) if number else name for name, number in re.findall(r"([^.\[\]]+)|\[(\d+)\]", path)]
        place = job
        try:
            for step in steps[:-1]:
                place = place.setdefault(step, {}) if isinstance(place, dict) else place[step]
            if value is None and isinstance(place, dict):
                place.pop(steps[-1], None)
            else:
                place[steps[-1]] = value
        except (IndexError, TypeError, AttributeError):
            raise InvalidInput(f"set: the job has no {path!r}", ["set"]) from None
    return job


class Results:
    """The output folder of a job: results["correlators"]["mesons"]["pion"] are the fields of results.json, which
    input/run/OUTPUT.md explains.

    folder: an output folder, or the path of a results.json.
    """

    def __init__(self, folder):
        folder = _path(folder, "folder")
        self._take(os.path.dirname(folder) if os.path.basename(folder) == "results.json" else folder)

    @classmethod
    def _of(cls, folder, text, temporary):
        """Of the text of its results.json, which may be on another machine."""
        made = cls.__new__(cls)
        made._take(folder, text, temporary)
        return made

    def _take(self, folder, text=None, temporary=None):
        self._temporary = temporary
        #: the output folder
        self.folder = folder
        try:
            if text is None:
                with open(self.path("results.json"), encoding="utf-8") as stream:
                    text = stream.read()
            self._tree = json.loads(text)
        except (OSError, ValueError) as trouble:
            raise FileError(f"{self.path('results.json')}: {trouble}; expected the output folder of a job") from None
        if not isinstance(self._tree, dict):
            raise FileError(f"{self.path('results.json')}: expected the results of a job, got {type(self._tree).__name__}")

    def path(self, name):
        """Of a file in the folder."""
        return os.path.join(self.folder, name)

    def __getitem__(self, key):
        return self._tree[key]

    def get(self, key, default=None):
        return self._tree.get(key, default)

    def keys(self):
        return self._tree.keys()

    def __iter__(self):
        return iter(self._tree)

    def __contains__(self, key):
        return key in self._tree

    @property
    def warnings(self):
        return self._tree.get("warnings", [])

    @property
    def solves(self):
        """A dict for each solve: iterations, residual, seconds, history and more."""
        return self._tree.get("solves", [])

    def correlator(self, name, momentum=(0, 0, 0), configuration=None):
        """C(t) for all t of the lattice: real for "mesons/pion", complex for a channel, "mesons/rho_x". Not-a-number where
        there is no solution. Of several configurations [configuration, t], from correlators.h5, which needs h5py, or of the
        one with this number, from 0."""
        if configuration is not None:
            return self.configuration(configuration).correlator(name, momentum)
        if "configurations" in self._tree:
            return self._of_configurations(name, momentum)
        correlators = self._tree.get("correlators", {})
        found = correlators
        for key in _place(correlators, name, momentum):
            found = found[key]
        return known(found) if isinstance(found, list) else _complex(found, known)

    def _of_configurations(self, name, momentum):
        try:
            import h5py  # pylint: disable=import-outside-toplevel
        except ImportError:
            raise Error("correlators of several configurations are read by h5py, which is not installed") from None
        one = next((self.configuration(k) for k, entry in enumerate(self["configurations"]) if entry.get("results")), {})
        place = "/".join(map(str, _place(one.get("correlators", {}), name, momentum)))
        try:
            with h5py.File(self.path("correlators.h5"), "r") as file:
                found = file[place]
                return _complex(found, lambda rows: rows[...]) if isinstance(found, h5py.Group) else found[...]
        except (OSError, KeyError) as trouble:
            raise FileError(f"{self.path('correlators.h5')}: {place}: {trouble}") from None

    def configuration(self, number):
        """The Results of one of several configurations, from 0 on in the order of "configurations"."""
        entries = self._tree.get("configurations")
        if entries is None:
            raise InvalidInput("configuration: these are the results of one configuration", ["configuration"])
        if not isinstance(number, numbers.Integral) or not 0 <= number < len(entries):
            raise InvalidInput(f"configuration: {number!r}; expected 0 to {len(entries) - 1}", ["configuration"])
        entry = entries[number]
        if not entry.get("results"):
            raise InvalidInput(f"configuration: {entry['name']} has no results: {entry.get('state')}", ["configuration"])
        return Results(self.path(entry["results"]))

    def propagator(self, task="propagator", configuration=None):
        """The Propagator that this task saved, of several configurations that of the one with this number; array() gives
        [t, z, y, x, spin, spin, color, color]."""
        if configuration is not None:
            return self.configuration(configuration).propagator(task)
        if "configurations" in self._tree:
            raise InvalidInput("configuration: each of the configurations has a propagator; give the number of one, from 0",
                               ["configuration"])
        for one in self["job"]["run"]:
            if one["task"] == "propagator" and one.get("name", "propagator") == task:
                if "save" not in one:
                    raise InvalidInput(f"task: {task!r} saved no file; give it save: {{file: .., precision: double}}", ["task"])
                saved = one["save"]["file"] if isinstance(one["save"], dict) else one["save"]
                with gauge_of(start="cold", dims=self["lattice"]["dims"], backend="cpu") as lattice:
                    return read_propagator(lattice, self.path(saved), one["source"].get("site"))
        raise InvalidInput(f"task: the job has no propagator task {task!r}", ["task"])

    def report(self, folder=None):
        """Writes the page of `quadrille report` into a folder (default: report/ in the output folder); the path of its
        report.html. Figures need matplotlib."""
        folder = self.path("report") if folder is None else os.fspath(folder)
        scripts = _scripts()
        done = subprocess.run(
            [sys.executable, os.path.join(scripts, "report", "report.py"), self.path("results.json"), "--out", folder,
             "--modules", os.path.join(scripts, "module_reports")],
            capture_output=True, text=True, check=False, env={**os.environ, "QUADRILLE_REPORT_AGAIN": "1"})
        if done.returncode != 0:
            raise Error(f"the report of {self.folder} failed: {done.stderr.strip()}")
        return os.path.join(folder, "report.html")

    def _repr_html_(self):
        with tempfile.TemporaryDirectory(prefix="quadrille-") as folder:
            with open(self.report(folder), encoding="utf-8") as stream:
                page = stream.read()
        return f'<iframe srcdoc="{html.escape(page)}" style="width: 100%; height: 40em; border: none"></iframe>'

    def __repr__(self):
        tasks = [task.get("name", task.get("task")) for task in self._tree.get("job", {}).get("run", [])]
        return f"<Results of {', '.join(map(str, tasks))} in {self.folder}>"


def _place(correlators, name, momentum):
    """The keys that lead to a correlator: to a list over t, or to a dict with `re` and perhaps `im`."""
    if not isinstance(name, str):
        raise InvalidInput(f"name: {name!r}; expected TASK/CHANNEL, such as 'mesons/pion'", ["name"])
    try:
        momentum = tuple(operator.index(n) for n in momentum)
    except TypeError:
        raise InvalidInput(f"momentum: {momentum!r}; expected three whole numbers n, p = 2 pi n / L", ["momentum"]) from None
    task, _, channel = name.partition("/")
    if task not in correlators:
        raise InvalidInput(f"name: no correlators of {task!r}; there are {', '.join(correlators) or 'none'}", ["name"])
    block = correlators[task]
    if channel in ("", "pion") and "pion" in block and momentum == (0, 0, 0):
        return task, "pion"
    channels = block.get("channels", {})
    if channel not in channels:
        raise InvalidInput(f"name: {task!r} has no channel {channel!r}; there are {', '.join(channels) or 'none'}", ["name"])
    there = [tuple(one["momentum"]) for one in channels[channel]["correlators"]]
    if momentum not in there:
        raise InvalidInput(f"momentum: {momentum} was not computed; there are {', '.join(map(str, there))}", ["momentum"])
    return task, "channels", channel, "correlators", there.index(momentum)


def _complex(parts, read):
    return read(parts["re"]) + 1j * (read(parts["im"]) if "im" in parts else 0)


def _scripts():
    """The folder of the scripts of reports: in the wheel, or beside a library in its build or installed tree."""
    library = os.path.dirname(os.path.abspath(_library.path()))
    for folder in (os.path.join(_library.HERE, "share", "quadrille"), os.path.join(library, "share", "quadrille"),
                   os.path.join(os.path.dirname(library), "share", "quadrille")):
        if os.path.exists(os.path.join(folder, "report", "report.py")):
            return folder
    raise FileError("the scripts of reports are neither in the package nor beside the library; install the wheel")
