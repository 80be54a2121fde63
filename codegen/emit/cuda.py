"""Emits CUDA kernels: one thread a site, straight-line register code, a thread block a tile of the checkerboard.

Names of temporaries as in emit/common.py; p and q are the groups of a neighbour's upper and lower spins, l those of the
links. Numbers lie in groups (core/layout/grouped_layout.h), so that consecutive threads read consecutive groups, at known
distances from the first of their site. The links of all hops lie with the site that they lead to: only spinors are read
from neighbours. In temporal gauge the time links of inner sites are not loaded; that doubles each kernel, and
boundary factors that are not real double it again. `factor` is all that a hop is multiplied by: nu / xi0, b, the
projector's 2 and a real boundary factor.
In half precision the sum of quanta that a projection makes is formed in integer arithmetic on the bits of a float whose
mantissa then holds it (core/numbers/half_words.h): the first number is put there by a byte permutation, the second added by a dot
product of 16-bit numbers. They go through different pipes of the device; dot products alone fill theirs. Quanta stay whole
numbers until the sum: `unit` carries the quanta, the norm of the neighbour and `factor`.
A body is a function of a site, which the host can run too: tests do, where there is no GPU.
"""

from codegen.emit.common import (
    COLOURS,
    NUMBER_BYTES,
    accumulation_lines,
    components,
    joined,
    link_bytes,
    link_lines,
    name,
    product_lines,
    row_2_lines,
    spin_names,
    spinor_bytes,
    spinor_pointers,
    start,
    times_unit,
    unit_scales,
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
# The order in which a link's rows are multiplied in double (spins_together): the one of all six with which nvcc 13.0
# needs no local memory for any kernel on compute capability 9.0 (on 8.0 up to 40 bytes).
ROWS = (0, 2, 1)
# The slices that a thread has of its block's column (dirac/cuda/hop.cuh), by measurement. In double a loop takes registers
# that the body needs.
SLICES = {"double": "one", "single": "anew", "half": "stepped", "half_12": "anew"}


def file_name(kernel):
    return f"{name(kernel)}_cuda.cu"


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


def member(kernel, names, numbers, index):
    """The number `index` of a section of `numbers` loaded as `names`0, `names`1, ..."""
    g, first = [(g, first) for g, (first, _) in enumerate(groups(kernel, numbers)) if first <= index][-1]
    if kernel["precision"] == "half":
        return f"whole<{index % 2}>({names}{g}.{'xyzw'[(index - first) // 2]})"
    return f"{names}{g}.{'xyzw'[index - first]}"


# ---- one hop -------------------------------------------------------------------------------------------------------


def projection_lines(kernel, hop, a):
    lines = []
    for c, h in zip(COLOURS, spin_names("h", a)):
        parts = ([], [])
        for spin, coefficient in hop.projector.project[a]:
            group = "p" if spin < 2 else "q"
            index = ((spin % 2) * 3 + c) * 2
            loaded = (member(kernel, group, 12, index), member(kernel, group, 12, index + 1))
            for part, term in zip(parts, times_unit(coefficient, *loaded)):
                part.append(term)
        for part, suffix in zip(parts, "ri"):
            lines.append(f"Real {h}{suffix} = {quanta_sum(part) if kernel['precision'] == 'half' else joined(part)};")
    return lines


def quanta_sum(terms):
    """The exact sum of 16-bit integers as a float: `begin` puts the first that is added into it (or, where there is none, the
    sum begins with no number), `add` takes each other from its word."""
    first = next((i for i, (sign, _) in enumerate(terms) if sign == "+"), None)
    text = "half::magic" if first is None else terms[first][1].replace("whole<", "begin<")  # a term is "whole<k>(group)"
    for sign, term in (each for i, each in enumerate(terms) if i != first):
        text = term.replace(">(", f", {sign}1>(").replace("whole<", "add<")[:-1] + f", {text})"
    return f"from_magic<{sum(int(sign + '1') for sign, _ in terms)}>({text})"


def phase_lines(hop, names):
    """A boundary factor that is not real; those that are go into `factor`."""
    d = hop.direction
    lines = [f"if (edge && args.twisted[{d}]) {{", f"  const Real c = scalars.phases[{d}][0], s = scalars.phases[{d}][1];"]
    for x in names:
        lines += [f"  const Real {x}t = {x}r;", f"  {x}r = {x}t * c - {x}i * s;", f"  {x}i = {x}t * s + {x}i * c;"]
    return ["if constexpr (twisted) {"] + ["  " + line for line in lines] + ["  }", "}"]


def load_links(kernel, hop):
    numbers = int(kernel["reconstruct"])
    field, before = ("time_links", 0) if hop.mu == 3 else ("spatial_links", 2 * hop.mu)
    before = (before + (0 if hop.forward else 1)) * numbers
    site_numbers = (2 if hop.mu == 3 else 6) * numbers
    return load_lines(kernel, "l", "load_once", f"args.{field}", "site", numbers, site_numbers, before)


def link_needed(hop):
    return "!temporal_gauge || edge"


def scales(kernel, hop, source):
    return unit_scales(kernel, hop, source) if kernel["precision"] == "half" else ["factor * "] * 3


def hop_with_link(kernel, hop, started):
    half = kernel["precision"] == "half"
    lines = load_links(kernel, hop)
    lines += link_lines(kernel, lambda k: member(kernel, "l", int(kernel["reconstruct"]), k))
    if half:
        lines.append("unit *= quantum;  // of the link")
    by_spins = spins_together if kernel["precision"] == "double" else spin_after_spin
    return lines + by_spins(kernel, hop, started)


def spin_after_spin(kernel, hop, started):
    lines = []
    for a in range(2):
        spin = projection_lines(kernel, hop, a) + phase_lines(hop, spin_names("h", a))
        spin += row_2_lines(kernel, hop, a) + product_lines(hop, a)
        spin += accumulation_lines(hop, a, "v", started, scales(kernel, hop, "v"))
        start(hop, a, started)
        lines += ["{"] + ["  " + line for line in spin] + ["}"]
    return lines


def spins_together(kernel, hop, started):
    """The same numbers with fewer of them alive: what was loaded is projected at once, and each row of a product added to
    the result before the next. In double, where registers are full; elsewhere up to 2% slower."""
    lines = []
    for a in range(2):
        lines += projection_lines(kernel, hop, a)
    lines += phase_lines(hop, spin_names("h", 0) + spin_names("h", 1))
    for a in range(2):
        spin = row_2_lines(kernel, hop, a)
        for c in ROWS:
            spin += product_lines(hop, a, [c]) + accumulation_lines(hop, a, "v", started, scales(kernel, hop, "v"), [c])
        start(hop, a, started)
        lines += ["{"] + ["  " + line for line in spin] + ["}"]
    return lines


def hop_without_link(kernel, hop, started):
    lines = []
    for a in range(2):
        lines += projection_lines(kernel, hop, a) + accumulation_lines(hop, a, "h", started, scales(kernel, hop, "h"))
    return lines


def hop_lines(kernel, hop, started):
    half = kernel["precision"] == "half"
    body = [f"const bool edge = here.edge<{hop.direction}>(args.geometry);",
            f"const unsigned there = unsigned(here.neighbour<{hop.direction}>(args.geometry));"]
    for k, (side, names) in enumerate((("upper", "p"), ("lower", "q"))):
        if side in spinor_pointers(hop):
            body += load_lines(kernel, names, "load_shared", f"args.in[{k}]", "there", 12, 24)
    d = hop.direction
    body.append(f"const Real factor = edge ? scalars.factors[{d}][1] : scalars.factors[{d}][0];")
    if half:
        body.append("Real unit = load_shared(args.in_norms + there) * (quantum * factor);")
    with_link = hop_with_link(kernel, hop, started)
    if hop.mu == 3:
        body.append(f"if ({link_needed(hop)}) {{")
        body += ["  " + line for line in with_link] + ["} else {"]
        body += ["  " + line for line in hop_without_link(kernel, hop, started)] + ["}"]
    else:
        body += with_link
    return [f"{{  // {hop.formula}"] + ["  " + line for line in body] + ["}"]


# ---- the kernel ----------------------------------------------------------------------------------------------------


def result_lines(kernel):
    """out = a + z_factor z, stored past the caches."""
    precision = kernel["precision"]
    half = precision == "half"
    lines = ["if (args.z[0] != nullptr) {"]
    for k, names in enumerate("pq"):
        lines += ["  " + line for line in load_lines(kernel, names, "load_own", f"args.z[{k}]", "site", 12, 24)]
    scale = "scalars.a"
    if half:
        lines.append("  const Real scale = args.z_norms[site] * (quantum * scalars.a);")
        scale = "scale"
    for x, side, index in components():
        lines.append(f"  {x} += {scale} * {member(kernel, 'p' if side == 'upper' else 'q', 12, index)};")
    lines.append("}")
    names = {side: [x for x, s, _ in components() if s == side] for side in ("upper", "lower")}
    if half:
        lines.append("Real norm = 0;")
        lines += [f"norm = largest(norm, {x});" for x, _, _ in components()]
        lines.append("const Real unit = quanta_of(norm);  // 0, and the norm 0 or not-a-number, where there is none")
        lines.append("args.out_norms[site] = norm;")
    for k, side in enumerate(("upper", "lower")):
        lines += store_lines(kernel, f"args.out[{k}]", [x for x, s, _ in components() if s == side])
    return lines


def store_lines(kernel, section, numbers):
    half, number_bytes = kernel["precision"] == "half", NUMBER_BYTES[kernel["precision"]]
    lines = []
    bounds = groups(kernel, len(numbers)) + [(len(numbers), None)]
    for (first, vector), (end, _) in zip(bounds, bounds[1:]):
        made = numbers[first:end]
        if half:
            made = [f"packed(rounded_once({low}, unit), rounded_once({high}, unit))" for low, high in zip(made[::2], made[1::2])]
        start = f"groups_of<{vector}, {24 * number_bytes}>({section}, site)"
        lines.append(f"store_once(writable(after<{first * number_bytes}>({start})), make_{vector}({', '.join(made)}));")
    return lines


def kernel_source(operator, kernel):
    precision = kernel["precision"]
    half = precision == "half"
    started = set()
    body = ["Real " + ", ".join(x for x, _, _ in components()) + ";"]
    for hop in operator.SPATIAL_HOPS:
        body += hop_lines(kernel, hop, started)
    for hop in operator.TIME_HOPS:
        body += hop_lines(kernel, hop, started)
    body += result_lines(kernel)
    code = "\n".join("  " + line for line in body)
    quantum = "\n  constexpr T quantum = T(1) / T(32767);" if half else ""
    spinor, link = spinor_bytes(kernel), link_bytes(kernel)
    threads, blocks = BOUNDS[precision]
    slices = SLICES.get(f"{precision}_{kernel['reconstruct']}", SLICES[precision])
    return f"""// {name(kernel)}: generated by codegen/gen.py from line {kernel['line']} of codegen/kernels.yaml. Do not edit.
//
// out = b D in (+ a z) for every site of one parity, D the hopping term of codegen/operators/{operator.NAME}.py.
// {operator.FLOPS_PER_SITE} flops per site; bytes per site: {8 * link + 2 * spinor} (8 links of {link}, one spinor of {spinor} read, one written),
// {spinor} more with z; in temporal gauge {2 * link} fewer.
#include "dirac/cuda/hop.cuh"

namespace quadrille::dirac {{

template <bool temporal_gauge, bool twisted>
QUADRILLE_HOST_DEVICE void {name(kernel)}_site(const CudaHopArgs& args, const GroupedSite& here) {{
  using T = {REAL[precision]};
  using Real = T;
  [[maybe_unused]] constexpr int V = 1;{quantum}
  const unsigned site = unsigned(here.site);
  const CudaHopScalars<T>& scalars = args.scalars<T>();
{code}
}}

QUADRILLE_CUDA_HOP({name(kernel)}, {threads}, {blocks}, {slices})

}}  // namespace quadrille::dirac
"""
