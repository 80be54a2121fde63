"""Dirac operators."""

from . import _arrays, _library
from ._context import Handle
from ._errors import InvalidInput
from ._gauge import Gauge
from ._words import Words

# quadrille_product; the systems of a solver have the same names.
PRODUCTS = {"m": 0, "m_dagger": 1, "m_dagger_m": 2, "hop": 3, "hop_dagger": 4, "even_odd": 5, "even_odd_dagger": 6,
            "even_odd_normal": 7}
SUBSETS = ("full", "even", "odd")
SITE_ORDERS = ("lexicographic", "even_odd", "odd_even", "openqcd")
TIME_BOUNDARIES = ("periodic", "antiperiodic")


def operator(gauge, type=None, *, boundary=None, **words):  # pylint: disable=redefined-builtin
    """A Dirac operator on a gauge field, M = m + 4 - D/2 in the mass normalization.

        q.operator(gauge, "wilson", kappa=0.125)
        q.operator(gauge, "clover", mass=-0.79, csw=1.769)

    type: "wilson", "clover", "twisted_mass" or "twisted_clover"; or a dict with all words.
    boundary: of fermions, four of "periodic", "antiperiodic" and {"phase": theta / pi} for x, y, z, t; a single word is
        that of t, with periodic boundaries in space (the default: antiperiodic in t). It goes before that of a dict.
    words: the operator block of a job, below.
    """
    if not isinstance(gauge, Gauge):
        raise InvalidInput(f"gauge: {gauge.__class__.__name__} is not a gauge field; make one with quadrille.gauge(...)", ["gauge"])
    words = _with_type(type, words)
    if boundary is not None:
        words["boundary"] = boundary
    elif words.get("boundary") is None:
        words["boundary"] = "antiperiodic"
    if isinstance(words["boundary"], str) and words["boundary"] in TIME_BOUNDARIES:
        words["boundary"] = ["periodic"] * 3 + [words["boundary"]]
    text = Words(words)
    return Operator(gauge, gauge.context.made("operator_create", gauge.handle, text), words)


def _with_type(kind, words):
    """The words of a block whose type is the argument `kind`, which may be a dict of them."""
    if isinstance(kind, dict):
        return {**kind, **words}
    return {"type": kind, **words}


class Operator(Handle):
    """A Dirac operator; quadrille.operator makes one. `words`: what it was made from."""

    def __init__(self, gauge, handle, words):
        super().__init__(gauge.context, handle, _library.library().quadrille_operator_destroy)
        self.gauge, self.words = gauge, words

    def site_shape(self, subset=None, sites=None):
        """The shape of a spinor's site axes, and what they are called. Words that decide on it are checked before arrays."""
        for name, word, words in (("subset", subset, SUBSETS), ("sites", sites, SITE_ORDERS)):
            if word is not None and not (isinstance(word, str) and word in words):
                raise InvalidInput(f"{name}: {word!r}; expected one of {', '.join(words)}", [name])
        whole = subset in (None, "full")
        if whole and sites in (None, "lexicographic"):
            return self.gauge.sites, "t, z, y, x"
        return (self.gauge.volume if whole else self.gauge.volume // 2,), "site"

    def apply(self, psi, product="m", *, out=None, **words):
        """P psi in double precision, P one of m, m_dagger, m_dagger_m; and with subset="even" or "odd" even_odd,
        even_odd_dagger, even_odd_normal, hop, hop_dagger (of the hopping term the parity of the result).

        psi: [t, z, y, x, spin, color], or [site, spin, color] with `subset` or another order of `sites`.
        out: overwritten with the result; may be psi. words: basis, normalization, subset, sites: see quadrille.solver.
        """
        if product not in PRODUCTS:
            raise InvalidInput(f"product: {product!r}; expected one of {', '.join(PRODUCTS)}", ["product"])
        shape, axes = self.site_shape(words.get("subset"), words.get("sites"))
        given = _arrays.Spinors(psi, shape, "psi", axes)
        result, out = output_for(given, out, shape, axes)
        text = Words({**given.words, **words, "bytes": given.bytes})
        self.context.call("operator_apply", self.handle, PRODUCTS[product], text.encoded(),
                          _arrays.pointers(given.addresses), _arrays.pointers(out.addresses), 1, words=text)
        return result

    def __call__(self, psi, **more):
        """M psi."""
        return self.apply(psi, "m", **more)

    def dagger(self, psi, **more):
        """M^+ psi."""
        return self.apply(psi, "m_dagger", **more)

    def set_clover(self, blocks, **words):
        """Replaces the clover term, without i mu gamma_5, by blocks [t, z, y, x, chirality, 6, 6]: a Hermitian 6 x 6 matrix
        for spins 0 and 1 of the DeGrand-Rossi basis, then one for spins 2 and 3; rows and columns are 3 spin + color."""
        view = _arrays.view_of(blocks, "blocks")
        shape = (*self.gauge.sites, 2, 6, 6)
        if view.shape != shape or not view.contiguous(len(shape)):
            raise InvalidInput(f"blocks: shape {view.shape}; expected {shape} in C order, [t, z, y, x, chirality, row, "
                               "column]", ["blocks"])
        text = Words({"order": "matrix", "precision": _arrays.PRECISIONS[view.dtype],
                      "where": "device" if view.on_device else None, **words})
        self.context.call("operator_set_clover", self.handle, text.encoded(), view.address, words=text)

    def __repr__(self):
        closed = "" if self._end.alive else ", closed"
        return f"<Operator {self.words.get('type')} on {self.gauge!r}{closed}>"


def output_for(given, out, shape, axes):
    """The array for results of spinors, and how the library sees it; Raises InvalidInput where it must be as `given` and
    is not."""
    result = _arrays.empty_like(given) if out is None else out
    found = _arrays.Spinors(result, shape, "out", axes, given.batch)
    found.demand_writable("out")
    if found.view.shape != given.view.shape or found.words["precision"] != given.words["precision"] or \
            found.words["where"] != given.words["where"]:
        raise InvalidInput(f"out: {found.view.dtype} {found.view.shape}; expected as the input: {given.view.dtype} "
                           f"{given.view.shape}, in the same memory", ["out"])
    if found.words["order"] != given.words["order"]:  # one order for a call: that of the results
        given.reorder(found.words["order"])
    found.demand_apart(given)
    return result, found
