"""What the emitters share: the names of temporaries, and the lines between loading and storing, which are C++ as well as
CUDA, for vectors of V sites as well as for one.

u is the link, h the half spinor, v the link times the half spinor, a the accumulated result. A suffix r or i is the real
or imaginary part.
"""

import typing

NUMBER_BYTES = {"double": 8, "single": 4, "half": 2}
ENUMS = {"double": "Double", "single": "Single", "half": "Half"}
COLORS = range(3)
# Real numbers of a spinor, and of the half that a projector leaves (core/field/site_format.h).
SPINOR = 4 * len(COLORS) * 2
HALF_SPINOR = SPINOR // 2


def name(kernel):
    return f"{kernel['operator']}_{kernel['precision']}_{kernel['reconstruct']}"


def argument(operator, of):
    """What a call gives the family's terms and hops (codegen/arguments.py)."""
    return f"args.terms.{operator.NAME}.{of}"


def spinor_bytes(kernel):
    return SPINOR * NUMBER_BYTES[kernel["precision"]] + (4 if kernel["precision"] == "half" else 0)


def link_bytes(kernel):
    return int(kernel["reconstruct"]) * NUMBER_BYTES[kernel["precision"]]


# ---- complex expressions ------------------------------------------------------------------------------------------------


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


# ---- links --------------------------------------------------------------------------------------------------------------


