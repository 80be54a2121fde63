"""Pion correlators and their effective masses: those of a cosh, of the correlator folded about T/2."""

import matplotlib.pyplot as plt

import module_report


def entries(results):
    """(name, entry) without the second name that the only pion of a job has."""
    found = [(name, entry) for name, entry in results.get("correlators", {}).items() if isinstance(entry, dict)]
    return [(name, entry) for name, entry in found
            if name != "pion" or all(other is entry or other != entry for _, other in found)]


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
        masses = [(t + 0.5, mass) for t, mass in enumerate(entry.get("effective_mass", [])) if mass is not None]
        if masses:
            below.plot(*zip(*masses), "o", markersize=3, label=name)
    above.set(ylabel="pion correlator $C(t)$", yscale="log")
    below.set(xlabel="$t/a$ after the source", ylabel="$a\\, m_\\mathrm{eff}$ (cosh, folded)")
    module_report.legend_beside(above)
    save(figure, "pions", "Pion correlators, and effective masses from C(t)/C(t+1) = cosh(m (T/2-t)) / cosh(m (T/2-t-1)) "
         "of the folded correlator, at t + 1/2")
