"""Residuals of the solves of a task against iterations: lines as iterated by the method, marks where an update recomputed
the true residual."""

from module_report import legend_beside, values

MOST_POINTS = 500  # of a line


def extremes(solves):
    """The solves with the most and with the fewest iterations, the former first."""
    ordered = sorted(solves, key=lambda one: one["iterations"])
    return ordered[-1:] + (ordered[:1] if ordered[0]["iterations"] < ordered[-1]["iterations"] else [])


def label(solve):
    of = f"shift {solve['shift']:g}" if "shift" in solve else f"spin {solve['spin']}, color {solve['color']}" \
        if "spin" in solve else ""
    return f"{of}: {solve['iterations']} iterations".removeprefix(": ")


def draw_solve(axes, solve, color):
    points = solve["history"]
    step = 1 + len(points) // MOST_POINTS
    iterated = [(k, residual) for k, residual, _ in points[::step] + points[-1:] if residual]
    true = [(k, residual) for k, _, residual in points if residual]
    if iterated:
        axes.plot(*zip(*iterated), color=color, linewidth=0.9, label=label(solve))
    if true:
        axes.plot(*zip(*true), "o", color=color, markersize=3.5, label="true residual at an update")


def draw(results, save):
    import matplotlib.pyplot as plt

    found = [solve for solve in results.get("solves", []) if len(solve.get("history") or []) > 1]
    for task in values(found, "task"):
        mine = [solve for solve in found if solve["task"] == task]
        figure, axes = plt.subplots(figsize=(7, 4))
        for k, solve in enumerate(extremes(mine)):
            draw_solve(axes, solve, f"C{k}")
        axes.axhline(mine[0]["tolerance"], color="grey", linewidth=0.8, linestyle=":", label="tolerance")
        axes.set(xlabel="iterations", ylabel="residual $|r| / |b|$", yscale="log")
        legend_beside(axes)
        which = f"the longest and the shortest of {len(mine)} solves" if len(mine) > 1 else "the solve"
        save(figure, f"residuals_{task}", f"Residuals of {task}, {mine[0]['solver']}: {which}; lines as iterated by the "
             "method, marks recomputed in double at its reliable updates or restarts")
