"""The figures of a report, drawn by matplotlib: into files for Markdown, and as text for HTML."""

import importlib.util
import io
import os
from typing import NamedTuple

# Ten lines that can be told from each other; each has a contrast of 3 or more to white and to the page in the dark.
COLORS = ("#2b7bba", "#d2691e", "#2e8b57", "#d64550", "#8f6bc4", "#a0694f", "#cc5a9c", "#7f7f7f", "#8a8a1e", "#1b8ea6")


class Figure(NamedTuple):
    """A block of a page."""

    name: str
    file: str
    caption: str
    svg: str


def have_matplotlib():
    return importlib.util.find_spec("matplotlib") is not None


def begin():
    """How all figures look."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "quadrille"  # the same results give the same file
    matplotlib.rcParams["legend.edgecolor"] = "grey"
    matplotlib.rcParams["axes.prop_cycle"] = matplotlib.cycler(color=COLORS)


def figures_of(folder, form):
    """A function that draws all figures of a script into the folder and returns them."""
    if not have_matplotlib():
        return lambda script, results: []
    begin()
    import matplotlib.pyplot as plt

    def draw(script, results):
        shown = []

        def save(figure, name, caption):
            file, svg = f"{name}.{form}", io.StringIO()
            figure.savefig(svg, format="svg", metadata={"Date": None}, bbox_inches="tight")
            if form == "svg":
                with open(os.path.join(folder, file), "w") as stream:
                    stream.write(svg.getvalue())
            else:
                figure.savefig(os.path.join(folder, file), bbox_inches="tight", dpi=150)
            plt.close(figure)
            shown.append(Figure(name, file, caption, svg.getvalue()))

        script.draw(results, save)
        return shown

    return draw
