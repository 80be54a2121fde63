#!/usr/bin/env python3
"""Tables (Markdown) and figures of a results.json, or of a JSON file of `quadrille bench`. `quadrille report` calls it;
Python 3 is all that the tables need.

    python3 report.py RESULTS.json --out DIR --modules FOLDER... [--format svg|png]

Writes DIR/report.md and the figures that it shows. Figures need matplotlib (Debian: python3-matplotlib); without it
there are tables only, which is said on standard error. Each kind of figure is a file of its own: a module with
`draw(results, save)`, in the list below; or a script of a module of Quadrille in one of the FOLDERs, of which the first
holds module_report.py, which says what is in a script.
"""

import argparse
import importlib
import importlib.util
import json
import os
import sys

sys.dont_write_bytecode = True  # the scripts may lie where the user may not write, or in a source tree

KINDS = ("study_iterations", "study_times", "study_history", "correlators", "critical_mass", "accuracy", "timing")
NO_RESULTS = ("this is neither a results.json of Quadrille nor a JSON file of quadrille bench: give one of them, or the output "
              "folder of a job")
DEBIAN_PYTHON = "/usr/bin/python3"


def have_matplotlib():
    return importlib.util.find_spec("matplotlib") is not None


def try_debian_python():
    """A python3 that comes first on PATH may not see what Debian installed: go on with Debian's own, once."""
    if not have_matplotlib() and os.path.exists(DEBIAN_PYTHON) and "QUADRILLE_REPORT_AGAIN" not in os.environ:
        if os.path.realpath(sys.executable) != os.path.realpath(DEBIAN_PYTHON):
            os.environ["QUADRILLE_REPORT_AGAIN"] = "1"
            os.execv(DEBIAN_PYTHON, [DEBIAN_PYTHON] + sys.argv)


def scripts_of_modules(folders):
    """All of them, in the order of folders and names."""
    scripts = []
    for folder in folders:
        for name in sorted(os.listdir(folder) if os.path.isdir(folder) else ()):
            path = os.path.join(folder, name)
            if not name.endswith(".py") or name == "module_report.py" or not os.path.exists(path):
                continue
            spec = importlib.util.spec_from_file_location(f"report of a module: {path}", path)
            script = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(script)
            scripts.append(script)
    return scripts


def draw_figures(results, scripts, folder, form):
    """Draws every figure that these results allow; [(file, caption)]."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "quadrille"  # the same results give the same file
    drawn = []

    def save(figure, name, caption):
        file = f"{name}.{form}"
        metadata = {"Date": None} if form == "svg" else None
        figure.savefig(os.path.join(folder, file), metadata=metadata, bbox_inches="tight", dpi=150)
        import matplotlib.pyplot as plt

        plt.close(figure)
        drawn.append((file, caption))

    for script in [importlib.import_module(kind) for kind in KINDS] + scripts:
        if hasattr(script, "draw"):
            script.draw(results, save)
    return drawn


def main():
    parser = argparse.ArgumentParser(description="Tables and figures of a results.json or of bench")
    parser.add_argument("results")
    parser.add_argument("--out", required=True)
    parser.add_argument("--modules", nargs="*", default=[])
    parser.add_argument("--format", choices=("svg", "png"), default="svg")
    args = parser.parse_args()
    try_debian_python()
    sys.path += args.modules[:1]
    bench_tables, tables = (importlib.import_module(name) for name in ("bench_tables", "tables"))
    scripts = scripts_of_modules(args.modules)
    try:
        with open(args.results) as stream:
            results = json.load(stream)
        of_bench = bench_tables.is_bench(results)
        if not of_bench and (not isinstance(results, dict) or "schema_version" not in results):
            raise ValueError(NO_RESULTS)
    except json.JSONDecodeError:
        print(f"quadrille: error: {args.results}: {NO_RESULTS}", file=sys.stderr)
        return 1
    except (OSError, RecursionError, ValueError) as error:
        print(f"quadrille: error: {args.results}: {error}", file=sys.stderr)
        return 1
    try:
        text = bench_tables.report(results) if of_bench else tables.report(results, scripts)
        os.makedirs(args.out, exist_ok=True)
        if have_matplotlib():
            figures = draw_figures(results, [] if of_bench else scripts, args.out, args.format)
        else:
            figures = []
            print("quadrille: warning: no figures: Python has no matplotlib (Debian: python3-matplotlib); "
                  "only tables are written", file=sys.stderr)
        for file, caption in figures:
            text += f"\n![{caption}]({file})\n\n{caption}\n"
        path = os.path.join(args.out, "report.md")
        with open(path + ".part", "w") as stream:
            stream.write(text)
        os.replace(path + ".part", path)
    except OSError as error:
        print(f"quadrille: error: {error}", file=sys.stderr)
        return 1
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        print(f"quadrille: error: {args.results}: damaged, or written by another version ({reason}): run the job again to "
              "rewrite it (with --force if restart.json is damaged too)", file=sys.stderr)
        return 1
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
