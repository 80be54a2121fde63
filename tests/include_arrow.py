#!/usr/bin/env python3
"""Checks that includes follow the arrow of dependence, core <- dirac, solvers <- modules <- input, and that of the
rooms inside core; that modules include those that they use only (modules/CMakeLists.txt); and that there is no circle.

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
# The rooms of core, lowest first: each includes those before it only. "" is what lies at the top of core.
CORE_ROOMS = ["", "system", "numbers", "parameters", "comm", "layout", "simd", "accumulators", "random", "su3", "tuning",
              "backend", "field", "blas", "operator", "backend/cpu", "backend/cuda", "gauge"]
# What the program includes of modules, beside what all of them share.
PROGRAM_USES = {"quenched"}
SUFFIXES = (".h", ".hpp", ".cuh", ".cpp", ".cc", ".cu", ".inc", ".in")
MODULE = re.compile(r"quadrille_add_module\(\s*([^)]*)\)")
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


def modules_of(root):
    """{module: (modules it uses, its headers for others)} as modules/CMakeLists.txt states them."""
    with open(os.path.join(root, "modules", "CMakeLists.txt"), encoding="utf-8") as stream:
        text = re.sub(r"#.*", "", stream.read())
    modules = {}
    for call in MODULE.findall(text):
        name, *words = call.split()
        lists = {"USES": set(), "FOR_OTHERS": set()}
        for word in words:
            if word in lists:
                current = lists[word]
            else:
                current.add(word)
        modules[name] = (lists["USES"], lists["FOR_OTHERS"])
    return modules


def offence_among_modules(modules, path, name):
    """Why a file may not include one of another module; empty when it may."""
    owner, _, inside = name.removeprefix("modules/").partition("/")
    parts = path.split("/")
    user = "input" if parts[0] == "input" else parts[1] if parts[0] == "modules" else ""
    if not name.startswith("modules/") or owner == "shared" or owner == user:
        return ""
    if user == "shared":
        return f"what modules share may not include {name}"
    uses = PROGRAM_USES if user == "input" else modules.get(user, (set(), set()))[0]
    if owner not in uses:
        return f"{user} may not include {name}"
    return "" if inside in modules[owner][1] else f"{name} is not among the headers FOR_OTHERS of {owner}"


def core_room(path):
    """The place in CORE_ROOMS of a file of core; None for one in a folder that is not there."""
    folder = os.path.dirname(path).removeprefix("core").lstrip("/")
    while folder not in CORE_ROOMS and "/" in folder:
        folder = os.path.dirname(folder)
    return CORE_ROOMS.index(folder) if folder in CORE_ROOMS else None


def offence_inside_core(path, name):
    """Why a file of core may not include another one; empty when it may."""
    if not path.startswith("core/") or not name.startswith("core/"):
        return ""
    mine, other = core_room(path), core_room(name)
    if mine is None or other is None:
        return f"{path if mine is None else name} is in no room of CORE_ROOMS (tests/include_arrow.py)"
    return "" if other <= mine else f"{CORE_ROOMS[mine] or 'core'} lies below {name}"


def offences(root):
    graph, said, count = {}, [], 0
    modules = modules_of(root)
    for path in sources(root):
        count += 1
        own = path.split(os.sep)[0]
        graph[path] = []
        for line, name in includes(root, path):
            graph[path].append(name)
            if name.split(os.sep)[0] not in MAY_INCLUDE[own]:
                said.append(f"{path}:{line}: {own} may not include {name}")
            elif why := offence_among_modules(modules, path, name) or offence_inside_core(path, name):
                said.append(f"{path}:{line}: {why}")
    said += ["a circle of includes: " + " -> ".join(circle) for circle in circles(graph)]
    return said, count


def self_test():
    """The check finds what it is for."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in {
            "modules/CMakeLists.txt": "# quadrille_add_module(none)\nquadrille_add_module(ri_mp2 USES mgemm\n)\n"
                                      "quadrille_add_module(mgemm FOR_OTHERS product/mgemm.h other.h)\n"
                                      "quadrille_add_module(quenched FOR_OTHERS pure_gauge.h)\n",
            "core/a.h": '#include "core/b.h"\n',
            "core/b.h": '#include "core/a.h"\n',
            "core/field/f.h": '#include "core/backend/backend.h"\n#include "core/backend/cuda/channels/c.h"\n'
                              '#include "core/numbers/n.h"\n',
            "core/attic/o.h": '#include "core/a.h"\n',
            "modules/shared/plugin/p.h": '#include "modules/md/m.h"\n',
            "core/c.cpp": '#include <vector>\n#include "dirac/d.h"\n',
            "solvers/s.cpp": '#include "core/a.h"\n  # include <dirac/d.h>\n',
            "dirac/d.h": '#include "core/a.h"\n',
            "input/i.cpp": '#include "solvers/s.h"\n#include "modules/shared/m.h"\n#include "modules/md/m.h"\n'
                           '#include "modules/quenched/pure_gauge.h"\n',
            "modules/ri_mp2/r.cpp": '#include "modules/shared/m.h"\n#include "modules/mgemm/product/mgemm.h"\n'
                                    '#include "modules/md/m.h"\n'
                                    '#include "modules/mgemm/product/arguments.h"\n#include "modules/ri_mp2/own.h"\n',
        }.items():
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as stream:
                stream.write(text)
        said, _ = offences(root)
    wanted = ["core/attic/o.h:1: ", "core/c.cpp:2: ", "core/field/f.h:2: ", "solvers/s.cpp:2: ", "modules/ri_mp2/r.cpp:3: ",
              "modules/ri_mp2/r.cpp:4: ", "modules/shared/plugin/p.h:1: ", "input/i.cpp:3: ",
              "a circle of includes: core/a.h -> core/b.h -> core/a.h"]
    assert len(said) == len(wanted) and all(
        any(line.startswith(start) for line in said) for start in wanted), said


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
