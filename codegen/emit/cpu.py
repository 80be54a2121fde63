"""Emits CPU kernels: C++ with vector extensions, one block of V sites at a time, straight-line code.

Named temporaries, one term a line: psi components are loaded by the projection, h is the half spinor, u the link, v the
link times the half spinor, a the accumulated result. A suffix r or i is the real or imaginary part. The two spins of a
half spinor go one after the other, so that what is alive at a time nearly fits 16 registers: three colors of h and v.
Calls of a list follow each other in each block, so that its links come from memory once and then from the first-level
cache. Every hop asks for what it will read in the next call, or in the next block.
In half precision quanta are added as integers, and links and spinors stay whole numbers until the sum: `unit` carries
the quanta, the norm of the neighbour and the factor of the hop.
The links of all hops lie with the site that they lead to, backward ones too: they are never rotated, and are read as one
stream. Crossing the edge of the virtual sub-lattices is a lane rotation of the half-spinor numbers, together with the
boundary phase.
Where a hop leads to another rank, the projected half spinor comes from a ghost zone that the pack kernel of that rank has
filled; `edges` is false in the kernel of all other blocks, and of a single rank.
"""

from codegen.emit.common import (
    COLORS,
    HALF_SPINOR,
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

STORAGE = {"double": "DoubleStorage", "single": "SingleStorage", "half": "HalfStorage"}
REAL = {"double": "double", "single": "float", "half": "float"}
SIDES = ("upper", "lower")
OPENING = """#include "dirac/kernel_args.h"
#include "core/simd/simd.h"

namespace quadrille::dirac {
inline namespace QUADRILLE_ISA {
namespace {

using namespace simd;
"""
CLOSING = """}  // namespace
}  // namespace QUADRILLE_ISA
"""


def file_name(stem):
    return f"{stem}_cpu.cpp"


def load_quanta(pointer, index):
    return f"load_quanta<V>({pointer} + {index} * V)"


def load_number(pointer, index):
    return f"load<S, V>({pointer} + {index} * V)"


# ---- one hop ------------------------------------------------------------------------------------------------------------


def projections(kernel, hop, a):
    """(name, expression) of the real numbers of spin a of the half spinor, as the neighbour's spinor gives them."""
    half = kernel["precision"] == "half"
    for c, h in zip(COLORS, spin_names("h", a)):
        parts = ([], [])
        for spin, coefficient in hop.projector.project[a]:
            pointer = "upper" if spin < 2 else "lower"
            index = ((spin % 2) * 3 + c) * 2
            load = load_quanta if half else load_number
            loaded = (load(pointer, index), load(pointer, index + 1))
            for part, term in zip(parts, times_unit(coefficient, *loaded)):
                part.append(term)
        for part, suffix in zip(parts, "ri"):
            yield f"{h}{suffix}", f"to_float<V>({joined(part)})" if half else joined(part)


def ghost_loads(kernel, a):
    """The same from a ghost zone."""
    half = kernel["precision"] == "half"
    for c in COLORS:
        for k in range(2):
            index = (3 * a + c) * 2 + k
            yield f"to_float<V>({load_quanta('ghost', index)})" if half else load_number("ghost", index)


def projection_lines(kernel, hop, a):
    found = list(projections(kernel, hop, a))
    lines = [f"Real {', '.join(h for h, _ in found)};", f"if ({outside(hop)}) {{"]
    lines += [f"  {h} = {load};" for (h, _), load in zip(found, ghost_loads(kernel, a))] + ["} else {"]
    return lines + [f"  {h} = {expression};" for h, expression in found] + ["}"]


def outside(hop):
    """Whether the neighbour is another rank's."""
    return f"edges && (outside & {1 << hop.direction}u)"


def crossing_lines(hop, names, extra=()):
    """Rotates lanes and multiplies by the boundary phase where the hop crosses the edge of the sub-lattices."""
    d = hop.direction
    lines = [
        f"if (wraps & {1 << d}u) {{",
        f"  const Mask rotation = *static_cast<const Mask*>(args.rotations[{d}]);",
        f"  const Real* phase = static_cast<const Real*>(args.phases[{d}]);",
    ]
    for x in names:
        lines += [
            f"  const Real {x}s = permute<T, V>({x}r, rotation);",
            f"  const Real {x}t = permute<T, V>({x}i, rotation);",
            f"  {x}r = {x}s * phase[0] - {x}t * phase[1];",
            f"  {x}i = {x}s * phase[1] + {x}t * phase[0];",
        ]
    return lines + [f"  {line}" for line in extra] + ["}"]


def link_address(kernel, hop, block):
    """The link that this hop multiplies by: they lie in the order of the hops, which the processor takes for a stream."""
    links, count = ("time_links", 2) if hop.mu == 3 else ("spatial_links", 6)
    place = 2 * (hop.mu % 3) + (0 if hop.forward else 1)
    return f"{links} + ({block} * {count} + {place}) * {int(kernel['reconstruct'])} * V"


def prefetch_lines(kernel, hop):
    lines = [f"const std::int64_t there = neighbours_ahead[{hop.direction}];"]
    lines += [f"prefetch<{HALF_SPINOR} * V>(ahead_{side} + there * {SPINOR} * V);" for side in spinor_pointers(hop)]
    if kernel["precision"] == "half":
        lines.append("prefetch<V>(ahead.in_norms + there * V);")
    needed = f"last && ({link_needed(hop, 'next_wraps')})" if hop.mu == 3 else "last"
    lines.append(f"if ({needed}) prefetch<{int(kernel['reconstruct'])} * V>({link_address(kernel, hop, 'next')});")
    return ["{  // what comes next"] + indented(lines) + ["}"]


def link_needed(hop, wraps):
    """In temporal gauge all time links but those that leave the last slice are the unit matrix."""
    return f"!args.temporal_gauge || ({wraps} & {1 << hop.direction}u)"


def scales(kernel, hop, source):
    if kernel["precision"] == "half":
        return unit_scales(kernel, hop, source)
    return [f"{hop.coefficient} * " if hop.mu == 3 else ""] * 3


def hop_with_link(kernel, hop, started):
    half = kernel["precision"] == "half"
    lines = [f"const Number* link = {link_address(kernel, hop, 'block')};"]
    lines += link_lines(kernel, lambda k: load_number("link", k))
    if half:
        lines.append("unit *= quantum;  // of the link")
    for a in range(2):
        rotate_norm = ["unit = permute<T, V>(unit, rotation);"] if half and a == 0 else []
        spin = projection_lines(kernel, hop, a)
        spin += crossing_lines(hop, spin_names("h", a), rotate_norm)
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
    body = prefetch_lines(kernel, hop)
    body.append(f"const std::int64_t there = neighbours[{hop.direction}];")
    body += [f"const Number* {side} = in_{side} + there * {SPINOR} * V;" for side in spinor_pointers(hop)]
    body.append(f"const Number* ghost = edges ? static_cast<const Number*>(fields.ghosts[{hop.direction}]) + there * {HALF_SPINOR} * V : nullptr;")
    if kernel["precision"] == "half":
        body.append(f"const float* norms = {outside(hop)} ? fields.ghost_norms[{hop.direction}] : fields.in_norms;")
        body.append(f"Real unit = load<SingleStorage, V>(norms + there * V) * (quantum * {hop.coefficient});")
    with_link = hop_with_link(kernel, hop, started)
    if hop.mu == 3:
        body.append(f"if ({link_needed(hop, 'wraps')}) {{")
        body += ["  " + line for line in with_link] + ["} else {"]
        body += ["  " + line for line in hop_without_link(kernel, hop, started)] + ["}"]
    else:
        body += with_link
    return [f"{{  // {hop.formula}"] + ["  " + line for line in body] + ["}"]


# ---- the kernel ---------------------------------------------------------------------------------------------------------


def site(operator, kernel):
    """How a block of sites reads z and chiral blocks."""
    half, size = kernel["precision"] == "half", operator.BLOCKS.numbers
    given = lambda of: argument(operator, of)
    load_z = [f"const Number* z_{side} = static_cast<const Number*>(fields.z) + (block * {SPINOR} + args.{side}) * V;" for side in SIDES]

    def load_blocks(of, chirality):
        unit = [f"const Real unit = load<SingleStorage, V>({given(of)}_norms + block * V) * quantum;"] if half else []
        return [f"const Number* numbers = static_cast<const Number*>({given(of)}[{chirality}]) + block * {2 * size} * V;"] + unit

    z_norm = "load<SingleStorage, V>(fields.z_norms + block * V)"
    return Site(
        scalar=lambda of: f"T({given(of)})",
        has_z="fields.z != nullptr",
        blocks_on_z=f"{given(operator.BLOCKS.of)}_on_z",
        load_z=load_z,
        z=lambda side, index: load_number(f"z_{side}", index),
        z_scale=lambda x, of: ([f"const Real {x} = {z_norm} * (quantum * {of});" if half else f"const T {x} = {of};"], x),
        has_blocks=lambda of: f"{given(of)}[0] != nullptr",
        load_blocks=load_blocks,
        block=lambda _, index: load_number("numbers", index),
        block_unit="unit" if half else None,
    )


def with_blocks_source(operator, kernel):
    """A function of its own, since few calls have blocks: a body is compiled for every number of lanes, with and without edges."""
    names = [x for x, _, _ in components()]
    lines = [f"Real {', '.join(f'{x} = sum[{k}]' for k, x in enumerate(names))};"]
    lines += local_lines(operator, site(operator, kernel)) + [f"sum[{k}] = {x};" for k, x in enumerate(names)]
    code = "\n".join(indented(lines))
    return f"""/// Chiral blocks on the hops' sum, which becomes the result, or on z.
template <int V>
[[gnu::noinline]] void with_blocks(const DslashArgs& args, const DslashFields& fields, std::int64_t block,
                                   Vec<{REAL[kernel['precision']]}, V> (&sum)[{SPINOR}]) {{
  {types(kernel)}
{code}
}}
"""


def result_lines(operator, kernel):
    """The site-local terms on b times the hops' sum and on z; half precision collects the 24 numbers before they are stored."""
    number, twist = operator.ON_SUM
    names = [x for x, _, _ in components()]
    lines = [f"{x} *= T({argument(operator, number.of)});" for x in names]
    twisted = argument(operator, twist.of)
    lines += when(f"{twisted} != 0", [f"const T twist = T({twisted});", *twist_lines("a", "twist")])
    with_blocks = [f"Real sum[{SPINOR}] = {{{', '.join(names)}}};", "with_blocks<V>(args, fields, block, sum);"]
    with_blocks += [f"{x} = sum[{k}];" for k, x in enumerate(names)]
    lines += either(site(operator, kernel).has_blocks(operator.BLOCKS.of), with_blocks, sum_and_z_lines(operator, site(operator, kernel)))
    return lines + result_stores(kernel)


def result_stores(kernel):
    if kernel["precision"] == "half":
        lines = []
        for side in SIDES:
            names = ", ".join(x for x, s, _ in components() if s == side)
            lines.append(f"const Real {side}_result[] = {{{names}}};")
        lines += [
            f"Real result[{SPINOR}];",
            f"for (int i = 0; i < {HALF_SPINOR}; ++i) result[args.upper + i] = upper_result[i];",
            f"for (int i = 0; i < {HALF_SPINOR}; ++i) result[args.lower + i] = lower_result[i];",
            f"Number* numbers = static_cast<Number*>(fields.out) + block * {SPINOR} * V;",
            "float* norms = fields.out_norms + block * V;",
        ]
        return lines + either("args.stream", [f"store_half<true, V>(numbers, norms, result, {SPINOR});"],
                              [f"store_half<false, V>(numbers, norms, result, {SPINOR});"])
    lines = [f"Number* out_{side} = static_cast<Number*>(fields.out) + (block * {SPINOR} + args.{side}) * V;" for side in SIDES]
    stores = {past: [f"store<{past}, T, V>(out_{side} + {index} * V, {x});" for x, side, index in components()]
              for past in ("true", "false")}
    return lines + either("args.stream", stores["true"], stores["false"])


def types(kernel):
    quantum = "\n  constexpr T quantum = T(1) / T(32767);" if kernel["precision"] == "half" else ""
    return f"""using S = {STORAGE[kernel['precision']]};
  using Number = typename S::Number;
  using T = typename S::Real;
  using Real [[maybe_unused]] = Vec<T, V>;{quantum}"""


def coefficients(operator):
    """Declares what hops are multiplied by: each coefficient, with what the projector has taken out."""
    scales = {hop.coefficient: hop.projector.scale for hop in operator.SPATIAL_HOPS + operator.TIME_HOPS}
    given = {of: argument(operator, of) for of in scales}
    terms = [f"{of} = T({scale} * {given[of]})" if scale != 1 else f"{of} = T({given[of]})" for of, scale in scales.items()]
    return f"const T {', '.join(terms)};"


def call_lines(operator, kernel):
    """The hops and terms of one call in a block."""
    started = set()
    lines = ["Real " + ", ".join(x for x, _, _ in components()) + ";"]
    for hop in operator.SPATIAL_HOPS:
        lines += hop_lines(kernel, hop, started)
    if kernel["precision"] != "half":
        lines += [f"{x} *= spatial;" for x, _, _ in components()]
    for hop in operator.TIME_HOPS:
        lines += hop_lines(kernel, hop, started)
    return lines + result_lines(operator, kernel)


def spinor_halves(prefix, fields):
    """Where the upper and the lower spins of a call's `in` begin."""
    return [f"const Number* const {prefix}_{side} = static_cast<const Number*>({fields}.in) + args.{side} * V;" for side in SIDES]


def kernel_source(operator, kernel):
    body = [
        "const std::int64_t block = listed ? args.blocks[at] : at;",
        "const std::int32_t* neighbours = args.neighbours + block * 8;",
        "const unsigned wraps = args.wraps[block];",
        "[[maybe_unused]] const unsigned outside = edges ? args.outside[block] : 0;",
        "const std::int64_t later = at + 1 < end ? at + 1 : at;",
        "const std::int64_t next = listed ? args.blocks[later] : later;",
        "const std::int32_t* next_neighbours = args.neighbours + next * 8;",
        "const unsigned next_wraps = args.wraps[next];",
        "for (int call = 0; call < args.count; ++call) {",
    ]
    call = ["const bool last = call + 1 == args.count;",
            "const DslashFields &fields = args.calls[call], &ahead = args.calls[last ? 0 : call + 1];"]
    call += spinor_halves("in", "fields") + spinor_halves("ahead", "ahead")
    call += ["const std::int32_t* neighbours_ahead = last ? next_neighbours : neighbours;"] + call_lines(operator, kernel)
    body += indented(call) + ["}"]
    code = "\n".join("    " + line for line in body)
    spinor, link = spinor_bytes(kernel), link_bytes(kernel)
    return f"""// {name(kernel)}: generated by codegen/gen.py from line {kernel['line']} of codegen/kernels.yaml. Do not edit.
//
// out = b D in (+ a z) for each call of a list, over blocks [begin, end) of one parity, or of a list of them, D the
// hopping term of codegen/operators/{operator.NAME}.py.
// {operator.FLOPS_PER_SITE} flops per site; bytes per site: {8 * link + 2 * spinor} (8 links of {link}, one spinor of {spinor} read, one written),
// {spinor} more with z; in temporal gauge {2 * link} fewer.
{OPENING}
template <class T>
constexpr T smallest_n = sizeof(T) == 8 ? T(1e-30) : T(1e-14);

{with_blocks_source(operator, kernel)}
template <int V, bool edges>
void run(const DslashArgs& args, std::int64_t begin, std::int64_t end) {{
  {types(kernel)}
  using Mask = Vec<IntOf<T>, V>;
  const Number* const spatial_links = static_cast<const Number*>(args.spatial_links);
  const Number* const time_links = static_cast<const Number*>(args.time_links);
  const bool listed = args.blocks != nullptr;
  {coefficients(operator)}
  for (std::int64_t at = begin; at < end; ++at) {{
{code}
  }}
  if (args.stream) stream_fence();
}}

template <int V>
void run_any(const DslashArgs& args, std::int64_t begin, std::int64_t end) {{
  args.outside != nullptr ? run<V, true>(args, begin, end) : run<V, false>(args, begin, end);
}}

{CLOSING}
{entry(kernel, name(kernel), "DslashArgs", "run_any")}
}}  // namespace quadrille::dirac
"""


def entry(kernel, stem, args, function):
    """The function that C++ finds: it chooses the lanes."""
    return f"""#define QUADRILLE_JOIN_(a, b) a##b
#define QUADRILLE_JOIN(a, b) QUADRILLE_JOIN_(a, b)

void QUADRILLE_JOIN({stem}_, QUADRILLE_ISA)(const {args}& args, int lanes, std::int64_t begin, std::int64_t end) {{
  constexpr int real_bytes = int(sizeof(typename {STORAGE[kernel['precision']]}::Real));
  constexpr int native = QUADRILLE_ISA_BYTES / real_bytes;
  if (lanes == native) return {function}<native>(args, begin, end);
#if QUADRILLE_ISA_BYTES <= 32  // lattices that can be cut into fewer lanes, or none
  if (lanes == 16 / real_bytes) return {function}<16 / real_bytes>(args, begin, end);
  if (lanes == 1) return {function}<1>(args, begin, end);
#endif
}}
"""


# ---- what goes to other ranks -------------------------------------------------------------------------------------------


def pack_lines(kernel, hop):
    half = kernel["precision"] == "half"
    lines = [f"const Number* {side} = in_{side} + there * {SPINOR} * V;" for side in spinor_pointers(hop)]
    found = [one for a in range(2) for one in projections(kernel, hop, a)]
    if half:
        lines.append("const Real unit = load<SingleStorage, V>(args.in_norms + there * V) * quantum;")
        lines.append("const Real h[] = {")
        lines += [f"    {expression} * unit," for _, expression in found] + ["};"]
        return lines + [f"store_half<false, V>(out + at * {HALF_SPINOR} * V, args.out_norms + at * V, h, {HALF_SPINOR});"]
    return lines + [f"store<false, T, V>(out + (at * {HALF_SPINOR} + {k}) * V, {expression});" for k, (_, expression) in enumerate(found)]


def pack_source(operator, kernel, stem):
    """The kernel that fills the ghost zones of other ranks."""
    hops = operator.SPATIAL_HOPS + operator.TIME_HOPS
    cases = []
    for hop in sorted(hops, key=lambda hop: hop.direction):
        body = ["for (std::int64_t at = begin; at < end; ++at) {", "  const std::int64_t there = args.blocks[at];"]
        body += ["  " + line for line in pack_lines(kernel, hop)] + ["}", "return;"]
        cases += [f"case {hop.direction}: {{  // for {hop.formula}"] + ["  " + line for line in body] + ["}"]
    code = "\n".join("    " + line for line in cases)
    return f"""// {stem}: generated by codegen/gen.py for codegen/operators/{operator.NAME}.py. Do not edit.
//
// The projected half spinors, {HALF_SPINOR} real numbers per site, that hops from other ranks find at the blocks [begin, end) of a list.
{OPENING}
template <int V>
void pack(const PackArgs& args, std::int64_t begin, std::int64_t end) {{
  {types(kernel)}
  const Number* const in_upper = static_cast<const Number*>(args.in) + args.upper * V;
  const Number* const in_lower = static_cast<const Number*>(args.in) + args.lower * V;
  Number* const out = static_cast<Number*>(args.out);
  switch (args.direction) {{
{code}
  }}
}}

{CLOSING}
{entry(kernel, stem, "PackArgs", "pack")}
}}  // namespace quadrille::dirac
"""


# ---- the site-local terms alone -----------------------------------------------------------------------------------------


def local_source(operator, kernel, stem):
    """The kernel of site-local terms on z: with blocks the sum is 0."""
    names = [x for x, _, _ in components()]
    with_blocks = [f"Real sum[{SPINOR}] = {{}};", "with_blocks<V>(args, fields, block, sum);", *(f"{x} = sum[{k}];" for k, x in enumerate(names))]
    without = z_lines(operator, site(operator, kernel), "a", False)
    lines = [declared(names)] + either(site(operator, kernel).has_blocks(operator.BLOCKS.of), with_blocks, without) + result_stores(kernel)
    code = "\n".join("      " + line for line in lines)
    return f"""// {stem}: generated by codegen/gen.py for codegen/operators/{operator.NAME}.py. Do not edit.
//
// out = R z, R site-local, over blocks [begin, end) of one parity.
{OPENING}
{with_blocks_source(operator, kernel)}
template <int V>
void run(const DslashArgs& args, std::int64_t begin, std::int64_t end) {{
  {types(kernel)}
  for (std::int64_t block = begin; block < end; ++block) {{
    for (int call = 0; call < args.count; ++call) {{
      const DslashFields& fields = args.calls[call];
{code}
    }}
  }}
  if (args.stream) stream_fence();
}}

{CLOSING}
{entry(kernel, stem, "DslashArgs", "run")}
}}  // namespace quadrille::dirac
"""
