"""Tables of studies of mixed-precision products; speed-up and largest error against the size (figures 1 and 2 of JCTC 6
(2010) 135)."""

from module_report import code, legend_beside, number, paragraph, pick, section, subsection, table, values

MARKS = ("o", "s", "^", "v", "d")


def on_gpu(one):
    return one.get("backend", "cpu") != "cpu"


def dgemm_of(one):
    """Whose product in double a study compares with."""
    return "cuBLAS's dgemm" if on_gpu(one) else "OpenBLAS's dgemm"


def large_elements(fraction, size):
    return f"a fraction {fraction:g} of elements of size {size:g}"


def salt_name(row):
    return "no large elements" if row["salt"] is None else large_elements(row["fraction"], row["salt"])


def held(rows, key):
    """"18 of 18" rows of which a bound held."""
    known = [row[key] for row in rows if row[key] is not None]
    return f"{sum(known)} of {len(known)}"


def matrix_product_text(name, one):
    rows = one["rows"]
    dgemm = dgemm_of(one) + (" of operands in the GPU's memory, where those of all but cleaver are"
                                   if on_gpu(one) else f" (threads: {one['threads']})")
    out = [section("Matrix products ", code(name)),
           paragraph(f"Speed-ups are over {dgemm}; the products took turns, medians of {one['repeats']}. sgemm multiplies "
                     "factors that are in single precision already. Errors are differences from dgemm, of all elements. "
                     f"Large elements are within {one['salt_spread']:g} of the number given, the others in [-1, 1].")]
    head = ["matrices", "product", "memory", "GFLOP/s", "speed-up", "analysis", "largest error", "rms error", "probable bound",
            "certain bound"]
    for n in values(rows, "n"):
        lines = []
        for row in pick(rows, n=n):
            analysis = row["analysis_seconds"]
            small = row.get("small_form")
            product = row["product"] if small in (None, "single") else f"mgemm, {small}"
            memory = row.get("memory")  # in no results of before there was one
            lines.append([salt_name(row), product, "-" if memory is None else f"{memory} MiB", f"{row['gflops']:.1f}", f"{row['speedup']:.2f}",
                          "-" if analysis is None else f"{100 * analysis / row['seconds']:.0f} %",
                          *(number(row[key], ".2e") for key in ("max_error", "rms_error", "probable_bound", "bound"))])
        out += [subsection(f"n = {n}"), table(head, lines)]
    mixed = pick(rows, product="mgemm")
    return out + [paragraph(f"The certain bound held in {held(mixed, 'within_bound')} products, the probable one in "
                            f"{held(mixed, 'within_probable_bound')}.")]


def line(axes, rows, key, label, **style):
    points = sorted((row["n"], row[key]) for row in rows if row[key] is not None)
    if points:
        axes.plot(*zip(*points), markersize=4, label=label, **style)


def salted(axes, rows, product, key, style):
    """A line for each salt and fraction: colors are fractions, marks are salts."""
    mine = [row for row in pick(rows, product=product) if row["salt"] is not None]
    fractions, salts = values(mine, "fraction"), values(mine, "salt")
    for at, salt in enumerate(salts):
        for color, fraction in enumerate(fractions):
            line(axes, pick(mine, salt=salt, fraction=fraction), key,
                 f"{product}, {large_elements(fraction, salt)}", marker=MARKS[at % len(MARKS)], color=f"C{color}",
                 **style)


def unsalted(axes, rows, key):
    line(axes, pick(rows, product="sgemm", salt=None), key, "sgemm, no large elements", color="black", marker="x",
         linestyle=":")


def text(results):
    return [block for name, one in results.get("matrix_product_studies", {}).items()
            for block in matrix_product_text(name, one)]


def draw(results, save):
    import matplotlib.pyplot as plt

    for name, one in results.get("matrix_product_studies", {}).items():
        figure, axes = plt.subplots(figsize=(7, 5))
        salted(axes, one["rows"], "mgemm", "speedup", {"linestyle": "-"})
        unsalted(axes, one["rows"], "speedup")
        axes.axhline(1, color="black", linewidth=0.5)
        axes.set(xlabel="size $n$ of the matrices", ylabel="speed-up over dgemm", ylim=(0, None))
        legend_beside(axes, 6)
        save(figure, f"{name}_speedup",
             f"Study {name}: speed-up over {dgemm_of(one)} against the size of the matrices")
        figure, axes = plt.subplots(figsize=(7, 5))
        salted(axes, one["rows"], "mgemm", "max_error", {"linestyle": "-"})
        salted(axes, one["rows"], "sgemm", "max_error", {"linestyle": "--", "alpha": 0.6})
        unsalted(axes, one["rows"], "max_error")
        axes.set(xlabel="size $n$ of the matrices", ylabel="largest error of an element", yscale="log")
        legend_beside(axes, 6)
        save(figure, f"{name}_error", f"Study {name}: the largest difference of an element from dgemm's against the "
             "size of the matrices, in mixed and in single precision")
