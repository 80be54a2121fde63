"""Means of a Markov chain; its plaquette and Polyakov loop after every sweep, with their means, errors and autocorrelation."""

from autocorrelation import draw_autocorrelation
from module_report import code, legend_beside, number, paragraph, section, table

PLANES = {"plaquette": "all planes", "plaquette_spatial": "spatial", "plaquette_temporal": "temporal"}


def chain_text(name, chain):
    """The means of a Markov chain; those of results of before may lack the Polyakov loop."""
    seen = {"plaquette": chain["plaquette"], "spatial plaquette": chain.get("plaquette_spatial"),
            "temporal plaquette": chain.get("plaquette_temporal")}
    for part, label in (("re", "Re tr L / 3"), ("im", "Im tr L / 3"), ("abs", "|tr L / 3|")):
        seen[label] = chain.get("polyakov_loop", {}).get(part)
    lines = [[label, f"{mean['mean']:.7f}", number(mean["error"], ".1e"), number(mean["tau_int"], ".2f"),
              number(mean["tau_int_error"], ".2f"), mean["sweeps"]] for label, mean in seen.items() if mean is not None]
    speed = (f" {chain['seconds_per_sweep']:.3g} s per sweep, {chain['link_updates_per_second'] * 1e-6:.2f} million link "
             "updates/s." if "link_updates_per_second" in chain else "")
    return [section("Markov chain ", code(name)),
            paragraph("Means over the sweeps after the thermalization, with errors from the autocorrelation; tau in sweeps."),
            table(["", "mean", "error", "tau", "its error", "sweeps"], lines),
            paragraph(f"Links changed by at most {chain['largest_drift']:.1e} when they were projected back on SU(3).{speed}")]


def mean_band(axes, what, mean, color="black"):
    """A line at the mean, a band of one standard error."""
    label = f"mean {what} {mean['mean']:.6f}"
    if mean["error"] is not None:
        label += f" ± {mean['error']:.6f}, τ = {mean['tau_int']:.2f} sweeps"
        axes.axhspan(mean["mean"] - mean["error"], mean["mean"] + mean["error"], color=color, alpha=0.25, linewidth=0)
    axes.axhline(mean["mean"], color=color, linewidth=0.6, linestyle="--", label=label)


def thermalised_limits(rows, sweeps):
    """Limits of an axis that show the fluctuations of the last `sweeps` sweeps: a start far away would flatten them."""
    late = [value for row in rows for value in row[len(row) - sweeps:] if value is not None] if sweeps else []
    if not late:
        return None
    margin = 0.15 * (max(late) - min(late)) or 1e-3
    return min(late) - margin, max(late) + margin


def draw_plaquettes(axes, chain, sweeps):
    history = chain["history"]
    found = {plane: label for plane, label in PLANES.items() if plane in history}
    for color, (plane, label) in enumerate(found.items()):
        axes.plot(sweeps, history[plane], linewidth=0.8, color=f"C{color}", label=label)
        if plane in chain:
            mean_band(axes, label, chain[plane], "black" if plane == "plaquette" else f"C{color}")
    limits = thermalised_limits([history[plane] for plane in found], chain["plaquette"]["sweeps"])
    if limits:
        axes.set_ylim(*limits)
    axes.set(ylabel="plaquette $\\mathrm{Re\\,tr}\\,U_P / 3$")


def draw_loops(axes, chain, sweeps):
    loop = chain["history"]["polyakov_loop"]
    for part, label in (("re", "Re"), ("im", "Im")):
        axes.plot(sweeps, loop[part], linewidth=0.8, label=f"{label} tr L / 3")
    magnitude = [abs(complex(re, im)) for re, im in zip(loop["re"], loop["im"])]
    axes.plot(sweeps, magnitude, linewidth=0.8, label="|tr L / 3|")
    if "polyakov_loop" in chain:
        mean_band(axes, "|tr L / 3|", chain["polyakov_loop"]["abs"])
    axes.set(xlabel="sweep", ylabel="Polyakov loop $\\mathrm{tr}\\,L / 3$")


def text(results):
    return [block for name, chain in results.get("chains", {}).items() for block in chain_text(name, chain)]


def draw(results, save):
    import matplotlib.pyplot as plt

    for name, chain in results.get("chains", {}).items():
        history = chain["history"]
        count = len(history["plaquette"])
        sweeps = range(history["first_sweep"] + 1, history["first_sweep"] + count + 1)
        figure, (above, below) = plt.subplots(2, 1, figsize=(7, 7), sharex=True)
        draw_plaquettes(above, chain, sweeps)
        draw_loops(below, chain, sweeps)
        thermalization = count - chain["plaquette"]["sweeps"]
        for axes in (above, below):
            if thermalization > 0:
                axes.axvline(history["first_sweep"] + thermalization + 0.5, color="grey", linewidth=0.8, linestyle=":",
                             label="end of thermalization")
            legend_beside(axes)
        save(figure, f"chain_{name}", f"Markov chain {name}: plaquette and Polyakov loop; the bands are one standard "
             "error, autocorrelation included; the axis of the plaquette shows the sweeps after the thermalization")
        figure, axes = plt.subplots(figsize=(7, 4))
        if draw_autocorrelation(axes, history["plaquette"][thermalization:], chain["plaquette"], "sweeps"):
            legend_beside(axes)
            save(figure, f"autocorrelation_{name}", f"Markov chain {name}: autocorrelation function of the plaquette after "
                 "the thermalization, with errors")
        plt.close(figure)
