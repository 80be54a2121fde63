"""Residuals against iterations (figure 7 of arXiv:0911.3191): lines for the iterated, marks for the true residual."""

import module_report
import study


def panel(axes, histories, title):
    for k, history in enumerate(histories):
        points = history["points"]
        iterated = [(point[0], point[1]) for point in points if point[1]]
        true = [(point[0], point[2]) for point in points if point[2]]
        axes.plot(*zip(*iterated), color=f"C{k % 10}", linewidth=0.8, label=study.way_name(history))
        axes.plot(*zip(*true), "o", color=f"C{k % 10}", markersize=3)
    axes.axhline(histories[0]["tolerance"], color="grey", linewidth=0.8, linestyle=":", label="tolerance")
    axes.set(xlabel="iterations", ylabel="residual $|r| / |b|$", yscale="log", title=title)
    module_report.legend_below(axes)


def draw(results, save):
    import matplotlib.pyplot as plt

    for name, one in study.studies(results):
        histories = one["histories"]
        groups = dict.fromkeys((h["mass"], h["tolerance"], h["solver"]) for h in histories)
        for mass, tolerance, solver in groups:
            mine = module_report.pick(histories, mass=mass, tolerance=tolerance, solver=solver)
            deltas = [delta for delta in module_report.values(mine, "delta") if delta is not None] or [None]
            figure, axes = plt.subplots(1, len(deltas), figsize=(6 * len(deltas), 5), squeeze=False, sharey=True)
            for at, delta in zip(axes[0], deltas):
                panel(at, [h for h in mine if h["delta"] in (None, delta)],
                      f"{solver}, mass {mass:g}" + ("" if delta is None else f", delta {delta:g}"))
            save(figure, f"{name}_history_{solver.replace(' ', '_')}_{mass:g}_{tolerance:g}",
                 f"Study {name}: residuals of {solver} at mass {mass:g}: lines as iterated by the method, marks "
                 "recomputed in double")
