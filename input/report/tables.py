"""What a report says, as blocks of a page, and where its figures follow."""

import averages
import correlators
import critical_mass
import kernels
import phases
import solve_history
import study
import study_history
import study_iterations
import study_times
import timing
from job_text import job_text
from module_report import (Heading, bullets, code, listing, number, paragraph, pick, section, subsection, table,
                           values)

TITLE = Heading(1, ("Report",))


def count(value):
    return f"{value:.0f}" if value == round(value) else f"{value:.1f}"


def error_of(row, key, form):
    """" +- 12" where there are several configurations."""
    error = row.get(key + "_error")
    return "" if error is None else " +- " + format(error, form)


def iterations_cell(row):
    if not row["converged"]:
        return row["stop_reason"]
    updates = row["restarts"] if row["scheme"] == "defect" else row["reliable_updates"]
    return (count(row["iterations"]) + error_of(row, "iterations", ".1f")
            + ("" if row["scheme"] == "uniform" else f" ({count(updates)})"))


def relative_cell(row):
    if not row["converged"]:
        return row["stop_reason"]
    return number(row["iteration_ratio"], ".3f") + error_of(row, "iteration_ratio", ".3f")


def times_cell(row):
    if not row["converged"]:
        return row["stop_reason"]
    return (f"{row['seconds']:.3g}{error_of(row, 'seconds', '.2g')} s, "
            f"{number(row['speedup'], '.2f')}{error_of(row, 'speedup', '.2f')}, {row['gflops']:.1f} GFLOP/s")


def by_mass(rows, cell):
    """A line for each way to solve, a column for each mass."""
    masses = sorted(values(rows, "mass"), reverse=True)
    lines = []
    for way in dict.fromkeys(study.way_name(row) for row in rows):
        found = {row["mass"]: row for row in rows if study.way_name(row) == way}
        lines.append([way] + [cell(found[mass]) if mass in found else "-" for mass in masses])
    return table(["", *(f"m = {mass:g}" for mass in masses)], lines)


def best_times(systems):
    """The fastest delta of each scheme and inner operator against uniform double, for each mass."""
    head = ["mass", "method", "scheme", "inner", "delta", "iterations", "seconds", "speed-up", "over the best double"]
    lines = []
    for mass in sorted({row["mass"] for _, rows in systems for row in rows}, reverse=True):
        for solver, rows in systems:
            mine = pick(rows, mass=mass, converged=True)
            for scheme, inner in dict.fromkeys((row["scheme"], row["inner"]) for row in mine):
                row = min(pick(mine, scheme=scheme, inner=inner), key=lambda row: row["seconds"])
                lines.append([f"{mass:g}", solver, scheme, study.inner_name(inner) if inner else row["outer"],
                              study.delta_name(row), count(row["iterations"]), f"{row['seconds']:.3g}",
                              number(row["speedup"], ".2f"), number(row["speedup_best"], ".2f")])
    return table(head, lines)


