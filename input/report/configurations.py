"""The same solver studies on several gauge configurations, as one: means and their standard errors."""

import math

import study

MEANS = ("iterations", "reliable_updates", "restarts", "seconds", "setup_seconds", "gflops", "iteration_ratio", "speedup",
         "speedup_best")
ERRORS = ("iterations", "seconds", "iteration_ratio", "speedup", "speedup_best")
LABELS = ("mass", "tolerance", "solver", "scheme", "outer", "inner", "delta", "sources")
MACHINE = ("backend", "isa", "threads")


class Different(Exception):
    """Results that are not of the same studies."""


def label(row):
    return tuple(row[key] for key in LABELS)


def mean(values):
    return None if None in values else sum(values) / len(values)


def error(values):
    """Of the mean."""
    if None in values:
        return None
    middle = sum(values) / len(values)
    return math.sqrt(sum((value - middle) ** 2 for value in values) / (len(values) - 1) / len(values))


def mean_row(rows):
    """A row has converged if it has on all configurations."""
    failed = [row for row in rows if not row["converged"]]
    out = {**rows[0], "configurations": len(rows), "converged": not failed,
           "stop_reason": f"{failed[0]['stop_reason']} on {len(failed)} of {len(rows)}" if failed else "converged"}
    for key in MEANS:
        out[key] = mean([row[key] for row in rows])
    for key in ERRORS:
        out[key + "_error"] = error([row[key] for row in rows])
    out["iterations_min"] = min(row["iterations_min"] for row in rows)
    out["iterations_max"] = max(row["iterations_max"] for row in rows)
    residuals = [row["residual"] for row in rows]
    out["residual"] = None if None in residuals else max(residuals)
    return out


def shape(results):
    return {name: ([label(row) for row in one["rows"]], one["source"]) for name, one in study.studies(results)}


def merged(all_results):
    """What tables and figures of studies read of a results.json. `Different` where the studies differ."""
    first = all_results[0]
    wanted = shape(first)
    if not wanted:
        raise Different("several results can be averaged only if they have solver studies")
    for results in all_results[1:]:
        if results.get("lattice") != first["lattice"]:
            raise Different("the results are of lattices of different extents")
        if shape(results) != wanted:
            raise Different("the studies do not have the same names, rows and sources in all results: run the same job "
                            "on each configuration")
        if any(results.get(key) != first[key] for key in MACHINE):
            raise Different("the results are of different backends, instruction sets or numbers of threads, whose times "
                            "have no mean")
    studies = {}
    for name, one in study.studies(first):
        of_each = [results["studies"][name]["rows"] for results in all_results]
        studies[name] = {"source": one["source"], "rows": [mean_row(rows) for rows in zip(*of_each)], "histories": []}
    return {**{key: first[key] for key in ("version", "backend", "isa", "threads", "lattice")}, "studies": studies,
            "gauges": [results.get("gauge") or {} for results in all_results]}
