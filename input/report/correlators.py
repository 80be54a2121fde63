"""Hadron correlators and their effective masses: a table, a CSV file and a figure."""

from module_report import code, legend_beside, link, number, paragraph, section, table

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
        return [section("Correlators ", code(name)), paragraph("None: columns of the propagator have no solution.")]
    heads = {"t_after_source": "t - t_source", "effective_mass": "effective mass a m(t, t + 1)", "pion": "pion C(t)"}
    shown = [[*line[:2], *(number(value, ".6f" if "mass" in key else ".9e") for key, value in zip(head[2:], line[2:]))]
             for line in lines]
    others = f", with {', '.join(entry['channels'])} at each momentum" if "channels" in entry else ""
    return [section("Correlators ", code(name)),
            paragraph(f"Source at t = {entry['source_time']}; lattice units; {MASS}. All digits{others}: ",
                      link(csv_name(name)), "."),
            table([heads.get(key, key) for key in head], shown)]


def text(results):
    return [block for name, entry in results.get("correlators", {}).items() for block in correlator_text(name, entry)]


def curves(results):
    """{"mesons pion": (C(t), effective mass or None)} of every pion and every channel at rest, t after the source; one
    curve, with all names, of what is the same."""
    found = {}
    for name, entry in results.get("correlators", {}).items():
        of_time = columns(entry)
        if "pion" in entry:
            found[name if "channels" not in entry else f"{name} pion"] = (of_time["pion"], of_time["effective_mass"])
        for key, values in of_time.items():
            channel, *momentum = key.split(" ")
            if momentum[:3] == ["0", "0", "0"] and momentum[3] == "re" and (channel != "pion" or "pion" not in entry):
                found[f"{name} {channel}"] = (values, of_time.get(f"{channel} effective_mass"))
    names = {}
    for name, (values, _) in found.items():
        names.setdefault(tuple(values), []).append(name)
    return {", ".join(same): found[same[0]] for same in names.values()}


def draw_curve(axes, values, offset, style, label):
    """Of what is not positive the magnitude, hollow."""
    known = [(t + offset, value) for t, value in enumerate(values) if value]
    line, = axes.plot([t for t, _ in known], [abs(value) for _, value in known], style, markersize=3.5, linewidth=0.8,
                      label=label if known else f"{label}: none")
    negative = [(t, -value) for t, value in known if value < 0]
    if negative:
        axes.plot(*zip(*negative), "o", markersize=3.5, color=line.get_color(), markerfacecolor="white",
                  label=f"{label}, negative")


def draw(results, save):
    import matplotlib.pyplot as plt

    found = curves(results)
    if not found:
        return
    figure, (above, below) = plt.subplots(2, 1, figsize=(6, 8))
    for name, (values, masses) in found.items():
        draw_curve(above, values, 0, "o-", name)
        if masses:
            draw_curve(below, masses, 0.5, "o", name)
    above.set(xlabel="$(t - t_\\mathrm{source}) / a$", ylabel="correlator $|C(t)|$ [lattice units]", yscale="log")
    below.set(xlabel="$(t - t_\\mathrm{source}) / a$", ylabel="effective mass $a\\, m_\\mathrm{eff}$")
    if len(found) > 1 or any(value and value < 0 for values, _ in found.values() for value in values):
        legend_beside(above)
        legend_beside(below)
    save(figure, "correlators", f"Correlators at rest, and their {MASS}, drawn at t + 1/2. One gauge configuration: no "
         "error bars")
