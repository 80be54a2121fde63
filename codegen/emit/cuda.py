"""Emits CUDA kernels: one thread a site, straight-line register code, a thread block a tile of the checkerboard.

Names of temporaries as in emit/common.py; p and q are the groups of a neighbour's upper and lower spins, l those of the
links. Numbers lie in groups (core/layout/grouped_layout.h), so that consecutive threads read consecutive groups, at known
distances from the first of their site. The links of all hops lie with the site that they lead to: only spinors are read
from neighbours. In temporal gauge the time links of inner sites are not loaded; that doubles each kernel, and so do site-local
terms other than numbers, which take registers. Sites at special edges (dirac/cuda/hop_args.h) have a body of their own. `factor` is all that a
hop is multiplied by: its coefficient, b, the projector's 2 and a real boundary factor.
In half precision the sum of quanta that a projection makes is formed in integer arithmetic on the bits of a float whose
mantissa then holds it (core/numbers/half_words.h): the first number is put there by a byte permutation, the second added by a dot
product of 16-bit numbers. They go through different pipes of the device; dot products alone fill theirs. Quanta stay whole
numbers until the sum: `unit` carries the quanta, the norm of the neighbour and `factor`.
A body is a function of a site, which the host can run too: tests do, where there is no GPU.
Lists of calls have kernels of their own. A thread works on some calls, whose links it decodes once; others of the list have
other threads of the block, which find the links in the first-level cache. What temporal gauge and edges change, these kernels
are told, so that there is one with and one without site-local terms.
"""

import typing

from codegen.contraction import contracted
from codegen.emit.common import (
    COLORS,
    HALF_SPINOR,
    NUMBER_BYTES,
    SPINOR,
    Site,
    accumulation_lines,
    argument,
    components,
    declared,
    either,
    indented,
    joined,
    link_bytes,
    link_lines,
    local_lines,
    name,
    number_lines,
    product_lines,
    row_2_lines,
    spin_names,
    spinor_bytes,
    spinor_pointers,
    start,
    sum_and_z_lines,
    times_unit,
    twist_lines,
    unit_scales,
    when,
    z_lines,
)

# The type of a group by its numbers, widest first (core/layout/grouped_layout.h).
VECTORS = {
    "double": {2: "double2"},
    "single": {4: "float4", 2: "float2"},
    "half": {8: "uint4", 4: "uint2", 2: "uint1"},
}
REAL = {"double": "double", "single": "float", "half": "float"}
# Threads of a block at most, and blocks of a multiprocessor at least: the registers that won by measurement (168 in
# double, 128 in single and half).
BOUNDS = {"double": (128, 3), "single": (512, 1), "half": (512, 1)}
# The order in which a link's rows are multiplied in double (spins_together): the one of all six with which nvcc 13.0 needs
# least local memory on compute capability 9.0 (8 bytes; on 8.0 up to 40).
ROWS = (0, 2, 1)
# The slices that a thread has of its block's column (dirac/cuda/hop.cuh), by measurement. In double a loop takes registers
# that the body needs.
SLICES = {"double": "one", "single": "anew", "half": "stepped", "half_12": "anew"}


# Kernels for lists of calls: calls of a thread, and threads of a block at most, by measurement (dirac/MEASUREMENTS.md). Half
# waits for its own arithmetic: 128 registers, and four more warps, are worth the spills of its site-local terms.
LISTS = {"double": (2, 256), "single": (2, 384), "half": (2, 512)}


def file_name(stem):
    return f"{stem}_cuda.cu"


def groups(kernel, numbers):
    """(first number, type) of each group of a section."""
    found, first = [], 0
    while first < numbers:
        width = max(w for w in VECTORS[kernel["precision"]] if w <= numbers - first)
        found.append((first, VECTORS[kernel["precision"]][width]))
        first += width
    return found


def load_lines(kernel, names, load, section, site, section_numbers, site_numbers, before=0):
    """Loads a section of a field of `site_numbers` numbers per site, `before` numbers into it, as `names`0, `names`1, ..."""
    number_bytes = NUMBER_BYTES[kernel["precision"]]
    lines = []
    for g, (first, vector) in enumerate(groups(kernel, section_numbers)):
        start = f"groups_of<{vector}, {site_numbers * number_bytes}>({section}, {site})"
        lines.append(f"const {vector} {names}{g} = {load}(after<{(before + first) * number_bytes}>({start}));")
    return lines


