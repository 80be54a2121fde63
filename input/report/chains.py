"""Plaquette and Polyakov loop of a Markov chain after every sweep, with their means."""

import matplotlib.pyplot as plt

PLANES = {"plaquette": "all planes", "plaquette_spatial": "spatial", "plaquette_temporal": "temporal"}


def mean_line(axes, what, mean):
    label = f"mean {what} {mean['mean']:.6f}"
    if mean["error"] is not None:
        label += f" +- {mean['error']:.6f}, tau {mean['tau_int']:.2f} sweeps"
    axes.axhline(mean["mean"], color="black", linewidth=0.6, linestyle="--", label=label)


def draw(results, save):
    for name, chain in results.get("chains", {}).items():
        history = chain["history"]
        sweeps = range(history["first_sweep"], history["first_sweep"] + len(history["plaquette"]))
        figure, (above, below) = plt.subplots(2, 1, figsize=(7, 7), sharex=True)
        for plane, label in PLANES.items():
            if plane in history:
                above.plot(sweeps, history[plane], linewidth=0.8, label=label)
        mean_line(above, "plaquette", chain["plaquette"])
        above.set(ylabel="Re tr P / 3")
        above.legend(fontsize=7)
        for part in ("re", "im"):
            below.plot(sweeps, history["polyakov_loop"][part], linewidth=0.8, label=f"{part} tr L / 3")
        loop = history["polyakov_loop"]
        magnitude = [abs(complex(re, im)) for re, im in zip(loop["re"], loop["im"])]
        below.plot(sweeps, magnitude, linewidth=0.8, label="|tr L / 3|")
        if "polyakov_loop" in chain:
            mean_line(below, "|tr L / 3|", chain["polyakov_loop"]["abs"])
        below.set(xlabel="sweep")
        below.legend(fontsize=7)
        save(figure, f"chain_{name}", f"Markov chain {name}: plaquette and Polyakov loop")
