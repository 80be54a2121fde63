"""Emits CPU kernels: C++ with vector extensions, one block of V sites at a time, straight-line code.

Named temporaries, one term a line: psi components are loaded by the projection, h is the half spinor, u the link, v the
link times the half spinor, a the accumulated result. A suffix r or i is the real or imaginary part. The two spins of a
half spinor go one after the other, so that what is alive at a time nearly fits 16 registers: three colours of h and v.
Every hop asks for what it will read in the next block.
In half precision quanta are added as integers, and links and spinors stay whole numbers until the sum: `unit` carries
the quanta, the norm of the neighbour and the factor of the hop.
The links of all hops lie with the site that they lead to, backward ones too: they are never rotated, and are read as one
stream. Crossing the edge of the virtual sub-lattices is a lane rotation of the 12 half-spinor numbers, together with the
boundary phase.
"""

NUMBER_BYTES = {"double": 8, "single": 4, "half": 2}
STORAGE = {"double": "DoubleStorage", "single": "SingleStorage", "half": "HalfStorage"}
COLOURS = range(3)


def name(kernel):
    return f"{kernel['operator']}_{kernel['precision']}_{kernel['reconstruct']}"


def file_name(kernel):
    return f"{name(kernel)}_cpu.cpp"


def spinor_bytes(kernel):
    return 24 * NUMBER_BYTES[kernel["precision"]] + (4 if kernel["precision"] == "half" else 0)


def link_bytes(kernel):
    return int(kernel["reconstruct"]) * NUMBER_BYTES[kernel["precision"]]


# ---- complex expressions -------------------------------------------------------------------------------------------


def times_unit(c, re, im):
    """(sign, name) of the real and imaginary part of c * (re + i im) for c in {1, -1, i, -i}."""
    return {
        (1, 0): (("+", re), ("+", im)),
        (-1, 0): (("-", re), ("-", im)),
        (0, 1): (("-", im), ("+", re)),
        (0, -1): (("+", im), ("-", re)),
    }[c]


def joined(terms):
    """'a + b - c' from (sign, name) pairs."""
    text = " ".join(f"{sign} {term}" for sign, term in terms)
    return text[2:] if text.startswith("+ ") else "-" + text[2:]


def complex_product(target, pairs, conjugate_first=False):
    """Two lines: target = sum over pairs of (first * second), the first conjugated on demand."""
    re, im = [], []
    for first, second in pairs:
        re += [("+", f"{first}r * {second}r"), ("+" if conjugate_first else "-", f"{first}i * {second}i")]
        im += [("+", f"{first}r * {second}i"), ("-" if conjugate_first else "+", f"{first}i * {second}r")]
    return [f"{target}r = {joined(re)};", f"{target}i = {joined(im)};"]


def load_quanta(pointer, index):
    return f"load_quanta<V>({pointer} + {index} * V)"


# ---- links ---------------------------------------------------------------------------------------------------------


def load_number(pointer, index):
    return f"load<S, V>({pointer} + {index} * V)"


def whole_numbers(kernel):
    """Whether links stay in quanta; the codec of 8 numbers needs them as they are."""
    return kernel["precision"] == "half" and kernel["reconstruct"] != "8"


