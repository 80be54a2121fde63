"""Time to solution and speed-up over uniform double against the quark mass (figure 7 of arXiv:0911.3191): the fastest
delta of each scheme and inner operator."""

import module_report
import study

LINES = {"uniform": "-", "reliable": "-", "defect": "--"}


def fastest(rows):
    """{(scheme, form): {mass: its fastest converged row}}."""
    out = {}
    for row in rows:
        if not row["converged"]:
            continue
        form = study.inner_name(row["inner"]) if row["inner"] else row["outer"]
        best = out.setdefault((row["scheme"], form), {})
        if row["mass"] not in best or row["seconds"] < best[row["mass"]]["seconds"]:
            best[row["mass"]] = row
    return out


def lines(axes, rows, key, label):
    kinds = fastest(rows)
    forms = list(dict.fromkeys(form for scheme, form in kinds if scheme != "uniform"))
    for (scheme, form), found in kinds.items():
        points = [found[mass] for mass in sorted(found) if found[mass][key] is not None]
        axes.errorbar([row["mass"] for row in points], [row[key] for row in points],
                      [row[key + "_error"] or 0 for row in points] if "configurations" in rows[0] else None, marker="o", markersize=4, capsize=2,
                      elinewidth=0.7, linestyle=LINES[scheme],
                      color="black" if scheme == "uniform" else f"C{forms.index(form)}", label=f"{scheme} {form}")
    axes.set(xlabel="bare quark mass $a\\, m$", ylabel=label)
    axes.set_ylim(bottom=0)
    axes.xaxis.get_major_locator().set_params(nbins=6)


def draw(results, save):
    import matplotlib.pyplot as plt

    for name, one in study.studies(results):
        systems = study.systems(one["rows"])
        figure, axes = plt.subplots(2, len(systems), figsize=(6 * len(systems), 8), squeeze=False)
        for column, (solver, tolerance, rows) in enumerate(systems):
            lines(axes[0][column], rows, "seconds", "time to solution [s]")
            lines(axes[1][column], rows, "speedup", "speed-up over uniform double")
            axes[0][column].set(title=f"{solver}, tolerance {tolerance:g}")
            module_report.legend_below(axes[1][column])
        save(figure, f"{name}_times",
             f"Study {name}: time to solution, and speed-up over uniform double with the same method, against the bare "
             "quark mass; the fastest delta of each scheme and inner operator")
