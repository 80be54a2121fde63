"""What the exporters share: files that are there only when they are complete, and arguments that name a file."""

import argparse
import contextlib
import os


@contextlib.contextmanager
def unfinished(path):
    """The name under which a file is written, which gets the name `path` at the end; what an error leaves is removed."""
    name = path + ".part"
    try:
        yield name
        os.replace(name, path)
    finally:
        if os.path.exists(name):
            os.remove(name)


@contextlib.contextmanager
def whole_file(path):
    """An HDF5 file to write, complete or not there."""
    import h5py  # here, as programs that write text do without it

    with unfinished(path) as name, h5py.File(name, "w") as file:
        yield file


@contextlib.contextmanager
def whole_text(path):
    """A text file to write, complete or not there."""
    with unfinished(path) as name, open(name, "w") as file:
        yield file


def molecule_file(path):
    """An argument that names a file which is there: PySCF takes other names for symbols of atoms."""
    if not os.path.isfile(path):
        raise argparse.ArgumentTypeError(f"there is no file {path}: the molecule is read from a file in the format XYZ")
    return path