def statements(rows):
    """What a study is made to find out, as sentences with their numbers."""
    out = []
    single = [row for row in rows if row["scheme"] == "reliable" and row["inner"].startswith("single")]
    doubles = {(row["mass"], row["tolerance"], row["solver"]): row for row in pick(rows, scheme="uniform")}

    def comparable(row):
        return doubles[row["mass"], row["tolerance"], row["solver"]]["converged"]

    for solver in values(rows, "solver"):
        ratios = [row for row in single if row["solver"] == solver and row["iteration_ratio"] is not None]
        if ratios:
            worst = max(ratios, key=lambda row: row["iteration_ratio"])
            percent = 100 * (worst["iteration_ratio"] - 1)
            out.append(f"{solver}: reliable updates with single inner precision need at "
                       + (f"most {percent:.1f} % more" if percent > 0 else f"least {-percent:.1f} % fewer")
                       + f" iterations than uniform double ({study.way_name(worst)}, mass {worst['mass']:g}).")
    mixed = [row for row in rows if row["scheme"] != "uniform" and comparable(row)]
    failed = [row for row in mixed if not row["converged"]]
    if mixed:
        out.append("Rows in mixed precision where uniform double converges: "
                   + (f"{len(mixed)}, all of them converge." if not failed else
                      f"{len(mixed)}, of which {len(failed)} do not converge:"))
    if failed:
        out.append(bullets(*(f"{row['solver']} {study.way_name(row)}, mass {row['mass']:g}: {row['stop_reason']}."
                             for row in failed)))
    lightest = min(values(rows, "mass"), default=None)
    for row in pick(rows, mass=lightest, scheme="defect", converged=True):
        twin = pick(rows, **{**{key: row[key] for key in ("mass", "tolerance", "solver", "inner", "delta")},
                                   "scheme": "reliable", "converged": True})
        if twin:
            out.append(f"At mass {lightest:g} {row['solver']} with {study.inner_name(row['inner'])}, delta "
                       f"{row['delta']:g}: {count(row['iterations'])} iterations by defect correction, "
                       f"{count(twin[0]['iterations'])} with reliable updates.")
    return [paragraph(said) if isinstance(said, str) else said for said in out]


def study_text(name, one):
    rows = one["rows"]
    sources = f"{rows[0]['sources']} {one['source']} source{'' if rows[0]['sources'] == 1 else 's'}"
    over = f"means over the sources and {rows[0]['configurations']} configurations, with standard errors of the latter" \
        if "configurations" in rows[0] else "means over the sources"
    out = [section("Solver study ", code(name)), paragraph(f"{sources}; {over}.")]
    for solver, tolerance, mine in study.systems(rows):
        out += [subsection(f"{solver}, tolerance {tolerance:g}"),
                paragraph("Iterations until convergence; in brackets the reliable updates, or the cycles of defect correction."),
                by_mass(mine, iterations_cell)]
        if any(len(row["deltas"]) > 1 for row in mine):
            out.append(paragraph("Of a row with several deltas the solves are identical, because the solver limits delta."))
        out += [paragraph("Iterations relative to double: the ratio to those of uniform double with the same method."),
                by_mass([row for row in mine if row["scheme"] != "uniform"], relative_cell),
                paragraph("Time to solution, speed-up over uniform double with the same method, speed."),
                by_mass(mine, times_cell)]
    for tolerance in values(rows, "tolerance"):
        out += [subsection(f"With the fastest delta of each, tolerance {tolerance:g}"),
                best_times([(solver, mine) for solver, of, mine in study.systems(rows) if of == tolerance])]
    return out + [subsection("Summary"), *statements(rows)]


def critical_text(name, fit):
    lines = [[point["mesons"], f"{point['mass']:g}", number(point["pion_mass"], ".5f"),
              number(point["pion_mass_spread"], ".5f"), number(point["pion_mass_squared"], ".5f")]
             for point in fit["points"]]
    facts = (f"m_c = {number(fit['critical_mass'], '.5f')} +- {number(fit['critical_mass_spread'], '.5f')} (no statistical "
             f"error: one configuration), kappa_c = {number(fit['critical_kappa'], '.6f')}; pions fitted for t = "
             f"{fit['window'][0]} to {fit['window'][1]}; maximum deviation from the fit: "
             f"{number(fit.get('largest_deviation'), '.2g')} in the squared mass.")
    return [section("Critical mass ", code(name)), paragraph(facts),
            table(["mesons", "mass", "pion mass", "+- (half the range)", "squared"], lines)]


def flat(value, name=""):
    """The single values of a tree, with their paths."""
    if not isinstance(value, dict):
        return [] if isinstance(value, list) else [(name, value)]
    return [pair for key, inside in value.items() for pair in flat(inside, f"{name}.{key}" if name else key)]


