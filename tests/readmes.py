#!/usr/bin/env python3
"""Checks what READMEs say of folders: the files and rooms that their tables name are there, every module and every room of
core has its row, core stays small at its top, and a variable of the environment or of CMake that they name is read by something.

    readmes.py ROOT      prints each offence as file: what and ends with 1
    readmes.py --self-test
"""

import fnmatch
import os
import re
import subprocess
import sys
import tempfile

MOST_IN_CORE = 25
FILE = re.compile(r"[\w.*/{},-]+\.(?:h|hpp|cuh|cpp|cu|c|py|sh|yaml|f90|txt|\*)")
VARIABLE = re.compile(r"\bQUADRILLE_[A-Z0-9_]*[A-Z0-9]\b")


def tracked(root):
    """The files of the project; outside a checkout all files."""
    done = subprocess.run(["git", "-C", root, "ls-files", "-z", "-co", "--exclude-standard"], capture_output=True, text=True,
                          check=False)
    if done.returncode == 0 and done.stdout:
        return sorted(path for path in done.stdout.split("\0") if path and os.path.exists(os.path.join(root, path)))
    return sorted(os.path.relpath(os.path.join(place, name), root) for place, folders, names in os.walk(root)
                  for name in names if not os.path.relpath(place, root).startswith("build"))


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as stream:
        return stream.read()


def first_cells(text):
    """Those of tables."""
    return [line.split("|")[1] for line in text.splitlines() if line.startswith("|") and line.count("|") > 2]


def check_tables(readme, text, files, said):
    folder = os.path.dirname(readme)
    here = [os.path.relpath(path, folder or ".") for path in files if not folder or path.startswith(folder + os.sep)]
    for cell in first_cells(text):
        for name in re.findall(r"`([^`]+)`", cell):
            if os.path.basename(name).startswith("x."):  # any name: what one more of a kind costs
                continue
            if FILE.fullmatch(name) and not any(fnmatch.fnmatch(path, name) for path in here):
                said.append(f"{readme}: there is no {name}")


def check_rooms(folder, text, files, said, also=()):
    """The rows of a README and the folders beside it."""
    there = {path.split(os.sep)[1] for path in files if path.startswith(folder + os.sep) and path.count(os.sep) > 1}
    cells = " ".join(first_cells(text))
    named = set(re.findall(r"`(\w+)/`", cells)) | set(re.findall(r"\]\((\w+)/README.md\)", cells))
    said += [f"{folder}/README.md: no row for the folder {name}" for name in sorted(there - named - set(also))]
    said += [f"{folder}/README.md: there is no folder {name}" for name in sorted(named - there)]


def offences(root):
    files, said = tracked(root), []
    texts = {path: read(root, path) for path in files if path.endswith(".md")}
    code = "\n".join(read(root, path) for path in files
                     if not path.endswith(".md") and os.path.basename(path) != os.path.basename(__file__))
    for path, text in texts.items():
        if os.path.basename(path) == "README.md":
            check_tables(path, text, files, said)
        if os.path.basename(path) != "CHANGELOG.md":
            said += [f"{path}: nothing reads {name}" for name in sorted(set(VARIABLE.findall(text))) if name not in code]
    for folder in ("core", "modules"):
        check_rooms(folder, texts.get(os.path.join(folder, "README.md"), ""), files, said)
    at_top = {path.split(os.sep)[1] for path in files if path.startswith("core" + os.sep)}
    if len(at_top) > MOST_IN_CORE:
        said.append(f"core: {len(at_top)} entries at its top, {MOST_IN_CORE} are enough: make a room for what belongs together")
    return said, len(texts)


def self_test():
    """The check finds what it is for."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in {
            "core/README.md": "| `blas/` | x |\n| `gone/` | x |\n| `a.*`, `gone.h` | x |\nSet `QUADRILLE_READ`, `QUADRILLE_NOT`.\n",
            "core/a.cpp": 'getenv("QUADRILLE_READ");\n', "core/blas/b.h": "", "core/field/f.h": "",
            "modules/README.md": "| [md](md/README.md) | x |\n", "modules/md/README.md": "| `cuda/y.cu` | x |\n",
        }.items():
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as stream:
                stream.write(text)
        said, _ = offences(root)
        wanted = ["core/README.md: there is no gone.h", "core/README.md: nothing reads QUADRILLE_NOT",
                  "modules/md/README.md: there is no cuda/y.cu", "core/README.md: no row for the folder field",
                  "core/README.md: there is no folder gone"]
        assert sorted(said) == sorted(wanted), said
        for number in range(MOST_IN_CORE):
            with open(os.path.join(root, "core", f"more{number}.h"), "w", encoding="utf-8"):
                pass
        assert len(offences(root)[0]) == len(wanted) + 1


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
    print(f"{count} documents looked at, {len(said)} offences")
    return 1 if said or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
