"""Hadron correlators and their effective masses: a table, a CSV file and a figure."""

from module_report import legend_beside, number, table

MASS = ("effective mass: from C(t)/C(t+1) = cosh(m (T/2-t)) / cosh(m (T/2-t-1)) of the correlator folded about T/2")


def channels(entry):
    """{"rho_x 0 0 1 re": [...], ...}: name, momentum and part of each correlator of a channel; "rho_x effective_mass"."""
    found = {}
    for name, channel in entry.get("channels", {}).items():
        if "effective_mass" in channel:
            found[f"{name} effective_mass"] = channel["effective_mass"]
        for correlator in channel["correlators"]:
            for part in ("re", "im"):
                if part in correlator:
                    found[" ".join([name, *map(str, correlator["momentum"]), part])] = correlator[part]
    return found


def columns(entry):
    """{"pion": [C(t) for t = 0, 1, ... after the source], ..., "effective_mass": [...]}, which ends with None where it is
    over half of the times; then the channels."""
    source = entry["source_time"]
    found = {**{name: entry[name] for name in ("pion", "effective_mass") if name in entry}, **channels(entry)}
    times = max(len(value) for value in found.values())
    return {name: value[source:] + value[:source] if len(value) == times else value + [None] * (times - len(value))
            for name, value in found.items()}


def rows(entry):
    """(names of the columns, rows): times after the source, absolute times, values."""
    found = columns(entry)
    lines = list(zip(*found.values()))
    return (["t_after_source", "t", *found],
            [[k, (entry["source_time"] + k) % len(lines), *line] for k, line in enumerate(lines)])


def csv_name(name):
    return f"correlator_{name}.csv"


def csv_files(results):
    """{file: text} of every correlator, with all the digits of results.json."""
    files = {}
    for name, entry in results.get("correlators", {}).items():
        head, lines = rows(entry)
        cells = [head] + [["" if value is None else repr(value) for value in line] for line in lines]
        files[csv_name(name)] = "".join(",".join(line) + "\n" for line in cells)
    return files


def correlator_text(name, entry):
    head, lines = rows(entry)
    some = 4 if "pion" in entry else 3  # the others are in the CSV file
    head, lines = head[:some], [line[:some] for line in lines]
    if all(value is None for line in lines for value in line[2:]):
        return f"\n## Correlators `{name}`\n\nNone: columns of the propagator have no solution.\n"
    heads = {"t_after_source": "t - t_source", "effective_mass": "effective mass a m(t, t + 1)", "pion": "pion C(t)"}
    shown = [[*line[:2], *(number(value, ".6f" if "mass" in key else ".9e") for key, value in zip(head[2:], line[2:]))]
             for line in lines]
    others = f", with {', '.join(entry['channels'])} at each momentum" if "channels" in entry else ""
    return (f"\n## Correlators `{name}`\n\nSource at t = {entry['source_time']}; lattice units; {MASS}. All digits"
            f"{others}: [{csv_name(name)}]({csv_name(name)}).\n\n" + table([heads.get(key, key) for key in head], shown))


def text(results):
    return "".join(correlator_text(name, entry) for name, entry in results.get("correlators", {}).items())


def draw(results, save):
    import matplotlib.pyplot as plt

    found = {name: entry for name, entry in results.get("correlators", {}).items() if "pion" in entry}
    if not found:
        return
    figure, (above, below) = plt.subplots(2, 1, figsize=(6, 8))
    for name, entry in found.items():
        of_time = columns(entry)
        for axes, key, offset in ((above, "pion", 0), (below, "effective_mass", 0.5)):
            points = [(t + offset, value) for t, value in enumerate(of_time[key]) if value is not None and value > 0]
            axes.plot(*(zip(*points) if points else ([], [])), "o-" if axes is above else "o", markersize=3,
                      label=name if points else f"{name}: none")
    above.set(xlabel="$(t - t_\\mathrm{source}) / a$", ylabel="pion correlator $C(t)$ [lattice units]", yscale="log")
    below.set(xlabel="$(t - t_\\mathrm{source}) / a$", ylabel="effective mass $a\\, m_\\mathrm{eff}$")
    if len(found) > 1:
        legend_beside(above)
        legend_beside(below)
    save(figure, "pions", f"Pion correlators, and their {MASS}, drawn at t + 1/2. One gauge configuration: no error "
         "bars")
