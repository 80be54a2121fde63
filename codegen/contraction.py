"""Sums of products as fused multiply-adds that say so.

A compiler that fuses as it likes may fuse otherwise where the same formulas stand among others: two kernels with the same
formulas would have different bits. Here each sum is taken from the left, its products after the first each fused with the sum
so far; the files are compiled without contraction of the compiler's own.
"""

import re

STATEMENT = re.compile(r"^(\s*)((?:const )?(?:Real )?\w+) (=|\+=|-=) (.*);(\s*//.*)?$")


def split(expression, operators):
    """Operands of a sum or product, each with the operator before it; parentheses, indices and template arguments stay whole."""
    parts, depth, sign, start, at = [], 0, operators[0], 0, 0
    while at < len(expression):
        c = expression[at]
        depth += c in "([" or (c == "<" and expression[at - 1] != " ")
        depth -= c in ")]" or (c == ">" and expression[at - 1] not in " -")
        if depth == 0 and at > start and expression[at - 1:at + 2] in {f" {o} " for o in operators}:
            parts.append((sign, expression[start:at - 1]))
            sign, start = c, at + 2
            at += 2
            continue
        at += 1
    return parts + [(sign, expression[start:])]


def factors_of(term):
    """The two factors of a product, or None: of more the last one is the second."""
    operands = [factor for _, factor in split(term, "*")]
    return (" * ".join(operands[:-1]), operands[-1]) if len(operands) > 1 else None


def negated(factor):
    return factor[1:] if factor.startswith("-") else f"-{factor}"


def fused_sum(terms, total=None):
    """`terms` with their signs, added to `total` one after the other."""
    product = None  # the total, as long as it is one
    for sign, term in terms:
        factors = factors_of(term)
        if total is None:
            total = f"-({term})" if sign == "-" else term
            product = factors if sign == "+" else None
            continue
        if factors:
            first = negated(factors[0]) if sign == "-" else factors[0]
            total = f"fused<Real>({first}, {factors[1]}, {total})"
        elif product:
            total = f"fused<Real>({product[0]}, {product[1]}, {'-' if sign == '-' else ''}{term})"
        else:
            total = f"{total} {sign} {term}"
        product = None
    return total


def contracted_line(line):
    found = STATEMENT.match(line)
    if not found:
        return line
    indent, target, assignment, expression, comment = found.groups()
    terms = split(expression, "+-")
    if assignment == "=" and len(terms) == 1 or not any(factors_of(term) for _, term in terms):
        return line
    if assignment == "=":
        total = fused_sum(terms)
    else:
        flipped = {"+=": {"+": "+", "-": "-"}, "-=": {"+": "-", "-": "+"}}[assignment]
        total = fused_sum([(flipped[sign], term) for sign, term in terms], target)
    return f"{indent}{target} = {total};{comment or ''}"


def contracted(source):
    return "\n".join(contracted_line(line) for line in source.split("\n"))