class Quantum(typing.NamedTuple):
    """Number k (0 or 1) of a word that holds two 16-bit integers."""

    k: int
    word: str

    def whole(self):
        return f"whole<{self.k}>({self.word})"

    def begin(self):
        return f"begin<{self.k}>({self.word})"

    def add(self, sign, to):
        return f"add<{self.k}, {sign}1>({self.word}, {to})"


def quantum(kernel, names, numbers, index):
    """The number `index` of a section in half precision, loaded as `names`0, `names`1, ..."""
    g, first = [(g, first) for g, (first, _) in enumerate(groups(kernel, numbers)) if first <= index][-1]
    return Quantum(index % 2, f"{names}{g}.{'xyzw'[(index - first) // 2]}")


def member(kernel, names, numbers, index):
    """The number `index` of a section of `numbers` loaded as `names`0, `names`1, ..."""
    if kernel["precision"] == "half":
        return quantum(kernel, names, numbers, index).whole()
    g, first = [(g, first) for g, (first, _) in enumerate(groups(kernel, numbers)) if first <= index][-1]
    return f"{names}{g}.{'xyzw'[index - first]}"


# ---- one hop -------------------------------------------------------------------------------------------------------


def projections(kernel, hop, a):
    """(name, expression) of the six numbers of spin a of the half spinor of loaded groups p and q."""
    half = kernel["precision"] == "half"
    found = []
    for c, h in zip(COLORS, spin_names("h", a)):
        parts = ([], [])
        for spin, coefficient in hop.projector.project[a]:
            group = "p" if spin < 2 else "q"
            index = ((spin % 2) * 3 + c) * 2
            loaded = [quantum(kernel, group, HALF_SPINOR, i) if half else member(kernel, group, HALF_SPINOR, i) for i in (index, index + 1)]
            for part, term in zip(parts, times_unit(coefficient, *loaded)):
                part.append(term)
        for part, suffix in zip(parts, "ri"):
            found.append((h + suffix, quanta_sum(part) if half else joined(part)))
    return found


def projection_lines(kernel, hop, a):
    return [f"Real {h} = {expression};" for h, expression in projections(kernel, hop, a)]


def quanta_sum(terms):
    """The exact sum of (sign, Quantum) terms as a float: `begin` puts the first that is added into it (or, where there is none,
    the sum begins with no number), `add` takes each other from its word."""
    first = next((i for i, (sign, _) in enumerate(terms) if sign == "+"), None)
    text = "half::magic" if first is None else terms[first][1].begin()
    for sign, term in (each for i, each in enumerate(terms) if i != first):
        text = term.add(sign, text)
    return f"from_magic<{sum(int(sign + '1') for sign, _ in terms)}>({text})"


def phase_lines(hop):
    """A boundary factor that is not real; those that are go into `factor`."""
    d = hop.direction
    lines = [f"if (edge && args.edges.phased[{d}]) {{", f"  const Real c = scalars.phases[{d}][0], s = scalars.phases[{d}][1];"]
    for x in spin_names("h", 0) + spin_names("h", 1):
        lines += [f"  const Real {x}t = {x}r;", f"  {x}r = {x}t * c - {x}i * s;", f"  {x}i = {x}t * s + {x}i * c;"]
    return lines + ["}"]


def load_links(kernel, hop, load):
    numbers = int(kernel["reconstruct"])
    field, before = ("time_links", 0) if hop.mu == 3 else ("spatial_links", 2 * hop.mu)
    before = (before + (0 if hop.forward else 1)) * numbers
    site_numbers = (2 if hop.mu == 3 else 6) * numbers
    return load_lines(kernel, "l", load, f"args.{field}", "site", numbers, site_numbers, before)


def scales(kernel, hop, source):
    return unit_scales(kernel, hop, source) if kernel["precision"] == "half" else ["factor * "] * 3


