"""Contexts: where work is done, whose turn it is, what Ctrl-C and progress functions do to it, and when objects end."""

import collections
import contextlib
import ctypes
import logging
import operator
import signal
import threading
import weakref

from . import _library
from ._errors import DONE, ClosedError, InvalidInput, error_of
from ._progress import OwnBar
from ._words import Words

LEVELS = {1: logging.DEBUG, 2: logging.INFO, 3: logging.WARNING, 4: logging.ERROR}
log = logging.getLogger("quadrille")


@_library.LOG
def _say(_user, level, text):
    log.log(LEVELS.get(level, logging.ERROR), "%s", text.decode(errors="replace"))


class _Turn:
    """The calls of one context, one after another, and the handles that are destroyed between them: the collector may run
    anywhere, also within a progress function, where the library takes no calls."""

    def __init__(self):
        self._lock = threading.Lock()
        self._owner = None
        self._left = collections.deque()

    def take(self, interrupt):
        """Waits for the turn; Ctrl-C ends the wait."""
        if self._owner == threading.get_ident():
            raise InvalidInput("a progress function called back into its own context; make this call before or after, or "
                               "with an object of another context")
        while not self._lock.acquire(timeout=0.1 if interrupt.watched() else -1):
            interrupt.deliver()
        self._owner = threading.get_ident()

    def leave(self):
        try:
            self._end_what_is_left()
        finally:
            self._release()
        self._end_now()

    def end(self, destroy, handle):
        """Ends a handle, now or after the call at work."""
        self._left.append((destroy, handle))
        self._end_now()

    def _end_now(self):
        if not self._left:
            return
        with _Interrupt():
            while self._left and self._lock.acquire(blocking=False):  # again for what came before the lock was released
                self._owner = threading.get_ident()
                try:
                    self._end_what_is_left()
                finally:
                    self._release()

    def _end_what_is_left(self):
        while self._left:
            destroy, handle = self._left.popleft()
            destroy(handle)

    def _release(self):
        self._owner = None
        self._lock.release()


class _Interrupt:
    """Holds Ctrl-C back while the library works, so that it ends a solve within an iteration rather than nowhere, and locks are
    released: asked() says whether it came, and it is delivered when the block ends. Only the main thread has signals."""

    def __init__(self):
        self._signal = None
        self._earlier = None
        self._frame = None

    def __enter__(self):
        if threading.current_thread() is threading.main_thread():
            earlier = signal.getsignal(signal.SIGINT)
            if callable(earlier):
                self._earlier = earlier
                signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, kind, error, _trace):
        if self._earlier is not None:
            signal.signal(signal.SIGINT, self._earlier)
            self.deliver()
        return False

    def _note(self, number, frame):
        self._signal, self._frame = number, frame

    def deliver(self):
        """What came goes to the program's handler: KeyboardInterrupt, unless it has one of its own."""
        number, frame, self._signal, self._frame = self._signal, self._frame, None, None
        if number is not None:
            self._earlier(number, frame)

    def watched(self):
        return self._earlier is not None

    def asked(self):
        return self._signal is not None


class _Watch:
    """What a progress function has raised, and the function that the library calls."""

    def __init__(self, interrupt, progress):
        self.raised = None
        self._interrupt, self._progress = interrupt, progress
        self.function = _library.PROGRESS(self._call)

    def end(self):
        """The library calls no more; the function and this object refer to each other."""
        self.function = None
        if isinstance(self._progress, OwnBar):
            self._progress.close()

    def _call(self, _user, solve, solves, iteration, residual):
        try:
            if self._progress is not None and self._progress(solve, solves, iteration, residual):
                return 1
        except BaseException as error:  # pylint: disable=broad-except  # it goes on where the call returns
            self.raised = error
            return 1
        return 1 if self._interrupt.asked() else 0


