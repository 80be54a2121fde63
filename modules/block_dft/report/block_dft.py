"""Tables and figures of the tasks `block_multiply`, `density_matrix`, `matrix_function` and `scf_model`."""

from module_report import code, legend_beside, paragraph, plain_numbers, section, table

TASKS = ("density_matrix", "scf_model")


def number(value, form=".3g"):
    return "-" if value is None else "0" if value == 0 else format(value, form)


def sizes_alone(one):
    """The sizes of blocks of a study that measured each alone; none of others, and of results of before there was that."""
    sizes = list(dict.fromkeys(row.get("block_size") for row in one["rows"]))
    return sizes if len(sizes) > 1 else []


def thread_numbers(one):
    """The numbers of threads that a study compares on the CPU, likewise."""
    numbers = list(dict.fromkeys(row.get("threads") for row in one["rows"] if row["driver"] != "cuda"))
    with_gpu = any(row["driver"] == "cuda" for row in one["rows"])
    return numbers if len(numbers) > 1 or (numbers and with_gpu) else []


def product_text(name, one):
    rows = one["rows"]
    head = ["precision", "driver", "size", "occupation", "occupation of C", "seconds", "GFLOP/s", "index", "memory, GiB"]
    lines = [[row["precision"], row["driver"], f"{row['rows']} x {row['inner']} x {row['columns']}",
              number(row["occupation"]), number(row["occupation_of_c"]), number(row["seconds"]), number(row["gflops"]),
              format(row["index_seconds"] / row["seconds"], ".0%"), number(row["bytes"] / 2**30)] for row in rows]
    for label, key, shown in (("threads", "threads", thread_numbers(one)), ("blocks of", "block_size", sizes_alone(one))):
        if shown:
            head.insert(0, label)
            lines = [["-" if key == "threads" and row["driver"] == "cuda" else str(row[key]), *line]
                     for line, row in zip(lines, rows)]
    if any(row["single_flops"] for row in rows):
        head.append("in single")
        for line, row in zip(lines, rows):
            line.append(format(row["single_flops"] / max(row["flops"], 1), ".0%"))
    if any(row["dense"] for row in rows):
        head.append("as whole matrices")
        for line, row in zip(lines, rows):
            line.append("yes" if row["dense"] else "no")
    if any(row["dense_seconds"] for row in rows):
        head.append("dense / sparse")
        for line, row in zip(lines, rows):
            line.append(number(row["dense_seconds"] and row["dense_seconds"] / row["seconds"]))
    if one["eps"] > 0:
        head += ["skipped", "error", "bound"]
        for line, row in zip(lines, rows):
            all_products = row["products"] + row["skipped"]
            line += [format(row["skipped"] / max(all_products, 1), ".0%"), number(row["error"], ".2e"),
                     number(row["bound"], ".2e")]
    sizes = ", ".join(str(size) for size in one["block_sizes"])
    if thread_numbers(one):
        where = f"on a GPU and on the CPU, {one['isa']}" if one["backend"] == "cuda" else one["isa"]
    else:
        where = "on a GPU" if one["backend"] == "cuda" else f"threads: {one['threads']}, {one['isa']}"
    return [section("Products ", code(name)),
            paragraph(f"Blocks of {sizes}, eps {one['eps']:g}, {where}. ", code("index"), " is the share of the time spent on "
                      "finding the blocks of C; flops count the blocks that are multiplied."),
            table(head, lines)]


def checks_text(one):
    out = ""
    if "idempotency" in one:
        out += f" |PSPS - PS| / |PS| = {one['idempotency']:.2e}, |SPH - HPS| / |SPH| = {one['commutation']:.2e}."
    if "energy_error_estimate" in one:
        out += f" Estimated error of tr(PH): {one['energy_error_estimate']:.1e}."
    if "energy_error_per_block" in one:
        out += f" Error of the energy per block compared with LAPACK: {one['energy_error_per_block']:.2e}."
    return out


