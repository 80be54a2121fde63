"""Structures in files of the format XYZ, also the extended one, whose second line has Lattice="..." of a periodic box."""

import re

import numpy as np


class Structure:
    """`symbols` of elements, `positions` and, if periodic, `lattice`: three rows, in Angstrom; else None."""

    def __init__(self, symbols, positions, lattice):
        self.symbols, self.positions, self.lattice = symbols, positions, lattice


def read(path):
    """The structure in a file; ValueError says what is wrong with it, and where."""
    with open(path) as stream:
        lines = stream.read().splitlines()
    try:
        count = int(lines[0])
    except (IndexError, ValueError):
        raise ValueError(f"{path}: line 1 must be the number of atoms") from None
    atoms = lines[2:2 + count]
    if count < 1 or len(atoms) < count:
        raise ValueError(f"{path}: line 1 says {count} atoms, but {len(atoms)} follow")
    symbols, positions = zip(*(atom(path, number, line) for number, line in enumerate(atoms, 3)))
    return Structure(list(symbols), np.array(positions), lattice(path, lines[1]))


def atom(path, number, line):
    words = line.split()
    try:
        symbol, x, y, z = words[0], *map(float, words[1:4])
    except (IndexError, ValueError):
        raise ValueError(f"{path}: line {number} must be an element and x, y, z in Angstrom, got '{line}'") from None
    return symbol, (x, y, z)


def lattice(path, comment):
    found = re.search(r'Lattice="([^"]*)"', comment)
    if found is None:
        return None
    directions = re.search(r'pbc="([^"]*)"', comment)
    if directions and set(directions[1].split()) != {"T"}:
        raise ValueError(f"{path}: line 2: pbc=\"{directions[1]}\": a box must be periodic along all three edges, or have no Lattice")
    try:
        rows = np.array(found[1].split(), float).reshape(3, 3)
    except ValueError:
        raise ValueError(f"{path}: line 2: Lattice must be nine numbers, three edges in Angstrom, got \"{found[1]}\"") from None
    return rows
