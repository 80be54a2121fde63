"""Polyakov loops, and Wilson loops with the effective potential ln W(R, T) / W(R, T + 1)."""

import math

from module_report import code, legend_beside, number, paragraph, section, table


def potential(loops):
    """[R - 1][T - 1]; None where a loop is not above 0."""
    return [[math.log(now / later) if now > 0 and later > 0 else None for now, later in zip(row, row[1:])]
            for row in loops]


def polyakov_text(name, loops):
    lines = [[mu, *(number(loop[key], ".8f") for key in ("re", "im", "abs"))] for mu, loop in loops.items()]
    return [section("Polyakov loops ", code(name)), table(["direction", "Re", "Im", "abs"], lines)]


def wilson_text(name, found):
    blocks = [section("Wilson loops ", code(name))]
    for planes in ("time", "space"):
        if planes in found:
            other = "T" if planes == "time" else "R'"
            head = ["R"] + [f"{other} = {t + 1}" for t in range(len(found[planes][0]))]
            lines = [[r + 1, *(number(loop, ".6g") for loop in row)] for r, row in enumerate(found[planes])]
            blocks += [paragraph(f"Planes of {planes}:"), table(head, lines)]
    return blocks


def text(results):
    return [block for name, found in results.get("loops", {}).items()
            for block in (wilson_text if "planes" in found else polyakov_text)(name, found)]


def draw(results, save):
    import matplotlib.pyplot as plt

    for name, found in results.get("loops", {}).items():
        values = potential(found.get("time", []))
        if not any(v is not None for row in values for v in row):
            continue
        figure, axes = plt.subplots(figsize=(7, 4))
        for t in range(len(values[0])):
            points = [(r + 1, row[t]) for r, row in enumerate(values) if row[t] is not None]
            if points:
                axes.plot(*zip(*points), marker=".", linewidth=0.8, label=f"T = {t + 1}")
        axes.set(xlabel="R / a", ylabel="a ln W(R, T) / W(R, T + 1)")
        legend_beside(axes)
        save(figure, f"wilson_loops_{name}", f"Wilson loops {name}: effective potential of one configuration")
