#!/usr/bin/env python3
"""Checks that includes follow the arrow of dependence, core <- dirac, solvers <- modules <- input, that modules include
those that they build on only, and that there is no circle.

    include_arrow.py ROOT      prints each offence as file:line and ends with 1
    include_arrow.py --self-test
"""

import os
import re
import sys
import tempfile

MAY_INCLUDE = {
    "core": {"core"},
    "dirac": {"core", "dirac"},
    "solvers": {"core", "solvers"},
    "modules": {"core", "dirac", "solvers", "modules"},
    "input": {"core", "dirac", "solvers", "modules", "input"},
}
# What a module builds on, of the folders beside its own; and which headers of a module are there for others at all.
MODULES_MAY_INCLUDE = {"block_dft": {"eigen", "mgemm"}, "eigen": {"mgemm"}, "ri_mp2": {"mgemm"}, "input": {"quenched"}}
PUBLIC_HEADERS = {
    "eigen": {"c_api.h", "factor.h", "problem.h", "solve.h"},
    "mgemm": {"blas.h", "c_api.h", "choice.h", "cleaver.h", "cost_model.h", "cuda/device_product.h", "cuda/factor.h",
              "device.h", "error_bound.h", "form_bound.h", "forms.h", "mgemm.h", "precision.h", "split_product.h"},
    "quenched": {"pure_gauge.h"},
}
SUFFIXES = (".h", ".hpp", ".cuh", ".cpp", ".cc", ".cu", ".inc", ".in")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]')


def sources(root):
    for folder in MAY_INCLUDE:
        for place, _, names in os.walk(os.path.join(root, folder)):
            for name in sorted(names):
                if name.endswith(SUFFIXES):
                    yield os.path.relpath(os.path.join(place, name), root)


def includes(root, path):
    """(line, included path from the root) of each include of a file of this project."""
    with open(os.path.join(root, path), encoding="utf-8") as stream:
        for line, text in enumerate(stream, 1):
            match = INCLUDE.match(text)
            if not match:
                continue
            name = match.group(1)
            beside = os.path.normpath(os.path.join(os.path.dirname(path), name))
            if name.split("/")[0] in MAY_INCLUDE:
                yield line, os.path.normpath(name)
            elif os.path.exists(os.path.join(root, beside)):
                yield line, beside


def circles(graph):
    """Each circle of includes found, as the list of its files."""
    done, found = set(), []

    def visit(path, trail):
        if path in trail:
            found.append(trail[trail.index(path):] + [path])
            return
        if path in done:
            return
        for following in graph.get(path, ()):
            visit(following, trail + [path])
        done.add(path)

    for path in sorted(graph):
        visit(path, [])
    return found


def module_of(path):
    """The folder of the module that a file belongs to, "input" for those there; empty for what all modules share and for
    other folders."""
    parts = path.split(os.sep)
    if parts[0] == "input":
        return "input"
    return parts[1] if len(parts) > 2 and parts[0] == "modules" else ""


def offence_among_modules(path, name):
    """Why a file may not include one of another module; empty when it may."""
    user, owner = module_of(path), module_of(name)
    if not user or not owner or owner in (user, "input"):
        return ""
    if owner not in MODULES_MAY_INCLUDE.get(user, set()):
        return f"{user} may not include {name}"
    inside = "/".join(name.split(os.sep)[2:])
    return "" if inside in PUBLIC_HEADERS.get(owner, set()) else f"{name} is no public header of {owner}"


def offences(root):
    graph, said, count = {}, [], 0
    for path in sources(root):
        count += 1
        own = path.split(os.sep)[0]
        graph[path] = []
        for line, name in includes(root, path):
            graph[path].append(name)
            if name.split(os.sep)[0] not in MAY_INCLUDE[own]:
                said.append(f"{path}:{line}: {own} may not include {name}")
            elif why := offence_among_modules(path, name):
                said.append(f"{path}:{line}: {why}")
    said += ["a circle of includes: " + " -> ".join(circle) for circle in circles(graph)]
    return said, count


def self_test():
    """The check finds what it is for."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in {
            "core/a.h": '#include "core/b.h"\n',
            "core/b.h": '#include "core/a.h"\n',
            "core/c.cpp": '#include <vector>\n#include "dirac/d.h"\n',
            "solvers/s.cpp": '#include "core/a.h"\n  # include <dirac/d.h>\n',
            "dirac/d.h": '#include "core/a.h"\n',
            "input/i.cpp": '#include "solvers/s.h"\n#include "modules/m.h"\n#include "modules/md/m.h"\n'
                           '#include "modules/quenched/pure_gauge.h"\n',
            "modules/ri_mp2/r.cpp": '#include "modules/m.h"\n#include "modules/mgemm/product/mgemm.h"\n#include "modules/md/m.h"\n'
                                    '#include "modules/mgemm/product/arguments.h"\n#include "modules/ri_mp2/own.h"\n',
        }.items():
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as stream:
                stream.write(text)
        said, _ = offences(root)
    wanted = ["core/c.cpp:2: ", "solvers/s.cpp:2: ", "modules/ri_mp2/r.cpp:3: ", "modules/ri_mp2/r.cpp:4: ", "input/i.cpp:3: ",
              "a circle of includes: core/a.h -> core/b.h -> core/a.h"]
    assert len(said) == len(wanted) and all(line.startswith(start) for line, start in zip(said, wanted)), said


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    self_test()
    if sys.argv[1] == "--self-test":
        return 0
    said, count = offences(sys.argv[1])
    for line in said:
        print(line)
    if count == 0:
        print(f"{sys.argv[1]}: no sources found")
    else:
        print(f"{count} files looked at, {len(said)} offences")
    return 1 if said or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
