#!/usr/bin/env python3
"""Checks that a module outside the source tree could do what those in it do: each function of the library that a module here
calls is exported by libquadrille.so.

    symbol_tests.py BUILD        prints, for each module, what it uses but the library keeps to itself, and ends with 1
"""

import glob
import os
import subprocess
import sys

ADVICE = ("Modules outside the source tree could not do the same. Mark the declarations QUADRILLE_API (core/api.h), in headers that "
          "are for\nmodules; of others a module should make no use.")


def symbols(files, *options):
    """The mangled names that nm gives for the files."""
    said = subprocess.run(["nm", "--format=posix", *options, *files], text=True, stdout=subprocess.PIPE, check=True).stdout
    return {line.split()[0] for line in said.splitlines() if " " in line}


def objects(build, folder):
    """Of the library and its modules; libquadrille_blas.so is for other programs."""
    found = glob.glob(os.path.join(build, folder, "CMakeFiles", "quadrille_*.dir", "**", "*.o"), recursive=True)
    return [name for name in found if "quadrille_blas.dir" not in name]


def readable(names):
    said = subprocess.run(["c++filt"], input="\n".join(names), text=True, stdout=subprocess.PIPE, check=True).stdout
    return sorted(said.splitlines())


def main():
    build, = sys.argv[1:]
    exported = symbols([os.path.join(build, "libquadrille.so")], "--dynamic", "--defined-only")
    library = symbols(objects(build, "**"), "--defined-only", "--extern-only")
    modules = sorted(name for name in os.listdir(os.path.join(build, "modules")) if name != "shared" and objects(build, f"modules/{name}"))
    if not exported or not library or not modules:
        print(f"{build} holds no library built from modules")
        return 1
    kept = False
    for module in modules:
        own = objects(build, f"modules/{module}")
        used = symbols(own, "--undefined-only") - symbols(own, "--defined-only")
        missing = readable((used & library) - exported)
        if missing:
            print(f"The module {module} uses what libquadrille.so does not export:", *missing, sep="\n  ")
            kept = True
    print(ADVICE if kept else f"{', '.join(modules)}: all that they use of the library is exported")
    return int(kept)


if __name__ == "__main__":
    sys.exit(main())
