"""The speed of every form of a kernel against the extent in time (figures 2 to 5 of arXiv:0911.3191), from `quadrille
bench` with several lattices of the same x, y and z."""

import module_report
from bench_forms import form, lattice

COLORS = {18: "C0", 12: "C1", 8: "C3"}


def series(rows):
    """{(kernel, x, y, z): its rows} where there are several extents in time, as a figure needs them."""
    out = {}
    for row in rows:
        out.setdefault((row["kernel"], *row["dims"][:3]), []).append(row)
    return {key: mine for key, mine in out.items() if len({row["dims"][3] for row in mine}) > 1}


def text(results):
    """GFLOP/s, a line for each form, a column for each T."""
    out = []
    for (kernel, *space), rows in series(results["kernels"]).items():
        extents = sorted({row["dims"][3] for row in rows})
        lines = []
        for name in dict.fromkeys(form(row) for row in rows):
            found = {row["dims"][3]: row for row in rows if form(row) == name}
            lines.append([name] + [f"{found[t]['gflops']:.4g}" if t in found else "-" for t in extents])
        out += [module_report.subsection(f"{kernel}, GFLOP/s on {lattice(space)} x T"),
                module_report.table(["form", *(f"T = {t}" for t in extents)], lines)]
    return out


def draw(results, save):
    import matplotlib.pyplot as plt

    for (kernel, *space), rows in series(results["kernels"]).items():
        precisions = module_report.values(rows, "precision")
        figure, axes = plt.subplots(1, len(precisions), figsize=(5 * len(precisions), 4), squeeze=False)
        for at, precision in zip(axes[0], precisions):
            mine = module_report.pick(rows, precision=precision)
            for name in dict.fromkeys(form(row) for row in mine):
                points = sorted((row for row in mine if form(row) == name), key=lambda row: row["dims"][3])
                at.plot([row["dims"][3] for row in points], [row["gflops"] for row in points],
                        color=COLORS.get(points[0]["reconstruct"], "black"), marker="s" if points[0]["xpay"] else "o",
                        markersize=3, linestyle="-" if points[0]["temporal_gauge"] else "--",
                        label=name.removeprefix(precision + " "))
            at.set(xlabel="T", ylabel="GFLOP/s", title=precision)
            at.set_ylim(bottom=0)
            at.xaxis.get_major_locator().set_params(integer=True)
            module_report.legend_below(at)
        save(figure, f"rates_{kernel}_{'_'.join(map(str, space))}",
             f"Speed of {kernel} on {lattice(space)} x T; full lines: temporal gauge")