def link_of(kernel, hop, load):
    """The link as 18 numbers."""
    return load_links(kernel, hop, load) + link_lines(kernel, lambda k: member(kernel, "l", int(kernel["reconstruct"]), k))


def quantum_of_link(kernel):
    return ["unit *= quantum;  // of the link"] if kernel["precision"] == "half" else []


def spin_after_spin(kernel, hop, started):
    lines = quantum_of_link(kernel)
    for a in range(2):
        spin = projection_lines(kernel, hop, a) + row_2_lines(kernel, hop, a) + product_lines(hop, a)
        spin += accumulation_lines(hop, a, "v", started, scales(kernel, hop, "v"))
        start(hop, a, started)
        lines += ["{"] + ["  " + line for line in spin] + ["}"]
    return lines


def spins_together(kernel, hop, started):
    """The same numbers with fewer of them alive: what was loaded is projected at once, and each row of a product added to
    the result before the next. In double, where registers are full; elsewhere up to 2% slower."""
    return projection_lines(kernel, hop, 0) + projection_lines(kernel, hop, 1) + rows_of_products(kernel, hop, started)


def rows_of_products(kernel, hop, started):
    lines = quantum_of_link(kernel)
    for a in range(2):
        spin = row_2_lines(kernel, hop, a)
        for c in ROWS:
            spin += product_lines(hop, a, [c]) + accumulation_lines(hop, a, "v", started, scales(kernel, hop, "v"), [c])
        start(hop, a, started)
        lines += ["{"] + ["  " + line for line in spin] + ["}"]
    return lines


def without_link(kernel, hop, started):
    return [line for a in range(2) for line in accumulation_lines(hop, a, "h", started, scales(kernel, hop, "h"))]


def load_neighbour(kernel, hop):
    """The groups that the projection reads, and what turns them into numbers."""
    lines = []
    for k, (side, names) in enumerate((("upper", "p"), ("lower", "q"))):
        if side in spinor_pointers(hop):
            lines += load_lines(kernel, names, "load_shared", f"fields.in[{k}]", "there", HALF_SPINOR, SPINOR)
    return lines


def neighbour(hop):
    return f"const unsigned there = unsigned(here.neighbour<{hop.direction}>(args.geometry));"


def edge_and_factor(hop):
    d = hop.direction
    return [f"const bool edge = here.edge<{d}>(args.geometry);",
            f"const Real factor = edge ? scalars.factors[{d}][1] : scalars.factors[{d}][0];"]


def unit_of(norm):
    return f"{norm} * (quantum * factor);"


def as_block(hop, lines):
    return [f"{{  // {hop.formula}"] + ["  " + line for line in lines] + ["}"]


def for_each_call(lines):
    """Of a thread; the loop is unrolled, and what arrays have for each call stays in registers."""
    return ["QUADRILLE_UNROLL", "for (int call = 0; call < calls; ++call) {", *indented(lines), "}"]


def sums():
    """Names for the sums of one call."""
    return declared((f"&{x} = sums[call][{k}]" for k, (x, _, _) in enumerate(components())), "[[maybe_unused]] ")


def neighbours(kernel, hop):
    """Lines that load the neighbours of all calls, and those that name what one call's gave."""
    loads = load_neighbour(kernel, hop)
    groups = [line.split()[1:3] for line in loads]  # "const float4 p0 = ..."
    arrays = [f"{vector} {group}s[calls];" for vector, group in groups]
    filled = [f"{group}s[call] = {line.split(' = ', 1)[1]}" for (_, group), line in zip(groups, loads)]
    named = [f"const {vector}& {group} = {group}s[call];" for vector, group in groups]
    if kernel["precision"] == "half":
        arrays.append("Real units[calls];")
        filled.append("units[call] = " + unit_of("load_shared(fields.in_norms + there)"))
        named.append("Real& unit = units[call];")
    return arrays + for_each_call(["const CudaHopFields& fields = first[call];", *filled]), named


