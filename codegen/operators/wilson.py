"""The Wilson operator and those that differ from it in what acts on a site: twisted mass, clover.

    M = A - D/2,   D psi(x) = sum_mu  c_mu (1 - g_mu) U_mu(x) psi(x+mu) + c_-mu (1 + g_mu) U_mu(x-mu)^+ psi(x-mu)

c is `spatial` (nu / xi0, 1 when isotropic) for x, y, z; in time `forward` and `backward`: exp of plus and minus the chemical
potential (P. Hasenfratz, F. Karsch, Phys. Lett. B 125 (1983) 308), 1 without. A is site-local: a number, with i mu g_5 for a twisted
mass, Hermitian chiral blocks for the clover term, or both. Even-odd preconditioning wants A z - H x and A^-1 H x: the terms
below.
D^+ = g_5 D g_5 with `forward` and `backward` exchanged, and g_5 exchanges the upper and lower two spin components: the
dagger is an exchange of addresses and of two numbers.
"""

from codegen.spin import AXES, GAMMA, Projector, one_plus
from codegen.terms import ChiralBlocks, Number, Twist

NAME = "wilson"
FLOPS_PER_SITE = 1320  # the standard count: 8 x (12 projection + 132 link times half spinor) + 7 x 24 accumulation
ON_SUM = (Number("b"), Twist("sum_twist"))  # the twist in units of b
ON_Z = (Number("a"), Twist("z_twist"))
# On either of these, with its twist in units of its number: a twist without blocks of its own is that of a number.
BLOCKS = ChiralBlocks("chiral")
BLOCKS_TWIST = Twist("chiral_twist")
TWIST_BLOCKS = ChiralBlocks("twist_chiral")


class Hop:
    """One term: the neighbour's direction (0..3 forward, 4..7 backward), its axis, its projector, its coefficient (by its name
    among the kernel's arguments) and its formula."""

    def __init__(self, mu, forward):
        self.direction = mu if forward else mu + 4
        self.mu = mu
        self.forward = forward
        self.coefficient = "spatial" if mu < 3 else "forward" if forward else "backward"
        self.projector = Projector(one_plus(-1 if forward else 1, GAMMA[mu]))
        axis = AXES[mu]
        self.formula = (
            f"(1 - g_{axis}) U_{axis}(x) psi(x+{axis})"
            if forward
            else f"(1 + g_{axis}) U_{axis}(x-{axis})^+ psi(x-{axis})"
        )


SPATIAL_HOPS = [Hop(mu, forward) for mu in range(3) for forward in (True, False)]
TIME_HOPS = [Hop(3, forward) for forward in (True, False)]
