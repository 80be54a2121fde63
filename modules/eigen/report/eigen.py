"""Tables of the tasks `eigen` and `eigen_study`, and figures of spectra and times."""

from module_report import code, legend_beside, paragraph, pick, section, table, values

TASKS = ("eigen",)


def mine(results):
    return {name: one for name, one in results.items() if isinstance(one, dict) and "tridiagonal_form" in one}


def number(value, form=".3g"):
    return "-" if value is None else format(value, form)


def problem_text(name, one):
    kind = ("complex" if one["complex"] else "real") + (", generalized" if one["generalized"] else "")
    facts = (f"n = {one['n']}, {kind}; eigenvalues {one['first']} to {one['last']}, from {one['lowest']:.10g} to "
             f"{one['highest']:.10g}; {one['vectors']} eigenvectors. Tridiagonal problem: {one['tridiagonal_form']}.")
    if "residual" in one:
        facts += (f" |AX - BXL| / (|A| |X| n) = {one['residual']:.2e}, |X^H B X - 1| / n = {one['orthogonality']:.2e}.")
    if "grid" in one:
        facts += f" {one['library']}, on {' x '.join(map(str, one['grid']))} ranks; the memory is that of one."
    rows = [[phase["phase"], number(phase["seconds"]), f"{phase['seconds'] / max(one['seconds'], 1e-300):.0%}",
             number(phase["flops"] and phase["flops"] / max(phase["seconds"], 1e-300) * 1e-9)]
            for phase in one["phases"]]
    gpu = f", of the GPU {one['device_bytes'] / 2**30:.3g} GiB" if "device_bytes" in one else ""
    return [section("Eigenproblem ", code(name)), paragraph(facts),
            paragraph(f"Threads: {one['threads']}; memory: {one['bytes'] / 2**30:.3g} GiB{gpu}. GFLOP/s by the usual counts."),
            table(["phase", "seconds", "share", "GFLOP/s"], rows + [["all", number(one["seconds"]), "100%", ""]])]


def text(results):
    out = [block for name, one in mine(results).items() for block in problem_text(name, one)]
    return out + [block for name, one in results.get("eigen_studies", {}).items() for block in study_text(name, one)]


PHASES = ("cholesky", "standard_form", "tridiagonalization", "band", "bulge_chasing", "tridiagonal", "back_to_band",
          "back_to_standard", "back_to_general", "normalization")


def study_text(name, one):
    kind = "complex" if one["complex"] else "real"
    phases = [phase for phase in PHASES if any(row.get(phase) is not None for row in one["rows"])]
    out = [section("Study of eigenproblems ", code(name)),
           paragraph(f"Generalized, {kind}, A: {one['matrix']}; backend: {one.get('backend', 'cpu')}; seconds, medians of "
                     f"{one['repeats']}, which took turns with LAPACK's drivers, if there are any (threads: "
                     f"{one['threads']}).")]
    return out + [table(
        ["n", "vectors", *(phase.replace("_", " ") for phase in phases), "all", "driver", "its seconds", "speed-up",
         "residual", "orthogonality"],
        [[row["n"], row["vectors"], *(number(row.get(phase)) for phase in phases), number(row["seconds"]), row["driver"],
          number(row["driver_seconds"]), number(row["speedup"], ".2f"), number(row["residual"], ".1e"),
          number(row["orthogonality"], ".1e")] for row in one["rows"]])]


def draw_study(name, one, save):
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 4))
    shared = [{**row, "share": round(row["vectors"] / row["n"], 2)} for row in one["rows"]]
    for k, share in enumerate(values(shared, "share")):
        rows = sorted(pick(shared, share=share), key=lambda row: row["n"])
        sizes = [row["n"] for row in rows]
        axes.plot(sizes, [row["seconds"] for row in rows], "o-", color=f"C{k}", label=f"{share:.0%} of the vectors")
        known = [row for row in rows if row["driver_seconds"] is not None]
        if known:
            axes.plot([row["n"] for row in known], [row["driver_seconds"] for row in known], "s--", color=f"C{k}",
                      label=known[0]["driver"])
    axes.set(xlabel="n", ylabel="seconds", xscale="log", yscale="log")
    legend_beside(axes)
    save(figure, f"{name}_seconds", f"Study {name}: time against n; dashed: LAPACK's drivers")


def draw(results, save):
    import matplotlib.pyplot as plt

    for name, one in results.get("eigen_studies", {}).items():
        draw_study(name, one, save)

    for name, one in mine(results).items():
        figure, axes = plt.subplots(figsize=(6, 4))
        axes.plot(one["spectrum"]["number"], one["spectrum"]["value"], ".", markersize=3)
        axes.set(xlabel="number", ylabel="eigenvalue")
        save(figure, f"{name}_spectrum", f"Eigenproblem {name}: eigenvalues {one['first']} to {one['last']} of {one['n']}")