def hop_lines(kernel, hop, started):
    """A hop of a site at no special edge: what all calls find at the neighbour, the link, and for each call their product."""
    load, named = neighbours(kernel, hop)
    by_spins = spins_together if kernel["precision"] == "double" else spin_after_spin
    with_link = link_of(kernel, hop, "load_common<time_links>")
    with_link += for_each_call([sums(), *named, *by_spins(kernel, hop, started)])
    if hop.mu == 3:
        projected = projection_lines(kernel, hop, 0) + projection_lines(kernel, hop, 1)
        without = for_each_call([sums(), *named, *projected, *without_link(kernel, hop, started)])
        with_link = either("loads_time_link<time_links>(args, edge)", with_link, without)
    return as_block(hop, edge_and_factor(hop) + [neighbour(hop)] + load + with_link)


def edge_hop_lines(kernel, hop, started):
    """A hop of a site at a special edge: its half spinor is here, or another rank's; its boundary factor may be any."""
    half, d = kernel["precision"] == "half", hop.direction
    numbers = [x + part for a in range(2) for x in spin_names("h", a) for part in "ri"]
    lines = edge_and_factor(hop) + ["Real " + ", ".join(numbers) + ";"] + (["Real unit;"] if half else [])
    ghost = [f"const unsigned at = unsigned(here.face_index<{d}>(args.geometry));"]
    ghost += load_lines(kernel, "p", "load_once", f"args.edges.ghosts_of<{d}>(call)", "at", HALF_SPINOR, HALF_SPINOR)
    ghost += [f"{h} = {member(kernel, 'p', HALF_SPINOR, k)};" for k, h in enumerate(numbers)]
    local = [neighbour(hop)] + load_neighbour(kernel, hop)
    local += [f"{h} = {expression};" for a in range(2) for h, expression in projections(kernel, hop, a)]
    if half:
        ghost.append("unit = " + unit_of(f"load_shared(args.edges.ghost_norms_of<{d}>(call) + at)"))
        local.append("unit = " + unit_of("load_shared(fields.in_norms + there)"))
    lines += either(f"edge && args.edges.ghosts[{d}] != nullptr", ghost, local) + phase_lines(hop)
    with_link = link_of(kernel, hop, "load_shared") + rows_of_products(kernel, hop, started)
    if hop.mu == 3:
        needed = f"!temporal_gauge || (edge && args.edges.of_lattice[{d}])"
        with_link = either(needed, with_link, without_link(kernel, hop, started))
    return as_block(hop, lines + with_link)


# ---- the kernel ----------------------------------------------------------------------------------------------------


def norm_lines(numbers, place):
    """The norm of numbers that are stored in half precision, and what turns them into quanta."""
    return ["Real norm = 0;", *(f"norm = largest(norm, {x});" for x in numbers),
            "const Real quanta = quanta_of(norm);  // 0, and the norm 0 or not-a-number, where there is none",
            f"{place} = norm;"]


def site(operator, kernel, load):
    """How a thread reads z, and blocks by `load`."""
    half, size = kernel["precision"] == "half", operator.BLOCKS.numbers
    given = lambda of: argument(operator, of)
    load_z = []
    for k, names in enumerate("pq"):
        load_z += load_lines(kernel, names, "load_own", f"fields.z[{k}]", "site", HALF_SPINOR, SPINOR)

    def load_blocks(of, chirality):
        unit = [f"const Real unit = load_shared({given(of)}_norms + site) * quantum;"] if half else []
        return unit + load_lines(kernel, "c", load, f"{given(of)}[{chirality}]", "site", size, 2 * size)

    return Site(
        scalar=lambda of: "scalars.a" if of == operator.ON_Z[0].of else f"T({given(of)})",
        has_z="fields.z[0] != nullptr",
        blocks_on_z=f"{given(operator.BLOCKS.of)}_on_z",
        load_z=load_z,
        z=lambda side, index: member(kernel, "p" if side == "upper" else "q", HALF_SPINOR, index),
        z_scale=lambda x, of: ([f"const Real {x} = fields.z_norms[site] * (quantum * {of});"], x) if half else ([], of),
        has_blocks=lambda of: f"{given(of)}[0] != nullptr",
        load_blocks=load_blocks,
        block=lambda _, index: member(kernel, "c", size, index),
        block_unit="unit" if half else None,
    )


