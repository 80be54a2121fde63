"""What report scripts share, those of modules (`x/report/*.py`) and those of the program: tables, rows, legends.

A script of a module has any of

    text(results)          Markdown of what the module's tasks say in results.json
    draw(results, save)    figures: save(figure, name, caption)
    TASKS                  kinds of tasks whose own results `text` shows, so that no table of all their numbers follows
"""


def table(head, lines):
    rows = [head, ["---"] * len(head), *lines]
    return "".join("| " + " | ".join(str(cell) for cell in row) + " |\n" for row in rows)


def number(value, form):
    return "-" if value is None else format(value, form)


def values(rows, key):
    """The different values of a key, in the order of the rows."""
    return list(dict.fromkeys(row[key] for row in rows))


def pick(rows, **wanted):
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def legend_beside(axes, fontsize=7):
    """Where it hides nothing."""
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=fontsize, loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0)


def legend_below(axes, fontsize=6, columns=2):
    """For panels that stand side by side."""
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=fontsize, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncol=columns, borderaxespad=0)
