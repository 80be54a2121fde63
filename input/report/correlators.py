"""Pion correlators and their effective masses log C(t) / C(t + 1)."""

import math

import matplotlib.pyplot as plt


def entries(results):
    """(name, entry) without the second name that the only pion of a job has."""
    found = [(name, entry) for name, entry in results.get("correlators", {}).items() if isinstance(entry, dict)]
    return [(name, entry) for name, entry in found
            if name != "pion" or all(other is entry or other != entry for _, other in found)]


def effective(values):
    return [(t, math.log(a / b)) for t, (a, b) in enumerate(zip(values, values[1:])) if a and b and a > 0 and b > 0]


def draw(results, save):
    found = entries(results)
    if not found:
        return
    figure, (above, below) = plt.subplots(2, 1, figsize=(6, 8), sharex=True)
    for name, entry in found:
        source = entry.get("source_time", 0)
        values = entry["pion"][source:] + entry["pion"][:source]
        shown = [(t, value) for t, value in enumerate(values) if value and value > 0]
        if shown:
            above.plot(*zip(*shown), "o-", markersize=3, label=name)
        points = effective(values[: len(values) // 2 + 1])
        if points:
            below.plot(*zip(*points), "o-", markersize=3, label=name)
    above.set(ylabel="C(t)", yscale="log")
    below.set(xlabel="t after the source", ylabel="log C(t) / C(t + 1)")
    above.legend(fontsize=7)
    save(figure, "pions", "Pion correlators and their effective masses")