def result_lines(operator, kernel, load):
    """The site-local terms on the hops' sum, which carries b, and on z; the result is stored past the caches."""
    here = site(operator, kernel, load)
    twist = here.scalar(operator.ON_SUM[1].of)
    terms = when(f"{twist} != 0", twist_lines("a", twist))
    terms += either(here.has_blocks(operator.BLOCKS.of), local_lines(operator, here), sum_and_z_lines(operator, here))
    lines = either("constexpr (site_terms)", terms, when(here.has_z, number_lines(operator, here, "a", True)))
    return lines + result_stores(kernel)


def result_stores(kernel):
    lines = norm_lines([x for x, _, _ in components()], "fields.out_norms[site]") if kernel["precision"] == "half" else []
    for k, side in enumerate(("upper", "lower")):
        lines += store_lines(kernel, f"fields.out[{k}]", "site", SPINOR, [x for x, s, _ in components() if s == side])
    return lines


def store_lines(kernel, section, site, site_numbers, numbers):
    """Stores a section of a field of `site_numbers` numbers per site."""
    half, number_bytes = kernel["precision"] == "half", NUMBER_BYTES[kernel["precision"]]
    lines = []
    bounds = groups(kernel, len(numbers)) + [(len(numbers), None)]
    for (first, vector), (end, _) in zip(bounds, bounds[1:]):
        made = numbers[first:end]
        if half:
            made = [f"packed(rounded_once({low}, quanta), rounded_once({high}, quanta))" for low, high in zip(made[::2], made[1::2])]
        start = f"groups_of<{vector}, {site_numbers * number_bytes}>({section}, {site})"
        lines.append(f"store_once(writable(after<{first * number_bytes}>({start})), make_{vector}({', '.join(made)}));")
    return lines


def body(operator, kernel):
    """Of a site at no special edge: all calls of a thread go through each hop together."""
    started = set()
    lines = [f"Real sums[calls][{SPINOR}];"]
    for hop in operator.SPATIAL_HOPS + operator.TIME_HOPS:
        lines += hop_lines(kernel, hop, started)
    result = result_lines(operator, kernel, "load_common<time_links>")
    return "\n".join(indented(lines + for_each_call(["const CudaHopFields& fields = first[call];", sums(), *result])))


def edge_body(operator, kernel):
    started = set()
    lines = ["const CudaHopFields& fields = args.calls[call];", declared(x for x, _, _ in components())]
    for hop in operator.SPATIAL_HOPS + operator.TIME_HOPS:
        lines += edge_hop_lines(kernel, hop, started)
    return "\n".join(indented(lines + result_lines(operator, kernel, "load_shared")))


def types(kernel):
    quantum = "\n  constexpr T quantum = T(1) / T(32767);" if kernel["precision"] == "half" else ""
    return f"""using T = {REAL[kernel['precision']]};
  using Real = T;
  [[maybe_unused]] constexpr int V = 1;{quantum}"""


def kernel_source(operator, kernel):
    precision = kernel["precision"]
    spinor, link = spinor_bytes(kernel), link_bytes(kernel)
    threads, blocks = BOUNDS[precision]
    slices = SLICES.get(f"{precision}_{kernel['reconstruct']}", SLICES[precision])
    lists = ", ".join(map(str, LISTS[precision]))
    start = f"""{types(kernel)}
  const unsigned site = unsigned(here.site);
  const CudaHopScalars<T>& scalars = args.scalars<T>();"""
    return f"""// {name(kernel)}: generated by codegen/gen.py from line {kernel['line']} of codegen/kernels.yaml. Do not edit.
//
// out = b D in (+ a z) for each call of a list and every site of one parity, D the hopping term of codegen/operators/{operator.NAME}.py.
// {operator.FLOPS_PER_SITE} flops per site; bytes per site: {8 * link + 2 * spinor} (8 links of {link}, one spinor of {spinor} read, one written),
// {spinor} more with z; in temporal gauge {2 * link} fewer.
#include "dirac/cuda/hop.cuh"

namespace quadrille::dirac {{

template <TimeLinks time_links, bool site_terms, int calls>
QUADRILLE_HOST_DEVICE void {name(kernel)}_site(const CudaHopShared& args, const CudaHopFields* first, const GroupedSite& here) {{
  {start}
{contracted(body(operator, kernel))}
}}

template <bool temporal_gauge, bool site_terms>
QUADRILLE_HOST_DEVICE void {name(kernel)}_edge_site(const CudaHopListArgs& args, int call, const GroupedSite& here) {{
  {start}
{contracted(edge_body(operator, kernel))}
}}

QUADRILLE_CUDA_HOP({name(kernel)}, {threads}, {blocks}, {slices})
QUADRILLE_CUDA_HOP_LISTS({name(kernel)}, {slices}, {lists})

}}  // namespace quadrille::dirac
"""


