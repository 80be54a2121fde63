"""The accuracy of every form of the hopping term (figure 6 of arXiv:0911.3191): how many numbers deviate by how much.

On the left the cumulative distribution; on the right what lies beyond, which shows the few large deviations.
"""

import module_report
from bench_forms import form, lattice

COLORS = {18: "C0", 12: "C1", 8: "C3"}
LINES = {"double": "-", "single": "--", "half": "-."}


def panels(rows):
    import matplotlib.pyplot as plt

    figure, (within, beyond) = plt.subplots(1, 2, figsize=(13, 5), sharex=True)
    for row in rows:
        style = {"color": COLORS[row["reconstruct"]], "linestyle": LINES[row["precision"]],
                 "linewidth": 0.7 if row["temporal_gauge"] else 1.4}
        epsilons, fractions = zip(*row["curve"])
        within.plot(epsilons, fractions, label=form(row), **style)
        some = [(epsilon, 1 - fraction) for epsilon, fraction in row["curve"] if fraction < 1]
        if some:
            beyond.plot(*zip(*some), **style)
    for axes in (within, beyond):
        axes.set(xscale="log", xlabel="deviation / rms of the result")
    within.set(ylabel="fraction of numbers that deviate by no more")
    beyond.set(yscale="log", ylabel="fraction of numbers that deviate by more",
               ylim=(0.3 / max(row["count"] for row in rows), 2))
    module_report.legend_below(within, columns=3)
    return figure


def draw(results, save):
    rows = [row for row in results.get("accuracy", []) if row["curve"]]
    for dims in dict.fromkeys(tuple(row["dims"]) for row in rows):
        save(panels([row for row in rows if tuple(row["dims"]) == dims]), "accuracy_" + "_".join(map(str, dims)),
             f"Deviations of the hopping term on {lattice(dims)}, over the root mean square of the result; "
             "thin lines: temporal gauge")
