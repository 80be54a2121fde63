"""Block-sparse matrices."""

import ctypes
import weakref

import numpy as np

from . import _library
from ._errors import ClosedError, InvalidInput
from ._modules import BlockReport, address, c_char, c_double, c_int32, c_int64, call, matrix, members, sized, text

SYMMETRIES = {"general": 0, "symmetric": 1, "antisymmetric": 2}


class block_matrix:  # pylint: disable=invalid-name  # used as a function
    """A matrix of dense blocks, of which few are stored.

        a = q.block_matrix([5, 5, 13], symmetry="symmetric")     # sizes of the blocks of rows, and of columns if others
        a[0, 2] = numbers                                        # [5, 13]; a[2, 0] is its mirror image
        c, report = a.multiply(b, eps=1e-8)
        p, energy = h.density(s, electrons=8, eps=1e-8)

    `from_dense(matrix, sizes)` takes the blocks with a norm above `eps` of a dense matrix; `array()` is dense.
    """

    def __init__(self, rows, columns=None, symmetry="general"):
        if symmetry not in SYMMETRIES:
            raise InvalidInput(f"symmetry: {symmetry!r}; expected one of {', '.join(SYMMETRIES)}", ["symmetry"])
        self.rows = _sizes(rows, "rows")
        self.columns = self.rows if columns is None else _sizes(columns, "columns")
        self.symmetry = symmetry
        handle = ctypes.c_void_p()
        call("block", "block_matrix_create", c_int32(len(self.rows)), address(self.rows), c_int32(len(self.columns)),
             address(self.columns), c_int32(SYMMETRIES[symmetry]), ctypes.byref(handle))
        self._take(handle.value)

    @classmethod
    def _of(cls, handle, rows, columns, symmetry):
        made = cls.__new__(cls)
        made.rows, made.columns, made.symmetry = rows, columns, symmetry
        made._take(handle)
        return made

    def _take(self, handle):
        self._value = handle
        self._end = weakref.finalize(self, _destroy, handle)

    @property
    def _handle(self):
        if not self._end.alive:
            raise ClosedError("this block_matrix has been closed")
        return ctypes.c_void_p(self._value)

    @classmethod
    def from_dense(cls, dense, rows, columns=None, symmetry="general", eps=0.0):
        """The blocks of a dense matrix whose Frobenius norm is above eps."""
        made = cls(rows, columns, symmetry)
        dense = matrix(dense, "dense", shape=(made.rows.sum(), made.columns.sum()))
        row_ends, column_ends = np.cumsum(made.rows), np.cumsum(made.columns)
        blocks = []
        for i, end in enumerate(row_ends):
            for j, column_end in enumerate(column_ends):
                block = dense[end - made.rows[i]:end, column_end - made.columns[j]:column_end]
                if (symmetry == "general" or i <= j) and np.linalg.norm(block) > eps:
                    blocks.append((i, j, block))
        places = np.array([block[:2] for block in blocks], dtype=np.int32).reshape(-1, 2)
        call("block", "block_matrix_reserve", made._handle, c_int64(len(places)), address(places))
        for i, j, block in blocks:
            made[i, j] = block
        return made

    def __setitem__(self, place, block):
        i, j = self._place(place)
        block = matrix(block, "block", shape=(self.rows[i], self.columns[j]))
        call("block", "block_matrix_put", self._handle, c_int32(i), c_int32(j), address(block), c_int32(0))

    def __getitem__(self, place):
        """The block, zeros if it is not stored."""
        i, j = self._place(place)
        block = np.empty((self.rows[i], self.columns[j]))
        call("block", "block_matrix_get", self._handle, c_int32(i), c_int32(j), address(block),
             ctypes.POINTER(c_int32)())
        return block

    def _place(self, place):
        try:
            i, j = (int(k) for k in place)
        except (TypeError, ValueError):
            i = j = -1
        if not 0 <= i < len(self.rows) or not 0 <= j < len(self.columns):
            raise InvalidInput(f"block {place!r}; expected [row, column] of {len(self.rows)} x {len(self.columns)} blocks")
        return i, j

    def array(self):
        """The whole matrix, dense."""
        return np.block([[self[i, j] for j in range(len(self.columns))] for i in range(len(self.rows))])

    def multiply(self, other, *, alpha=1.0, eps=0.0, transpose=("N", "N")):
        """alpha op(A) op(B), without products and blocks of norms below eps, and a dict: products, skipped, flops, bound of
        the error, seconds. transpose: "N" or "T" of each."""
        if not isinstance(other, block_matrix):
            raise InvalidInput(f"other: {type(other).__name__} is no block_matrix", ["other"])
        if len(transpose) != 2 or any(letter not in ("N", "T") for letter in transpose):
            raise InvalidInput(f"transpose: {transpose!r}; expected two of N and T", ["transpose"])
        rows = self.rows if transpose[0] == "N" else self.columns
        columns = other.columns if transpose[1] == "N" else other.rows
        product, report = block_matrix(rows, columns), sized(BlockReport)
        call("block", "block_multiply", *(c_char(letter.encode()) for letter in transpose), c_double(alpha), self._handle,
             other._handle, c_double(0), product._handle, c_double(eps), c_int32(0), ctypes.byref(report))
        return product, members(report)

    def density(self, overlap=None, *, electrons=0.0, mu=0.0, method="sign", eps=1e-8):
        """The density matrix P of this symmetric H and an overlap S (None: 1), and its energy tr(P H). electrons: tr(P S); 0:
        mu, the chemical potential, is given. method: "sign", "trs4", "canonical" or "dense". Raises NotConverged and
        Inaccurate as modules/block_dft/capi/c_api.h says."""
        handle, energy, found = ctypes.c_void_p(), c_double(), c_double(mu)
        call("block", "block_density", self._handle, None if overlap is None else overlap._handle, text(method),
             c_double(electrons), ctypes.byref(found), c_double(eps), ctypes.byref(handle), ctypes.byref(energy),
             ctypes.POINTER(c_int32)())
        return block_matrix._of(handle.value, self.rows, self.columns, "symmetric"), energy.value

    def close(self):
        """Frees it now."""
        self._end()


def _sizes(sizes, name):
    found = np.asarray(sizes)
    if found.ndim != 1 or found.dtype.kind not in "iu" or found.size == 0:
        raise InvalidInput(f"{name}: {found.dtype} {found.shape}; expected the sizes of blocks", [name])
    return np.ascontiguousarray(found, dtype=np.int32)


def _destroy(handle):
    function = _library.library().quadrille_block_matrix_destroy
    function.restype = None
    function(ctypes.c_void_p(handle))
