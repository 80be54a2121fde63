"""Speed-up and largest error of mixed-precision products against the size (figures 1 and 2 of JCTC 6 (2010) 135)."""

import matplotlib.pyplot as plt

import legends
import study

MARKS = ("o", "s", "^", "v", "d")


def line(axes, rows, key, label, **style):
    points = sorted((row["n"], row[key]) for row in rows if row[key] is not None)
    if points:
        axes.plot(*zip(*points), markersize=4, label=label, **style)


def salted(axes, rows, product, key, style):
    """A line for each salt and fraction: colours are fractions, marks are salts."""
    mine = [row for row in study.pick(rows, product=product) if row["salt"] is not None]
    fractions, salts = study.values(mine, "fraction"), study.values(mine, "salt")
    for at, salt in enumerate(salts):
        for color, fraction in enumerate(fractions):
            line(axes, study.pick(mine, salt=salt, fraction=fraction), key,
                 f"{product}, {fraction:g} salted with {salt:g}", marker=MARKS[at % len(MARKS)], color=f"C{color}",
                 **style)


def unsalted(axes, rows, key):
    line(axes, study.pick(rows, product="sgemm", salt=None), key, "sgemm, no salt", color="black", marker="x",
         linestyle=":")


def draw(results, save):
    for name, one in results.get("matrix_product_studies", {}).items():
        figure, axes = plt.subplots(figsize=(7, 5))
        salted(axes, one["rows"], "mgemm", "speedup", {"linestyle": "-"})
        unsalted(axes, one["rows"], "speedup")
        axes.axhline(1, color="black", linewidth=0.5)
        axes.set(xlabel="size $n$ of the matrices", ylabel="speed-up over dgemm", ylim=(0, None))
        legends.beside(axes, 6)
        save(figure, f"{name}_speedup",
             f"Study {name}: speed-up over {study.dgemm_of(one)} against the size of the matrices")
        figure, axes = plt.subplots(figsize=(7, 5))
        salted(axes, one["rows"], "mgemm", "max_error", {"linestyle": "-"})
        salted(axes, one["rows"], "sgemm", "max_error", {"linestyle": "--", "alpha": 0.6})
        unsalted(axes, one["rows"], "max_error")
        axes.set(xlabel="size $n$ of the matrices", ylabel="largest error of an element", yscale="log")
        legends.beside(axes, 6)
        save(figure, f"{name}_error", f"Study {name}: the largest difference of an element from dgemm's against the "
             "size of the matrices, in mixed and in single precision")