def product_share(one, rows):
    """Where the time of products goes, and how much of them is on a GPU and in single precision."""
    flops, seconds = sum(row["flops"] for row in rows), sum(row["seconds"] for row in rows)
    if not flops or not seconds:
        return []
    out = (f"Of the time, {sum(row['product_seconds'] for row in rows) / seconds:.0%} is for products and "
           f"{sum(row['index_seconds'] for row in rows) / seconds:.0%} for finding their blocks.")
    single = sum(row["single_flops"] for row in rows) / flops
    shares = [f"{share:.0%} of the flops are {where}."
              for share, where in ((one.get("device_share"), "on a GPU"), (single, "in single precision")) if share]
    return [paragraph(" ".join([out, *shares]))]


def density_text(name, one):
    facts = (f"{one['orbitals']} orbitals in {one['blocks']} blocks, method {one['method']}: tr(PS) = "
             f"{one['electrons']:.6f}, energy tr(PH) = {one['energy']:.10g}, occupation of P {one['occupation']:.3g}, "
             f"{one['seconds']:.3g} s.")
    return [section("Density matrix ", code(name)), paragraph(facts + checks_text(one)), table(
        ["step", "mu", "electrons", "iterations", "residual", "filter bound", "occupation", "GFLOP/s", "seconds"],
        [[step["what"], number(step["mu"], ".6g"), number(step["electrons"], ".6f"), str(step["iterations"]),
          number(step["residual"], ".1e"), number(step.get("filter_bound"), ".1e"), number(step["occupation"]),
          number(step["flops"] / step["seconds"] * 1e-9 if step["seconds"] else None), number(step["seconds"])]
         for step in one["steps"]]), *product_share(one, one["steps"])]


def function_text(name, one):
    condition = f", condition number about {one['condition']:.2g}" if one["condition"] else ""
    facts = (f"{one['function']} of {one['rows']} rows in {one['blocks']} blocks{condition}: "
           f"{'' if one['converged'] else 'not '}converged after {len(one['iterations'])} iterations and {one['seconds']:.3g} s, "
           f"{number(one['flops'] / one['seconds'] * 1e-9 if one['seconds'] else None)} GFLOP/s, filter bound "
           f"{one['filter_bound']:.1e}; occupation of the matrix {one['occupation_of_matrix']:.3g}, of its function "
           f"{one['occupation']:.3g}.")
    if "identity" in one:
        facts += f" {one['identity']} = {one['identity_residual']:.2e}"
        facts += f", |F A - A F| / |F A| = {one['commutation']:.2e}." if one["commutation"] is not None else "."
    return [section("Function of a matrix ", code(name)), paragraph(facts),
            table(["iteration", "residual", "seconds"],
                  [[str(number_of), number(row["residual"], ".1e"), number(row["seconds"])]
                   for number_of, row in enumerate(one["iterations"], 1)])]


def scf_text(name, one):
    charges = one["charge_transfer"]
    facts = (f"{one['orbitals']} orbitals in {one['blocks']} blocks, method {one['method']}: energy "
           f"{one['energy']:.12g} ({one['charge_energy']:.6g} of it from charges), tr(PS) = {one['electrons']:.6f}, "
           f"electrons of atoms relative to neutral ones: {charges['lowest']:+.4f} to {charges['highest']:+.4f}; "
           f"{'' if one['converged'] else 'not '}converged, {one['seconds']:.3g} s.")
    return [section("Self-consistent loop ", code(name)), paragraph(facts + checks_text(one)), table(
        ["iteration", "energy", "change", "largest charge change", "gradient", "mu", "filter bound", "occupation", "GFLOP/s", "seconds"],
        [[str(number_of), format(row["energy"], ".12g"), number(row["change"], ".1e"), number(row["charge_change"], ".1e"),
          number(row["gradient"], ".1e"), number(row["mu"], ".6g"), number(row.get("filter_bound"), ".1e"), number(row["occupation"]),
          number(row["flops"] / row["seconds"] * 1e-9 if row["seconds"] else None), number(row["seconds"])]
         for number_of, row in enumerate(one["iterations"], 1)]), *product_share(one, one["iterations"])]


