"""HDF5 files that are there only when they are complete."""

import contextlib
import os

import h5py


@contextlib.contextmanager
def whole_file(path):
    """An HDF5 file to write, which gets its name at the end; what an error leaves is removed."""
    unfinished = path + ".part"
    try:
        with h5py.File(unfinished, "w") as file:
            yield file
        os.replace(unfinished, path)
    finally:
        if os.path.exists(unfinished):
            os.remove(unfinished)
