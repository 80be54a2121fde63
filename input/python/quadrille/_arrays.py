"""Arrays of users as pointers and words: no copy where the library can read them as they lie, one copy otherwise.

NumPy arrays, and any array that offers __cuda_array_interface__ (CuPy, PyTorch, JAX on a GPU) or __dlpack__ on the CPU.
"""

import ctypes

import numpy as np

from ._errors import InvalidInput, Unsupported

PRECISIONS = {np.dtype(np.complex128): "double", np.dtype(np.complex64): "single"}


class View:
    """An array as it lies in memory: shape, dtype, strides in bytes, address, and whether it is on a GPU."""

    def __init__(self, owner, shape, dtype, strides, address, on_device, writable):
        self.owner, self.shape, self.dtype = owner, tuple(shape), dtype
        self.strides, self.address, self.on_device, self.writable = tuple(strides), address, on_device, writable

    def contiguous(self, axes=None):
        """Whether the numbers of these last axes follow one another."""
        if 0 in self.shape:
            return True
        step = self.dtype.itemsize
        first = 0 if axes is None else len(self.shape) - axes
        for extent, stride in reversed(list(zip(self.shape, self.strides))[first:]):
            if extent != 1 and stride != step:
                return False
            step *= extent
        return True


def view_of(array, name):
    """Raises InvalidInput for what is no array of complex numbers."""
    if isinstance(array, np.ndarray):
        return _checked(View(array, array.shape, array.dtype, array.strides, array.ctypes.data, False,
                             array.flags.writeable), name)
    device = _device_view(array)
    if device is not None:
        return _checked(device, name)
    if hasattr(array, "__dlpack__"):
        try:
            host = np.from_dlpack(_without_history(array))
        except (RuntimeError, TypeError, BufferError, AttributeError) as trouble:
            raise Unsupported(f"{name}: {type(array).__name__} gives no array by DLPack: {trouble}", [name]) from None
        # DLPack says nothing of who may write; owners of memory that nobody may write (JAX) do not say so either.
        return _checked(View(array, host.shape, host.dtype, host.strides, host.ctypes.data, False,
                             type(array).__module__.split(".")[0] == "torch"), name)
    raise InvalidInput(f"{name}: {type(array).__name__} is no array: give one of NumPy, CuPy, PyTorch or JAX, or "
                       "numpy.asarray of it", [name])


def _without_history(array):
    """Of a tensor that PyTorch differentiates: its numbers."""
    return array.detach() if hasattr(array, "detach") else array


def _device_view(array):
    try:
        found = getattr(_without_history(array), "__cuda_array_interface__", None)
    except (AttributeError, RuntimeError, TypeError):  # PyTorch's way to say that the tensor is on the CPU
        return None
    if found is None:
        return None
    dtype = np.dtype(found["typestr"])
    strides = found.get("strides")
    if strides is None:
        strides = [dtype.itemsize * int(np.prod(found["shape"][k + 1:], dtype=np.int64)) for k in range(len(found["shape"]))]
    address, read_only = found["data"]
    return View(array, found["shape"], dtype, strides, address, True, not read_only)


def _checked(view, name):
    if view.dtype.newbyteorder("=") in PRECISIONS and not view.dtype.isnative:
        raise InvalidInput(f"{name}: numbers in the other byte order; give {name}.astype({view.dtype.newbyteorder('=')})", [name])
    if view.dtype not in PRECISIONS:
        raise InvalidInput(f"{name}: dtype {view.dtype}; expected complex128 or complex64: {name}.astype(complex)", [name])
    return view


def _expected_shape(view, shape, name, axes):
    if view.shape == tuple(shape):
        return
    raise InvalidInput(f"{name}: shape {view.shape}; expected {tuple(shape)}, [{axes}]", [name])


def pointers(addresses):
    return (ctypes.c_void_p * len(addresses))(*addresses)


def swapped(view):
    """The view with its last two axes exchanged."""
    order = [*range(len(view.shape) - 2), len(view.shape) - 1, len(view.shape) - 2]
    return View(view.owner, [view.shape[k] for k in order], view.dtype, [view.strides[k] for k in order], view.address,
                view.on_device, view.writable)


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
        axes_of_one = len(site_shape) + 2
        self.copied, self.array, order = False, array, "spin_color"
        if not view.contiguous(axes_of_one):
            if swapped(view).contiguous(axes_of_one):
                order = "color_spin"
            elif view.on_device:
                raise Unsupported(f"{name}: strides {view.strides} on a GPU; expected C order: {name}.contiguous() or "
                                  "cupy.ascontiguousarray", [name])
            else:
                self.copied, self.array = True, np.ascontiguousarray(_host(view))
                view = view_of(self.array, name)
        self.view = view
        self.words = {"order": order, "precision": PRECISIONS[view.dtype], "where": "device" if view.on_device else None}
        step = view.strides[0] if batch else 0
        self.addresses = [view.address + k * step for k in range(view.shape[0] if batch else 1)]

    def reorder(self, order):
        """To the order of spin and color of the results, by a copy where it is another."""
        if self.words["order"] == order:
            return
        if self.view.on_device:
            raise Unsupported("arrays on a GPU: b and out have different orders of spin and color", ["out"])
        of_host = _host(self.view)
        self.copied = True
        if order == "spin_color":
            self.array = np.ascontiguousarray(of_host)
        else:
            self.array = np.swapaxes(np.ascontiguousarray(np.swapaxes(of_host, -1, -2)), -1, -2)
        self.view = view_of(self.array, "b")
        self.words["order"] = order
        step = self.view.strides[0] if self.batch else 0
        self.addresses = [self.view.address + k * step for k in range(len(self.addresses))]

    def demand_writable(self, name):
        if self.copied:
            raise InvalidInput(f"{name}: strides {self.view.strides} hold no solution in place; expected C order", [name])
        if not self.view.writable:
            raise InvalidInput(f"{name}: a read-only array holds no result", [name])


def _host(view):
    return view.owner if isinstance(view.owner, np.ndarray) else np.from_dlpack(_without_history(view.owner))


def empty_like(spinors):
    """An array of the same library, shape and dtype, in C order, for results of spinors."""
    owner, shape, dtype = spinors.view.owner, spinors.view.shape, spinors.view.dtype
    root = type(owner).__module__.split(".")[0]
    if not spinors.view.on_device and root != "torch":
        return np.empty(shape, dtype)
    if root == "torch":
        import torch  # pylint: disable=import-outside-toplevel

        return torch.empty(shape, dtype=owner.dtype, device=owner.device)
    if root == "cupy":
        import cupy  # pylint: disable=import-outside-toplevel

        with cupy.cuda.Device(owner.device):
            return cupy.empty(shape, dtype)
    raise Unsupported(f"results in the GPU memory of {root}: give the array for them, out=", ["out"])


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
        self.copied, self.array, matrix = False, array, None
        if not view.contiguous(6):
            if swapped(view).contiguous(6):
                matrix = "columns"
            elif view.on_device:
                raise Unsupported(f"{name}: strides {view.strides} on a GPU; expected C order", [name])
            else:
                self.copied, self.array = True, np.ascontiguousarray(_host(view))
                view = view_of(self.array, name)
        self.view = view
        self.words = {"order": "qdp", "sites": "lexicographic", "matrix": matrix, "precision": PRECISIONS[view.dtype],
                      "where": "device" if view.on_device else None}
        self.addresses = [view.address + mu * view.strides[0] for mu in range(4)]
