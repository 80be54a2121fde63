"""Block-sparse matrices."""

import ctypes

import numpy as np

from ._errors import BY_STATUS, DONE, INACCURATE, NOT_CONVERGED, InvalidInput
from ._modules import (BlockReport, Owned, address, c_char, c_double, c_int32, c_int64, call, held, integers, matrix, members,
                       number, sized, text)

DESTROY = "block_matrix_destroy"
SYMMETRIES = {"general": 0, "symmetric": 1, "antisymmetric": 2}


class block_matrix(Owned):  # pylint: disable=invalid-name  # used as a function
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
        self._take(handle.value, DESTROY)

    @classmethod
    def _of(cls, handle, rows, columns, symmetry):
        made = cls.__new__(cls)
        made.rows, made.columns, made.symmetry = rows, columns, symmetry
        made._take(handle, DESTROY)
        return made

    @classmethod
    def from_dense(cls, dense, rows, columns=None, symmetry="general", eps=0.0):
        """The blocks of a dense matrix whose Frobenius norm is above eps. Of a symmetric or antisymmetric one the upper triangle
        is read; InvalidInput where the lower one differs by more than 1e-8 of the largest element."""
        made = cls(rows, columns, symmetry)
        dense = matrix(dense, "dense", shape=(made.rows.sum(), made.columns.sum()))
        if symmetry != "general":
            _demand_symmetry(dense, symmetry)
        row_ends, column_ends = np.cumsum(made.rows), np.cumsum(made.columns)
        blocks = []
        for i, end in enumerate(row_ends):
            for j, column_end in enumerate(column_ends):
                block = dense[end - made.rows[i]:end, column_end - made.columns[j]:column_end]
                if (symmetry == "general" or i <= j) and not np.linalg.norm(block) <= eps:  # also a NaN, to be refused
                    blocks.append((i, j, block))
        places = np.array([block[:2] for block in blocks], dtype=np.int32).reshape(-1, 2)
        with held(made) as (handle,):
            call("block", "block_matrix_reserve", handle, c_int64(len(places)), address(places))
        for i, j, block in blocks:
            made[i, j] = block
        return made

    def __setitem__(self, place, block):
        i, j = self._place(place)
        block = matrix(block, "block", shape=(self.rows[i], self.columns[j]))
        with held(self) as (handle,):
            call("block", "block_matrix_put", handle, c_int32(i), c_int32(j), address(block), c_int32(0))

    def __getitem__(self, place):
        """The block, zeros if it is not stored."""
        i, j = self._place(place)
        block = np.empty((self.rows[i], self.columns[j]))
        with held(self) as (handle,):
            call("block", "block_matrix_get", handle, c_int32(i), c_int32(j), address(block), ctypes.POINTER(c_int32)())
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
        _demand_block_matrix(other, "other")
        if len(transpose) != 2 or any(letter not in ("N", "T") for letter in transpose):
            raise InvalidInput(f"transpose: {transpose!r}; expected two of N and T", ["transpose"])
        alpha, eps = (c_double(number(value, name)) for value, name in ((alpha, "alpha"), (eps, "eps")))
        rows = self.rows if transpose[0] == "N" else self.columns
        columns = other.columns if transpose[1] == "N" else other.rows
        product, report = block_matrix(rows, columns), sized(BlockReport)
        with held(self, other, product) as (a, b, c):
            call("block", "block_multiply", *(c_char(letter.encode()) for letter in transpose), alpha, a, b,
                 c_double(0), c, eps, c_int32(0), ctypes.byref(report))
        return product, members(report)

    def density(self, overlap=None, *, electrons=0.0, mu=0.0, method="sign", eps=1e-8):
        """The density matrix P of this symmetric H and an overlap S (None: 1), and its energy tr(P H). electrons: tr(P S); 0:
        mu, the chemical potential, is given. method: "sign", "trs4", "canonical" or "dense". Raises NotConverged and
        Inaccurate, with (P, energy) as `results`, as modules/block_dft/capi/c_api.h says."""
        if overlap is not None:
            _demand_block_matrix(overlap, "overlap")
        made, energy, found = ctypes.c_void_p(), c_double(), c_double(number(mu, "mu"))
        electrons, eps = (c_double(number(value, name)) for value, name in ((electrons, "electrons"), (eps, "eps")))
        with held(self, *([] if overlap is None else [overlap])) as (h, *s):
            status, said = call("block", "block_density", h, s[0] if s else None, text(method), electrons,
                                ctypes.byref(found), eps, ctypes.byref(made), ctypes.byref(energy),
                                ctypes.POINTER(c_int32)(), may_fail=(NOT_CONVERGED, INACCURATE))
        results = block_matrix._of(made.value, self.rows, self.columns, "symmetric"), energy.value
        if status != DONE:
            raise BY_STATUS[status](said, results=results)
        return results


def _demand_block_matrix(given, name):
    if not isinstance(given, block_matrix):
        raise InvalidInput(f"{name}: {type(given).__name__} is not a block_matrix; make one with quadrille.block_matrix(...)",
                           [name])


def _demand_symmetry(dense, symmetry):
    wrong = abs(dense - (dense.T if symmetry == "symmetric" else -dense.T))
    if wrong.max() > 1e-8 * abs(dense).max():
        i, j = np.unravel_index(wrong.argmax(), wrong.shape)
        raise InvalidInput(f"dense: not {symmetry}: {dense[i, j]} at [{i}, {j}], {dense[j, i]} at [{j}, {i}]",
                           ["dense", "symmetry"])


def _sizes(sizes, name):
    found = integers(sizes, name, 1, lowest=1)
    if found.size == 0:
        raise InvalidInput(f"{name}: expected the sizes of blocks, one at least", [name])
    return found