def rate_bars(rows):
    """Error bars of the rates, from the slowest to the fastest call; None in results that do not have them."""
    if not all("longest_seconds" in row for row in rows):
        return None
    return [[max(0, row["gflops"] - row["flops"] / row["longest_seconds"] * 1e-9) for row in rows],  # of rounding
            [max(0, row["flops"] / row["shortest_seconds"] * 1e-9 - row["gflops"]) for row in rows]]


def rate_lines(axes, rows, key, kind):
    """Rates against row[key], a line for each different kind(row), the label of which it is."""
    for label in dict.fromkeys(kind(row) for row in rows):
        mine = sorted((row for row in rows if kind(row) == label), key=lambda row: row[key])
        axes.errorbar([row[key] for row in mine], [row["gflops"] for row in mine], yerr=rate_bars(mine), fmt="o-",
                      capsize=3, label=label)


def each_size_figure(name, one, save):
    """Rates against the size of blocks (Figure 6 of the paper), with the two limits of the GPU's memory there: A and B of
    each product are read, and C with them read and written, or left in registers."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.5))
    rate_lines(axes, one["rows"], "block_size", lambda row: ", ".join(
        [row["driver"], row["precision"], f"{row['probability']:.0%} of the blocks",
         *([f"threads: {row['threads']}"] if thread_numbers(one) and row["driver"] != "cuda" else [])]))
    if one.get("memory"):
        sizes = sorted(sizes_alone(one))
        for flops, style, what in ((1 / 8, "-", "C in registers"), (1 / 16, ":", "C read and written")):
            axes.plot(sizes, [size * flops * one["memory"]["device"] * 1e-9 for size in sizes], style, color="grey",
                      label=f"the device's memory, {what}")
    axes.set(xscale="log", yscale="log", xlabel="size of the blocks", ylabel="GFLOP/s")
    for axis in (axes.xaxis, axes.yaxis):
        plain_numbers(axis)
    legend_beside(axes)
    save(figure, f"{name}_sizes", f"Products {name}: speed against the size of the blocks, each size alone; medians, and bars "
         f"from the slowest to the fastest of {one['repeats']} calls")


def threads_figure(name, one, save):
    """Rates against the number of threads (Figure 9 of the paper), with the GPU's and the sum of both, which no sharing of
    the work between them exceeds."""
    import matplotlib.pyplot as plt

    def kind(row):
        size = f"blocks of {row['block_size']}, " if sizes_alone(one) else ""
        return f"{size}{row['probability']:.0%} of the blocks, {row['precision']}"

    figure, axes = plt.subplots(figsize=(7, 4.5))
    host = [row for row in one["rows"] if row["driver"] != "cuda"]
    rate_lines(axes, host, "threads", lambda row: f"CPU ({row['driver']}), {kind(row)}")
    for color, row in enumerate(row for row in one["rows"] if row["driver"] == "cuda"):
        axes.axhline(row["gflops"], linestyle="--", color=f"C{color}", label=f"GPU, {kind(row)}")
        best = {}
        for other in host:
            if kind(other) == kind(row):
                best[other["threads"]] = max(other["gflops"], best.get(other["threads"], 0))
        axes.plot(sorted(best), [best[threads] + row["gflops"] for threads in sorted(best)], ":", color=f"C{color}",
                  label=f"sum of both, {kind(row)}")
    axes.set(xlabel="number of threads", ylabel="GFLOP/s", ylim=(0, None))
    axes.xaxis.get_major_locator().set_params(integer=True)
    legend_beside(axes)
    save(figure, f"{name}_threads", f"Products {name}: speed against the number of threads; medians, and bars from the "
         f"slowest to the fastest of {one['repeats']} calls")


def speed_figure(results, save):
    """Speed on a GPU against flops per byte of A and B, with what its memories allow (Figure 6 of the paper)."""
    import matplotlib.pyplot as plt
    import numpy

    blocks = [one for one in results.get("block_products", {}).values() if one.get("memory")]
    rows = [([row["block_size"]] if row.get("block_size") else one["block_sizes"], row) for one in blocks
            for row in one["rows"] if row["flops_per_byte"] and row["driver"] == "cuda"]
    if len({row["flops_per_byte"] for _, row in rows}) < 2:
        return
    figure, axes = plt.subplots(figsize=(7, 4.5))
    intensities = [row["flops_per_byte"] for _, row in rows]
    line = numpy.array([min(intensities) / 1.5, max(intensities) * 1.5])
    for memory, name, style in (("device", "device memory", "--"), ("cache", "second-level cache", ":")):
        rate = max(one["memory"][memory] for one in blocks)
        axes.loglog(line, line * rate * 1e-12, style, color="grey", label=f"{name}, {rate * 1e-12:.1f} TB/s")
    for way, marker in ((False, "o"), (True, "s")):
        chosen = [(sizes, row) for sizes, row in rows if row["dense"] == way]
        axes.plot([row["flops_per_byte"] for _, row in chosen], [row["gflops"] * 1e-3 for _, row in chosen], marker,
                  label="whole matrices" if way else "blocks")
        for sizes, row in chosen:
            axes.annotate(", ".join(map(str, sizes)), (row["flops_per_byte"], row["gflops"] * 1e-3),
                          textcoords="offset points", xytext=(0, 6), ha="center", fontsize=8)
    axes.set(xlabel="flops per byte of A and B", ylabel="TFLOP/s")
    axes.legend()
    save(figure, "block_products_bounds", "Products on a GPU: speed, and what its memories allow if no block is used twice")


def size_figure(results, save):
    """Seconds of density matrices against the number of blocks."""
    import matplotlib.pyplot as plt

    by_kind = {}
    for kind in TASKS:
        for one in tasks(results, kind).values():
            by_kind.setdefault((kind, one["method"], one["backend"]), []).append((one["blocks"], one["seconds"]))
    lines = {kind: sorted(points) for kind, points in by_kind.items() if len({blocks for blocks, _ in points}) > 2}
    if not lines:
        return
    figure, axes = plt.subplots(figsize=(7, 4))
    for (kind, method, backend), points in lines.items():
        axes.loglog([blocks for blocks, _ in points], [seconds for _, seconds in points], "o-",
                    label=f"{kind}: {method}, {backend}")
    plain_numbers(axes.xaxis)
    axes.set(xlabel="number of blocks", ylabel="time [s]")
    axes.legend()
    save(figure, "density_times", "Time of density matrices and self-consistent loops against the number of blocks")


def tasks(results, kind):
    """{name: results} of the tasks of a kind that are done."""
    names = [task["name"] for task in results["job"]["run"] if task["task"] == kind]
    return {name: results[name] for name in names if isinstance(results.get(name), dict)}


def text(results):
    shown = [(product_text, results.get("block_products", {})), (density_text, tasks(results, "density_matrix")),
             (function_text, tasks(results, "matrix_function")), (scf_text, tasks(results, "scf_model"))]
    return [block for text_of, found in shown for name, one in found.items() for block in text_of(name, one)]


def draw(results, save):
    import matplotlib.pyplot as plt

    for name, one in results.get("block_products", {}).items():
        if sizes_alone(one):
            each_size_figure(name, one, save)
        if thread_numbers(one):
            threads_figure(name, one, save)
        if sizes_alone(one) or thread_numbers(one) or len({row["occupation"] for row in one["rows"]}) < 2:
            continue
        figure, axes = plt.subplots(figsize=(7, 4))
        rate_lines(axes, one["rows"], "occupation", lambda row: f"{row['driver']}, {row['precision']}")
        axes.set(xlabel="occupation of A and B", ylabel="GFLOP/s", ylim=(0, None))
        axes.legend()
        save(figure, f"{name}_rate", f"Products {name}: speed against occupation; medians, and bars from the slowest to the fastest of {one['repeats']} calls")

    speed_figure(results, save)
    size_figure(results, save)
    for name, one in tasks(results, "scf_model").items():
        changes = [(number_of, abs(row["change"])) for number_of, row in enumerate(one["iterations"], 1) if row["change"]]
        if len(changes) < 2:
            continue
        figure, axes = plt.subplots(figsize=(7, 4))
        axes.semilogy([number_of for number_of, _ in changes], [change for _, change in changes], "o-")
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.set(xlabel="iteration", ylabel="|change of the energy| [unit of H]")
        save(figure, f"{name}_energy", f"Self-consistent loop {name}: change of the energy from the iteration before")
