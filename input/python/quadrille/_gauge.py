"""Gauge fields."""

import ctypes
import json
import os

import numpy as np

from . import _arrays, _library
from ._context import Handle, context_of
from ._errors import InvalidInput
from ._words import Words

PLANES = ("xy", "xz", "xt", "yz", "yt", "zt")


def gauge(source=None, *, context=None, backend=None, device=None, threads=None, **words):
    """A gauge field from a file, an array or a start.

        q.gauge("cfg.lime")                                      any format that a job reads
        q.gauge(start="hot", dims=[8, 8, 8, 16], seed=7)         or a dict of these
        q.gauge(links, boundary=["periodic", "periodic", "periodic", "antiperiodic"])

    source: path; dict; or links U_mu(x) as [mu, t, z, y, x, row, column], complex128 or complex64, mu = x, y, z, t, in
        host or GPU memory. C order, or with rows and columns exchanged, is read where it is; another order is copied once.
    context: where the field is to live; without it the field has a Context of its own on `backend` ("auto", "cpu" or
        "cuda"), GPU number `device`, with so many `threads`.
    words: of arrays `boundary` and `spatial_factor`, factors that the links contain and that are divided out (and `dims` of
        the whole lattice on several ranks); otherwise the gauge block of a job, below.

    Raises FileError; NumericalError for links further from SU(3) than 1e-10 (complex64: 1e-5); InvalidInput.
    """
    if isinstance(source, dict):
        words = {**source, **words}
    elif isinstance(source, (str, os.PathLike)):
        words = {"file": source, **words}
    elif source is not None:
        return _from_array(source, context_of(context, backend, device, threads), words)
    here = context_of(context, backend, device, threads)
    return Gauge(here, here.made("gauge_create", here.handle, Words(words)))


def _from_array(array, context, words):
    if context.communicator is not None and "dims" not in words:
        raise InvalidInput("dims: links on several ranks are a part of the lattice: give its extents, dims=[x, y, z, t]",
                           ["dims"])
    links = _arrays.Links(array, "links")
    text = Words({"dims": links.dims, **words, **links.words, "part": links.dims})
    handle = context.made("gauge_from_memory", context.handle, text, _arrays.pointers(links.addresses), ctypes.c_size_t(4))
    made = Gauge(context, handle)
    made.copied = links.copied
    return made


class Gauge(Handle):
    """A gauge field of SU(3) links in double precision; quadrille.gauge makes one.

    copied: whether the links that it has had to be copied into C order first.
    """

    def __init__(self, context, handle):
        super().__init__(context, handle, _library.library().quadrille_gauge_destroy)
        self.copied = False
        whole, part, origin = (ctypes.c_int * 4)(), (ctypes.c_int * 4)(), (ctypes.c_int * 4)()
        context.call("gauge_dims", handle, whole)
        context.call("gauge_part", handle, part, origin)
        #: extents x, y, z, t of the lattice; of this rank's part of it; and the coordinates of its first site
        self.dims, self.part, self.origin = tuple(whole), tuple(part), tuple(origin)

    @property
    def sites(self):
        """The shape of a field over the sites of this process: (T, Z, Y, X)."""
        return tuple(reversed(self.part))

    @property
    def volume(self):
        """Number of sites of this process."""
        return int(np.prod(self.part))

    def array(self, dtype=np.complex128, out=None):
        """The links as [mu, t, z, y, x, row, column], mu = x, y, z, t; a copy. `out`: an array that is overwritten."""
        if out is None:
            out = np.empty((4, *self.sites, 3, 3), _arrays.dtype_of(dtype))
        links = _arrays.Links(out, "out", self.part)
        if links.copied or not links.view.writable:
            raise InvalidInput("out: a read-only array, or one with gaps, cannot be written in place", ["out"])
        words = Words(links.words)
        self.context.call("gauge_to_memory", self.handle, words.encoded(), _arrays.pointers(links.addresses), 4, words=words)
        return out

    def update(self, links, **words):
        """Replaces the links by [mu, t, z, y, x, row, column]; operators and solvers made from the field use them. words:
        `boundary` and `spatial_factor`, as for quadrille.gauge. After NumericalError the field holds the links that were given,
        until another call replaces them."""
        found = _arrays.Links(links, "links", self.part)
        text = Words({**words, **found.words})
        self.copied = found.copied  # also of links that are not in SU(3)
        self.context.call("gauge_update", self.handle, text.encoded(), _arrays.pointers(found.addresses), 4, words=text)

    def save(self, file, precision=None):
        """Writes an ILDG file; precision: "double" (the default) or "single"."""
        words = Words({"file": file, "precision": precision})
        self.context.call("gauge_save", self.handle, words.encoded(), words=words)

    def plaquettes(self):
        """Re tr U_p / 3: {"mean": .., "xy": .., "xz": .., "xt": .., "yz": .., "yt": .., "zt": ..}."""
        values = (ctypes.c_double * 7)()
        self.context.call("gauge_plaquettes", self.handle, values)
        return dict(zip(("mean", *PLANES), values))

    def plaquette(self):
        """The mean of Re tr U_p / 3 over all plaquettes."""
        return self.plaquettes()["mean"]

    def info(self):
        """Plaquettes, link trace, distance from SU(3), and of a file its format and checksum: `gauge` of results.json."""
        return json.loads(self.context.text("gauge_json", self.handle))

    def __repr__(self):
        if not self._end.alive:
            return "<Gauge, closed>"
        return f"<Gauge {' x '.join(map(str, self.dims))}>"
