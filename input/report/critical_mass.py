"""The squared pion mass against the bare quark mass, and the line that gives the critical mass."""

import matplotlib.pyplot as plt


def draw(results, save):
    for name, fit in results.get("critical_masses", {}).items():
        points = [point for point in fit["points"] if point["pion_mass"] is not None]
        if not points:
            continue
        figure, axes = plt.subplots(figsize=(6, 4))
        axes.errorbar([point["mass"] for point in points], [point["pion_mass_squared"] for point in points],
                      [2 * point["pion_mass"] * point["pion_mass_spread"] for point in points], fmt="o", capsize=3)
        if fit["critical_mass"] is not None:
            ends = [fit["critical_mass"], max(point["mass"] for point in points)]
            axes.plot(ends, [fit["slope"] * (end - fit["critical_mass"]) for end in ends], "-")
        axes.axhline(0, color="black", linewidth=0.5)
        axes.set(xlabel="bare quark mass $a m$", ylabel="$(a\\, m_\\pi)^2$")
        save(figure, f"{name}_pion_mass", f"Task {name}: the squared pion mass against the bare quark mass")
