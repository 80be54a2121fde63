#!/usr/bin/env python3
"""Writes the kernel sources that kernels.yaml names, and the table through which C++ finds them.

    python3 codegen/gen.py --output DIR
    python3 codegen/gen.py --list BACKEND
    python3 codegen/gen.py --headers BACKEND

Standard library only. Files are rewritten only when they change, so a build that changes nothing compiles nothing.
"""

import argparse
import hashlib
import importlib
import itertools
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from codegen import arguments  # noqa: E402
from codegen.emit.common import COMPANIONS, companion_name, companion_table_source, name, table_source  # noqa: E402

SPEC = HERE / "kernels.yaml"
AXES = ("precision", "reconstruct")
KNOWN = {
    "operator": {path.stem for path in (HERE / "operators").glob("[!_]*.py")},
    "backend": {path.stem for path in (HERE / "emit").glob("*.py")} - {"__init__", "common"},
    "precision": {"double", "single", "half"},
    "reconstruct": {"18", "12", "8"},
}


class SpecError(Exception):
    pass


def read_spec(path):
    """kernels.yaml as a list of entries, each key -> (value or list of values), with "line" the entry's first line.

    The file uses a small part of YAML: a list of maps whose values are words or flow lists of words."""
    entries = []
    for number, text in enumerate(path.read_text().splitlines(), start=1):
        line = text.split("#")[0].rstrip()
        if not line.strip():
            continue
        body = line.strip()
        if body.startswith("- "):
            entries.append({"line": number})
            body = body[2:]
        if not entries or ":" not in body:
            raise SpecError(f"{path}:{number}: expected `- operator: NAME` or `key: value`")
        key, value = (part.strip() for part in body.split(":", 1))
        if key not in KNOWN:
            raise SpecError(f"{path}:{number}: unknown key '{key}'; known are {', '.join(KNOWN)}")
        words = [word.strip() for word in value.strip("[]").split(",")]
        for word in words:
            if word not in KNOWN[key]:
                raise SpecError(f"{path}:{number}: {key} '{word}' is not one of {', '.join(sorted(KNOWN[key]))}")
        entries[-1][key] = words if value.startswith("[") else words[0]
    return entries


def kernels_of(entry):
    """One dictionary for each kernel of an entry."""
    for values in itertools.product(*(entry[axis] for axis in AXES)):
        yield {"operator": entry["operator"], "backend": entry["backend"], "line": entry["line"], **dict(zip(AXES, values))}


def all_kernels():
    return [kernel for entry in read_spec(SPEC) for kernel in kernels_of(entry)]


def write_if_changed(path, text):
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def families_of(kernels):
    """The mathematics of the kernels' operators."""
    return [importlib.import_module(f"codegen.operators.{name}") for name in sorted({k["operator"] for k in kernels})]


def sources_of(kernels, backend):
    """file name -> text of the backend's kernels."""
    emitter = importlib.import_module(f"codegen.emit.{backend}")
    operator = {family.NAME: family for family in families_of(kernels)}
    sources = {}
    for kernel in kernels:
        if kernel["backend"] != backend:
            continue
        mathematics = operator[kernel["operator"]]
        sources[emitter.file_name(name(kernel))] = emitter.kernel_source(mathematics, kernel)
        for companion in COMPANIONS:
            stem = companion_name(kernel, companion)
            sources[emitter.file_name(stem)] = getattr(emitter, f"{companion}_source")(mathematics, kernel, stem)
    return sources


def headers_of(texts, root):
    """The headers below `root` that the texts include, and those that these include, sorted."""
    found, waiting = set(), list(texts)
    while waiting:
        for header in re.findall(r'^ *# *include "([^"]+)"', waiting.pop(), re.MULTILINE):
            path = root / header
            if path not in found and path.is_file():
                found.add(path)
                waiting.append(path.read_text())
    return sorted(found)


def kernel_hash(sources, root):
    """What tells these kernels from others: their text and that of every header of the project in them."""
    texts = [sources[file] for file in sorted(sources)]
    texts += [path.read_text() for path in headers_of(texts, root)]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


def generate(output):
    """Writes every kernel, the tables and the hashes; returns a sentence that counts them."""
    output.mkdir(parents=True, exist_ok=True)
    kernels = all_kernels()
    families = families_of(kernels)
    terms = arguments.header_source(families)
    write_if_changed(output / arguments.HEADER, terms)
    write_if_changed(output / arguments.SOURCE, arguments.function_source(families))
    files = lines = 0
    for backend in sorted(KNOWN["backend"]):
        sources = sources_of(kernels, backend)
        for file, source in sources.items():
            write_if_changed(output / file, source)
            files += 1
            lines += source.count("\n")
        write_if_changed(output / f"{backend}_kernel_table.inc", table_source(kernels, backend))
        for companion in COMPANIONS:
            table = companion_table_source(kernels, backend, companion)
            write_if_changed(output / f"{backend}_{companion}_table.inc", table)
        write_if_changed(output / f"{backend}_kernel_hash.inc", f'"{kernel_hash({**sources, arguments.HEADER: terms}, HERE.parent)}"\n')
    counts = ", ".join(f"{sum(k['backend'] == backend for k in kernels)} {backend}" for backend in sorted(KNOWN["backend"]))
    return f"generated {len(kernels)} kernels ({counts}) and {files - len(kernels)} companions of theirs, {lines} lines"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=pathlib.Path, help="folder for the sources")
    parser.add_argument("--list", metavar="BACKEND", help="print the kernels' files of a backend, separated by ';'")
    parser.add_argument("--headers", metavar="BACKEND", help="print the project's headers that these include, separated by ';'")
    options = parser.parse_args()
    try:
        if options.list:
            print(";".join(sources_of(all_kernels(), options.list)))
            return
        if options.headers:
            sources = sources_of(all_kernels(), options.headers)
            print(";".join(map(str, headers_of(sources.values(), HERE.parent))))
            return
        if options.output is None:
            parser.error("--output is needed")
        print(generate(options.output))
    except SpecError as error:
        sys.exit(f"gen.py: {error}")


if __name__ == "__main__":
    main()
