#!/usr/bin/env python3
"""Periodic boxes of the kinds of matter in the paper of Schütt et al., as extended XYZ files, for the other exporters.

    boxes.py water|glass|anatase OUT.xyz [--copies 1 1 1] [--jitter 0.1] [--seed 1]

    water     32 molecules in a cell, on an fcc lattice at 1 g/cm^3, of random orientations
    glass     64 SiO2 in a cell, a random network at 2.2 g/cm^3, all of whose Si have four O and all of whose O two Si
    anatase   4 TiO2 in a cell, the crystal

--copies repeats the cell along x, y, z; all copies of water differ, the others by --jitter alone: every atom (of water,
every molecule) is moved by random numbers in [-jitter, jitter) Angstrom along each axis. Atoms of a molecule are successive.
"""

import argparse
import itertools
import sys

import numpy as np

from whole_file import whole_text

WATER_VOLUME = 29.97  # of a molecule, Angstrom^3
BOND, HALF_ANGLE = 0.9572, np.deg2rad(104.52 / 2)
SILICA_VOLUME = 45.35  # of SiO2
SI_O, O_O = 1.61, 2.63
ANATASE_A, ANATASE_C, ANATASE_U = 3.784, 9.515, 0.2081
FACES = np.array([(0, 0, 0), (0, 0.5, 0.5), (0.5, 0, 0.5), (0.5, 0.5, 0)])  # of an fcc cell


def places(cell, copies):
    """The points `cell` (shares of a cell's edges) of all copies, in units of an edge."""
    corners = np.array(list(itertools.product(*(range(count) for count in copies))), float)
    return (corners[:, None, :] + cell[None, :, :]).reshape(-1, 3)


def between(first, others, edges):
    """Vectors from `others` to `first`, of the nearest images."""
    apart = first - others
    return apart - edges * np.round(apart / edges)


def molecule(random):
    """O, H, H around O, in a random orientation."""
    axes, _ = np.linalg.qr(random.normal(size=(3, 3)))
    along, across = BOND * np.cos(HALF_ANGLE) * axes[0], BOND * np.sin(HALF_ANGLE) * axes[1]
    return np.array([np.zeros(3), along + across, along - across])


def water(copies, jitter, random):
    """Each molecule takes of 20 random orientations the one that keeps it farthest from those before it."""
    side = (4 * WATER_VOLUME) ** (1 / 3)
    edges = 2 * side * np.array(copies)
    oxygens = side * places(FACES, 2 * np.array(copies))
    oxygens += random.uniform(-jitter, jitter, oxygens.shape)
    atoms = np.empty((len(oxygens), 3, 3))
    for number, oxygen in enumerate(oxygens):
        near = np.linalg.norm(between(oxygen, oxygens[:number], edges), axis=1) < 2 * side
        neighbours = atoms[:number][near].reshape(-1, 3)
        trials = [oxygen + molecule(random) for _ in range(20)]
        atoms[number] = max(trials, key=lambda trial: closest(trial, neighbours, edges))
    return ["O", "H", "H"] * len(oxygens), atoms.reshape(-1, 3), edges


def closest(first, second, edges):
    """The least distance between two groups of atoms."""
    if len(second) == 0:
        return np.inf
    return np.linalg.norm(between(first[:, None, :], second[None, :, :], edges), axis=2).min()


