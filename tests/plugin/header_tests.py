#!/usr/bin/env python3
"""Compiles each installed header alone, as modules outside the source tree include them; those of the C interfaces in C99 too,
and .cuh with nvcc.

    header_tests.py BUILD CXX [NVCC]        prints what the compiler says of those that it refuses, and ends with 1
"""

import multiprocessing.pool
import os
import re
import subprocess
import sys
import tempfile

# Headers of kernels say by #error what their files are compiled with: once per instruction set, without contraction; the first of
# these that will do. The last is how a device's bodies are compiled for the host.
LANES = ["-DQUADRILLE_ISA=generic", "-DQUADRILLE_ISA_BYTES=16", "-Wno-psabi"]
AS_WRITTEN = ["-ffp-contract=off", "-DQUADRILLE_NO_CONTRACTION"]
OF_KERNELS = [LANES, LANES + AS_WRITTEN, ["-DQUADRILLE_SCALAR_LANES", "-DQUADRILLE_ISA=generic"]]
IN_C = re.compile(r"(quadrille|modules/shared/plugin/module|modules/shared/plugin/handles|modules/\w+/capi/c_api)\.h$")


def installed(build, prefix):
    subprocess.run(["cmake", "--install", build, "--prefix", prefix], check=True, stdout=subprocess.DEVNULL)
    root = os.path.join(prefix, "include", "quadrille")
    found = [os.path.relpath(os.path.join(folder, name), root) for folder, _, names in os.walk(root) for name in names]
    return root, sorted(found)


def compiled(command, root, header):
    """Whether a file that includes nothing but the header compiles; and what is said where it does not."""
    process = subprocess.run([*command, "-I", root, "-"], input=f'#include "{header}"\n#include "{header}"\n', text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return process.returncode == 0, process.stdout


def trouble(root, header, compiler, nvcc):
    if header.endswith(".cuh"):
        command = [nvcc, "-std=c++20", "--expt-relaxed-constexpr", "-x", "cu", "-c", "-o", os.devnull]
        good, said = compiled(command, root, header)
        return "" if good else f"{header} with {nvcc}:\n{said}"
    command = [compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fopenmp", "-x", "c++", "-fsyntax-only"]
    if nvcc:
        command += ["-isystem", os.path.join(os.path.dirname(nvcc), "..", "include")]
    good, said = compiled(command, root, header)
    if not good and "#error" in said:
        tried = [compiled([*command, *options], root, header) for options in OF_KERNELS]
        good = any(one for one, _ in tried)
        said += "".join(more for _, more in tried)
    if not good:
        return f"{header} in C++20:\n{said}"
    if IN_C.match(header):
        good, said = compiled(["cc", "-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-x", "c", "-fsyntax-only"], root,
                              header)
    return "" if good else f"{header} in C99:\n{said}"


def main():
    build, compiler, nvcc = (*sys.argv[1:], None)[:3]
    with tempfile.TemporaryDirectory(prefix="quadrille-headers-") as prefix:
        root, headers = installed(build, prefix)
        folders = {header.split(os.sep)[0] for header in headers}
        missing = {"core", "dirac", "solvers", "modules", "quadrille.h", "quadrille.hpp"} - folders
        if missing or nvcc and not any(header.endswith(".cuh") for header in headers):
            print(f"not installed: {missing or 'headers of CUDA'}")
            return 1
        with multiprocessing.pool.ThreadPool(2) as pool:
            said = [text for text in pool.map(lambda header: trouble(root, header, compiler, nvcc), headers) if text]
    print("\n".join(said) or f"{len(headers)} headers compile alone")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
