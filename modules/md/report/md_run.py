"""Tables and figures of the task `md_run`: how a run went; energy, temperature and pressure against time."""

from module_report import table

QUANTITIES = {"energy": "energy per particle", "temperature": "temperature", "pressure": "pressure"}


def of_rows(one, key):
    scale = one["particles"] if key == "energy" else 1
    return [row[key] / scale for row in one["rows"]]


def text(results):
    out = ""
    for name, one in results.get("dynamics", {}).items():
        steps = one["last_step"] - one["first_step"]
        out += (f"\n## Dynamics `{name}`\n\n{one['particles']} particles of {one['types']} "
                f"{'type' if one['types'] == 1 else 'types'}, method {one['method']}, "
                f"{steps} steps of {one['time_step']:g} from step {one['first_step']}, threads: {one['threads']}: "
                f"{one['atom_steps_per_second']:.3g} atom-steps per second, lists of "
                f"{one['list_entries_per_particle']:.1f} entries per particle, built {one['list_builds']} times.\n\n"
                f"Energy per particle: slope {one['energy_slope']:+.2e} ± {one['energy_slope_error']:.1e} per unit of time, "
                f"fluctuation {one['energy_fluctuation']:.2e}. The largest change of the momentum along an axis is "
                f"{one['largest_momentum_change']:.1e}.\n\n")
        rows = one["rows"]
        shown = rows if len(rows) <= 20 else [rows[n * (len(rows) - 1) // 19] for n in range(20)]
        out += table(["step", "time", "temperature", "energy per particle", "pressure"],
                     [[row["step"], f"{row['time']:g}", f"{row['temperature']:.5f}",
                       f"{row['energy'] / one['particles']:.8f}", f"{row['pressure']:.5f}"] for row in shown])
    return out


def draw(results, save):
    import matplotlib.pyplot as plt

    for name, one in results.get("dynamics", {}).items():
        times = [row["time"] for row in one["rows"]]
        if len(times) < 2:
            continue
        for key, label in QUANTITIES.items():
            figure, axes = plt.subplots(figsize=(7, 4))
            axes.plot(times, of_rows(one, key))
            axes.set(xlabel="time", ylabel=label)
            save(figure, f"{name}_{key}", f"Dynamics {name}: {label}")
