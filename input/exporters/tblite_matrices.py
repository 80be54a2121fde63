#!/usr/bin/env python3
"""H and S that the tasks `density_matrix` and `eigen` read, by a tight-binding calculation (GFN1-xTB or GFN2-xTB) of tblite.

    tblite_matrices.py MOLECULE.xyz OUT.h5 [--method GFN1-xTB] [--charge 0] [--together 1] [--copies 1 1 1]

The molecule, or with Lattice="..." in its second line (boxes.py) the periodic box, is calculated self-consistently at the
Gamma point; it must be a closed shell with a gap. Beside OUT.h5 there is then OUT.blocks, the number of orbitals of each
block: of --together successive atoms, as 3 of water. --copies writes the matrices of a larger box, made of copies of
the calculated one: each pair of atoms keeps its elements at its nearest images, which is right if those of atoms half an
edge apart are negligible; how large they are is printed.
"""

import argparse
import itertools
import os
import sys

import numpy as np

import xyz
from whole_file import molecule_file, whole_file, whole_text

ANGSTROM = 1 / 0.529177210903  # Bohr
ROUNDING = 1e-12  # elements of H below this are what is left of zeros


def calculated(structure, method="GFN1-xTB", charge=0):
    """The calculator and its result."""
    from tblite.interface import SYMBOL_TO_NUMBER, Calculator
    unknown = sorted(set(structure.symbols) - set(SYMBOL_TO_NUMBER))
    if unknown:
        raise ValueError(f"{', '.join(unknown)}: no element has this symbol")
    box = {}
    if structure.lattice is not None:
        box = {"lattice": ANGSTROM * structure.lattice, "periodic": np.ones(3, bool)}
    numbers = np.array([SYMBOL_TO_NUMBER[symbol] for symbol in structure.symbols])
    calculator = Calculator(method, numbers, ANGSTROM * structure.positions, charge=charge, **box)
    calculator.set("save-integrals", 1)
    calculator.set("verbosity", 0)
    return calculator, calculator.singlepoint()


def hamiltonian(result, overlap):
    """The self-consistent H = S C e C^T S: tblite keeps the integrals of the bare one only."""
    half = overlap @ np.asarray(result.get("orbital-coefficients"))
    h = (half * np.asarray(result.get("orbital-energies"))) @ half.T
    h[np.abs(h) < ROUNDING] = 0
    return (h + h.T) / 2


def orbital_atoms(calculator):
    """The atom of each orbital."""
    return np.asarray(calculator.get("shell-map"))[np.asarray(calculator.get("orbital-map"))]


def block_sizes(calculator, together=1):
    """Orbitals of each group of `together` successive atoms."""
    atoms = np.bincount(orbital_atoms(calculator))
    if together < 1 or len(atoms) % together != 0:
        raise ValueError(f"{len(atoms)} atoms cannot be taken {together} together: their number must be a multiple")
    return atoms.reshape(-1, together).sum(axis=1)


def occupied(result):
    """The number of occupied orbitals."""
    occupations = np.asarray(result.get("orbital-occupations"))
    if np.minimum(abs(occupations), abs(occupations - 2)).max() > 1e-4:
        raise ValueError("this is no closed shell with a gap: orbitals must be doubly occupied or empty")
    return int(np.count_nonzero(occupations > 1))


class Copies:
    """A box of `copies` of a calculated one along each edge; `structure`: that one, `atoms`: of its orbitals."""

    def __init__(self, copies, structure=None, atoms=None):
        self.copies = np.array(copies)
        self.count = int(self.copies.prod())
        self.apart = None  # of the orbitals, in units of the edges
        if self.count > 1:
            if structure.lattice is None:
                raise ValueError("a molecule without Lattice has no copies")
            shares = (structure.positions @ np.linalg.inv(structure.lattice))[atoms]
            self.apart = shares[None, :, :] - shares[:, None, :]

    def tiles(self, matrix):
        """(row, column, tile) for the tiles of the large matrix that are not zero: sums of parts of the small one, which
        are pairs of orbitals whose nearest images are as many boxes apart."""
        if self.apart is None:
            yield 0, 0, matrix
            return
        boxes = -np.round(self.apart).astype(int)
        parts = {}
        ranges = (range(low, high + 1) for low, high in zip(boxes.min(axis=(0, 1)), boxes.max(axis=(0, 1))))
        for step in itertools.product(*ranges):
            part = np.where((boxes == step).all(axis=2), matrix, 0)
            if part.any():
                parts[step] = part
        for row, place in enumerate(np.ndindex(*self.copies)):
            tiles = {}
            for step, part in parts.items():
                column = int(np.ravel_multi_index((place + np.array(step)) % self.copies, self.copies))
                tiles[column] = tiles.get(column, 0) + part
            for column, tile in tiles.items():
                yield row, column, tile

    def left(self, matrix):
        """The largest element of orbitals that are more than 0.45 edges apart."""
        far = (np.abs(self.apart - np.round(self.apart)) > 0.45).any(axis=2)
        return np.abs(matrix[far]).max(initial=0)


def put(file, name, matrix, copies):
    side = matrix.shape[0]
    data = file.create_dataset(name, (side * copies.count,) * 2, "f8", chunks=(min(256, side),) * 2, compression=1)
    for row, column, tile in copies.tiles(matrix):
        data[row * side:(row + 1) * side, column * side:(column + 1) * side] = tile


def write(calculator, result, path, together=1, structure=None, copies=(1, 1, 1)):
    """Writes H (Hartree) and S of what `calculated` gave, and path with the ending .blocks; with `copies` those of a box
    of so many of the structure. Returns the number of occupied orbitals, the `electrons` of the task density_matrix."""
    electrons, sizes = occupied(result), block_sizes(calculator, together)
    box = Copies(copies, structure, orbital_atoms(calculator))
    s = np.asarray(result.get("overlap-matrix"))
    h, s = hamiltonian(result, s), (s + s.T) / 2
    with whole_text(os.path.splitext(path)[0] + ".blocks") as text, whole_file(path) as file:
        put(file, "H", h, box)
        put(file, "S", s, box)
        text.write("".join(f"{size}\n" for size in sizes) * box.count)
    if box.count > 1:
        print(f"largest elements half an edge apart: H {box.left(h):.1e}, S {box.left(s):.1e}", file=sys.stderr)
    return electrons * box.count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("molecule", type=molecule_file, help="XYZ file, in Angstrom")
    parser.add_argument("out", help="the HDF5 file to write")
    parser.add_argument("--method", choices=("GFN1-xTB", "GFN2-xTB"), default="GFN1-xTB")
    parser.add_argument("--charge", type=float, default=0)
    parser.add_argument("--together", type=int, default=1, help="successive atoms to a block")
    parser.add_argument("--copies", type=int, nargs=3, default=(1, 1, 1), metavar=("A", "B", "C"), help="of the box")
    arguments = parser.parse_args()
    if min(arguments.copies) < 1:
        parser.error(f"--copies {' '.join(map(str, arguments.copies))}: there must be one copy or more")
    try:
        structure = xyz.read(arguments.molecule)
        calculator, result = calculated(structure, arguments.method, arguments.charge)
        electrons = write(calculator, result, arguments.out, arguments.together, structure, arguments.copies)
        print(f"electrons: {electrons}")
    except ModuleNotFoundError as error:
        parser.error(f"{error.name} is not there: pip install tblite h5py")
    except (ValueError, OSError, RuntimeError) as error:
        sys.exit(f"{parser.prog}: {error}")


if __name__ == "__main__":
    main()
