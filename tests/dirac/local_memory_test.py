"""The hopping kernels keep everything in registers but for what is named below. No GPU needed.

    python3 local_memory_test.py CUOBJDUMP BUILD OBJECT...

Without cuobjdump (CUDA's package cuda-cuobjdump) the kernels of 12 numbers are compiled again, for compute capability 9.0, and
ptxas says what they take.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

SKIPPED = 77
# With and without temporal gauge and site-local terms: for all sites, inner ones, those at edges. For lists of calls with and without
# terms. Or one that packs, or of terms alone.
KERNELS_OF_AN_OBJECT = 14
NAME = re.compile(r"_(double|single|half)_(?:(?:pack|local)_kernel|\d+_list_kernelI(?P<list>Lb1E)?"
                  r"|\d+(?:_edge)?_kernelIL(?:b|NS\w*TimeLinksE)[01]E(?P<terms>Lb1E)?)")
# Bytes of a thread in local memory at most, by architecture and precision: what ptxas spills of 168 and 128 registers.
MOST_BYTES = {
    "sm_90": {"double": 8, "single": 0, "half": 8, "double terms": 128, "single terms": 16, "half terms": 48},
    "sm_80": {"double": 40, "single": 8, "half": 8, "double terms": 160, "single terms": 32, "half terms": 48},
}


def usage(text):
    """(architecture, kernel, bytes of the stack and of local memory) of each function that cuobjdump lists."""
    architecture = kernel = None
    for line in text.splitlines():
        if found := re.match(r"\s*arch = (\w+)", line):
            architecture = found[1]
        elif found := re.match(r"\s*Function (\w+):", line):
            kernel = found[1]
        elif found := re.match(r"\s*REG:\d+ STACK:(\d+) SHARED:\d+ LOCAL:(\d+) ", line):
            yield architecture, kernel, int(found[1]) + int(found[2])


def dumped(cuobjdump, objects):
    """(object, its usage()) of each."""
    for path in objects:
        words = [cuobjdump, "--dump-resource-usage", path]
        yield path, list(usage(subprocess.run(words, check=True, capture_output=True, text=True).stdout))


def compiled(build, objects):
    """The same from ptxas, of the objects of 12 numbers, compiled with the flags of the build."""
    with open(os.path.join(build, "compile_commands.json")) as stream:
        commands = {os.path.basename(one["file"]): one for one in json.load(stream)}
    for path in objects:
        source = re.search(r"\w+_12_cuda[.]cu", path)
        if not source:
            continue
        words = [word for word in shlex.split(commands[source[0]]["command"]) if not word.startswith("--generate-code")]
        with tempfile.TemporaryDirectory() as folder:
            words[words.index("-o") + 1] = os.path.join(folder, "kernels.cubin")
            words[words.index("-c")] = "-cubin"
            words += ["-arch=sm_90", "-Xptxas", "-v"]
            said = subprocess.run(words, cwd=commands[source[0]]["directory"], check=False, capture_output=True, text=True)
        assert said.returncode == 0, said.stderr
        entries = re.findall(r"entry function '(\w+)' for '(\w+)'.*?(\d+) bytes stack frame", said.stderr, re.DOTALL)
        yield path, [(architecture, kernel, int(stack)) for kernel, architecture, stack in entries]


def main(cuobjdump, build, *objects):
    assert objects, "no kernels"
    has_dump = os.access(cuobjdump, os.X_OK)
    failures, checked = [], 0
    for path, found in dumped(cuobjdump, objects) if has_dump else compiled(build, objects):
        number = {}
        for architecture, kernel, size in found:
            name = NAME.search(kernel)
            precision = name[1] + (" terms" if name["list"] or name["terms"] else "")
            number[architecture] = number.get(architecture, 0) + 1
            if architecture not in MOST_BYTES:
                continue
            checked += 1
            if size > MOST_BYTES[architecture][precision]:
                failures.append(f"{kernel} ({architecture}) has {size} bytes in local memory")
        expected = 1 if re.search("_(pack|local)_", path) else KERNELS_OF_AN_OBJECT
        if not number or set(number.values()) != {expected}:
            failures.append(f"{path}: {expected} kernels were expected for each architecture, found {number}")
    print("\n".join(failures) or f"{checked} kernels, all within their limits")
    if failures:
        return 1
    if checked == 0:
        print(f"skipped: none is compiled for {' or '.join(MOST_BYTES)}")
        return SKIPPED
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
