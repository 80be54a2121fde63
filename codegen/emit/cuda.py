"""Emits CUDA kernels: one thread a site, straight-line register code, a thread block a tile of the checkerboard.

Names of temporaries as in emit/common.py; p and q are the groups of a neighbour's upper and lower spins, l those of the
links. Numbers lie in groups (core/layout/grouped_layout.h), so that consecutive threads read consecutive groups; the
arguments hold a pointer to each group's array. The links of all hops lie with the site that they lead to: only spinors are
read from neighbours. In temporal gauge the time links of inner sites are not loaded; that doubles each kernel, and
boundary factors that are not real double it again. `factor` is all that a hop is multiplied by: nu / xi0, b, the
projector's 2 and a real boundary factor.
In half precision the sum of quanta that a projection makes is formed in integer arithmetic, two at a time, on the bits of
a float whose mantissa then holds it (`magic`); quanta stay whole numbers until the sum: `unit` carries the quanta, the
norm of the neighbour and `factor`.
A body is a function of a site, which the host can run too: tests do, where there is no GPU.
"""

from codegen.emit.common import (
    COLOURS,
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
    whole_numbers,
)

WIDTH = {"double": 2, "single": 4, "half": 4}
VECTOR = {"double": "double2", "single": "float4", "half": "uint2"}
REAL = {"double": "double", "single": "float", "half": "float"}
# Threads of a block at most, and blocks of a multiprocessor at least: the registers that won by measurement (168 in
# double, 128 in single and half).
BOUNDS = {"double": (128, 3), "single": (512, 1), "half": (512, 1)}
# Whether a block walks along t (GroupedGeometry). In double the loop takes registers that the body needs.
WALKS = {"double": "false", "single": "true", "half": "true"}


def file_name(kernel):
    return f"{name(kernel)}_cuda.cu"


def strided(kernel):
    """Whether addresses are computed from the first group array's; the others have a pointer to each, which takes fewer
    registers and more constants. The faster way by measurement."""
    return kernel["precision"] == "half" and kernel["reconstruct"] != "8"


def element(kernel, field, group, index, first=0):
    """A pointer to element `index` of a group array of the input; those from `first` on follow each other in memory. The
    host has put the lower spins' first for the dagger."""
    if strided(kernel) and group > first:
        return f"static_cast<const Vector*>(args.{field}[{first}]) + ({group - first} * stride + {index})"
    return f"static_cast<const Vector*>(args.{field}[{group}]) + {index}"


def member(kernel, group, index):
    """The number `index` of the groups called `group`0, `group`1, ..."""
    width = WIDTH[kernel["precision"]]
    where = f"{group}{index // width}"
    if kernel["precision"] == "half":
        return f"whole<{index % width}>({where})"
    return f"{where}.{'xyzw'[index % width]}"


# ---- one hop -------------------------------------------------------------------------------------------------------


def projection_lines(kernel, hop, a):
    lines = []
    for c, h in zip(COLOURS, spin_names("h", a)):
        parts = ([], [])
        for spin, coefficient in hop.projector.project[a]:
            group = "p" if spin < 2 else "q"
            index = ((spin % 2) * 3 + c) * 2
            loaded = (member(kernel, group, index), member(kernel, group, index + 1))
            for part, term in zip(parts, times_unit(coefficient, *loaded)):
                part.append(term)
        for part, suffix in zip(parts, "ri"):
            lines.append(f"Real {h}{suffix} = {quanta_sum(part) if kernel['precision'] == 'half' else joined(part)};")
    return lines


def quanta_sum(terms):
    """The exact sum of 16-bit integers as a float: `add` takes each from its word."""
    text = "magic"
    for sign, term in terms:  # a term is "whole<k>(group)"
        text = term.replace(">(", f", {sign}1>(").replace("whole<", "add<")[:-1] + f", {text})"
    return f"from_magic({text})"


def phase_lines(hop, names):
    """A boundary factor that is not real; those that are go into `factor`."""
    d = hop.direction
    lines = [f"if (edge && args.twisted[{d}]) {{", f"  const Real c = scalars.phases[{d}][0], s = scalars.phases[{d}][1];"]
    for x in names:
        lines += [f"  const Real {x}t = {x}r;", f"  {x}r = {x}t * c - {x}i * s;", f"  {x}i = {x}t * s + {x}i * c;"]
    return ["if constexpr (twisted) {"] + ["  " + line for line in lines] + ["  }", "}"]


