"""The tables of what `quadrille bench --json` wrote, as blocks of a page."""

import bench_rates
import module_report
from bench_forms import form, lattice
from module_report import paragraph, section, subsection, table


def is_bench(results):
    return isinstance(results, dict) and ("accuracy" in results or "kernels" in results and "memory" in results)


def machines(rows):
    return "; ".join(dict.fromkeys(f"backend {row['backend']}, instruction set {row['isa']}, threads: {row['threads']}"
                                   for row in rows))


def kernels_text(results):
    rows, memory = results["kernels"], results["memory"]
    out = [section("Speed"), paragraph(f"Memory, GB/s: read {memory['read_gbs']:.2f}, copy {memory['copy_gbs']:.2f}, triad "
                                       f"{memory['triad_gbs']:.2f}. {machines(rows)}")]
    for dims in dict.fromkeys(tuple(row["dims"]) for row in rows):
        lines = [[row["kernel"], form(row), f"{row['bytes_per_site']:.0f}", f"{row['seconds'] * 1e6:.1f}",
                  f"{row['gflops']:.2f}", f"{row['gbs']:.2f}", f"{row['fraction']:.3f}"]
                 for row in module_report.pick(rows, dims=list(dims))]
        head = ["kernel", "form", "bytes/site", "us", "GFLOP/s", "GB/s", "fraction"]
        out += [subsection(lattice(dims)), table(head, lines)]
    return out + solvers_text(rows) + bench_rates.text(results)


def solvers_text(rows):
    """Table 2 of arXiv:0911.3191: iterations against their operator alone."""
    lines = []
    for dims in dict.fromkeys(tuple(row["dims"]) for row in rows):
        mine = [row for row in rows if tuple(row["dims"]) == dims and "operator_gflops" in row]
        for name in dict.fromkeys(form(row) for row in mine):
            found = [row for row in mine if form(row) == name]
            lines += [[lattice(dims), name, row["kernel"], f"{row['operator_gflops']:.4g}", f"{row['gflops']:.4g}",
                       f"{row['gflops'] / row['operator_gflops']:.2f}"] for row in found]
    head = ["lattice", "form", "method", "operator, GFLOP/s", "method, GFLOP/s", "method / operator"]
    return [subsection("Methods against their operator"), table(head, lines)] if lines else []


def accuracy_text(rows):
    out = [section("Accuracy of the hopping term"),
           paragraph("Deviations from the product in extended precision, relative to its root mean square. "
                     f"{machines(rows)}")]
    for dims in dict.fromkeys(tuple(row["dims"]) for row in rows):
        keys = ("smallest", "percent_10", "median", "percent_90", "largest")
        lines = [[form(row), *(f"{row[key]:.2e}" for key in keys)] for row in module_report.pick(rows, dims=list(dims))]
        out += [subsection(lattice(dims)), table(["form", "smallest", "10 %", "median", "90 %", "largest"], lines)]
    return out


def sections(results):
    """[(blocks, scripts of the figures that follow them)]."""
    out = [(kernels_text(results), (bench_rates,))] if "kernels" in results else []
    if results.get("accuracy"):
        import accuracy

        out.append((accuracy_text(results["accuracy"]), (accuracy,)))
    return out
