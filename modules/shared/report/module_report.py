"""What report scripts share, those of modules (`x/report/*.py`) and those of the program: blocks of a page, numbers, rows,
legends.

A script of a module has any of

    text(results)          what the module's tasks say in results.json, as a list of blocks
    draw(results, save)    figures: save(figure, name, caption)
    TASKS                  kinds of tasks whose own results `text` shows, so that no table of all their numbers follows

The blocks are section(...), subsection(...), paragraph(...), bullets(...), listing(...) and table(...). Their words are texts
and numbers, which are shown as they are (no markup: `|x| < 2` is just that), code(...) and link(...).
"""

import math
from typing import Any, NamedTuple


class Heading(NamedTuple):
    level: int  # 1: the page; 2, 3: its sections and their parts
    words: tuple


class Paragraph(NamedTuple):
    words: tuple


class Bullets(NamedTuple):
    items: tuple


class Listing(NamedTuple):
    """Lines to be shown as they are, behind a title."""

    title: str
    text: str


class Table(NamedTuple):
    head: list
    lines: list


class Code(NamedTuple):
    """A word of the job, or the name of a file."""

    text: Any


class Link(NamedTuple):
    """To a file beside the page."""

    file: str


code, link, listing = Code, Link, Listing


def section(*words):
    return Heading(2, words)


def subsection(*words):
    return Heading(3, words)


def paragraph(*words):
    return Paragraph(words)


def bullets(*items):
    return Bullets(items)


def table(head, lines):
    """Without the columns that hold nothing ("-") in any line."""
    kept = [k for k in range(len(head)) if not lines or any(line[k] != "-" for line in lines)]
    return Table([head[k] for k in kept], [[line[k] for k in kept] for line in lines])


def number(value, form):
    return "-" if value is None else format(value, form)


def with_error(value, error):
    """"-0.8201(42)": the value with the two digits of its error that count; all digits without an error."""
    if not error:
        return f"{value:.8g}"
    digits = max(0, 1 - math.floor(math.log10(error)))
    return f"{value:.{digits}f}({error * 10**digits:.0f})" if error < 1 else f"{value:.1f}({error:.1f})"


def values(rows, key):
    """The different values of a key, in the order of the rows."""
    return list(dict.fromkeys(row[key] for row in rows))


def pick(rows, **wanted):
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def legend_beside(axes, fontsize=8):
    """Where it hides nothing."""
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=fontsize, loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0)


def legend_below(axes, fontsize=6, columns=2):
    """For panels that stand side by side: below the label of the axis, whatever the height of the panel."""
    from matplotlib.transforms import ScaledTranslation

    if axes.get_legend_handles_labels()[0]:
        under_label = axes.transAxes + ScaledTranslation(0, -0.55, axes.figure.dpi_scale_trans)  # inches
        axes.legend(fontsize=fontsize, loc="upper center", bbox_to_anchor=(0.5, 0), bbox_transform=under_label,
                    ncol=columns, borderaxespad=0)


def plain_numbers(axis):
    """20, 50, 100 at a logarithmic axis of few decades, not powers of ten alone."""
    from matplotlib import ticker

    axis.set_minor_locator(ticker.LogLocator(subs=(2, 3, 5)))
    for set_formatter in (axis.set_major_formatter, axis.set_minor_formatter):
        set_formatter(ticker.StrMethodFormatter("{x:g}"))
