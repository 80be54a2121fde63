#!/usr/bin/env python3
"""The Fock (or Kohn-Sham) matrix H and the overlap matrix S that the tasks `density_matrix` and `eigen` read, from PySCF.

    pyscf_matrices.py MOLECULE.xyz OUT.h5 [--basis cc-pvdz] [--xc pbe] [--charge 0] [--cell A B C]

does a closed-shell calculation first: Hartree-Fock, or with a functional Kohn-Sham; with --cell, the edges of a box in
Angstrom, periodic at the Gamma point with GTH pseudopotentials. In a script of PySCF, after its own: write(mf, "out.h5").
Beside OUT.h5 there is then OUT.blocks, the number of orbitals of each atom.
"""

import argparse
import os

import numpy as np
from pyscf import dft, gto, scf
from pyscf.pbc import dft as pbcdft
from pyscf.pbc import gto as pbcgto

from whole_file import molecule_file, whole_file, whole_text


def write(mf, path):
    """Writes H and S of a converged restricted calculation, Hartree, and path with the ending .blocks. At a k point
    H and S are complex; of several k points each is a calculation of its own. Returns the number of occupied orbitals,
    the `electrons` of the task density_matrix."""
    if not mf.converged:
        raise ValueError("the calculation has not converged")
    h, s = np.asarray(mf.get_fock()), np.asarray(mf.get_ovlp())
    if h.ndim != 2:
        raise ValueError(f"H has the shape {h.shape}: it must be one matrix, of a closed shell and of one k point")
    if not np.isin(mf.mo_occ, (0, 2)).all():
        raise ValueError("this is no closed shell: orbitals must be doubly occupied or empty")
    sizes = [end - begin for begin, end in mf.mol.aoslice_by_atom()[:, 2:]]
    with whole_text(os.path.splitext(path)[0] + ".blocks") as text, whole_file(path) as file:
        file["H"], file["S"] = h, s
        text.write("".join(f"{size}\n" for size in sizes if size > 0))
    return mf.mol.nelectron // 2


def calculation(arguments):
    common = {"atom": arguments.molecule, "charge": arguments.charge, "verbose": 0}
    if arguments.cell is None:
        mol = gto.M(basis=arguments.basis or "cc-pvdz", **common)
        return scf.RHF(mol) if arguments.xc is None else dft.RKS(mol, xc=arguments.xc)
    cell = pbcgto.M(a=np.diag(arguments.cell), basis=arguments.basis or "gth-dzvp", pseudo="gth-pbe", **common)
    return pbcdft.RKS(cell, xc=arguments.xc or "pbe").density_fit()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("molecule", type=molecule_file, help="XYZ file, in Angstrom")
    parser.add_argument("out", help="the HDF5 file to write")
    parser.add_argument("--basis", help="default: cc-pvdz; in a cell gth-dzvp")
    parser.add_argument("--xc", help="functional; default: Hartree-Fock, in a cell pbe")
    parser.add_argument("--charge", type=int, default=0)
    parser.add_argument("--cell", type=float, nargs=3, metavar=("A", "B", "C"))
    arguments = parser.parse_args()
    mf = calculation(arguments)
    mf.conv_tol = 1e-10
    mf.kernel()
    print(f"electrons: {write(mf, arguments.out)}")


if __name__ == "__main__":
    main()
