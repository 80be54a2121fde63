"""Site-local terms: what an operator's file says that a kernel does with the hops' sum and with z, beyond numbers.

The result of a kernel is

    y = L (b D x) + R z,     L and R one of:  number + i twist gamma_5,  or  number B + i twist gamma_5 C

with chiral blocks B and C, or C = 1. One of the two at most has blocks. D is the hopping term. Which of them acts is a
matter of the call (SiteTerm in dirac/hop_kernel.h), not of the kernel: a term that a call does not name costs a comparison.
All commute with the exchange of the upper and lower spins, which is gamma_5 in the UKQCD basis, so that the dagger is an
exchange of addresses for them, too, with -twist.
"""

import typing


class Number(typing.NamedTuple):
    """A real number; `of` names it among the kernel's arguments."""

    of: str


class Twist(typing.NamedTuple):
    """i twist gamma_5 (twisted mass): exchanges the halves of a spinor; `of` names the number."""

    of: str


class ChiralBlocks(typing.NamedTuple):
    """A Hermitian 6 x 6 matrix for each chirality (the clover term, its inverse): in the UKQCD basis upper +- lower spins are
    the chiralities, and the matrices are stored halved, so that (u, l) -> (w+ + w-, w+ - w-) with w+- = B+- (u +- l).
    `of` names the field: for each chirality, + first, the diagonal's six real numbers and then the 15 complex ones below it,
    row after row."""

    of: str
    size: int = 6

    @property
    def numbers(self):
        """Real numbers of one chirality."""
        return self.size * self.size