def link_groups(kernel, hop):
    """The groups of the pair of links of this hop's direction that this hop's link touches, and its first number."""
    width, numbers = WIDTH[kernel["precision"]], int(kernel["reconstruct"])
    first = 0 if hop.forward else numbers
    return range(first // width, (first + numbers - 1) // width + 1), first


def load_links(kernel, hop):
    width, numbers = WIDTH[kernel["precision"]], int(kernel["reconstruct"])
    groups, _ = link_groups(kernel, hop)
    field, before = ("time_links", 0) if hop.mu == 3 else ("spatial_links", hop.mu * 2 * numbers // width)
    return [f"const Vector l{g} = load_once({element(kernel, field, before + g, 'site')});" for g in groups]


def link_needed(hop):
    return "!temporal_gauge || edge"


def scales(kernel, hop, source):
    return unit_scales(kernel, hop, source) if kernel["precision"] == "half" else ["factor * "] * 3


def hop_with_link(kernel, hop, started):
    half = kernel["precision"] == "half"
    _, first = link_groups(kernel, hop)
    lines = load_links(kernel, hop)
    lines += link_lines(kernel, lambda k: member(kernel, "l", first + k))
    if half and whole_numbers(kernel):
        lines.append("unit *= quantum;  // of the link")
    for a in range(2):
        spin = projection_lines(kernel, hop, a) + phase_lines(hop, spin_names("h", a))
        spin += row_2_lines(kernel, hop, a) + product_lines(hop, a)
        spin += accumulation_lines(hop, a, "v", started, scales(kernel, hop, "v"))
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
    per_side = 12 // WIDTH[kernel["precision"]]
    body = [f"const bool edge = here.edge<{hop.direction}>(args.geometry);",
            f"const unsigned there = unsigned(here.neighbour<{hop.direction}>(args.geometry));"]
    for side, group, first in (("upper", "p", 0), ("lower", "q", per_side)):
        if side in spinor_pointers(hop):
            body += [f"const Vector {group}{g} = load_shared({element(kernel, 'in', first + g, 'there', first)});" for g in range(per_side)]
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
    half, width = precision == "half", WIDTH[precision]
    per_side = 12 // width
    lines = ["if (args.z[0] != nullptr) {"]
    for side, group, first in (("upper", "p", 0), ("lower", "q", per_side)):
        lines += [f"  const Vector {group}{g} = load_own({element(kernel, 'z', first + g, 'site', first)});" for g in range(per_side)]
    scale = "scalars.a"
    if half:
        lines.append("  const Real scale = args.z_norms[site] * (quantum * scalars.a);")
        scale = "scale"
    for x, side, index in components():
        lines.append(f"  {x} += {scale} * {member(kernel, 'p' if side == 'upper' else 'q', index)};")
    lines.append("}")
    names = {side: [x for x, s, _ in components() if s == side] for side in ("upper", "lower")}
    if half:
        lines.append("Real norm = 0;")
        lines += [f"norm = largest(norm, {x});" for x, _, _ in components()]
        lines.append("const Real unit = quanta_of(norm);  // 0, and the norm 0 or not-a-number, where there is none")
        lines.append("args.out_norms[site] = norm;")
    for side, first in (("upper", 0), ("lower", per_side)):
        for g in range(per_side):
            group = names[side][g * width : (g + 1) * width]
            made = f"quantized({', '.join(group)}, unit)" if half else f"make_{VECTOR[precision]}({', '.join(group)})"
            lines.append(f"store_once(static_cast<Vector*>(args.out[{first + g}]) + site, {made});")
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
    stride = "\n  const unsigned stride = fresh(unsigned(args.stride));" if strided(kernel) else ""
    return f"""// {name(kernel)}: generated by codegen/gen.py from line {kernel['line']} of codegen/kernels.yaml. Do not edit.
//
// out = b D in (+ a z) for every site of one parity, D the hopping term of codegen/operators/{operator.NAME}.py.
// {operator.FLOPS_PER_SITE} flops a site; bytes a site: {8 * link + 2 * spinor} (8 links of {link}, one spinor of {spinor} read, one written),
// {spinor} more with z; in temporal gauge {2 * link} fewer.
#include "dirac/cuda/hop.cuh"

namespace quadrille::dirac {{

template <bool temporal_gauge, bool twisted>
QUADRILLE_HOST_DEVICE void {name(kernel)}_site(const CudaHopArgs& args, const GroupedSite& here) {{
  using T = {REAL[precision]};
  using Real = T;
  using Vector = {VECTOR[precision]};
  [[maybe_unused]] constexpr int V = 1;{quantum}
  const unsigned site = unsigned(here.site);{stride}
  const CudaHopScalars<T>& scalars = args.scalars<T>();
{code}
}}

QUADRILLE_CUDA_HOP({name(kernel)}, {threads}, {blocks}, {WALKS[precision]})

}}  // namespace quadrille::dirac
"""
