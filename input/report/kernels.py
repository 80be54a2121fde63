"""The solves of a job, and the kernels that they ran: how fast the memory was read and written."""

from module_report import code, number, paragraph, pick, section, subsection, table, values

MOST = 15  # kernels in the table


def kernels_of(solves):
    """{(name, instruction set, bytes per site): {calls, sites, seconds or None}} of all solves. Those of a batch have the
    same list, which is that of all of them; results of before have no sites."""
    found = {}
    for solve in solves:
        for kernel in solve.get("kernels", ()):
            if "sites" not in kernel:
                continue
            sums = found.setdefault((kernel["name"], kernel["instruction_set"], kernel["bytes_per_site"]),
                                    {"calls": 0, "sites": 0, "seconds": 0})
            for key in ("calls", "sites", "seconds"):
                known = kernel[key] is not None and sums[key] is not None
                sums[key] = sums[key] + kernel[key] / solve["batch"] if known else None
    return found


def rate(solves):
    """GB/s: what the kernels must read and write, over the time of the solves; None where it is not known."""
    moved = sum(bytes_per_site * sums["sites"] for (_, _, bytes_per_site), sums in kernels_of(solves).items())
    seconds = sum(solve["seconds"] for solve in solves)
    return moved / seconds * 1e-9 if moved and seconds else None


def percent(gbs, memory):
    return "-" if gbs is None or not memory else f"{100 * gbs / memory['read_gbs']:.0f} %"


def solves_line(task, mine, memory):
    residuals = [row["residual"] for row in mine if row["residual"] is not None]
    seconds = sum(row["seconds"] for row in mine)
    gflops = sum(row["gflops"] * row["seconds"] for row in mine) / seconds if seconds else None
    return [task, f"{mine[0]['mass']:g}", mine[0]["solver"], mine[0]["scheme"], len(mine),
            sum(1 for row in mine if row["converged"]), sum(row["iterations"] for row in mine),
            number(max(residuals, default=None), ".2e"), f"{seconds:.3g}", number(gflops, ".3g"),
            number(rate(mine), ".3g"), percent(rate(mine), memory)]


def kernel_lines(solves, memory):
    """The slowest first; those whose time is not known, as on a GPU, by what they move."""
    found = kernels_of(solves)
    total = sum(solve["seconds"] for solve in solves)

    def cost(item):
        (_, _, bytes_per_site), sums = item
        return sums["seconds"] or 0, bytes_per_site * sums["sites"]

    lines = []
    for (name, isa, bytes_per_site), sums in sorted(found.items(), key=cost, reverse=True)[:MOST]:
        seconds = sums["seconds"]
        gbs = bytes_per_site * sums["sites"] / seconds * 1e-9 if seconds else None
        lines.append([name, isa, f"{sums['calls']:.0f}", f"{bytes_per_site:g}", number(seconds, ".3g"),
                      f"{100 * seconds / total:.0f} %" if seconds and total else "-", number(gbs, ".3g"),
                      percent(gbs, memory)])
    return lines


def text(solves, memory):
    """`memory`: the rates that `quadrille bench memory` measured on the same machine; None without."""
    out = [section("Solves"),
           table(["task", "mass", "method", "scheme", "solves", "converged", "iterations", "largest residual", "time [s]",
                  "GFLOP/s", "GB/s", "of memory"],
                 [solves_line(task, pick(solves, task=task), memory) for task in values(solves, "task")])]
    lines = kernel_lines(solves, memory)
    if not lines:
        return out
    measured = ([f"The memory's rate is {memory['read_gbs']:.3g} GB/s, as ", code("quadrille bench memory"), " read it."]
                if memory else [code("quadrille report --memory FILE"), ", with the file that ",
                                code("quadrille bench memory --json FILE"), " wrote on this machine, shows rates in percent "
                                "of the memory's."])
    return out + [subsection("Kernels"),
                  paragraph("GB/s: everything that kernels must read and write, once, over their time, or above over that of "
                            "the solves. Fields that fit into the caches may exceed the memory's rate. ", *measured),
                  paragraph(f"The kernels that took the most time{f', {MOST} of them' if len(lines) == MOST else ''}:"),
                  table(["kernel", "instruction set", "calls", "bytes/site", "time [s]", "of the solves", "GB/s",
                         "of memory"], lines)]
