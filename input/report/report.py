#!/usr/bin/env python3
"""A page, as Markdown and as HTML, of a results.json or of a JSON file of `quadrille bench`. `quadrille report` calls it;
Python 3 is all that the tables need.

    python3 report.py RESULTS.json... --out DIR --modules FOLDER... [--format svg|png] [--memory BENCH.json]

Writes DIR/report.html, a file that needs no other, and the same as DIR/report.md with the figures that it shows; a CSV
file of each correlator with all its digits. Figures need matplotlib (Debian: python3-matplotlib); without it there are
tables only, which is said on standard error. `tables.sections` gives the page as blocks, and says where which figures
follow: each kind is a file of its own, with `draw(results, save)`. Several results are solver studies on several
configurations, whose means are shown. Modules of Quadrille have their scripts in the FOLDERs, of which the first holds
module_report.py, which says what blocks there are and what is in a script.
"""

import argparse
import importlib
import importlib.util
import json
import os
import sys

sys.dont_write_bytecode = True  # the scripts may lie where the user may not write, or in a source tree

DEBIAN_PYTHON = "/usr/bin/python3"


def try_debian_python():
    """A python3 that comes first on PATH may not see what Debian installed: go on with Debian's own, once."""
    if not importlib.util.find_spec("matplotlib") and os.path.exists(DEBIAN_PYTHON) and "QUADRILLE_REPORT_AGAIN" not in os.environ:
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


def write(folder, file, text):
    path = os.path.join(folder, file)
    with open(path + ".part", "w") as stream:
        stream.write(text)
    os.replace(path + ".part", path)
    return path


def read(path, is_bench):
    """The tree in a file that a report can be made of."""
    wanted = "give the results.json of a job, its output folder, or a JSON file of quadrille bench"
    with open(path) as stream:
        try:
            results = json.load(stream)
        except (RecursionError, ValueError):
            raise ValueError(f"this is not JSON, or it is incomplete: {wanted}") from None
    if not isinstance(results, dict) or "schema_version" not in results and not is_bench(results):
        raise ValueError(f"this is neither a results.json of Quadrille nor a JSON file of quadrille bench: {wanted}")
    return results


def memory_in(bench):
    """The rates of the memory that `quadrille bench` measured."""
    memory = bench.get("memory")
    if not isinstance(memory, dict) or not isinstance(memory.get("read_gbs"), float) or memory["read_gbs"] <= 0:
        raise ValueError("it has no rates of the memory: give what `quadrille bench memory --json FILE` wrote")
    return memory


def name_of(paths):
    """The folder of a results.json, or the name of a file of bench."""
    folder, file = os.path.split(os.path.abspath(paths[0]))
    return (os.path.basename(folder) if file == "results.json" else file) + (" and others" if len(paths) > 1 else "")


def main():
    parser = argparse.ArgumentParser(description="Tables and figures of a results.json or of bench")
    parser.add_argument("results", nargs="+")
    parser.add_argument("--out", required=True)
    parser.add_argument("--modules", nargs="*", default=[])
    parser.add_argument("--format", choices=("svg", "png"), default="svg")
    parser.add_argument("--memory")
    args = parser.parse_args()
    try_debian_python()
    sys.path += args.modules[:1]
    averages, bench_tables, correlators, figures, html_page, markdown_page, tables = (
        importlib.import_module(name)
        for name in ("averages", "bench_tables", "correlators", "figures", "html_page", "markdown_page", "tables"))
    scripts = scripts_of_modules(args.modules)
    several = []
    try:
        for path in args.results:
            several.append(read(path, bench_tables.is_bench))
        path = args.memory
        memory = memory_in(read(path, bench_tables.is_bench)) if path else None
    except (OSError, ValueError) as error:
        print(f"quadrille: error: {path}: {error}", file=sys.stderr)
        return 1
    results, paths = several[0], ", ".join(args.results)
    configurations = importlib.import_module("configurations")
    try:
        if len(several) > 1:
            if len({os.path.realpath(path) for path in args.results}) < len(several):
                raise configurations.Different("the same results are given twice")
            results = configurations.merged(several)
        os.makedirs(args.out, exist_ok=True)
        draw = figures.figures_of(args.out, args.format)
        if len(several) > 1:
            sections, files = tables.sections_of_configurations(results), {}
        elif bench_tables.is_bench(results):
            sections, files = bench_tables.sections(results), {}
        else:
            sections = tables.sections(results, scripts, memory)
            files = {**correlators.csv_files(results), **averages.csv_files(results)}
        blocks = [tables.TITLE]
        for said, drawn in sections:
            blocks += said
            for script in drawn:
                blocks += draw(script, results)
        files["report.md"] = markdown_page.page(blocks)
        files["report.html"] = html_page.page(blocks, f"Report: {name_of(args.results)}")
        for file, content in files.items():
            path = write(args.out, file, content)
    except (OSError, configurations.Different) as error:
        print(f"quadrille: error: {error}", file=sys.stderr)
        return 1
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        print(f"quadrille: error: {paths}: damaged, or written by another version ({reason}): run the job again to "
              "rewrite it (with --force if restart.json is damaged too)", file=sys.stderr)
        return 1
    if not figures.have_matplotlib():
        print("quadrille: warning: no figures: Python has no matplotlib (Debian: python3-matplotlib); "
              "only tables are written", file=sys.stderr)
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