def other_tasks_text(results, scripts):
    """What tasks of modules whose scripts do not show it say under their own names."""
    out = []
    shown = {task for script in scripts for task in getattr(script, "TASKS", ())}
    for task in results["job"]["run"]:
        if task["task"] in shown:
            continue
        values = flat(results[task["name"]]) if isinstance(results.get(task["name"]), dict) else []
        if values:
            lines = [[name, f"{value:.12g}" if isinstance(value, float) else number(value, "")] for name, value in values]
            out += [section("Task ", code(task["name"]), f" ({task['task']})"), table(["", "value"], lines)]
    return out


def gauge_text(results):
    """Of a job with a gauge field; of one with a Markov chain, which later tasks work on, its end."""
    if "lattice" not in results:
        return ""
    gauge = results.get("gauge") or {}
    dims = " x ".join(str(extent) for extent in results["lattice"]["dims"])
    links = f" Gauge field {gauge.get('file') or gauge.get('format')}, {dims}"
    if "configurations" in results:
        return f" {len(results['configurations'])} gauge fields of {dims}."
    for name, chain in results.get("chains", {}).items():
        history = chain["history"]
        last = history["first_sweep"] + len(history["plaquette"])
        return links + f"; after sweep {last} of {name}: plaquette {number(history['plaquette'][-1], '.9f')}."
    return links + f", plaquette {number(gauge.get('plaquette'), '.9f')}."


def gigabytes(count):
    return f"{count / 1e9:.3g} GB"


def timing_text(results):
    """Of all runs of the job."""
    parts = phases.parts(results)
    if not parts:
        return []
    out = [section("Time", phases.of_runs(results)),
           table([*(name for name, _ in parts), "total"],
                 [[f"{seconds:.3g} s" for _, seconds in parts] + [f"{results['timing']['total']:.3g} s"]])]
    memory = results.get("memory")
    if memory:
        out.append(paragraph(f"Peak memory: {gigabytes(memory['host_peak'])} on the host, "
                             f"{gigabytes(memory['backend_peak'])} for the backend's fields."))
    return out


def program_text(results):
    return (f"Quadrille {results['version']}, backend {results['backend']}, instruction set {results['isa']}, threads: "
            f"{results['threads']}.")


def each(text_of, found):
    """The blocks of all of `found`, which are (name, results)."""
    return [block for name, one in found for block in text_of(name, one)]


def sections_of_configurations(results):
    """As sections(), of the studies in what configurations.merged() gives."""
    dims = " x ".join(str(extent) for extent in results["lattice"]["dims"])
    lines = [[gauge.get("file") or gauge.get("format") or "-", number(gauge.get("plaquette"), ".9f")]
             for gauge in results["gauges"]]
    head = [paragraph(f"{program_text(results)} Gauge fields of {dims}:"), table(["file", "plaquette"], lines)]
    return [(head, ()), (each(study_text, study.studies(results)), (study_iterations, study_times))]


def sections(results, scripts, memory=None):
    """[(blocks, scripts of the figures that follow them)]: results first, then how they were obtained. `scripts`: of
    modules. `memory`: rates of quadrille bench memory."""
    out = [([paragraph(program_text(results) + gauge_text(results))], ()),
           (averages.text(results), (averages,)),
           (correlators.text(results), (correlators,)),
           (each(critical_text, results.get("critical_masses", {}).items()), (critical_mass,)),
           (each(study_text, study.studies(results)), (study_iterations, study_times, study_history))]
    out += [(script.text(results) if hasattr(script, "text") else [], (script,) if hasattr(script, "draw") else ())
            for script in scripts]
    out.append((other_tasks_text(results, scripts), ()))
    if results.get("solves"):
        out.append((kernels.text(results["solves"], memory), (solve_history,)))
    out.append((timing_text(results), (timing,)))
    if results.get("warnings"):
        out.append(([section("Warnings"), bullets(*results["warnings"])], ()))
    out.append(([section("Job"), listing("The job with all defaults", job_text(results["job"]))], ()))
    return out
