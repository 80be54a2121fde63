"""The command `quadrille` of the wheel: the program itself."""

import os
import sys

from ._library import HERE


def main():
    """Becomes the program."""
    program = os.path.join(HERE, "bin", "quadrille")
    os.environ.setdefault("QUADRILLE_PYTHON", sys.executable)
    os.execv(program, [program, *sys.argv[1:]])
