"""Matrices in files of electronic-structure programs, and one whose density matrix is known: for the tests of block_dft."""

import struct

import numpy as np


def write_elsi(path, matrix):
    """A dense symmetric matrix as ELSI CSC: a head of 16 integers, column starts, row indices, values, all from 1."""
    n = len(matrix)
    starts, rows, values = [], [], []
    for column in range(n):
        starts.append(len(rows) + 1)
        for row in np.flatnonzero(matrix[:, column]):
            rows.append(row + 1)
            values.append(matrix[row, column])
    with open(path, "wb") as stream:
        stream.write(struct.pack("<16q", 170915, -910910, 0, n, 0, len(rows), *[0] * 10))
        stream.write(struct.pack(f"<{n}q", *starts))
        stream.write(struct.pack(f"<{len(rows)}i", *rows))
        stream.write(struct.pack(f"<{len(rows)}d", *values))


def read_elsi(path):
    with open(path, "rb") as stream:
        data = stream.read()
    head = struct.unpack_from("<16q", data)
    n, count = head[3], head[5]
    starts = list(struct.unpack_from(f"<{n}q", data, 128)) + [count + 1]
    rows = struct.unpack_from(f"<{count}i", data, 128 + 8 * n)
    values = struct.unpack_from(f"<{count}d", data, 128 + 8 * n + 4 * count)
    matrix = np.zeros((n, n))
    for column in range(n):
        for k in range(starts[column] - 1, starts[column + 1] - 1):
            matrix[rows[k] - 1, column] = values[k]
    return matrix


def write_cp2k(path, matrix):
    """A dense matrix as CP2K dumps it as text: row, column, value, from 1."""
    with open(path, "w") as stream:
        for row, column in np.argwhere(matrix):
            stream.write(f"{row + 1:8d}{column + 1:8d} {matrix[row, column]:.17e}\n")


class Insulator:
    """A chain of atoms with random couplings that fall off, a gap around 0, and an overlap that is not the identity."""

    def __init__(self, rng, atoms=40):
        self.sizes = rng.choice([2, 3, 5], atoms)
        atom = np.repeat(np.arange(atoms), self.sizes)
        n = len(atom)
        distance = np.abs(atom[:, None] - atom[None, :])
        fall = np.where((distance > 0) & (distance < 8), np.exp(-1.5 * distance), 0)

        def couplings(radius):
            matrix = rng.uniform(-1, 1, (n, n)) * fall
            matrix += matrix.T
            return matrix * radius / np.abs(matrix).sum(axis=1).max()

        self.h = couplings(0.5) + np.diag(np.where(np.arange(n) % 2 == 0, -1.0, 1.0))
        self.s = couplings(0.4) + np.eye(n)
        lower = np.linalg.inv(np.linalg.cholesky(self.s))
        self.levels, vectors = np.linalg.eigh(lower @ self.h @ lower.T)
        self.electrons = int(np.sum(self.levels < 0))
        occupied = lower.T @ vectors[:, :self.electrons]
        self.p = occupied @ occupied.T
        self.energy = float(np.sum(self.p * self.h))
