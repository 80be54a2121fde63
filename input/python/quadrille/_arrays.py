"""Arrays of users as pointers and words: no copy where the library can read them as they lie, one copy otherwise.

NumPy arrays, and any array that offers __cuda_array_interface__ (CuPy, PyTorch, JAX on a GPU) or __dlpack__ on the CPU.
"""

import bisect
import ctypes

import numpy as np

from ._errors import InvalidInput, Unsupported

PRECISIONS = {np.dtype(np.complex128): "double", np.dtype(np.complex64): "single"}


class View:
    """An array as it lies in memory: shape, dtype, strides in bytes, address, and whether it is on a GPU.

    owner: the caller's array. kept: what holds the memory; an exporter of DLPack may have made a copy. In host memory it is
    an array of NumPy.
    """

    def __init__(self, owner, kept, shape, dtype, strides, address, on_device, writable):
        self.owner, self.kept, self.shape, self.dtype = owner, kept, tuple(shape), dtype
        self.strides, self.address, self.on_device, self.writable = tuple(strides), address, on_device, writable

    def contiguous(self, axes):
        """Whether the numbers of these last axes follow one another, each where the library can read it."""
        if 0 in self.shape:
            return True
        steps = list(zip(self.shape, self.strides))
        places = [self.address, *(stride for extent, stride in steps if extent > 1)]
        if any(place % (self.dtype.itemsize // 2) for place in places):
            return False
        step = self.dtype.itemsize
        for extent, stride in reversed(steps[len(steps) - axes:]):
            if extent != 1 and stride != step:
                return False
            step *= extent
        return True


def view_of(array, name):
    """Raises InvalidInput for what is not an array of complex numbers."""
    if isinstance(array, np.ndarray):
        return _checked(_host_view(array, array, array.flags.writeable), name)
    numbers, is_it = _numbers_of(array)
    device = _device_view(array, numbers, is_it)
    if device is not None:
        return _checked(device, name)
    if hasattr(array, "__dlpack__"):
        try:
            host = np.from_dlpack(numbers)
        except (RuntimeError, TypeError, BufferError, AttributeError) as trouble:
            raise Unsupported(f"{name}: {type(array).__name__} gives no array by DLPack: {trouble}", [name]) from None
        # DLPack says nothing of who may write; owners of memory that nobody may write (JAX) do not say so either.
        return _checked(_host_view(array, host, is_it and type(array).__module__.split(".")[0] == "torch"), name)
    raise InvalidInput(f"{name}: {type(array).__name__} is not an array: give one of NumPy, CuPy, PyTorch or JAX, or "
                       "numpy.asarray of it", [name])


def _host_view(owner, host, writable):
    return View(owner, host, host.shape, host.dtype, host.strides, host.ctypes.data, False, writable)


def _numbers_of(array):
    """Of a tensor of PyTorch: one that is not differentiated, and of which conjugation and sign, which it may put off, are
    done; and whether that is still the memory of the tensor."""
    numbers = array.detach() if hasattr(array, "detach") else array
    if not any(hasattr(numbers, bit) and getattr(numbers, bit)() for bit in ("is_conj", "is_neg")):
        return numbers, True
    return numbers.resolve_conj().resolve_neg(), False


def _device_view(array, numbers, writable):
    try:
        found = getattr(numbers, "__cuda_array_interface__", None)
    except (AttributeError, RuntimeError, TypeError):  # PyTorch's way to say that the tensor is on the CPU
        return None
    if found is None:
        return None
    dtype = np.dtype(found["typestr"])
    strides = found.get("strides")
    if strides is None:
        strides = [dtype.itemsize * int(np.prod(found["shape"][k + 1:], dtype=np.int64)) for k in range(len(found["shape"]))]
    address, read_only = found["data"]
    return View(array, numbers, found["shape"], dtype, strides, address, True, writable and not read_only)


def _checked(view, name):
    if view.dtype.newbyteorder("=") in PRECISIONS and not view.dtype.isnative:
        raise InvalidInput(f"{name}: numbers in the other byte order; give {name}.astype({view.dtype.newbyteorder('=')})", [name])
    if view.dtype not in PRECISIONS:
        raise InvalidInput(f"{name}: dtype {view.dtype}; expected complex128 or complex64: {name}.astype(complex)", [name])
    return view


def dtype_of(dtype):
    """Of numbers that arrays may have."""
    try:
        found = np.dtype(dtype)
    except TypeError:
        found = None
    if found not in PRECISIONS:
        raise InvalidInput(f"dtype: {dtype!r}; expected complex128 or complex64", ["dtype"])
    return found


def _expected_shape(view, shape, name, axes):
    if view.shape == tuple(shape):
        return
    raise InvalidInput(f"{name}: shape {view.shape}; expected {tuple(shape)}, [{axes}]", [name])


def known(values):
    """Numbers of results; not-a-number for what is not known."""
    return np.array([np.nan if value is None else value for value in values], dtype=float)


def pointers(addresses):
    return (ctypes.c_void_p * len(addresses))(*addresses)


def swapped(view):
    """The view with its last two axes exchanged."""
    if not view.on_device:
        return _host_view(view.owner, view.kept.swapaxes(-1, -2), view.writable)
    order = [*range(len(view.shape) - 2), len(view.shape) - 1, len(view.shape) - 2]
    return View(view.owner, view.kept, [view.shape[k] for k in order], view.dtype, [view.strides[k] for k in order], view.address,
                True, view.writable)


class Spinors:
    """Spinors of a caller: addresses of `count` arrays, their words, and whether a copy was made of them."""

    def __init__(self, array, site_shape, name, axes, batch=False):
        view = view_of(array, name)
        wanted = (*site_shape, 4, 3)
        self.batch = batch
        if batch:
            if not view.shape:
                raise InvalidInput(f"{name}: shape (); expected [number, {axes}, spin, color]", [name])
            wanted = (view.shape[0], *wanted)
        _expected_shape(view, wanted, name, ("number, " if batch else "") + axes + ", spin, color")
        self._axes = len(site_shape) + 2
        self.owner, self.strides, self.copied, order = view.owner, view.strides, False, "spin_color"
        if not view.contiguous(self._axes):
            if swapped(view).contiguous(self._axes):
                order = "color_spin"
            elif view.on_device:
                raise _not_in_c_order(view, name)
            else:
                self.copied, view = True, _copy_of(view)
        self.view = view
        self.words = {"order": order, "precision": PRECISIONS[view.dtype], "where": "device" if view.on_device else None}

    @property
    def addresses(self):
        """Of each array."""
        step = self.view.strides[0] if self.batch else 0
        return [self.view.address + k * step for k in range(self.view.shape[0] if self.batch else 1)]

    @property
    def bytes(self):
        """Of one array."""
        return int(np.prod(self.view.shape[len(self.view.shape) - self._axes:])) * self.view.dtype.itemsize

    def reorder(self, order):
        """To the order of spin and color of the results, by a copy where it is another."""
        if self.words["order"] == order:
            return
        if self.view.on_device:
            raise Unsupported("arrays on a GPU: b and out have different orders of spin and color", ["out"])
        self.copied = True
        self.view = _copy_of(self.view) if order == "spin_color" else swapped(_copy_of(swapped(self.view)))
        self.words["order"] = order

    def demand_writable(self, name):
        if self.copied:
            raise InvalidInput(f"{name}: strides {self.strides}, cannot be written in place; expected C order", [name])
        if not self.view.writable:
            raise InvalidInput(f"{name}: a read-only array, cannot be written in place", [name])

    def demand_apart(self, given):
        """That writing these arrays leaves the given ones as they are, unless each is written where it was read."""
        own, size = sorted(self.addresses), self.bytes
        if any(second - first < size for first, second in zip(own, own[1:])):
            raise InvalidInput("out: its arrays overlap one another", ["out"])
        if self.addresses == given.addresses:
            return
        for address in given.addresses:
            after = bisect.bisect_right(own, address - size)  # the first that ends behind this one's begin
            if after < len(own) and own[after] < address + size:
                raise InvalidInput("out: overlaps the input; give the array of the input itself, or one apart from it", ["out"])


def _not_in_c_order(view, name):
    return Unsupported(f"{name}: strides {view.strides} on a GPU; expected C order: {name}.contiguous() of PyTorch, or "
                       "cupy.ascontiguousarray", [name])


def _copy_of(view):
    """A copy in C order, aligned, in host memory."""
    return _host_view(view.owner, np.array(view.kept, order="C", copy=True), True)


def empty_like(spinors):
    """An array of the same library, shape, dtype, and order of spin and color, for results of spinors."""
    owner, view = spinors.owner, spinors.view
    exchanged = spinors.words["order"] == "color_spin"
    shape = (*view.shape[:-2], view.shape[-1], view.shape[-2]) if exchanged else view.shape
    made = _empty(owner, shape, view.dtype, view.on_device)
    return made.swapaxes(-1, -2) if exchanged else made


def _empty(owner, shape, dtype, on_device):
    root = type(owner).__module__.split(".")[0]
    if root == "torch":
        import torch  # pylint: disable=import-outside-toplevel

        return torch.empty(shape, dtype=owner.dtype, device=owner.device)
    if not on_device:
        return np.empty(shape, dtype)
    if root == "cupy":
        import cupy  # pylint: disable=import-outside-toplevel

        with cupy.cuda.Device(owner.device):
            return cupy.empty(shape, dtype)
    raise Unsupported(f"results in the GPU memory of {root}: give an array of CuPy or PyTorch for them, out=", ["out"])


class Links:
    """Links of a caller as the arrays of the library."""

    def __init__(self, array, name, dims=None):
        view = view_of(array, name)
        if len(view.shape) != 7 or view.shape[0] != 4 or view.shape[5:] != (3, 3):
            raise InvalidInput(f"{name}: shape {view.shape}; expected (4, T, Z, Y, X, 3, 3), [mu, t, z, y, x, row, column] "
                               "with mu = x, y, z, t", [name])
        self.dims = [view.shape[k] for k in (4, 3, 2, 1)]
        if dims is not None and list(dims) != self.dims:
            raise InvalidInput(f"{name}: shape {view.shape}; expected {(4, *reversed(dims), 3, 3)}", [name])
        self.copied, matrix = False, None
        if not view.contiguous(6):
            if swapped(view).contiguous(6):
                matrix = "columns"
            elif view.on_device:
                raise _not_in_c_order(view, name)
            else:
                self.copied, view = True, _copy_of(view)
        self.view = view
        self.words = {"order": "qdp", "sites": "lexicographic", "matrix": matrix, "precision": PRECISIONS[view.dtype],
                      "where": "device" if view.on_device else None}
        self.addresses = [view.address + mu * view.strides[0] for mu in range(4)]
