#!/usr/bin/env python3
"""H and S that the tasks `density_matrix` and `eigen` read, by a tight-binding calculation (GFN1-xTB or GFN2-xTB) of tblite.

    tblite_matrices.py MOLECULE.xyz OUT.h5 [--method GFN1-xTB] [--charge 0] [--together 1]

The molecule, or with Lattice="..." in its second line (boxes.py) the periodic box, is calculated self-consistently at the
Gamma point; it must be a closed shell with a gap. Beside OUT.h5 there is then OUT.blocks, the number of orbitals of each
block: of --together successive atoms, as 3 of water.
"""

import argparse
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


def block_sizes(calculator, together=1):
    """Orbitals of each group of `together` successive atoms."""
    orbitals = np.asarray(calculator.get("shell-map"))[np.asarray(calculator.get("orbital-map"))]
    atoms = np.bincount(orbitals)
    if together < 1 or len(atoms) % together != 0:
        raise ValueError(f"{len(atoms)} atoms cannot be taken {together} together: their number must be a multiple")
    return atoms.reshape(-1, together).sum(axis=1)


def occupied(result):
    """The number of occupied orbitals."""
    occupations = np.asarray(result.get("orbital-occupations"))
    if np.minimum(abs(occupations), abs(occupations - 2)).max() > 1e-4:
        raise ValueError("this is no closed shell with a gap: orbitals must be doubly occupied or empty")
    return int(np.count_nonzero(occupations > 1))


def write(calculator, result, path, together=1):
    """Writes H (Hartree) and S of what `calculated` gave, and path with the ending .blocks. Returns the number of occupied
    orbitals, the `electrons` of the task density_matrix."""
    electrons, sizes = occupied(result), block_sizes(calculator, together)
    s = np.asarray(result.get("overlap-matrix"))
    with whole_text(os.path.splitext(path)[0] + ".blocks") as text, whole_file(path) as file:
        for name, matrix in (("H", hamiltonian(result, s)), ("S", (s + s.T) / 2)):
            file.create_dataset(name, data=matrix, chunks=tuple(min(256, side) for side in matrix.shape), compression=1)
        text.write("".join(f"{size}\n" for size in sizes))
    return electrons


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("molecule", type=molecule_file, help="XYZ file, in Angstrom")
    parser.add_argument("out", help="the HDF5 file to write")
    parser.add_argument("--method", choices=("GFN1-xTB", "GFN2-xTB"), default="GFN1-xTB")
    parser.add_argument("--charge", type=float, default=0)
    parser.add_argument("--together", type=int, default=1, help="successive atoms to a block")
    arguments = parser.parse_args()
    try:
        calculator, result = calculated(xyz.read(arguments.molecule), arguments.method, arguments.charge)
        print(f"electrons: {write(calculator, result, arguments.out, arguments.together)}")
    except ModuleNotFoundError as error:
        parser.error(f"{error.name} is not there: pip install tblite h5py")
    except (ValueError, OSError, RuntimeError) as error:
        sys.exit(f"{parser.prog}: {error}")


if __name__ == "__main__":
    main()
