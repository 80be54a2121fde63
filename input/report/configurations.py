"""The same solver studies on several gauge configurations, as one: means and their standard errors."""

import math

import study

MEANS = ("iterations", "reliable_updates", "restarts", "seconds", "setup_seconds", "gflops", "iteration_ratio", "speedup",
         "speedup_best")
ERRORS = ("iterations", "seconds", "iteration_ratio", "speedup", "speedup_best")
LABELS = ("mass", "tolerance", "solver", "scheme", "outer", "inner", "delta")


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


def merged(all_results):
    """What tables and figures of studies read of a results.json. ValueError where the studies differ."""
    first = all_results[0]
    wanted = {name: [label(row) for row in one["rows"]] for name, one in study.studies(first)}
    if not wanted:
        raise ValueError("several results are averaged over solver studies, of which there is none in the first")
    for results in all_results[1:]:
        for name, labels in wanted.items():
            other = results.get("studies", {}).get(name, {"rows": []})
            if [label(row) for row in other["rows"]] != labels or other["source"] != first["studies"][name]["source"]:
                raise ValueError(f"study '{name}' does not have the same rows in all results: run the same job on each "
                                 "configuration")
            if results["lattice"] != first["lattice"]:
                raise ValueError("the results are of lattices of different extents")
    studies = {}
    for name, one in study.studies(first):
        of_each = [results["studies"][name]["rows"] for results in all_results]
        studies[name] = {"source": one["source"], "rows": [mean_row(rows) for rows in zip(*of_each)], "histories": []}
    return {**{key: first[key] for key in ("version", "backend", "isa", "threads", "lattice")}, "studies": studies,
            "gauges": [results.get("gauge") or {} for results in all_results]}
