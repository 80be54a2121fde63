"""Time to solution and speed-up over uniform double, as bars: the fastest delta of each scheme and inner operator."""

import module_report
import study


def fastest(rows):
    """{name of scheme and inner: {mass: its fastest converged row}}."""
    out = {}
    for row in rows:
        if not row["converged"]:
            continue
        name = row["scheme"] + " " + (study.inner_name(row["inner"]) if row["inner"] else row["outer"])
        best = out.setdefault(name, {})
        if row["mass"] not in best or row["seconds"] < best[row["mass"]]["seconds"]:
            best[row["mass"]] = row
    return out


def bars(axes, rows, key, label):
    masses = sorted(module_report.values(rows, "mass"), reverse=True)
    kinds = fastest(rows)
    width = 0.8 / max(len(kinds), 1)
    for k, (name, found) in enumerate(kinds.items()):
        have = [(at, found[mass][key]) for at, mass in enumerate(masses) if mass in found]
        have = [(at, value) for at, value in have if value is not None]
        axes.bar([at + (k + 0.5) * width - 0.4 for at, _ in have], [value for _, value in have], width, label=name)
    axes.set_xticks(range(len(masses)), [f"{mass:g}" for mass in masses])
    axes.set(xlabel="bare quark mass $a\\, m$", ylabel=label)


def draw(results, save):
    import matplotlib.pyplot as plt

    for name, one in study.studies(results):
        systems = study.systems(one["rows"])
        figure, axes = plt.subplots(2, len(systems), figsize=(6 * len(systems), 8), squeeze=False)
        for column, (solver, tolerance, rows) in enumerate(systems):
            bars(axes[0][column], rows, "seconds", "time to solution [s]")
            bars(axes[1][column], rows, "speedup", "speed-up over uniform double")
            axes[0][column].set(title=f"{solver}, tolerance {tolerance:g}")
            axes[1][column].axhline(1, color="black", linewidth=0.5)
            module_report.legend_below(axes[1][column])
        save(figure, f"{name}_times",
             f"Study {name}: time to solution, and speed-up over uniform double with the same method; the fastest "
             "delta of each scheme and inner operator")
