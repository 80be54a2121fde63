"""Iterations until convergence against the quark mass: one panel for each method, one line for each way to solve."""

import module_report
import study

MARKS = {"uniform": "o", "reliable": "s", "defect": "^"}
LINES = {"uniform": "-", "reliable": "-", "defect": "--"}


def panel(axes, rows, title):
    inners = module_report.values(rows, "inner")
    deltas = [delta for delta in module_report.values(rows, "delta") if delta is not None]
    for way in dict.fromkeys(study.way_name(row) for row in rows):
        mine = sorted((row for row in rows if study.way_name(row) == way), key=lambda row: row["mass"])
        first, good = mine[0], [row for row in mine if row["converged"]]
        color = "black" if first["scheme"] == "uniform" else f"C{inners.index(first['inner'])}"
        shade = 1 if first["delta"] is None else 1 - 0.6 * deltas.index(first["delta"]) / max(len(deltas), 1)
        ranges = [[row["iterations"] - row["iterations_min"] for row in good],
                  [row["iterations_max"] - row["iterations"] for row in good]]
        axes.errorbar([row["mass"] for row in good], [row["iterations"] for row in good], ranges,
                      linestyle=LINES[first["scheme"]], marker=MARKS[first["scheme"]], markersize=4, color=color,
                      alpha=shade, elinewidth=0.7, capsize=2, label=way)
    axes.set(xlabel="bare quark mass $a\\, m$", ylabel="iterations", yscale="log", title=title)
    axes.xaxis.get_major_locator().set_params(nbins=6)
    module_report.plain_numbers(axes.yaxis)
    module_report.legend_below(axes)


def draw(results, save):
    import matplotlib.pyplot as plt

    for name, one in study.studies(results):
        systems = study.systems(one["rows"])
        figure, axes = plt.subplots(1, len(systems), figsize=(6 * len(systems), 5), squeeze=False,
                                    gridspec_kw={"wspace": 0.25})
        for at, (solver, tolerance, rows) in zip(axes[0], systems):
            panel(at, rows, f"{solver}, tolerance {tolerance:g}")
        over = " and configurations" if any("configurations" in row for row in one["rows"]) else ""
        save(figure, f"{name}_iterations", f"Study {name}: iterations until convergence against the bare quark mass; "
             f"means over the right-hand sides{over}, bars from the fewest to the most")
