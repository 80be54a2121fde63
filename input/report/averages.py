"""Results of several configurations: the list of them, averaged correlators and effective masses with their errors."""

import correlators
from autocorrelation import draw_autocorrelation
from module_report import code, legend_beside, link, number, paragraph, section, table, with_error

ERRORS = "errors by the jackknife"


def estimate(value, error):
    return "-" if value is None else with_error(value, error)


def masses_beside(averages, key):
    """Effective masses in the same map, which are those of the list `key`: of the pion, or of the only list."""
    masses = averages.get("effective_mass") if isinstance(averages, dict) else None
    means = [name for name, one in averages.items() if isinstance(one, dict) and "mean" in one] if masses else []
    return masses if key == "pion" or set(means) == {key, "effective_mass"} else None


def lists(averages, path="", at_rest=None):
    """(path, the map {mean, error, ...}, its effective masses or None) of every averaged list over t. `at_rest`: effective
    masses of the first of a channel's correlators."""
    found = []
    for key, value in averages.items() if isinstance(averages, dict) else enumerate(averages):
        name = f"{path}/{key}" if path else str(key)
        if not isinstance(value, (dict, list)) or key == "effective_mass":
            continue
        if isinstance(value, dict) and isinstance(value.get("mean"), list):
            first = path.endswith("correlators/0") and key == "re"
            found.append((name, value, at_rest if first else masses_beside(averages, key)))
        else:
            inherited = averages.get("effective_mass") if key == "correlators" else at_rest
            found += lists(value, name, inherited)
    return found


def averaged(results):
    return lists(results.get("averages", {}).get("correlators", {}))


def rows(one, masses):
    """(names of the columns, rows): t after the source, mean and errors, effective mass and its errors."""
    keys = [key for key in ("mean", "error", "bootstrap_error") if key in one]
    head, columns = ["t_after_source", *keys], [one[key] for key in keys]
    for key in keys if masses else ():
        head.append("effective_mass" if key == "mean" else f"effective_mass_{key}")
        columns.append(masses[key] + [None] * (len(one["mean"]) - len(masses[key])))
    return head, [[t, *line] for t, line in enumerate(zip(*columns))]


def csv_name(path):
    return "average_" + path.replace("/", "_") + ".csv"


def csv_files(results):
    """{file: text} of every average, with all the digits of results.json."""
    files = {}
    for path, one, masses in averaged(results):
        head, lines = rows(one, masses)
        cells = [head] + [["" if value is None else repr(value) for value in line] for line in lines]
        files[csv_name(path)] = "".join(",".join(line) + "\n" for line in cells)
    return files


def configurations_text(results):
    lines = []
    for one in results["configurations"]:
        solves = "; ".join(f"{task}: {number(sums['iterations'], '.1f')}" for task, sums in one.get("solves", {}).items())
        lines.append([one["file"], one["state"], number(one.get("plaquette"), ".9f"), solves or "-"])
    out = [section("Configurations"), table(["file", "state", "plaquette", "mean iterations"], lines)]
    mean = results.get("averages", {}).get("plaquette")
    if mean:
        tau = "" if mean["tau_int"] is None else (f"; tau_int = {estimate(mean['tau_int'], mean['tau_int_error'])} "
                                                  "configurations")
        out.append(paragraph(f"Plaquette: {estimate(mean['mean'], mean['error'])} ({ERRORS} over "
                             f"{results['averages']['bins']} bins){tau}."))
    return out


def average_text(path, one, masses):
    lines = []
    for t, (mean, error) in enumerate(zip(one["mean"], one["error"])):
        line = [t, estimate(mean, error)]
        if masses:
            known = t < len(masses["mean"])
            line.append(estimate(masses["mean"][t], masses["error"][t]) if known else "-")
        lines.append(line)
    head = ["t - t_source", "C(t)"] + (["effective mass a m(t, t + 1)"] if masses else [])
    return [section("Average of ", code(path)),
            paragraph(f"{one['configurations']} configurations; lattice units; {ERRORS}. All digits: ", link(csv_name(path)),
                      "."),
            table(head, lines)]


def single_means(tree, path=""):
    """(path, {mean, error, ...}) of every averaged number."""
    if not isinstance(tree, dict):
        return []
    if isinstance(tree.get("mean"), float):
        return [(path, tree)]
    return [pair for key, inside in tree.items() for pair in single_means(inside, f"{path}.{key}" if path else key)]


def blocks_text(results):
    means = single_means(results.get("averages", {}).get("blocks", {}))
    if not means:
        return []
    lines = [[path, one["configurations"], estimate(one["mean"], one["error"])] for path, one in means]
    return [section("Averages of other results"), paragraph(ERRORS.capitalize() + "."),
            table(["", "configurations", "mean"], lines)]


def estimates(values):
    return ", ".join(with_error(one["value"], one["error"]) for one in values)


