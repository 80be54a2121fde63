#!/usr/bin/env python3
"""The integrals that the task `ri_mp2` reads, from PySCF: (ia|P), (P|Q) and orbital energies of a closed shell.

    pyscf_ri_mp2.py MOLECULE.xyz OUT.h5 [--basis cc-pvdz] [--auxbasis cc-pvdz-ri] [--frozen 0] [--charge 0] [--energy]

does a Hartree-Fock calculation first (density fitting: --fit). In a script of PySCF, after its own: write(mf, "out.h5").
"""

import argparse

import numpy as np
from pyscf import df, gto, scf

from whole_file import molecule_file, whole_file

BLOCK_BYTES = 2 ** 29  # of (mu nu|P) for some P at a time


def correlated(mf, frozen):
    """Coefficients and energies of the occupied and the virtual orbitals, without the lowest `frozen` ones."""
    if not mf.converged:
        raise ValueError("the Hartree-Fock calculation has not converged")
    occupations = np.asarray(mf.mo_occ)
    if occupations.ndim != 1 or not np.isin(occupations, (0, 2)).all():
        raise ValueError("this is no closed shell: ri_mp2 wants restricted orbitals, doubly occupied or empty")
    occupied, virtual = np.flatnonzero(occupations == 2), np.flatnonzero(occupations == 0)
    if not 0 <= frozen < len(occupied):
        raise ValueError(f"{frozen} frozen orbitals: there are {len(occupied)} occupied ones")
    occupied = occupied[frozen:]
    return (mf.mo_coeff[:, occupied], mf.mo_energy[occupied]), (mf.mo_coeff[:, virtual], mf.mo_energy[virtual])


def auxiliary(mol, auxbasis):
    """The auxiliary basis of this name; for None the one that belongs to the basis."""
    return df.make_auxmol(mol, auxbasis or df.make_auxbasis(mol, mp2fit=True))


def blocks(mol, aux):
    """Ranges of shells of the auxiliary basis, and of their functions."""
    first = aux.ao_loc_nr()
    most = max(1, BLOCK_BYTES // (8 * mol.nao ** 2))
    begin = 0
    while begin < aux.nbas:
        end = begin + 1
        while end < aux.nbas and first[end + 1] - first[begin] <= most:
            end += 1
        yield (begin, end), slice(first[begin], first[end])
        begin = end


def write(mf, path, auxbasis=None, frozen=0, energy=None):
    """Writes the file of the task ri_mp2. `mf`: a converged RHF; `frozen`: that many of the lowest orbitals are not
    correlated; `energy`: the correlation energy (Hartree) that the task compares its own with."""
    (occupied, eps_occupied), (virtual, eps_virtual) = correlated(mf, frozen)
    mol, aux = mf.mol, auxiliary(mf.mol, auxbasis)
    with whole_file(path) as file:
        file["eps_occ"], file["eps_vir"] = eps_occupied, eps_virtual
        file["P_Q"] = aux.intor("int2c2e")
        shape = occupied.shape[1], virtual.shape[1], aux.nao
        integrals = file.create_dataset("ia_P", shape, "f8")
        for shells, functions in blocks(mol, aux):
            of_basis = df.incore.aux_e2(mol, aux, "int3c2e", shls_slice=(0, mol.nbas, 0, mol.nbas, *shells))
            half = np.tensordot(occupied, of_basis, axes=(0, 0))
            integrals[:, :, functions] = np.matmul(virtual.T, half)
        if energy is not None:
            file.attrs["e_mp2_corr"] = energy


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("molecule", type=molecule_file, help="XYZ file, in Angstrom")
    parser.add_argument("out", help="the HDF5 file to write")
    parser.add_argument("--basis", default="cc-pvdz")
    parser.add_argument("--auxbasis", help="default: the one for MP2 that belongs to the basis")
    parser.add_argument("--charge", type=int, default=0)
    parser.add_argument("--frozen", type=int, default=0, help="lowest orbitals that are not correlated")
    parser.add_argument("--fit", action="store_true", help="Hartree-Fock with density fitting, for large molecules")
    parser.add_argument("--energy", action="store_true", help="also PySCF's own energy, for comparison")
    arguments = parser.parse_args()
    mol = gto.M(atom=arguments.molecule, basis=arguments.basis, charge=arguments.charge, verbose=0)
    mf = scf.RHF(mol)
    if arguments.fit:
        mf = mf.density_fit()
    mf.conv_tol = 1e-11
    mf.kernel()
    energy = None
    if arguments.energy:
        from pyscf.mp import dfmp2
        theirs = dfmp2.DFMP2(mf, frozen=arguments.frozen or None)
        theirs.with_df = df.DF(mol, auxbasis=auxiliary(mol, arguments.auxbasis).basis)
        energy = theirs.kernel(with_t2=False)[0]
        print(f"PySCF: {energy:.12f} Hartree")
    write(mf, arguments.out, arguments.auxbasis, arguments.frozen, energy)


if __name__ == "__main__":
    main()
