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
    return f"{row['scheme']} {inner_name(row['inner'])}, delta {row['delta']:g}"


def systems(rows):
    """Every (solver, tolerance) of a study with its rows."""
    return [(solver, tolerance, pick(rows, solver=solver, tolerance=tolerance))
            for tolerance in values(rows, "tolerance") for solver in values(rows, "solver")]
