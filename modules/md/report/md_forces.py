"""Tables and figures of the task `md_forces`: figures 10, 11 and 12 of Narumi et al."""

import math

from module_report import code, paragraph, section, subsection, table

WAYS = {"on_the_fly": "excluded on the fly", "afterwards": "excluded afterwards"}


def ways_of(one):
    return [way for way in WAYS if any(row["exclusions"] == way for row in one["rows"])]


def number(value, form=".2e"):
    return "-" if value is None else "0" if value == 0 else format(value, form)


def text(results):
    out = []
    for name, one in results.get("pair_forces", {}).items():
        out += [section("Pair forces ", code(name)),
                paragraph(f"{one['particles']} particles of {one['types']} types, backend {one['backend']}, threads: "
                          f"{one['threads']}. Errors are relative to forces in double (equation 10), the offset is "
                          "|sum F| / sum |F| (equation 11), both of Narumi et al.")]
        if one.get("excluded_pairs") == 0 and len(ways_of(one)) > 1:
            out.append(paragraph("No pairs of this system are excluded: both ways of exclusion do the same."))
        for way in ways_of(one):
            rows = [row for row in one["rows"] if row["exclusions"] == way]
            fastest = max((row["pairs_per_second"] or 0) for row in rows)
            out += [subsection(WAYS[way]), table(
                ["method", "term, sum", "error", "error of the solute", "largest error", "offset", "sum error / bound",
                 "pairs per second", "relative to fastest"],
                [[row["method"], row["arithmetic"], number(row["error"]), number(row["solute_error"]),
                  number(row["largest_error"]), number(row["offset"]), number(row["accumulation_of_bound"]),
                  number(row["pairs_per_second"], ".3e"),
                  number(row["pairs_per_second"] and row["pairs_per_second"] / fastest, ".2f")] for row in rows])]
    return out


def bars(axes, one, key, label, logarithmic=True):
    """A group of bars for each method, one for each way of exclusion."""
    methods = list(dict.fromkeys(row["method"] for row in one["rows"]))
    ways = ways_of(one)
    width = 0.8 / len(ways)
    for number_of_way, way in enumerate(ways):
        values = {row["method"]: row[key] for row in one["rows"] if row["exclusions"] == way}
        places = [at + (number_of_way - (len(ways) - 1) / 2) * width for at in range(len(methods))]
        axes.bar(places, [values[method] or 0 for method in methods], width, label=WAYS[way])
        for place, method in zip(places, methods):
            if values[method] == 0:
                axes.annotate("0", (place, 0), xycoords=axes.get_xaxis_transform(), xytext=(0, 3),
                              textcoords="offset points", ha="center")
    if logarithmic:  # down to where even the smallest bar is seen
        heights = [row[key] for row in one["rows"] if row[key]] or [1]
        axes.set_ylim(10 ** math.floor(math.log10(min(heights)) - 0.3), 2 * max(heights))
    axes.set_xticks(range(len(methods)), methods)
    axes.set(xlabel="method", ylabel=label)
    if logarithmic:
        axes.set_yscale("log")
    if len(ways) > 1:  # above the axes, where no bar is
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2, frameon=False)
    else:
        axes.set_title(WAYS[ways[0]], fontsize="medium")


def draw(results, save):
    import matplotlib.pyplot as plt

    for name, one in results.get("pair_forces", {}).items():
        figures = [("error", "error", "average error of forces", True, "average error of forces relative to double (figure 10)"),
                   ("solute_error", "solute_error", "average error over the solute", True,
                    "average error over the solute (figure 10)"),
                   ("offset", "offset", "average offset of forces", True,
                    "average offset of forces (figure 11); 0: exactly"),
                   ("speed", "pairs_per_second", "pairs per second", False, "speed (figure 12)")]
        for suffix, key, label, logarithmic, caption in figures:
            if all(row[key] is None for row in one["rows"]):
                continue
            figure, axes = plt.subplots(figsize=(7, 4))
            bars(axes, one, key, label, logarithmic)
            save(figure, f"{name}_{suffix}", f"Pair forces {name}: {caption}")