# ---- what goes to other ranks ----------------------------------------------------------------------------------------


def pack_lines(kernel, hop):
    """Packs site `at` of a face for the hop that leads to it from another rank: it comes from the face behind."""
    lines = [f"const GroupedSite here = GroupedSite::of_face<{(hop.direction + 4) % 8}>(args.geometry, index);",
             "const unsigned there = unsigned(here.site);"]
    for k, (side, names) in enumerate((("upper", "p"), ("lower", "q"))):
        if side in spinor_pointers(hop):
            lines += load_lines(kernel, names, "load_shared", f"fields.in[{k}]", "there", HALF_SPINOR, SPINOR)
    found = [one for a in range(2) for one in projections(kernel, hop, a)]
    half = kernel["precision"] == "half"
    if half:
        lines.append("const Real unit = load_shared(fields.in_norms + there) * quantum;")
    lines += [f"const Real {h} = {'unit * ' if half else ''}{expression};" for h, expression in found]
    numbers = [h for h, _ in found]
    if half:
        lines += norm_lines(numbers, "face.norms_of(call)[at]")
    return lines + store_lines(kernel, "face.out_of(call)", "at", HALF_SPINOR, numbers)


def pack_source(operator, kernel, stem):
    """The kernel that fills the ghost zones of other ranks."""
    cases = []
    for hop in sorted(operator.SPATIAL_HOPS + operator.TIME_HOPS, key=lambda hop: hop.direction):
        lines = pack_lines(kernel, hop) + ["return;"]
        cases += [f"case {hop.direction}: {{  // for {hop.formula}"] + ["  " + line for line in lines] + ["}"]
    code = "\n".join("    " + line for line in cases)
    return f"""// {stem}: generated by codegen/gen.py for codegen/operators/{operator.NAME}.py. Do not edit.
//
// The projected half spinors, {HALF_SPINOR} real numbers per site, that hops from other ranks find.
#include "dirac/cuda/hop.cuh"

namespace quadrille::dirac {{

QUADRILLE_HOST_DEVICE void {stem}_site(const CudaPackArgs& args, int call, int number, int index) {{
  {types(kernel)}
  const CudaPackArgs::In& fields = args.calls[call];
  const CudaPackArgs::Face& face = args.faces[number];
  const unsigned at = unsigned(index);
  switch (face.direction) {{
{code}
  }}
}}

QUADRILLE_CUDA_PACK({stem})

}}  // namespace quadrille::dirac
"""


# ---- the site-local terms alone --------------------------------------------------------------------------------------


def local_source(operator, kernel, stem):
    """The kernel of site-local terms on z: the sum is 0."""
    here, names = site(operator, kernel, "load_once"), [x for x, _, _ in components()]
    lines = [declared(f"{x} = 0" for x in names)]
    lines += either(here.has_blocks(operator.BLOCKS.of), local_lines(operator, here), z_lines(operator, here, "a", False))
    code = contracted("\n".join(indented(lines + result_stores(kernel))))
    return f"""// {stem}: generated by codegen/gen.py for codegen/operators/{operator.NAME}.py. Do not edit.
//
// out = R z, R site-local, for each call of a list and every site of one parity.
#include "dirac/cuda/hop.cuh"

namespace quadrille::dirac {{

QUADRILLE_HOST_DEVICE void {stem}_site(const CudaHopListArgs& args, int call, int index) {{
  {types(kernel)}
  const CudaHopFields& fields = args.calls[call];
  const unsigned site = unsigned(index);
  const CudaHopScalars<T>& scalars = args.scalars<T>();
{code}
}}

QUADRILLE_CUDA_LOCAL({stem})

}}  // namespace quadrille::dirac
"""
