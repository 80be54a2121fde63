"""Names of lattices and of forms of kernels in reports of `quadrille bench`."""


def lattice(dims):
    return " x ".join(str(extent) for extent in dims)


def form(row):
    """"half 12 temporal gauge xpay 4 rhs"; rows of field algebra have no links and rows of the accuracy study no xpay."""
    words = [row["precision"], str(row["reconstruct"] or "")]
    words += [word.replace("_", " ") for word in ("temporal_gauge", "xpay") if row.get(word)]
    words += [f"{row['rhs']} rhs"] if row.get("rhs", 1) > 1 else []
    return " ".join(word for word in words if word)