def link_lines(kernel, number):
    """Declares u00r .. u22i; number(k) is the expression of the link's k-th number. In half precision links stay in
    quanta."""
    numbers = int(kernel["reconstruct"])
    if numbers == 8:
        return link_lines_8(number, kernel["precision"] == "half")
    lines = []
    for k in range(numbers // 2):
        u = f"u{k // 3}{k % 3}"
        lines.append(f"const Real {u}r = {number(2 * k)};")
        lines.append(f"const Real {u}i = {number(2 * k + 1)};")
    if numbers == 12:
        lines.append("// row 2 = conj(row 0 x row 1)")
        for j in COLORS:
            k, l = (j + 1) % 3, (j + 2) % 3
            lines += cross_lines(f"u2{j}", f"u0{k}", f"u1{l}", f"u0{l}", f"u1{k}")
    return lines


def cross_lines(target, a, b, c, d):
    """target = conj(a b - c d)."""
    re = f"{a}r * {b}r - {a}i * {b}i - {c}r * {d}r + {c}i * {d}i"
    im = f"{c}r * {d}i + {c}i * {d}r - {a}r * {b}i - {a}i * {b}r"
    return [f"const Real {target}r = {re};", f"const Real {target}i = {im};"]


def row_2_is_squared(kernel):
    """Whether row 2 of a link carries its quantum twice, being the product of two rows of whole numbers."""
    return kernel["precision"] == "half" and kernel["reconstruct"] == "12"


def row_2_lines(kernel, hop, a):
    """Takes row 2's second quantum out of spin a's product: out of what it gives, or for U^+ of what it multiplies."""
    if not row_2_is_squared(kernel):
        return []
    if hop.forward:
        return ["const Real unit2 = unit * quantum;  // row 2 is a product of two rows"]
    return [f"h{a}2{part} *= quantum;  // row 2 is a product of two rows" for part in "ri"]


def link_lines_8(number, half):
    """Eight numbers: core/su3/link_codec.h has the formulas. Row 0 of V is row 1 of U, row 2 of V is minus row 2 of U.
    In half precision U is in quanta, and N in their squares."""
    lines = [f"const Real phase{k} = {number(k)}{' * quantum' if half else ''};" for k in range(2)]
    for k, u in enumerate(("u11", "u12", "u00")):
        lines.append(f"const Real {u}r = {number(2 + 2 * k)};")
        lines.append(f"const Real {u}i = {number(3 + 2 * k)};")
    one, inverse_root = ("T(32767)", "inverse_root") if half else ("T(1)", "inverse")
    lines += [
        "// |v00|^2 = 1 - N, |v20|^2 = N - |v10|^2, N = |v01|^2 + |v02|^2",
        "const Real n = u11r * u11r + u11i * u11i + u12r * u12r + u12i * u12i;",
        f"const Real size0 = sqrt_positive<T, V>({one} * {one} - n);",
        "const Real size2 = sqrt_positive<T, V>(n - u00r * u00r - u00i * u00i);",
        "Real sine0, cosine0, sine2, cosine2;",
        "sincospi<T, V>(phase0, sine0, cosine0);",
        "sincospi<T, V>(phase1, sine2, cosine2);",
        "const Real u10r = size0 * cosine0;",
        "const Real u10i = size0 * sine0;",
        "const Real u20r = -size2 * cosine2;",
        "const Real u20i = -size2 * sine2;",
        f"const Real inverse = inverse_above<T, V>(n, {one} * {one} * smallest_n<T>);",
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
        *(["const Real inverse_root = inverse * T(32767);"] if half else []),
        f"const Real br = -u20r * {inverse_root};",  # b = conj(v20) / N = -conj(u20) / N
        f"const Real bi = u20i * {inverse_root};",
        f"const Real dr = u00r * {inverse_root};",  # d = conj(v10) / N
        f"const Real di = -u00i * {inverse_root};",
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


# ---- one hop ------------------------------------------------------------------------------------------------------------


def spin_names(prefix, a):
    """The three complex names of spin a of a half spinor."""
    return [f"{prefix}{a}{c}" for c in COLORS]


def product_lines(hop, a, colors=COLORS):
    """v = U h, or U^+ h, for spin a."""
    declared = ", ".join(f"v{a}{i}{part}" for i in colors for part in "ri")
    lines = [f"Real {declared};"]
    for i in colors:
        pairs = [(f"u{i}{j}" if hop.forward else f"u{j}{i}", f"h{a}{j}") for j in COLORS]
        lines += complex_product(f"v{a}{i}", pairs, conjugate_first=not hop.forward)
    return lines


def accumulation_lines(hop, a, source, started, scales, colors=COLORS):
    """Adds the half spinor `source` (v, or h where the link is 1), spin a, to the result, times scales[color]."""
    lines = []
    for spin, half_spin, coefficient in hop.projector.reconstruct:
        if half_spin != a:
            continue
        for c in colors:
            parts = times_unit(coefficient, f"{source}{a}{c}r", f"{source}{a}{c}i")
            for (sign, term), suffix in zip(parts, "ri"):
                target = f"a{spin}{c}{suffix}"
                if target in started:
                    lines.append(f"{target} {sign}= {scales[c]}{term};")
                else:
                    lines.append(f"{target} = {'-' if sign == '-' else ''}{scales[c]}{term};")
    return lines


def unit_scales(kernel, hop, source):
    """The scales of whole numbers: `unit`, and for what row 2 gave the one with its second quantum (row_2_lines)."""
    squared = source == "v" and hop.forward and row_2_is_squared(kernel)
    return ["unit * ", "unit * ", "unit2 * " if squared else "unit * "]


def start(hop, a, started):
    started.update(f"a{spin}{c}{part}" for spin, b, _ in hop.projector.reconstruct if b == a for c in COLORS for part in "ri")


def spinor_pointers(hop):
    """Which of the pointers `upper` and `lower` the projection reads."""
    spins = [spin for terms in hop.projector.project for spin, _ in terms]
    return [side for side, wanted in (("upper", min(spins) < 2), ("lower", max(spins) >= 2)) if wanted]


# ---- the result ---------------------------------------------------------------------------------------------------------


def components(prefix="a"):
    """(name, half of the spinor, index within it) of the numbers of a spinor, the result by default."""
    for spin in range(4):
        for c in COLORS:
            for k, part in enumerate("ri"):
                yield f"{prefix}{spin}{c}{part}", "upper" if spin < 2 else "lower", ((spin % 2) * 3 + c) * 2 + k


def halves_exchanged(prefix="a"):
    """(complex number of the upper spins, the one of the lower spins that gamma_5 exchanges it with)."""
    for spin in range(2):
        for c in COLORS:
            yield f"{prefix}{spin}{c}", f"{prefix}{spin + 2}{c}"


def twist_lines(prefix, twist):
    """v += i twist gamma_5 v, in place."""
    lines = []
    for upper, lower in halves_exchanged(prefix):
        lines += [
            "{",
            f"  const Real re = {upper}r, im = {upper}i;",
            f"  {upper}r -= {twist} * {lower}i;",
            f"  {upper}i += {twist} * {lower}r;",
            f"  {lower}r -= {twist} * im;",
            f"  {lower}i += {twist} * re;",
            "}",
        ]
    return lines


def declared(names, prefix=""):
    return f"{prefix}Real {', '.join(names)};"


def block_lines(number, x, w, add=False):
    """w = B x, or += with `add`, on six complex names each. number(k) is the k-th number of B: the six of its diagonal, and then
    re and im of the rows below it."""
    lines = []
    for i in range(6):
        lines.append(f"const Real d{i} = {number(i)};")
        lines += [f"{w[i]}{part} {'+=' if add else '='} d{i} * {x[i]}{part};" for part in "ri"]
    for i in range(6):
        for j in range(i):
            k = 6 + 2 * (i * (i - 1) // 2 + j)
            lines += [
                "{",
                f"  const Real br = {number(k)}, bi = {number(k + 1)};",
                f"  {w[i]}r += br * {x[j]}r - bi * {x[j]}i;",
                f"  {w[i]}i += br * {x[j]}i + bi * {x[j]}r;",
                f"  {w[j]}r += br * {x[i]}r + bi * {x[i]}i;",
                f"  {w[j]}i += br * {x[i]}i - bi * {x[i]}r;",
                "}",
            ]
    return lines


class Site(typing.NamedTuple):
    """How a target reads what site-local terms need."""

    scalar: typing.Callable  # name of an argument -> expression
    has_z: str  # a condition
    blocks_on_z: str  # another: blocks act on z's terms
    load_z: list  # lines, after which z can be read
    z: typing.Callable  # (half of the spinor, index) -> expression of a number of z
    z_scale: typing.Callable  # (name, expression of a number) -> lines and expression of what multiplies z's numbers for it
    has_blocks: typing.Callable  # name of blocks -> a condition
    load_blocks: typing.Callable  # (name of blocks, chirality) -> lines
    block: typing.Callable  # (chirality, index) -> expression of a number of the blocks loaded
    block_unit: str | None  # what multiplies them


def number_lines(operator, site, target, add):
    """target = number z, or += with `add`."""
    lines, scale = site.z_scale("scale", site.scalar(operator.ON_Z[0].of))
    lines += [f"{x} {'+=' if add else '='} {scale} * {site.z(side, index)};" for x, side, index in components(target)]
    return site.load_z + lines


def z_lines(operator, site, target, add):
    """target = (number + i twist gamma_5) z, or += with `add`."""
    twist = site.scalar(operator.ON_Z[1].of)
    twisted, scale = site.z_scale("twist", twist)
    for k, (upper, lower) in enumerate(halves_exchanged(target)):
        for x, other in ((upper, "lower"), (lower, "upper")):
            twisted += [f"{x}r -= {scale} * {site.z(other, 2 * k + 1)};", f"{x}i += {scale} * {site.z(other, 2 * k)};"]
    return number_lines(operator, site, target, add) + when(f"{twist} != 0", twisted)


def local_lines(operator, site):
    """What follows the hops' sum a where there are blocks: a += (B + i twist gamma_5 C) z's number, or a = (the same) a + z's
    terms."""
    sum_to_v = [f"{v} = {a};" for (v, _, _), (a, _, _) in zip(components("v"), components())]
    no_z = [" = ".join(x for x, _, _ in components()) + " = Real{};"]
    lines = [declared(x for x, _, _ in components("v"))]
    lines += either(site.blocks_on_z, z_lines(operator, site, "v", False),
                    sum_to_v + either(site.has_z, z_lines(operator, site, "a", False), no_z))
    for chirality in range(2):
        lines += ["{", *indented(chirality_lines(operator, site, chirality)), "}"]
    return lines


def chirality_lines(operator, site, chirality):
    """The blocks of one chirality on v, added to a: x = upper + sign lower, w = B x + sign i twist C x, a += (w, sign w)."""
    sign, both = "+-"[chirality], [f"{s}{c}" for s in range(2) for c in COLORS]
    x, w = [f"x{k}" for k in both], [f"w{k}" for k in both]
    lines = [f"Real x{s}{c}{part} = v{s}{c}{part} {sign} v{s + 2}{c}{part};" for s in range(2) for c in COLORS for part in "ri"]
    lines.append(declared(f"{name}{part}" for name in w for part in "ri"))
    blocks = block_lines(lambda index: site.block(chirality, index), x, w)
    if site.block_unit:
        blocks += [f"{name}{part} *= {site.block_unit};" for name in w for part in "ri"]
    lines += ["{", *indented(site.load_blocks(operator.BLOCKS.of, chirality) + blocks), "}"]
    twist = site.scalar(operator.BLOCKS_TWIST.of)
    lines += when(f"{twist} != 0", twisted_block_lines(operator, site, chirality, x, w, twist))
    for s in range(2):
        for c in COLORS:
            for part in "ri":
                lines += [f"a{s}{c}{part} += w{s}{c}{part};", f"a{s + 2}{c}{part} {sign}= w{s}{c}{part};"]
    return lines


def twisted_block_lines(operator, site, chirality, x, w, twist):
    """w += sign i twist C x; overwrites x by what C multiplies."""
    def turned(factor):
        lines = [f"const auto turn = {'-' if chirality == 1 else ''}{factor};"]
        for name in x:
            lines += ["{", f"  const Real re = {name}r;", f"  {name}r = -turn * {name}i;", f"  {name}i = turn * re;", "}"]
        return lines

    unit = f"{site.block_unit} * " if site.block_unit else ""
    blocks = site.load_blocks(operator.TWIST_BLOCKS.of, chirality) + turned(f"({unit}{twist})")
    blocks += block_lines(lambda index: site.block(chirality, index), x, w, add=True)
    one = turned(f"(T(0.5) * {twist})") + [f"{a}{part} += {b}{part};" for a, b in zip(w, x) for part in "ri"]
    return either(site.has_blocks(operator.TWIST_BLOCKS.of), blocks, one)


def sum_and_z_lines(operator, site):
    """The same without blocks."""
    return when(site.has_z, z_lines(operator, site, "a", True))


def indented(lines):
    return ["  " + line for line in lines]


def when(condition, lines):
    return [f"if ({condition}) {{", *indented(lines), "}"]


def either(condition, this, other):
    head = condition if condition.startswith("constexpr ") else f"({condition})"
    return [f"if {head} {{", *indented(this), "} else {", *indented(other), "}"]


def table_source(kernels, backend):
    """An X-macro line for each kernel of a backend: name, operator, precision, reconstruct, spec line."""
    lines = ["// Generated by codegen/gen.py: X(name, operator, precision, reconstruct, spec line)."]
    for kernel in kernels:
        if kernel["backend"] == backend:
            lines.append(
                f"X({name(kernel)}, \"{kernel['operator']}\", {ENUMS[kernel['precision']]}, "
                f"R{kernel['reconstruct']}, {kernel['line']})"
            )
    return "\n".join(lines) + "\n"


# What is made beside the kernels of an operator, once for each precision: what packs half spinors for other ranks, and the
# site-local terms alone.
COMPANIONS = ("pack", "local")


def companion_name(kernel, companion):
    return f"{kernel['operator']}_{kernel['precision']}_{companion}"


def companion_table_source(kernels, backend, companion):
    """An X-macro line for each operator and precision of a backend: name, operator, precision."""
    found = {companion_name(k, companion): k for k in kernels if k["backend"] == backend}
    lines = ["// Generated by codegen/gen.py: X(name, operator, precision)."]
    lines += [f'X({stem}, "{k["operator"]}", {ENUMS[k["precision"]]})' for stem, k in found.items()]
    return "\n".join(lines) + "\n"
