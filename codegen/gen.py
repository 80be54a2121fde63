#!/usr/bin/env python3
"""Writes the kernel sources that kernels.yaml names, and the table through which C++ finds them.

    python3 codegen/gen.py --output DIR
    python3 codegen/gen.py --list BACKEND

Standard library only. Files are rewritten only when they change, so a build that changes nothing compiles nothing.
"""

import argparse
import hashlib
import importlib
import itertools
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from codegen.emit.common import table_source  # noqa: E402

SPEC = HERE / "kernels.yaml"
AXES = ("precision", "reconstruct")
KNOWN = {
    "operator": {path.stem for path in (HERE / "operators").glob("[!_]*.py")},
    "backend": {path.stem for path in (HERE / "emit").glob("*.py")} - {"__init__", "common"},
    "precision": {"double", "single", "half"},
    "reconstruct": {"18", "12", "8"},
    "arguments": {"temporal_gauge", "dagger", "xpay"},
    "doubled": {"temporal_gauge", "twisted"},
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


def write_if_changed(path, text):
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def generate(output):
    """Writes every kernel and the table; returns the list of kernels."""
    output.mkdir(parents=True, exist_ok=True)
    kernels = [kernel for entry in read_spec(SPEC) for kernel in kernels_of(entry)]
    sources = {backend: hashlib.sha256() for backend in KNOWN["backend"]}  # what tells these kernels from others
    for kernel in kernels:
        operator = importlib.import_module(f"codegen.operators.{kernel['operator']}")
        emitter = importlib.import_module(f"codegen.emit.{kernel['backend']}")
        source = emitter.kernel_source(operator, kernel)
        write_if_changed(output / emitter.file_name(kernel), source)
        sources[kernel["backend"]].update(source.encode())
    for backend in sorted(KNOWN["backend"]):
        write_if_changed(output / f"{backend}_kernel_table.inc", table_source(kernels, backend))
        write_if_changed(output / f"{backend}_kernel_hash.inc", f'"{sources[backend].hexdigest()[:16]}"\n')
    return kernels


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=pathlib.Path, help="folder for the sources")
    parser.add_argument("--list", metavar="BACKEND", help="print the kernels' files of a backend, separated by ';'")
    options = parser.parse_args()
    try:
        if options.list:
            emitter = importlib.import_module(f"codegen.emit.{options.list}")
            entries = [entry for entry in read_spec(SPEC) if entry["backend"] == options.list]
            names = [emitter.file_name(k) for entry in entries for k in kernels_of(entry)]
            print(";".join(names))
            return
        if options.output is None:
            parser.error("--output is needed")
        print(f"generated {len(generate(options.output))} kernels")
    except SpecError as error:
        sys.exit(f"gen.py: {error}")


if __name__ == "__main__":
    main()