def link_lines(kernel):
    """Declares u00r .. u22i from the numbers at `link`."""
    numbers = int(kernel["reconstruct"])
    if numbers == 8:
        return link_lines_8(" * quantum" if kernel["precision"] == "half" else "")
    lines = []
    for k in range(numbers // 2):
        u = f"u{k // 3}{k % 3}"
        lines.append(f"const Real {u}r = {load_number('link', 2 * k)};")
        lines.append(f"const Real {u}i = {load_number('link', 2 * k + 1)};")
    if numbers == 12:
        lines.append("// row 2 = conj(row 0 x row 1)")
        for j in COLOURS:
            k, l = (j + 1) % 3, (j + 2) % 3
            lines += cross_lines(f"u2{j}", f"u0{k}", f"u1{l}", f"u0{l}", f"u1{k}", whole_numbers(kernel))
    return lines


def cross_lines(target, a, b, c, d, whole):
    """target = conj(a b - c d)."""
    re = f"{a}r * {b}r - {a}i * {b}i - {c}r * {d}r + {c}i * {d}i"
    im = f"{c}r * {d}i + {c}i * {d}r - {a}r * {b}i - {a}i * {b}r"
    if whole:
        re, im = f"({re}) * quantum", f"({im}) * quantum"
    return [f"const Real {target}r = {re};", f"const Real {target}i = {im};"]


def link_lines_8(unit):
    """Eight numbers: core/gauge/link_codec.h has the formulas. Row 0 of V is row 1 of U, row 2 of V is minus row 2 of U."""
    lines = [f"const Real phase{k} = {load_number('link', k)}{unit};" for k in range(2)]
    for k, u in enumerate(("u11", "u12", "u00")):
        lines.append(f"const Real {u}r = {load_number('link', 2 + 2 * k)}{unit};")
        lines.append(f"const Real {u}i = {load_number('link', 3 + 2 * k)}{unit};")
    lines += [
        "// |v00|^2 = 1 - N, |v20|^2 = N - |v10|^2, N = |v01|^2 + |v02|^2",
        "const Real n = u11r * u11r + u11i * u11i + u12r * u12r + u12i * u12i;",
        "const Real size0 = sqrt_positive<T, V>(T(1) - n);",
        "const Real size2 = sqrt_positive<T, V>(n - u00r * u00r - u00i * u00i);",
        "Real sine0, cosine0, sine2, cosine2;",
        "sincospi<T, V>(phase0, sine0, cosine0);",
        "sincospi<T, V>(phase1, sine2, cosine2);",
        "const Real u10r = size0 * cosine0;",
        "const Real u10i = size0 * sine0;",
        "const Real u20r = -size2 * cosine2;",
        "const Real u20i = -size2 * sine2;",
        "const Real inverse = T(1) / (n > smallest_n<T> ? n : broadcast<T, V>(smallest_n<T>));",
        "// v11 = -(conj(v00) v10 v01 + conj(v20) conj(v02)) / N and its three companions",
    ]
    for target, conj_sign in (("a", None), ("c", None)):
        other = "u00" if target == "a" else "u20"
        product = complex_product(f"{target}", [("u10", other)], conjugate_first=True)
        sign = "" if target == "a" else "-"  # v20 = -u20
        for part, line in zip("ri", product):
            expression = line.split(" = ", 1)[1].rstrip(";")
            lines.append(f"const Real {target}{part} = {sign}({expression}) * inverse;")
    lines += [
        "const Real br = -u20r * inverse;",  # b = conj(v20) / N = -conj(u20) / N
        "const Real bi = u20i * inverse;",
        "const Real dr = u00r * inverse;",  # d = conj(v10) / N
        "const Real di = -u00i * inverse;",
        # v11 = -(a v01 + b conj(v02)), v12 = -(a v02 - b conj(v01)): row 0 of U
        "const Real u01r = ai * u11i - ar * u11r - br * u12r - bi * u12i;",
        "const Real u01i = br * u12i - bi * u12r - ar * u11i - ai * u11r;",
        "const Real u02r = ai * u12i - ar * u12r + br * u11r + bi * u11i;",
        "const Real u02i = bi * u11r - br * u11i - ar * u12i - ai * u12r;",
        # u21 = -v21 = c v01 - d conj(v02), u22 = -v22 = c v02 + d conj(v01)
        "const Real u21r = cr * u11r - ci * u11i - dr * u12r - di * u12i;",
        "const Real u21i = cr * u11i + ci * u11r + dr * u12i - di * u12r;",
        "const Real u22r = cr * u12r - ci * u12i + dr * u11r + di * u11i;",
        "const Real u22i = cr * u12i + ci * u12r + di * u11r - dr * u11i;",
    ]
    return lines


# ---- one hop -------------------------------------------------------------------------------------------------------


def spin_names(prefix, a):
    """The three complex names of spin a of a half spinor."""
    return [f"{prefix}{a}{c}" for c in COLOURS]


def projection_lines(kernel, hop, a):
    half = kernel["precision"] == "half"
    lines = []
    for c, h in zip(COLOURS, spin_names("h", a)):
        parts = ([], [])
        for spin, coefficient in hop.projector.project[a]:
            pointer = "upper" if spin < 2 else "lower"
            index = ((spin % 2) * 3 + c) * 2
            load = load_quanta if half else load_number
            loaded = (load(pointer, index), load(pointer, index + 1))
            for part, term in zip(parts, times_unit(coefficient, *loaded)):
                part.append(term)
        for part, suffix in zip(parts, "ri"):
            lines.append(f"Real {h}{suffix} = {f'to_float<V>({joined(part)})' if half else joined(part)};")
    return lines


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


def product_lines(hop, a):
    """v = U h, or U^+ h, for spin a."""
    declared = ", ".join(f"{x}{part}" for x in spin_names("v", a) for part in "ri")
    lines = [f"Real {declared};"]
    for i in COLOURS:
        pairs = [(f"u{i}{j}" if hop.forward else f"u{j}{i}", f"h{a}{j}") for j in COLOURS]
        lines += complex_product(f"v{a}{i}", pairs, conjugate_first=not hop.forward)
    return lines


def accumulation_lines(kernel, hop, a, source, started):
    """Adds the half spinor `source` (v, or h where the link is 1), spin a, to the result."""
    if kernel["precision"] == "half":
        scale = "unit * "
    else:
        scale = f"T({hop.projector.scale}) * " if hop.projector.scale != 1 else ""
    lines = []
    for spin, half_spin, coefficient in hop.projector.reconstruct:
        if half_spin != a:
            continue
        for c in COLOURS:
            parts = times_unit(coefficient, f"{source}{a}{c}r", f"{source}{a}{c}i")
            for (sign, term), suffix in zip(parts, "ri"):
                target = f"a{spin}{c}{suffix}"
                if target in started:
                    lines.append(f"{target} {sign}= {scale}{term};")
                else:
                    lines.append(f"{target} = {'-' if sign == '-' else ''}{scale}{term};")
    return lines


def start(hop, a, started):
    started.update(f"a{spin}{c}{part}" for spin, b, _ in hop.projector.reconstruct if b == a for c in COLOURS for part in "ri")


def spinor_pointers(hop):
    """Which of the pointers `upper` and `lower` the projection reads."""
    spins = [spin for terms in hop.projector.project for spin, _ in terms]
    return [side for side, wanted in (("upper", min(spins) < 2), ("lower", max(spins) >= 2)) if wanted]


def link_address(kernel, hop, block):
    """The link that this hop multiplies by: they lie in the order of the hops, which the processor takes for a stream."""
    links, count = ("time_links", 2) if hop.mu == 3 else ("spatial_links", 6)
    place = 2 * (hop.mu % 3) + (0 if hop.forward else 1)
    return f"{links} + ({block} * {count} + {place}) * {int(kernel['reconstruct'])} * V"


def prefetch_lines(kernel, hop):
    lines = [f"const std::int64_t there = next_neighbours[{hop.direction}];"]
    lines += [f"prefetch<12 * V>(in_{side} + there * 24 * V);" for side in spinor_pointers(hop)]
    if kernel["precision"] == "half":
        lines.append("prefetch<V>(args.in_norms + there * V);")
    condition = f"if ({link_needed(hop, 'next_wraps')}) " if hop.mu == 3 else ""
    lines.append(f"{condition}prefetch<{int(kernel['reconstruct'])} * V>({link_address(kernel, hop, 'next')});")
    return ["{  // the next block's"] + ["  " + line for line in lines] + ["}"]


def link_needed(hop, wraps):
    """In temporal gauge all time links but those that leave the last slice are the unit matrix."""
    return f"!args.temporal_gauge || ({wraps} & {1 << hop.direction}u)"


def hop_with_link(kernel, hop, started):
    half = kernel["precision"] == "half"
    lines = [f"const Number* link = {link_address(kernel, hop, 'block')};"] + link_lines(kernel)
    if half and whole_numbers(kernel):
        lines.append("unit *= quantum;  // of the link")
    for a in range(2):
        rotate_norm = ["unit = permute<T, V>(unit, rotation);"] if half and a == 0 else []
        spin = projection_lines(kernel, hop, a)
        spin += crossing_lines(hop, spin_names("h", a), rotate_norm)
        spin += product_lines(hop, a)
        spin += accumulation_lines(kernel, hop, a, "v", started)
        start(hop, a, started)
        lines += ["{"] + ["  " + line for line in spin] + ["}"]
    return lines


def hop_without_link(kernel, hop, started):
    lines = []
    for a in range(2):
        lines += projection_lines(kernel, hop, a) + accumulation_lines(kernel, hop, a, "h", started)
    return lines


def hop_lines(kernel, hop, started):
    body = prefetch_lines(kernel, hop)
    body.append(f"const std::int64_t there = neighbours[{hop.direction}];")
    body += [f"const Number* {side} = in_{side} + there * 24 * V;" for side in spinor_pointers(hop)]
    if kernel["precision"] == "half":
        factor = f"T({hop.projector.scale})" if hop.mu == 3 else "T(args.spatial)"
        body.append(f"Real unit = load<SingleStorage, V>(args.in_norms + there * V) * (quantum * {factor});")
    with_link = hop_with_link(kernel, hop, started)
    if hop.mu == 3:
        body.append(f"if ({link_needed(hop, 'wraps')}) {{")
        body += ["  " + line for line in with_link] + ["} else {"]
        body += ["  " + line for line in hop_without_link(kernel, hop, started)] + ["}"]
    else:
        body += with_link
    return [f"{{  // {hop.formula}"] + ["  " + line for line in body] + ["}"]


# ---- the kernel ----------------------------------------------------------------------------------------------------


def components():
    """(name, half of the spinor, index within it) of the 24 result numbers."""
    for spin in range(4):
        for c in COLOURS:
            for k, part in enumerate("ri"):
                yield f"a{spin}{c}{part}", "upper" if spin < 2 else "lower", ((spin % 2) * 3 + c) * 2 + k


def result_lines(kernel):
    """out = b a + z_factor z, stored; half precision collects the 24 numbers first."""
    half = kernel["precision"] == "half"
    lines = [f"{x} *= T(args.b);" for x, _, _ in components()]
    lines.append("if (args.z != nullptr) {")
    for side in ("upper", "lower"):
        lines.append(f"  const Number* z_{side} = static_cast<const Number*>(args.z) + (block * 24 + args.{side}) * V;")
    scale = "T(args.a)"
    if half:
        lines.append("  const Real scale = load<SingleStorage, V>(args.z_norms + block * V) * (quantum * T(args.a));")
        scale = "scale"
    for x, side, index in components():
        lines.append(f"  {x} += {scale} * {load_number('z_' + side, index)};")
    lines.append("}")
    if half:
        for side in ("upper", "lower"):
            names = ", ".join(x for x, s, _ in components() if s == side)
            lines.append(f"const Real {side}_result[] = {{{names}}};")
        lines += [
            "Real result[24];",
            "for (int i = 0; i < 12; ++i) result[args.upper + i] = upper_result[i];",
            "for (int i = 0; i < 12; ++i) result[args.lower + i] = lower_result[i];",
            "Number* numbers = static_cast<Number*>(args.out) + block * 24 * V;",
            "float* norms = args.out_norms + block * V;",
            "if (args.stream) {",
            "  store_half<true, V>(numbers, norms, result, 24);",
            "} else {",
            "  store_half<false, V>(numbers, norms, result, 24);",
            "}",
        ]
        return lines
    for side in ("upper", "lower"):
        lines.append(f"Number* out_{side} = static_cast<Number*>(args.out) + (block * 24 + args.{side}) * V;")
    lines.append("if (args.stream) {")
    lines += [f"  store<true, T, V>(out_{side} + {index} * V, {x});" for x, side, index in components()]
    lines.append("} else {")
    lines += [f"  store<false, T, V>(out_{side} + {index} * V, {x});" for x, side, index in components()]
    lines.append("}")
    return lines


def kernel_source(operator, kernel):
    half = kernel["precision"] == "half"
    started = set()
    body = [
        "const std::int32_t* neighbours = args.neighbours + block * 8;",
        "const unsigned wraps = args.wraps[block];",
        "const std::int64_t next = block + 1 < end ? block + 1 : block;",
        "const std::int32_t* next_neighbours = args.neighbours + next * 8;",
        "const unsigned next_wraps = args.wraps[next];",
    ]
    body.append("Real " + ", ".join(x for x, _, _ in components()) + ";")
    for hop in operator.SPATIAL_HOPS:
        body += hop_lines(kernel, hop, started)
    if not half:
        body.append("// spatial hops carry nu / xi0")
        body += [f"{x} *= T(args.spatial);" for x, _, _ in components()]
    for hop in operator.TIME_HOPS:
        body += hop_lines(kernel, hop, started)
    body += result_lines(kernel)
    code = "\n".join("    " + line for line in body)
    quantum = "\n  constexpr T quantum = T(1) / T(32767);" if half else ""
    spinor, link = spinor_bytes(kernel), link_bytes(kernel)
    return f"""// {name(kernel)}: generated by codegen/gen.py from line {kernel['line']} of codegen/kernels.yaml. Do not edit.
//
// out = b D in (+ a z), over blocks [begin, end) of one parity, D the hopping term of codegen/operators/{operator.NAME}.py.
// {operator.FLOPS_PER_SITE} flops a site; bytes a site: {8 * link + 2 * spinor} (8 links of {link}, one spinor of {spinor} read, one written),
// {spinor} more with z; in temporal gauge {2 * link} fewer.
#include "dirac/kernel_args.h"
#include "core/simd.h"

namespace quadrille::dirac {{
inline namespace QUADRILLE_ISA {{
namespace {{

using namespace simd;

template <class T>
constexpr T smallest_n = sizeof(T) == 8 ? T(1e-30) : T(1e-14);

template <int V>
void run(const DslashArgs& args, std::int64_t begin, std::int64_t end) {{
  using S = {STORAGE[kernel['precision']]};
  using Number = typename S::Number;
  using T = typename S::Real;
  using Real = Vec<T, V>;
  using Mask = Vec<IntOf<T>, V>;{quantum}
  const Number* const in_upper = static_cast<const Number*>(args.in) + args.upper * V;
  const Number* const in_lower = static_cast<const Number*>(args.in) + args.lower * V;
  const Number* const spatial_links = static_cast<const Number*>(args.spatial_links);
  const Number* const time_links = static_cast<const Number*>(args.time_links);
  for (std::int64_t block = begin; block < end; ++block) {{
{code}
  }}
  if (args.stream) stream_fence();
}}

}}  // namespace
}}  // namespace QUADRILLE_ISA

#define QUADRILLE_JOIN_(a, b) a##b
#define QUADRILLE_JOIN(a, b) QUADRILLE_JOIN_(a, b)

void QUADRILLE_JOIN({name(kernel)}_, QUADRILLE_ISA)(const DslashArgs& args, int lanes, std::int64_t begin, std::int64_t end) {{
#if QUADRILLE_ISA_BYTES == 16
  if (lanes == 1) return run<1>(args, begin, end);
#endif
  constexpr int native = QUADRILLE_ISA_BYTES / int(sizeof(typename {STORAGE[kernel['precision']]}::Real));
  if (lanes == native) return run<native>(args, begin, end);
}}

}}  // namespace quadrille::dirac
"""


def table_source(kernels):
    """An X-macro line for each CPU kernel: operator, precision, reconstruction, spec line, flops, bytes, entry points."""
    lines = ["// Generated by codegen/gen.py: X(name, operator, precision, reconstruct, spec line)."]
    enums = {"double": "Double", "single": "Single", "half": "Half"}
    for kernel in kernels:
        if kernel["backend"] == "cpu":
            lines.append(
                f"X({name(kernel)}, \"{kernel['operator']}\", {enums[kernel['precision']]}, "
                f"R{kernel['reconstruct']}, {kernel['line']})"
            )
    return "\n".join(lines) + "\n"
