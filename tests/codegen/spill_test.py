"""Registers of the generated CUDA kernels: compiled for compute capability 9.0, on which they are measured, the kernels without
site-local terms keep nothing in local memory, and those with them little (dirac/MEASUREMENTS.md).

    spill_test.py BUILD
"""

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

# Bytes that a thread may store in local memory, without and with site-local terms other than numbers.
MOST = {"half": (0, 64), "single": (0, 64), "double": (0, 640)}
ENTRY = re.compile(
    r"Compiling entry function '(\S+)' for 'sm_90'.*?(\d+) bytes spill stores, (\d+) bytes spill loads", re.DOTALL
)
# Arguments of templates: kernel<time_links, site_terms, inner>, edge_kernel<temporal_gauge, site_terms>, list_kernel<site_terms>.
SITE_TERMS = re.compile(r"_\d+(?:_edge_kernelILb[01]E|_list_kernelI|_kernelILNS0_9TimeLinksE\dE)Lb([01])E")


class Spills(unittest.TestCase):
    build = ""

    def spills(self, kernel):
        """{entry function: bytes stored} of a generated source, compiled with the flags of the build."""
        with open(os.path.join(self.build, "compile_commands.json")) as stream:
            commands = {os.path.basename(one["file"]): one for one in json.load(stream)}
        one = commands[f"{kernel}_cuda.cu"]
        words = [word for word in shlex.split(one["command"]) if not word.startswith("--generate-code")]
        while "nvcc" not in os.path.basename(words[0]):  # a compiler launcher
            words.pop(0)
        with tempfile.TemporaryDirectory() as folder:
            words[words.index("-o") + 1] = os.path.join(folder, "kernel.cubin")
            words[words.index("-c")] = "-cubin"
            words += ["-arch=sm_90", "-Xptxas", "-v"]
            said = subprocess.run(words, cwd=one["directory"], capture_output=True, text=True, check=False)
        self.assertEqual(said.returncode, 0, said.stderr)
        return {name: int(stores) for name, stores, _ in ENTRY.findall(said.stderr)}

    def test_kernels_keep_their_numbers_in_registers(self):
        for precision, most in MOST.items():
            found = {name: stores for name, stores in self.spills(f"wilson_{precision}_12").items() if "_kernel" in name}
            # Two of each kernel for time links, site-local terms, and inner sites or the kernel's other argument.
            self.assertEqual(len(found), 14, found)
            for name, stores in found.items():
                site_terms = SITE_TERMS.search(name)
                self.assertIsNotNone(site_terms, name)
                self.assertLessEqual(stores, most[int(site_terms.group(1))], name)


if __name__ == "__main__":
    Spills.build = sys.argv.pop()
    unittest.main(verbosity=2)