class Handle:
    """An object of the library: ended once, by close(), at the end of a with block, or with its last reference."""

    def __init__(self, context, handle, destroy):
        self._context = context
        self._handle = handle
        self._end = weakref.finalize(self, context.turn.end, destroy, handle)

    @property
    def handle(self):
        if not self._end.alive:
            raise ClosedError(f"this {type(self).__name__} has been closed")
        return self._handle

    @property
    def context(self):
        """The Context that the object belongs to."""
        return self._context

    def close(self):
        """Frees the object now; operators, solvers and others that were made from this object keep what they need of it."""
        self._end()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Context:
    """Where work is done: a backend with its threads. Each gauge field has one of its own unless it is given one.

    backend: "auto" (the default: cuda if there is a usable GPU, else cpu), "cpu" or "cuda".
    device: number of the GPU. threads: of the CPU; default: those of OpenMP.
    communicator: of mpi4py; then all its ranks make the same calls, and arrays hold a rank's part of the lattice.
    grid, place: of ranks along x, y, z, t, and of this rank in it.

    Calls with objects of one context take turns; contexts work at the same time in different threads. The GIL is released
    while the library works. Log messages go to the logger "quadrille".
    """

    def __init__(self, backend=None, device=None, threads=None, communicator=None, grid=None, place=None):
        lib = _library.library()
        words = Words({"backend": backend, "device": device, "threads": threads, "grid": grid, "place": place})
        made = ctypes.c_void_p()
        if communicator is None:
            status = lib.quadrille_context_create(words.encoded(), ctypes.byref(made))
        else:
            status = lib.quadrille_context_create_mpi(words.encoded(), _address_of(communicator), ctypes.byref(made))
        _library.check(status, words)
        self.turn = _Turn()
        self.communicator = communicator
        self._stream = None
        self._handle = made.value
        self._end = weakref.finalize(self, self.turn.end, lib.quadrille_context_destroy, made.value)
        lib.quadrille_context_set_log(made, 2, _say, None)

    @property
    def handle(self):
        if not self._end.alive:
            raise ClosedError("this Context has been closed")
        return self._handle

    def call(self, name, *arguments, words=None, progress=None, may_fail=(), after=None):
        """Calls quadrille_NAME in this context's turn. A progress function that returns a true value ends the call with
        Stopped; what it raises is raised here, as is KeyboardInterrupt after Ctrl-C. Statuses in `may_fail` are returned
        with their messages, and raise nothing. after: is called at the end of the turn, for texts that end with it."""
        lib = _library.library()
        context = self.handle
        with self._work() as interrupt:
            watch = _Watch(interrupt, progress) if progress is not None or interrupt.watched() else None
            if watch is not None:
                lib.quadrille_context_set_progress(context, watch.function, None)
            try:
                status = getattr(lib, "quadrille_" + name)(*arguments)
                text = "" if status == DONE else _library.message(context, status)
                if after is not None:
                    after()
            finally:
                if watch is not None:
                    lib.quadrille_context_set_progress(context, _library.PROGRESS(), None)
                    watch.end()
        if watch is not None and watch.raised is not None:
            raise watch.raised
        if status == DONE or status in may_fail:
            return status, text
        raise error_of(status, text, words)

    @contextlib.contextmanager
    def _work(self):
        """This context's turn, with Ctrl-C held back."""
        with _Interrupt() as interrupt:
            self.turn.take(interrupt)
            try:
                yield interrupt
            finally:
                self.turn.leave()

    def made(self, name, source, words, *more):
        """The handle that quadrille_NAME(source, words, more..., &handle) makes."""
        out = ctypes.c_void_p()
        self.call(name, source, words.encoded(), *more, ctypes.byref(out), words=words)
        return out.value

    def text(self, name, source, *arguments):
        """The text that quadrille_NAME(source, arguments..., &text) gives."""
        out = ctypes.c_char_p()
        lib = _library.library()
        context = self.handle
        with self._work():
            status = getattr(lib, "quadrille_" + name)(source, *arguments, ctypes.byref(out))
            found = (out.value or b"").decode(errors="replace")
            said = "" if status == DONE else _library.message(context, status)
        if status != DONE:
            raise error_of(status, said)
        return found

    def set_stream(self, stream):
        """Arrays in GPU memory are read and written after the work that is queued on this CUDA stream: the number of a
        cudaStream_t, or a stream of CuPy or PyTorch; None: after all work of the GPU."""
        number = stream
        for name in ("ptr", "cuda_stream"):
            number = getattr(number, name, number)
        try:
            number = None if number is None else operator.index(number)
        except TypeError:
            number = -1
        if number is not None and not 0 <= number < 2**64:
            raise InvalidInput(f"stream: {stream!r}; expected the number of a cudaStream_t, a stream of CuPy or PyTorch, or None",
                               ["stream"])
        self.call("context_set_stream", self.handle, number)
        self._stream = stream  # it lasts as long as arrays may be ordered by it

    def close(self):
        """Frees the context and all objects in it."""
        self._end()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def _address_of(communicator):
    """Of an mpi4py communicator."""
    try:
        from mpi4py import MPI  # pylint: disable=import-outside-toplevel

        return ctypes.c_void_p(MPI._addressof(communicator))  # pylint: disable=protected-access  # its documented way
    except (ImportError, TypeError):
        raise InvalidInput(f"communicator: {type(communicator).__name__} is not a communicator of mpi4py",
                           ["communicator"]) from None


def context_of(context, backend=None, device=None, threads=None):
    """The given context, or a new one."""
    if context is None:
        return Context(backend, device, threads)
    if not isinstance(context, Context):
        raise InvalidInput(f"context: {type(context).__name__} is not a quadrille.Context", ["context"])
    if (backend, device, threads) != (None, None, None):
        raise InvalidInput("context: a context has its own backend, device and threads; give either", ["context"])
    return context

