#!/usr/bin/env python3
"""Fails where two headers of one namespace declare a free function of the same name and parameters: where both are
defined the linker takes one of them for both, without a word. `declared_once.py ROOT`."""

import collections
import pathlib
import re
import sys

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
NAMESPACE = re.compile(r"^namespace ([\w:]+) \{", re.M)
# Declarations begin in the first column, as clang-format leaves them; members do not.
FUNCTION = re.compile(r"^(?!#|using|namespace|struct|class|template|static_assert|\}|typedef|enum|extern)"
                      r"[A-Za-z][\w:<>,*&\s]*?\b(\w+)\(([^;{}]*?)\)( const)?(?: noexcept)?;", re.M)


def types(parameters):
    """The parameters without names and defaults."""
    out, depth, one = [], 0, ""
    for character in parameters + ",":
        depth += character in "<(["
        depth -= character in ">)]"
        if character == "," and depth == 0:
            one = re.sub(r"\s*=.*", "", one.strip(), flags=re.S)
            out.append(re.sub(r"\s+", " ", re.sub(r"(?<=[\s&*>])\w+$", "", one)).strip())
            one = ""
        else:
            one += character
    return tuple(out)


def declared(path):
    text = COMMENT.sub("", path.read_text())
    namespaces = NAMESPACE.findall(text)
    for match in FUNCTION.finditer(text):
        inside = [name for name in namespaces if name]
        yield inside[0] if inside else "", match[1], types(match[2])


def main(root):
    found = collections.defaultdict(set)
    headers = [path for folder in ("core", "dirac", "solvers", "modules", "input")
               for path in sorted((root / folder).rglob("*")) if path.suffix in (".h", ".cuh")]
    for path in headers:
        for key in declared(path):
            found[key].add(str(path.relative_to(root)))
    offences = 0
    for (namespace, name, parameters), paths in sorted(found.items()):
        if len(paths) > 1:
            offences += 1
            print(f"{namespace}::{name}({', '.join(parameters)}) is declared in {' and in '.join(sorted(paths))}")
    print(f"{len(headers)} headers looked at, {offences} offences")
    return offences > 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
