"""Emits CPU kernels: C++ with vector extensions, one block of V sites at a time, straight-line code.

Named temporaries, one term a line: psi components are loaded by the projection, h is the half spinor, u the link, v the
link times the half spinor, a the accumulated result. A suffix r or i is the real or imaginary part.
Crossing the edge of the virtual sub-lattices is a lane rotation of the 12 half-spinor numbers together with the boundary
phase: before the multiplication by the local link going forward, after it going backward (both the link and the spinor
then lie in the neighbour's lanes), so links are never rotated.
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


# ---- links ---------------------------------------------------------------------------------------------------------


def load_number(pointer, index):
    return f"load<S, V>({pointer} + {index} * V)"


def link_lines(kernel):
    """Declares u00r .. u22i from the numbers at `link`."""
    half = kernel["precision"] == "half"
    unit = " * quantum" if half else ""
    numbers = int(kernel["reconstruct"])
    if numbers == 8:
        return link_lines_8(unit)
    lines = []
    for k in range(numbers // 2):
        u = f"u{k // 3}{k % 3}"
        lines.append(f"const Real {u}r = {load_number('link', 2 * k)}{unit};")
        lines.append(f"const Real {u}i = {load_number('link', 2 * k + 1)}{unit};")
    if numbers == 12:
        lines.append("// row 2 = conj(row 0 x row 1)")
        for j in COLOURS:
            k, l = (j + 1) % 3, (j + 2) % 3
            lines += cross_lines(f"u2{j}", f"u0{k}", f"u1{l}", f"u0{l}", f"u1{k}")
    return lines


def cross_lines(target, a, b, c, d):
    """target = conj(a b - c d)."""
    return [
        f"const Real {target}r = {a}r * {b}r - {a}i * {b}i - {c}r * {d}r + {c}i * {d}i;",
        f"const Real {target}i = {c}r * {d}i + {c}i * {d}r - {a}r * {b}i - {a}i * {b}r;",
    ]


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


def half_spinor(prefix):
    """The six complex names of a half spinor."""
    return [f"{prefix}{a}{c}" for a in range(2) for c in COLOURS]


def projection_lines(hop, half):
    lines = []
    for a, terms in enumerate(hop.projector.project):
        for c in COLOURS:
            parts = ([], [])
            for spin, coefficient in terms:
                pointer = "upper" if spin < 2 else "lower"
                index = ((spin % 2) * 3 + c) * 2
                loaded = (load_number(pointer, index), load_number(pointer, index + 1))
                for part, term in zip(parts, times_unit(coefficient, *loaded)):
                    part.append(term)
            for part, suffix in zip(parts, "ri"):
                expression = joined(part)
                lines.append(f"Real h{a}{c}{suffix} = {f'({expression}) * unit' if half else expression};")
    return lines


def crossing_lines(hop, prefix):
    """Rotates lanes and multiplies by the boundary phase where the hop crosses the edge of the sub-lattices."""
    d = hop.direction
    lines = [
        f"if (wraps & {1 << d}u) {{",
        f"  const Mask rotation = *static_cast<const Mask*>(args.rotations[{d}]);",
        f"  const Real* phase = static_cast<const Real*>(args.phases[{d}]);",
    ]
    for x in half_spinor(prefix):
        lines += [
            f"  const Real {x}s = permute<T, V>({x}r, rotation);",
            f"  const Real {x}t = permute<T, V>({x}i, rotation);",
            f"  {x}r = {x}s * phase[0] - {x}t * phase[1];",
            f"  {x}i = {x}s * phase[1] + {x}t * phase[0];",
        ]
    return lines + ["}"]


def product_lines(hop):
    """v = U h, or U^+ h."""
    lines = []
    for a in range(2):
        for i in COLOURS:
            pairs = [(f"u{i}{j}" if hop.forward else f"u{j}{i}", f"h{a}{j}") for j in COLOURS]
            lines += complex_product(f"v{a}{i}", pairs, conjugate_first=not hop.forward)
    return lines


def accumulation_lines(hop, started):
    scale = f"T({hop.projector.scale}) * " if hop.projector.scale != 1 else ""
    lines = []
    for spin, a, coefficient in hop.projector.reconstruct:
        for c in COLOURS:
            parts = times_unit(coefficient, f"v{a}{c}r", f"v{a}{c}i")
            for (sign, term), suffix in zip(parts, "ri"):
                target = f"a{spin}{c}{suffix}"
                if target in started:
                    lines.append(f"{target} {sign}= {scale}{term};")
                else:
                    lines.append(f"{target} = {'-' if sign == '-' else ''}{scale}{term};")
                    started.add(target)
    return lines


def hop_lines(kernel, hop, started):
    half = kernel["precision"] == "half"
    d, mu = hop.direction, hop.mu
    links = "links_here" if hop.forward else "links_there"
    where = "block" if hop.forward else "there"
    body = [f"const std::int64_t there = neighbours[{d}];"]
    projected = [spin for terms in hop.projector.project for spin, _ in terms]
    if any(spin < 2 for spin in projected):
        body.append("const Number* upper = in_upper + there * 24 * V;")
    if any(spin >= 2 for spin in projected):
        body.append("const Number* lower = in_lower + there * 24 * V;")
    if half:
        body.append("const Real unit = load<SingleStorage, V>(args.in_norms + there * V) * quantum;")
    body += projection_lines(hop, half)
    if hop.forward:
        body += crossing_lines(hop, "h")
    declared = ", ".join(f"{x}{part}" for x in half_spinor("v") for part in "ri")
    body.append(f"Real {declared};")
    multiplication = [f"const Number* link = {links} + ({where} * 4 + {mu}) * {int(kernel['reconstruct'])} * V;"]
    multiplication += link_lines(kernel) + product_lines(hop)
    if mu == 3:  # in temporal gauge all time links but those that leave the last slice are the unit matrix
        body.append(f"if (!args.temporal_gauge || (wraps & {1 << d}u)) {{")
        body += ["  " + line for line in multiplication]
        body.append("} else {")
        body += [f"  {v}{part} = {h}{part};" for v, h in zip(half_spinor("v"), half_spinor("h")) for part in "ri"]
        body.append("}")
    else:
        body += multiplication
    if not hop.forward:
        body += crossing_lines(hop, "v")
    body += accumulation_lines(hop, started)
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
            "store_half<V>(static_cast<Number*>(args.out) + block * 24 * V, args.out_norms + block * V, result, 24);",
        ]
        return lines
    for side in ("upper", "lower"):
        lines.append(f"Number* out_{side} = static_cast<Number*>(args.out) + (block * 24 + args.{side}) * V;")
    for x, side, index in components():
        lines.append(f"store<T, V>(out_{side} + {index} * V, {x});")
    return lines


def kernel_source(operator, kernel):
    half = kernel["precision"] == "half"
    started = set()
    body = ["const std::int32_t* neighbours = args.neighbours + block * 8;", "const unsigned wraps = args.wraps[block];"]
    body.append("Real " + ", ".join(x for x, _, _ in components()) + ";")
    for hop in operator.SPATIAL_HOPS:
        body += hop_lines(kernel, hop, started)
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
  const Number* const links_here = static_cast<const Number*>(args.links_here);
  const Number* const links_there = static_cast<const Number*>(args.links_there);
  for (std::int64_t block = begin; block < end; ++block) {{
{code}
  }}
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
