"""The tables of what `quadrille bench --json` wrote, as Markdown."""

import module_report
from tables import table


def is_bench(results):
    return isinstance(results, dict) and ("accuracy" in results or "kernels" in results and "memory" in results)


def lattice(dims):
    return " x ".join(str(extent) for extent in dims)


def form(row):
    """"half 12 temporal gauge xpay"; rows of field algebra have no links and rows of the accuracy study no xpay."""
    words = [row["precision"], str(row["reconstruct"] or "")]
    words += [word.replace("_", " ") for word in ("temporal_gauge", "xpay") if row.get(word)]
    return " ".join(word for word in words if word)


def machines(rows):
    return "; ".join(dict.fromkeys(f"backend {row['backend']}, instruction set {row['isa']}, threads: {row['threads']}"
                                   for row in rows))


def kernels_text(results):
    rows, memory = results["kernels"], results["memory"]
    out = (f"\n## Speed\n\nMemory, GB/s: read {memory['read_gbs']:.2f}, copy {memory['copy_gbs']:.2f}, triad "
           f"{memory['triad_gbs']:.2f}. {machines(rows)}\n")
    for dims in dict.fromkeys(tuple(row["dims"]) for row in rows):
        lines = [[row["kernel"], form(row), f"{row['bytes_per_site']:.0f}", f"{row['seconds'] * 1e6:.1f}",
                  f"{row['gflops']:.2f}", f"{row['gbs']:.2f}", f"{row['fraction']:.3f}"]
                 for row in module_report.pick(rows, dims=list(dims))]
        head = ["kernel", "form", "bytes/site", "us", "GFLOP/s", "GB/s", "fraction"]
        out += f"\n### {lattice(dims)}\n\n" + table(head, lines)
    return out


def accuracy_text(rows):
    out = ("\n## Accuracy of the hopping term\n\nDeviations from the product in extended precision, relative to its "
           f"root mean square. {machines(rows)}\n")
    for dims in dict.fromkeys(tuple(row["dims"]) for row in rows):
        keys = ("smallest", "percent_10", "median", "percent_90", "largest")
        lines = [[form(row), *(f"{row[key]:.2e}" for key in keys)] for row in module_report.pick(rows, dims=list(dims))]
        out += f"\n### {lattice(dims)}\n\n" + table(["form", "smallest", "10 %", "median", "90 %", "largest"], lines)
    return out


def sections(results):
    """[(Markdown, scripts of the figures that follow it)]."""
    out = [("# Report\n" + (kernels_text(results) if "kernels" in results else ""), ())]
    if results.get("accuracy"):
        import accuracy

        out.append((accuracy_text(results["accuracy"]), (accuracy,)))
    return out
