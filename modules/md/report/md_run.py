"""Tables and figures of the task `md_run`: how a run went; energy, temperature and pressure against time; several runs
beside each other: how well they conserve energy and momentum."""

from module_report import code, number, paragraph, section, table

QUANTITIES = {"temperature": "temperature", "energy": "energy per particle", "pressure": "pressure"}


def of_rows(one, key):
    scale = one["particles"] if key == "energy" else 1
    return [row[key] / scale for row in one["rows"]]


def unit(one, quantity):
    """Of a number, in brackets; nothing where the particles are in units of their own."""
    name = (one.get("units") or {}).get(quantity)
    return f" [{name}]" if name else ""


def drift(one):
    """Of the energy per particle, with error and fluctuation where there are rows enough for them."""
    if one["energy_drift"] is None:
        return "too few rows for a drift"
    units = one.get("units") or {}
    per = f"{units.get('energy', '')} per {units.get('time', 'unit of time')}".strip()
    if one["energy_drift_error"] is None:
        return f"{one['energy_drift']:+.2e} {per} (too few rows for an error)"
    return (f"{one['energy_drift']:+.2e} ± {one['energy_drift_error']:.1e} {per}, fluctuation about it "
            f"{one['energy_fluctuation']:.2e}")


def number_or_nan(value):
    """For matplotlib, which draws no bar there."""
    return float("nan") if value is None else value


def title(name, one):
    return f"{name} ({one['method']}, step {one['time_step']:g})"


def comparison(runs):
    """What is to be conserved, of each run: meant for the same system by several methods or with several time steps."""
    return [section("Conservation in all runs"), table(
        ["run", "method", "time step", "drift of the energy per particle", "error", "fluctuation", "change of momentum"],
        [[name, one["method"], f"{one['time_step']:g}", number(one["energy_drift"], "+.2e"),
          number(one["energy_drift_error"], ".1e"), number(one["energy_fluctuation"], ".2e"),
          f"{one['largest_momentum_change']:.1e}"] for name, one in runs.items()])]


def text(results):
    runs = results.get("dynamics", {})
    out = comparison(runs) if len(runs) > 1 else []
    for name, one in runs.items():
        steps = one["last_step"] - one["first_step"]
        out += [section("Dynamics ", code(name)),
                paragraph(f"{one['particles']} particles of {one['types']} {'type' if one['types'] == 1 else 'types'}, method "
                          f"{one['method']}, {steps} steps of {one['time_step']:g} from step {one['first_step']}, threads: "
                          f"{one['threads']}: {one['atom_steps_per_second']:.3g} atom-steps per second, lists of "
                          f"{one['list_entries_per_particle']:.1f} entries per particle, built {one['list_builds']} times."),
                paragraph(f"Drift of the energy per particle: {drift(one)}. The largest change of the momentum along an axis "
                          f"is {one['largest_momentum_change']:.1e}.")]
        rows = one["rows"]
        shown = rows if len(rows) <= 20 else [rows[n * (len(rows) - 1) // 19] for n in range(20)]
        out.append(table(["step", "time" + unit(one, "time"),
                          *(label + unit(one, key) for key, label in QUANTITIES.items())],
                         [[row["step"], f"{row['time']:g}", f"{row['temperature']:.5f}",
                           f"{row['energy'] / one['particles']:.8f}", f"{row['pressure']:.5f}"] for row in shown]))
    return out


def draw_comparison(runs, save):
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4))
    for name, one in runs.items():
        energy = of_rows(one, "energy")
        mean = sum(energy) / len(energy)
        axes.plot([row["time"] for row in one["rows"]], [value - mean for value in energy], linewidth=0.7,
                  label=title(name, one))
    axes.set(xlabel="time", ylabel="energy per particle - its mean")
    axes.legend(fontsize="x-small", ncols=2)
    save(figure, "dynamics_energies", "Dynamics: energy per particle of all runs")

    figure, axes = plt.subplots(figsize=(7, 4))
    axes.errorbar(range(len(runs)), [one["energy_drift"] for one in runs.values()],
                  [number_or_nan(one["energy_drift_error"]) for one in runs.values()], fmt="o", capsize=3)
    axes.axhline(0, color="gray", linewidth=0.7)
    axes.set_xticks(range(len(runs)), list(runs), rotation=45, ha="right")
    axes.set(ylabel="drift of the energy per particle")
    save(figure, "dynamics_drifts", "Dynamics: drift of the energy per unit of time, with its error")

    points = [(one["time_step"], one["energy_fluctuation"]) for one in runs.values() if one["energy_fluctuation"]]
    steps = sorted({step for step, _ in points})
    if len(steps) < 2:
        return
    figure, axes = plt.subplots(figsize=(7, 4))
    axes.loglog(*zip(*points), "o", label="runs")
    step, most = max(points)
    axes.loglog(steps, [most * (other / step) ** 2 for other in steps], "--", label="square of the time step")
    axes.set(xlabel="time step", ylabel="fluctuation of the energy per particle")
    axes.legend()
    save(figure, "dynamics_fluctuations", "Dynamics: fluctuation of the energy against the time step")


def draw(results, save):
    import matplotlib.pyplot as plt

    comparable = {name: one for name, one in results.get("dynamics", {}).items() if len(one["rows"]) > 1}
    if len(comparable) > 1:
        draw_comparison(comparable, save)
    for name, one in results.get("dynamics", {}).items():
        times = [row["time"] for row in one["rows"]]
        if len(times) < 2:
            continue
        for key, label in QUANTITIES.items():
            figure, axes = plt.subplots(figsize=(7, 4))
            axes.plot(times, of_rows(one, key))
            axes.set(xlabel="time" + unit(one, "time"), ylabel=label + unit(one, key))
            save(figure, f"{name}_{key}", f"Dynamics {name}: {label}")
