#!/usr/bin/env python3
"""Prints a results.json: gauge field, true residual of each solve, correlators, Markov chains, means of configurations,
single results of other tasks.
Needs only Python 3.

    python3 show_results.py JOB.out/results.json
"""

import json
import os
import sys


def number(value, form):
    return "none" if value is None else format(value, form)


def show_gauge(results):
    gauge = results.get("gauge")
    if gauge:
        dims = " x ".join(str(extent) for extent in results["lattice"]["dims"])
        print(f"gauge field   {gauge.get('file') or 'generated'} ({dims}), plaquette {gauge['plaquette']:.12f}")


def show_solves(solves):
    if not solves:
        return
    print("\nEvery solve, with its true residual |b - M x| / |b| recomputed in double precision on the links as read:")
    print(f"  {'task':<16}{'spin':>5}{'color':>7}{'iterations':>11}{'updates':>8}{'residual':>11}{'tolerance':>10}"
          f"{'seconds':>9}{'GFLOP/s':>9}")
    for solve in solves:
        met = "" if solve["converged"] else f"  NOT CONVERGED: {solve['stop_reason']}"
        print(f"  {solve['task']:<16}{solve['spin']:>5}{solve['color']:>7}{solve['iterations']:>11}"
              f"{solve['reliable_updates']:>8}{number(solve['residual'], '.2e'):>11}{solve['tolerance']:>10.0e}"
              f"{number(solve['seconds'], '.2f'):>9}{number(solve['gflops'], '.1f'):>9}{met}")
    done = sum(1 for solve in solves if solve["converged"])
    worst = max((solve["residual"] for solve in solves if solve["residual"] is not None), default=None)
    print(f"  {done} of {len(solves)} converged; the largest true residual is {number(worst, '.2e')}")


def show_channels(name, entry):
    """C(t) of each channel at rest but the pion; other momenta are in the report."""
    for channel, about in entry.get("channels", {}).items():
        if channel == "pion" and "pion" in entry:
            continue
        rest = about["correlators"][0]
        print(f"\n{channel} of task '{name}' at momentum 0, source at t = {entry['source_time']}:")
        print(f"  {'t - t_source':>12}  {'t':>4}  {'Re C(t)':>22}" + (f"  {'Im C(t)':>22}" if "im" in rest else ""))
        for after in range(len(rest["re"])):
            t = (entry["source_time"] + after) % len(rest["re"])
            parts = [number(rest[part][t], "22.15e") for part in ("re", "im") if part in rest]
            print(f"  {after:>12}  {t:>4}  " + "  ".join(f"{part:>22}" for part in parts))


def show_correlators(correlators):
    for name, entry in correlators.items():
        show_channels(name, entry)
        if "pion" not in entry:
            continue
        pion, source = entry["pion"], entry["source_time"]
        print(f"\nPion correlator of task '{name}', source at t = {source}:")
        print("Effective masses a m are cosh masses of the correlator folded about T/2, from t and t + 1, up to T/2.")
        print(f"  {'t - t_source':>12}  {'t':>4}  {'C(t)':>22}  {'effective mass':>16}")
        masses = entry["effective_mass"]
        for after in range(len(pion)):
            t = (source + after) % len(pion)
            mass = number(masses[after], "16.8f") if after < len(masses) else ""
            print(f"  {after:>12}  {t:>4}  {number(pion[t], '22.15e'):>22}  {mass:>16}".rstrip())


def show_chains(reports):
    for name, report in reports.items():
        if "plaquette" not in report:
            continue
        chain = report["plaquette"]
        print(f"\nMarkov chain of task '{name}': {chain['sweeps']} sweeps after thermalization, "
              f"{report['seconds_per_sweep']:.3g} s each, {report['link_updates_per_second'] / 1e6:.2f} million link updates/s")
        for plane in ("plaquette", "plaquette_spatial", "plaquette_temporal"):
            if plane in report:
                mean = report[plane]
                print(f"  {plane:<19}{mean['mean']:.6f} +- {number(mean['error'], '.6f')}, "
                      f"tau_int {number(mean['tau_int'], '.2f')} +- {number(mean['tau_int_error'], '.2f')} sweeps")
        for file in report["files"]:
            print(f"  {file}")


def with_error(one):
    return f"{one['value']:.8g} +- {number(one['error'], '.2g')}"


def show_configurations(results):
    """Of a job on several configurations."""
    if "configurations" not in results:
        return
    for one in results["configurations"]:
        print(f"configuration {one['file']}: {one['state']}, plaquette {number(one.get('plaquette'), '.12f')}")
    averages = results.get("averages", {})
    if averages.get("plaquette"):
        mean = averages["plaquette"]
        print(f"\nMeans of {averages['configurations']} configurations, errors by the jackknife over {averages['bins']} bins; "
              f"`quadrille report` shows the correlators:\n  plaquette {mean['mean']:.8f} +- {number(mean['error'], '.2g')}, "
              f"tau_int {number(mean['tau_int'], '.2f')} +- {number(mean['tau_int_error'], '.2f')} configurations")
    for name, fit in results.get("fits", {}).items():
        if fit:
            print(f"  fit {name} of {fit['correlator']}, t = {fit['window'][0]} to {fit['window'][1]}: mass "
                  f"{', '.join(map(with_error, fit['masses']))}; chi^2 / dof = {fit['chi2']:.3g} / {fit['dof']}")


def single_values(value, name=""):
    """Those of a tree, with their paths; lists have their tables in the report."""
    if isinstance(value, dict):
        return [pair for key, inside in value.items() for pair in single_values(inside, f"{name}.{key}" if name else key)]
    return [] if isinstance(value, list) else [(name, value)]


def show_other_tasks(results, folder):
    """What the functions above do not show."""
    others = [task for task in results.get("job", {}).get("run", []) if task["task"] not in ("propagator", "mesons", "baryons", "generate")]
    for task in others:
        print(f"\nTask '{task['name']}' ({task['task']}):")
        for name, value in single_values(results.get(task["name"], {})):
            print(f"  {name:<34} {'none' if value is None else f'{value:.12g}' if isinstance(value, float) else value}")
    if others:
        print(f"\n`quadrille report {folder}` shows the tables of {'this task' if len(others) == 1 else 'these tasks'}.")


def show(path):
    with open(path) as stream:
        results = json.load(stream)
    print(f"results       {os.path.abspath(path)}")
    print(f"program       Quadrille {results['version']}, backend {results['backend']}, "
          f"instruction set {results['isa']}, {results['threads']} threads")
    show_gauge(results)
    show_solves(results.get("solves", []))
    show_correlators(results.get("correlators", {}))
    show_chains(results.get("chains", {}))
    show_configurations(results)
    show_other_tasks(results, os.path.dirname(path) or ".")
    for warning in results.get("warnings", []):
        print(f"warning: {warning}")


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        show(sys.argv[1])
    except OSError as error:
        sys.exit(f"show_results.py: {sys.argv[1]}: {(error.strerror or str(error)).lower()}")
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        sys.exit(f"show_results.py: {sys.argv[1]}: damaged, or no results.json ({reason})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
