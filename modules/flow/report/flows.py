"""Gradient flows: scales, t^2 E and the topological charge against flow time."""

from module_report import code, legend_beside, number, paragraph, section, table

REFERENCE = 0.3


def flow_text(name, flow):
    lines = [[energy, number(flow["t0"][energy], ".5f"), number(flow["w0"][energy], ".5f")]
             for energy in ("clover", "plaquette")]
    return [section("Gradient flow ", code(name)),
            table(["energy", "t0 / a^2", "w0 / a"], lines),
            paragraph(f"To the flow time {flow['history']['time'][-1]:g} a^2 in {flow['steps']} steps of {flow['step']:g}, "
                      f"{flow['seconds_per_step']:.3g} s each; the topological charge is {flow['charge']:.4f} there.")]


def text(results):
    return [block for name, flow in results.get("flows", {}).items() for block in flow_text(name, flow)]


def draw(results, save):
    import matplotlib.pyplot as plt

    for name, flow in results.get("flows", {}).items():
        history = flow["history"]
        times = history["time"]
        figure, (above, below) = plt.subplots(2, 1, figsize=(7, 7), sharex=True)
        for energy in ("clover", "plaquette"):
            curve = [t * t * e for t, e in zip(times, history[f"energy_{energy}"])]
            above.plot(times, curve, marker=".", markersize=3, linewidth=0.8, label=energy)
            if flow["t0"][energy] is not None:
                above.plot([flow["t0"][energy]], [REFERENCE], "k+", label=f"$t_0 = {flow['t0'][energy]:.4f}\\,a^2$, {energy}")
        above.axhline(REFERENCE, color="grey", linewidth=0.8, linestyle=":", label=f"{REFERENCE}")
        above.set(ylabel="$t^2 E(t)$")
        below.plot(times, history["charge"], marker=".", markersize=3, linewidth=0.8, label="clover")
        below.set(xlabel="flow time $t / a^2$", ylabel="topological charge")
        for axes in (above, below):
            legend_beside(axes)
        save(figure, f"flow_{name}", f"Gradient flow {name}: energy density and topological charge")

