"""What the tables and figures of studies share: choosing and naming their rows."""


def studies(results):
    """(name, study) of every solver study of the results."""
    return list(results.get("studies", {}).items())


def values(rows, key):
    """The different values of a key, in the order of the rows."""
    return list(dict.fromkeys(row[key] for row in rows))


def pick(rows, **wanted):
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


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


def on_gpu(one):
    """Whether a study of products was done on a GPU."""
    return one.get("backend", "cpu") != "cpu"


def dgemm_of(one):
    """Whose product in double a study of products compares with."""
    return "cuBLAS's dgemm" if on_gpu(one) else "OpenBLAS's dgemm"
