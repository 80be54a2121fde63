"""The squared pion mass against the bare quark mass, the fitted line, and the critical mass where it vanishes."""

from module_report import with_error


def draw(results, save):
    import matplotlib.pyplot as plt

    for name, fit in results.get("critical_masses", {}).items():
        points = [point for point in fit["points"] if point["pion_mass"] is not None]
        if not points:
            continue
        figure, axes = plt.subplots(figsize=(6, 4))
        axes.errorbar([point["mass"] for point in points], [point["pion_mass_squared"] for point in points],
                      [2 * point["pion_mass"] * point["pion_mass_spread"] for point in points], fmt="o", capsize=3,
                      label="pions")
        axes.axhline(0, color="black", linewidth=0.5)
        first, last = fit["window"]
        caption = (f"Critical mass {name}: squared pion mass against the bare quark mass. A pion mass is the mean of "
                   f"the effective masses at {first} <= t < {last}; error bars are half of their range")
        zero = fit["critical_mass"]
        if zero is not None:
            spread = fit["critical_mass_spread"]
            ends = [zero, max(point["mass"] for point in points)]
            axes.plot(ends, [fit["slope"] * (end - zero) for end in ends], "-", label="linear fit")
            axes.errorbar([zero], [0], xerr=[spread], fmt="D", color="C3", capsize=3, clip_on=False, zorder=3,
                          label=f"$a\\, m_c = {with_error(zero, spread)}$")
            caption += (", and that of the critical mass combines them with the deviations from the line. One gauge "
                        "configuration: no statistical errors")
        axes.set(xlabel="bare quark mass $a\\, m$", ylabel="$(a\\, m_\\pi)^2$", ylim=(0, None))
        axes.legend(loc="upper left")
        save(figure, f"{name}_pion_mass", caption)
