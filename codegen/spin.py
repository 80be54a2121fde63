"""Spin matrices with entries in the Gaussian integers, and rank-two factorization of projectors.

A number is a pair (re, im) of integers; a matrix is a tuple of four rows.
Basis: non-relativistic (UKQCD), gamma_k = [[0, i s_k], [-i s_k, 0]], gamma_4 = diag(1, 1, -1, -1),
gamma_5 = gamma_1 gamma_2 gamma_3 gamma_4 = [[0, 1], [1, 0]]; see core/field/spin_basis.h.
"""

ZERO, ONE, I = (0, 0), (1, 0), (0, 1)
AXES = "xyzt"


def multiply(a, b):
    return (a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0])


def add(a, b):
    return (a[0] + b[0], a[1] + b[1])


def negate(a):
    return (-a[0], -a[1])


def product(a, b):
    def element(i, j):
        total = ZERO
        for k in range(4):
            total = add(total, multiply(a[i][k], b[k][j]))
        return total

    return tuple(tuple(element(i, j) for j in range(4)) for i in range(4))


def matrix(rows):
    """A matrix from rows of complex numbers."""
    return tuple(tuple((int(x.real), int(x.imag)) for x in map(complex, row)) for row in rows)


IDENTITY = matrix([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])

GAMMA = (
    matrix([[0, 0, 0, 1j], [0, 0, 1j, 0], [0, -1j, 0, 0], [-1j, 0, 0, 0]]),
    matrix([[0, 0, 0, 1], [0, 0, -1, 0], [0, -1, 0, 0], [1, 0, 0, 0]]),
    matrix([[0, 0, 1j, 0], [0, 0, 0, -1j], [-1j, 0, 0, 0], [0, 1j, 0, 0]]),
    matrix([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, -1, 0], [0, 0, 0, -1]]),
)


def one_plus(sign, gamma):
    """1 + sign * gamma."""
    return tuple(
        tuple(add(IDENTITY[i][j], gamma[i][j] if sign > 0 else negate(gamma[i][j])) for j in range(4))
        for i in range(4)
    )


class Projector:
    """A rank-two spin matrix P, factored as P psi = R (H psi) with a half spinor of two components.

    `project[a]` lists (spin, coefficient) of half-spinor component a; `scale` is a common real factor taken out;
    `reconstruct` lists (spin, a, coefficient): result spin += coefficient * scale * h[a].
    """

    def __init__(self, rows):
        basis = []
        self.reconstruct = []
        for spin, row in enumerate(rows):
            if all(x == ZERO for x in row):
                continue
            for a, (first, _) in enumerate(basis):
                ratio = _ratio(row, rows[first])
                if ratio is not None:
                    self.reconstruct.append((spin, a, ratio))
                    break
            else:
                basis.append((spin, row))
                self.reconstruct.append((spin, len(basis) - 1, ONE))
        if len(basis) != 2:
            raise ValueError(f"a projector of rank {len(basis)}, not 2")
        self.scale = 2 if all(abs(x[0]) in (0, 2) and x[1] == 0 for _, row in basis for x in row) else 1
        self.project = [
            [(spin, (x[0] // self.scale, x[1] // self.scale)) for spin, x in enumerate(row) if x != ZERO]
            for _, row in basis
        ]


def _ratio(row, other):
    """The unit c in {1, -1, i, -i} with row = c * other, or None."""
    for c in (ONE, negate(ONE), I, negate(I)):
        if all(x == multiply(c, y) for x, y in zip(row, other)):
            return c
    return None
