"""What the task `matrix_product` did, and with which errors."""

from module_report import code, number, section, table

TASKS = ("matrix_product",)
# name in the results: (what it is, form of the number)
LINES = {
    "reason": ("why this form", "s"),
    "delta": ("cutoff delta", ".4g"),
    "large_a": ("fraction of the elements of A above it", ".2e"),
    "large_b": ("fraction of the elements of B above it", ".2e"),
    "small_form": ("elements below it are multiplied in", "s"),
    "depth": ("terms of a partial sum", "d"),
    "bound": ("certain bound on the error of an element of A B", ".2e"),
    "probable_bound": ("probable bound", ".2e"),
    "measured": ("error measured on a sample", ".2e"),
    "seconds": ("time, s", ".4g"),
    "gflops": ("GFLOP/s", ".1f"),
}


def product_text(name, one):
    lines = [["m, n, k", f"{one['m']}, {one['n']}, {one['k']}"], ["form", one["form"]]]
    lines += [[label, number(one[key], form)] for key, (label, form) in LINES.items() if one.get(key) is not None]
    if one.get("panel_bytes"):
        lines.append(["memory of the panels, MiB", f"{one['panel_bytes'] / 2**20:.4g}"])
    return [section("Matrix product ", code(name)), table(["", "value"], lines)]


def text(results):
    return [block for task in results["job"]["run"] if task["task"] in TASKS and task["name"] in results
            for block in product_text(task["name"], results[task["name"]])]
