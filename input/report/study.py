"""What the tables and figures of solver studies share: choosing and naming their rows."""

from module_report import pick, values


def studies(results):
    """(name, study) of every solver study of the results."""
    return list(results.get("studies", {}).items())


def inner_name(inner):
    """"half 12" for "half 12 temporal gauge": short enough for an axis."""
    return inner.replace(" temporal gauge", "")


def way_name(row):
    """"reliable half 12, delta 0.1": all that tells a row from others of its mass, tolerance and method."""
    if row["scheme"] == "uniform":
        return "uniform " + row["outer"]
    return f"{row['scheme']} {inner_name(row['inner'])}, delta {delta_name(row)}"


def delta_name(row):
    """"0.1", or "0.1, 0.01" of a row that stands for several."""
    deltas = row.get("deltas") or [row["delta"]]
    return "-" if deltas == [None] else ", ".join(f"{delta:g}" for delta in deltas)


def one_row_per_solve(rows):
    """The rows of one method and tolerance, but a single one, with `deltas`, for those whose solves are the same at all
    masses: a solver may limit delta (BiCGstab in half updates at least once per factor 0.1), and which of them is the
    fastest would be noise."""
    ways = {}
    for row in rows:
        ways.setdefault((row["scheme"], row["inner"], row["delta"]), []).append(row)
    kept = {}
    for (scheme, inner, delta), mine in ways.items():
        solves = tuple((row["mass"], row["iterations"], row["reliable_updates"], row["residual"]) for row in mine)
        kept.setdefault((scheme, inner, solves), []).append(delta)
    deltas = {(scheme, inner, same[0]): same for (scheme, inner, _), same in kept.items()}
    return [{**row, "deltas": deltas[way]} for row in rows
            if (way := (row["scheme"], row["inner"], row["delta"])) in deltas]


def systems(rows):
    """Every (solver, tolerance) of a study with its rows, one for each different solve."""
    return [(solver, tolerance, one_row_per_solve(pick(rows, solver=solver, tolerance=tolerance)))
            for tolerance in values(rows, "tolerance") for solver in values(rows, "solver")]
