"""What the report scripts of modules share: results in, a page of tables and figures out."""

import argparse
import json
import os
import sys


def run(description, stem, text, draw):
    """Writes DIR/STEM.md: what `text` says of the results, then, where Python has matplotlib, what `draw` saves."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("results")
    parser.add_argument("--out", required=True)
    parser.add_argument("--format", choices=("svg", "png"), default="svg")
    args = parser.parse_args()
    with open(args.results) as stream:
        results = json.load(stream)
    os.makedirs(args.out, exist_ok=True)
    shown = text(results)
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt

        def save(figure, name, caption):
            nonlocal shown
            figure.savefig(os.path.join(args.out, f"{name}.{args.format}"), bbox_inches="tight", dpi=150)
            plt.close(figure)
            shown += f"\n![{caption}]({name}.{args.format})\n\n{caption}\n"

        draw(results, save)
    except ImportError:
        print("warning: no figures: Python has no matplotlib (Debian: python3-matplotlib)", file=sys.stderr)
    path = os.path.join(args.out, f"{stem}.md")
    with open(path, "w") as stream:
        stream.write(shown)
    print(path)
    return 0
