"""Gauge fixing: functional and theta, and how theta falls with the iterations."""

from module_report import code, legend_beside, number, section, table


def text(results):
    lines = [[code(name), fixing["gauge"], fixing["iterations"], number(fixing["functional"], ".10f"),
              number(fixing["theta"], ".3g"), "yes" if fixing["converged"] else "no"]
             for name, fixing in results.get("gauge_fixings", {}).items()]
    if not lines:
        return []
    return [section("Gauge fixing"), table(["task", "gauge", "iterations", "F", "theta", "converged"], lines)]


def draw(results, save):
    import matplotlib.pyplot as plt

    fixings = results.get("gauge_fixings", {})
    if not fixings:
        return
    figure, axes = plt.subplots(figsize=(7, 4))
    for name, fixing in fixings.items():
        axes.semilogy(fixing["history"]["theta"], linewidth=0.8, label=name)
    axes.set(xlabel="iterations", ylabel="theta")
    legend_beside(axes)
    save(figure, "gauge_fixing", "Gauge fixing: theta after each iteration")
