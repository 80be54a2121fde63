"""Pair forces of molecular dynamics in quasi double precision."""

import collections
import ctypes

import numpy as np

from ._errors import InvalidInput
from ._modules import MdOptions, Owned, address, c_int32, c_int64, call, held, integers, matrix, number, sized, text

Result = collections.namedtuple("Result", "forces energy virial")
Result.__doc__ = """forces [particle, 3]; the energy; the virial [3, 3], the sum of f_a d_b over pairs."""


class forces(Owned):  # pylint: disable=invalid-name  # used as a function: forces(...)(positions)
    """Pair forces of a system: u = c12 / r^12 - c6 / r^6, and Coulomb's.

        system = q.md.forces(types, c12, c6, cutoff=1.2, skin=0.1)
        result = system(positions, box=[3, 3, 3])        # Result(forces, energy, virial)

    types: [particle], from 0. c12, c6: [types, types], symmetric. charges: [particle], with coulomb.
    method: "A" to "G" or "int64", how forces are summed (modules/md/METHODS.md); default: F. backend: "cpu", "cuda", "auto".
    coulomb: "none", "plain" or "reaction_field" with `dielectric`; coulomb_constant.
    cutoff: in a periodic box; without it all pairs in open space. skin: above 0 neighbour lists are kept from call to call.
    truncation: with a skin, "cut", "shifted_potential" or "shifted_force". exclusions: [number, 2] pairs without forces;
        afterwards=True subtracts them after all pairs have been summed, instead of leaving them out.
    """

    def __init__(self, types, c12, c6, *, charges=None, method=None, coulomb=None, coulomb_constant=1.0, cutoff=0.0,
                 dielectric=78.3, skin=0.0, truncation=None, exclusions=None, afterwards=False, backend=None):
        types = integers(types, "types", 1)
        c12 = matrix(c12, "c12")
        c6 = matrix(c6, "c6", shape=c12.shape)
        if c12.shape[0] != c12.shape[1]:
            raise InvalidInput(f"c12: shape {c12.shape}; expected [types, types]", ["c12"])
        if charges is not None:
            charges = matrix(np.reshape(charges, (1, -1)), "charges", shape=(1, len(types)))
        pairs = None if exclusions is None else integers(exclusions, "exclusions", 2)
        if pairs is not None and pairs.shape[1] != 2:
            raise InvalidInput(f"exclusions: shape {pairs.shape}; expected [number, 2]", ["exclusions"])
        options = sized(MdOptions)
        options.backend, options.method, options.coulomb, options.truncation = map(text, (backend, method, coulomb, truncation))
        options.coulomb_constant, options.cutoff = number(coulomb_constant, "coulomb_constant"), number(cutoff, "cutoff")
        options.dielectric, options.skin = number(dielectric, "dielectric"), number(skin, "skin")
        options.afterwards = int(bool(afterwards))
        if pairs is not None:
            options.exclusion_count, options.exclusions = len(pairs), pairs.ctypes.data
        handle = ctypes.c_void_p()
        call("md", "md_forces_create", c_int64(len(types)), address(types), address(charges), c_int32(len(c12)),
             address(c12), address(c6), ctypes.byref(options), ctypes.byref(handle))
        self.particles = len(types)
        self._take(handle.value, "md_forces_destroy")

    def __call__(self, positions, box=None):
        """The Result for positions [particle, 3] and, with a cutoff, the edges of the box [3]."""
        positions = matrix(positions, "positions", shape=(self.particles, 3))
        if box is not None:
            box = matrix(np.reshape(box, (1, -1)), "box", shape=(1, 3))
        found, energy, virial = np.empty_like(positions), ctypes.c_double(), np.empty((3, 3))
        with held(self) as (handle,):
            call("md", "md_forces_compute", handle, address(positions), address(box), address(found), ctypes.byref(energy),
                 address(virial))
        return Result(found, energy.value, virial)