def fits_text(results):
    lines = [[name, fit["correlator"], "{} to {}".format(*fit["window"]), estimates(fit["masses"]),
              estimates(fit["amplitudes"]), f"{fit['chi2']:.3g} / {fit['dof']}", "yes" if fit["correlated"] else "no"]
             for name, fit in results.get("fits", {}).items() if fit]
    if not lines:
        return []
    return [section("Fits"),
            paragraph("C(t) = sum over states of A (exp(-m t) + exp(-m (T - t))), of the correlator folded about T/2; "
                      f"{ERRORS}."),
            table(["fit", "correlator", "t - t_source", "a m", "A", "chi^2 / dof", "correlated"], lines)]


def text(results):
    if "configurations" not in results:
        return []
    return (configurations_text(results) + fits_text(results) +
            [block for one in averaged(results) for block in average_text(*one)] + blocks_text(results))


def draw_band(axes, points, label):
    """Points (t, value, error), and the band of their errors."""
    if not points:
        axes.plot([], [], "o", label=f"{label}: none")
        return
    t, value, error = zip(*points)
    low, high = ([v + sign * e for v, e in zip(value, error)] for sign in (-1, 1))
    band = axes.fill_between(t, low, high, alpha=0.3, linewidth=0)
    axes.errorbar(t, value, error, fmt="o", markersize=3, color=band.get_facecolor()[0][:3], label=label)


def draw_fit(axes, name, fit, color):
    """The mass of the lightest state over its window."""
    mass, window = fit["masses"][0], fit["window"]
    axes.plot(window, [mass["value"]] * 2, "--", linewidth=1, color=color,
              label=f"fit {name}: {estimate(mass['value'], mass['error'])}")
    error = mass["error"] or 0
    axes.fill_between(window, mass["value"] - error, mass["value"] + error, alpha=0.2, linewidth=0, color=color)


def known(one, offset):
    return [(t + offset, mean, error or 0) for t, (mean, error) in enumerate(zip(one["mean"], one["error"]))
            if mean is not None]


def draw_plaquettes(results, save):
    """Configuration by configuration, and their autocorrelation function if it is known."""
    import matplotlib.pyplot as plt

    mean = results["averages"].get("plaquette")
    done = [(k, one["plaquette"]) for k, one in enumerate(results["configurations"], 1) if one.get("plaquette") is not None]
    if not mean or len(done) < 2:
        return
    figure, (above, below) = plt.subplots(2, 1, figsize=(7, 7))
    above.plot(*zip(*done), "o-", markersize=3, linewidth=0.8, label="configurations")
    above.axhline(mean["mean"], color="black", linewidth=0.6, linestyle="--",
                  label=f"mean {estimate(mean['mean'], mean['error'])}")
    if mean["error"]:
        above.axhspan(mean["mean"] - mean["error"], mean["mean"] + mean["error"], color="black", alpha=0.25, linewidth=0)
    above.xaxis.get_major_locator().set_params(integer=True)
    above.set(xlabel="configuration", ylabel="plaquette $\mathrm{Re\,tr}\,U_P / 3$")
    legend_beside(above)
    caption = f"Plaquette of each configuration, and its mean with {ERRORS}"
    if draw_autocorrelation(below, [value for _, value in done], {**mean, "error": mean.get("gamma_error")}, "configurations"):
        legend_beside(below)
        caption += "; its autocorrelation function"
    else:
        below.remove()
    save(figure, "plaquettes", caption)


def draw(results, save):
    import matplotlib.pyplot as plt

    if "configurations" in results:
        draw_plaquettes(results, save)
    shown = [(path, one, masses) for path, one, masses in averaged(results) if masses]
    if not shown:
        return
    figure, (above, below) = plt.subplots(2, 1, figsize=(6, 8))
    for path, one, masses in shown:
        draw_band(above, [point for point in known(one, 0) if point[1] > 0], path)
        draw_band(below, known(masses, 0.5), path)
    for k, (name, fit) in enumerate(results.get("fits", {}).items(), len(shown)):
        if fit and any(path == fit["correlator"] for path, _, _ in shown):
            draw_fit(below, name, fit, f"C{k % 10}")
    above.set(xlabel="$(t - t_\\mathrm{source}) / a$", ylabel="mean correlator $C(t)$ [lattice units]", yscale="log")
    below.set(xlabel="$(t - t_\\mathrm{source}) / a$", ylabel="effective mass $a\\, m_\\mathrm{eff}$")
    if len(shown) > 1:
        legend_beside(above)
    if len(shown) > 1 or results.get("fits"):
        legend_beside(below)
    save(figure, "averages", f"Mean correlators of {results['averages']['configurations']} configurations, and their "
         f"{correlators.MASS}, drawn at t + 1/2; {ERRORS}")