def anatase(copies, jitter, random):
    titanium = np.array([(0, 0, 0), (0, 0.5, 0.25), (0.5, 0.5, 0.5), (0.5, 0, 0.75)])
    unit = (titanium[:, None, :] + np.array([(0, 0, 0), (0, 0, ANATASE_U), (0, 0, -ANATASE_U)])).reshape(-1, 3)
    edge = np.array([ANATASE_A, ANATASE_A, ANATASE_C])
    atoms = edge * places(unit, copies)
    return ["Ti", "O", "O"] * (len(atoms) // 3), atoms + random.uniform(-jitter, jitter, atoms.shape), edge * copies


class Springs:
    """Pairs of atoms with their natural distances."""

    def __init__(self):
        self.pairs, self.lengths, self.stiffness = [], [], []

    def add(self, pairs, length, stiffness):
        self.pairs += pairs
        self.lengths += [length] * len(pairs)
        self.stiffness += [stiffness] * len(pairs)

    def relax(self, atoms, edge, nearest, steps):
        """Moves the atoms (in place) downhill; those without a spring push each other away when nearer than `nearest`.
        Returns the energy."""
        first, second = np.array(self.pairs).T
        lengths, stiffness = np.array(self.lengths), np.array(self.stiffness)
        apart = np.triu(np.ones((len(atoms), len(atoms)), bool), 1)
        apart[first, second] = apart[second, first] = False
        every, other = np.nonzero(apart)
        speed, step = np.zeros_like(atoms), 0.15
        for _ in range(steps):
            energy, force = pull(atoms, edge, first, second, lengths, stiffness)
            close = np.linalg.norm(between(atoms[every], atoms[other], edge), axis=1) < nearest
            if close.any():
                more, push = pull(atoms, edge, every[close], other[close], nearest, 1.0)
                energy, force = energy + more, force + push
            if (speed * force).sum() < 0:
                speed[:] = 0
            speed += step * force
            atoms += step * speed
        return energy


def pull(atoms, edge, first, second, lengths, stiffness):
    """Energy and forces of springs."""
    apart = between(atoms[first], atoms[second], edge)
    distances = np.linalg.norm(apart, axis=1)
    stretch = distances - lengths
    each = -(stiffness * stretch / distances)[:, None] * apart
    force = np.zeros_like(atoms)
    np.add.at(force, first, each)
    np.add.at(force, second, -each)
    return 0.5 * (stiffness * stretch**2).sum(), force


class Network:
    """Si atoms in a periodic cube, each bonded to four others: a diamond lattice made amorphous by switching bonds (Wooten,
    Winer and Weaire, Phys. Rev. Lett. 54, 1392), then with an O on every bond."""

    LENGTH = 3.09  # of Si-Si, Angstrom
    SWITCHES = 300
    HOTTEST = 1.2  # in the units of the springs' energy, falling to 0

    def __init__(self, random):
        self.random = random
        unit = np.concatenate([FACES, FACES + 0.25])
        self.edge = (64 * SILICA_VOLUME) ** (1 / 3)
        self.silicon = self.edge / 2 * places(unit, (2, 2, 2))
        self.bonds = [set() for _ in self.silicon]
        for first, second in itertools.combinations(range(64), 2):
            if np.linalg.norm(between(self.silicon[first], self.silicon[second], self.edge)) < 1.1 * self.LENGTH:
                self.bond(first, second)

    def bond(self, first, second):
        self.bonds[first].add(second)
        self.bonds[second].add(first)

    def part(self, first, second):
        self.bonds[first].remove(second)
        self.bonds[second].remove(first)

    def pairs(self):
        return [(first, second) for first, near in enumerate(self.bonds) for second in near if first < second]

    def relax(self, steps):
        springs = Springs()
        springs.add(self.pairs(), self.LENGTH, 1.0)
        corners = {tuple(sorted(two)) for near in self.bonds for two in itertools.combinations(near, 2)}
        springs.add(sorted(corners), np.sqrt(8 / 3) * self.LENGTH, 0.3)
        return springs.relax(self.silicon, self.edge, 3.8, steps)

    def pick(self, of, unlike):
        return self.random.choice(sorted(self.bonds[of] - {unlike}))

    def switched(self):
        """a-b-c-d becomes a-c, b-d beside b-c; returns the four, or None where these are bonded already."""
        b = self.random.integers(64)
        c = self.pick(b, None)
        a, d = self.pick(b, c), self.pick(c, b)
        if a == d or a in self.bonds[c] or d in self.bonds[b]:
            return None
        for change, one, two in ((self.part, a, b), (self.part, c, d), (self.bond, a, c), (self.bond, b, d)):
            change(one, two)
        return a, b, c, d

    def randomize(self):
        energy = self.relax(40)
        for count in range(self.SWITCHES):
            before = self.silicon.copy()
            four = self.switched()
            if four is None:
                continue
            now = self.relax(40)
            heat = self.HOTTEST * (1 - count / self.SWITCHES)
            if now < energy - heat * np.log(1 - self.random.random()):
                energy = now
                continue
            a, b, c, d = four
            for change, one, two in ((self.part, a, c), (self.part, b, d), (self.bond, a, b), (self.bond, c, d)):
                change(one, two)
            self.silicon = before

    def with_oxygen(self):
        """Si, then the O of its bonds to later ones: symbols and positions."""
        self.randomize()
        pairs = self.pairs()
        middles = [self.silicon[one] - between(self.silicon[one], self.silicon[two], self.edge) / 2 for one, two in pairs]
        atoms = np.concatenate([self.silicon, middles + self.random.uniform(-0.3, 0.3, (len(pairs), 3))])
        springs = Springs()
        springs.add([(end, 64 + bond) for bond, two in enumerate(pairs) for end in two], SI_O, 1.0)
        around = [[64 + bond for bond, two in enumerate(pairs) if silicon in two] for silicon in range(64)]
        springs.add([two for four in around for two in itertools.combinations(four, 2)], O_O, 0.3)
        springs.add(pairs, self.LENGTH, 0.05)
        springs.relax(atoms, self.edge, 2.5, 1000)
        return ["Si"] * 64 + ["O"] * len(pairs), atoms


def glass(copies, jitter, random):
    network = Network(random)
    symbols, cell = network.with_oxygen()
    atoms = network.edge * places(cell / network.edge, copies)
    return symbols * int(np.prod(copies)), atoms + random.uniform(-jitter, jitter, atoms.shape), network.edge * np.array(copies)


KINDS = {"water": water, "glass": glass, "anatase": anatase}


def write(kind, path, copies=(1, 1, 1), jitter=0.1, seed=1):
    """Writes a box of a kind (a key of KINDS). Returns its number of atoms."""
    symbols, atoms, edges = KINDS[kind](np.array(copies), jitter, np.random.default_rng(seed))
    lattice = " ".join(f"{number:.8f}" for number in np.diag(edges).ravel())
    with whole_text(path) as file:
        file.write(f'{len(symbols)}\nLattice="{lattice}" Properties=species:S:1:pos:R:3 pbc="T T T"\n')
        file.writelines(f"{symbol:2s} {x:14.8f} {y:14.8f} {z:14.8f}\n" for symbol, (x, y, z) in zip(symbols, atoms))
    return len(symbols)


def count(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number}: there must be one copy or more")
    return number


def length(text):
    number = float(text)
    if not 0 <= number <= 0.3:
        raise argparse.ArgumentTypeError(f"{text}: atoms are moved by 0 to 0.3 Angstrom, farther they would meet")
    return number


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=sorted(KINDS))
    parser.add_argument("out", help="the file to write")
    parser.add_argument("--copies", type=count, nargs=3, default=(1, 1, 1), metavar=("A", "B", "C"), help="default: 1 1 1")
    parser.add_argument("--jitter", type=length, default=0.1, help="in Angstrom; default: 0.1")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    try:
        print(f"atoms: {write(arguments.kind, arguments.out, arguments.copies, arguments.jitter, arguments.seed)}")
    except OSError as error:
        sys.exit(f"{parser.prog}: {error}")


if __name__ == "__main__":
    main()
