"""Python values as the YAML words of the library, so that its tables check them and its errors can name the argument."""

import json
import os
import numbers

from ._errors import InvalidInput


class Words:
    """A dict as YAML text with a line for each key, and the argument that each line came from."""

    def __init__(self, tree):
        self._lines, self._paths = [], []
        self._add(tree, (), 0)
        self.text = "\n".join(self._lines) if self._lines else "{}"

    def encoded(self):
        return self.text.encode()

    def path(self, name, line):
        """The argument of a line from 1 on, with the block's name before it; None where there is no such line."""
        if not 1 <= line <= len(self._paths):
            return None
        return ".".join((name, *self._paths[line - 1]))

    def _add(self, tree, path, depth):
        for key, value in tree.items():
            if value is None:
                continue
            if not isinstance(key, str):
                raise InvalidInput(f"{'.'.join(path) or 'a block'}: the key {key!r} must be text")
            here = (*path, key)
            head = "  " * depth + json.dumps(key) + ":"
            if isinstance(value, dict) and any(one is not None for one in value.values()):
                self._append(head, here)
                self._add(value, here, depth + 1)
            else:
                self._append(f"{head} {json.dumps(plain(value, here))}", here)

    def _append(self, line, path):
        self._lines.append(line)
        self._paths.append(path)


def plain(value, path=()):
    """`value` as JSON has it: numbers of numpy become Python's, paths text, arrays and tuples lists."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, dict):
        return {str(key): plain(one, (*path, str(key))) for key, one in value.items() if one is not None}
    if isinstance(value, (list, tuple)):
        return [plain(one, path) for one in value]
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    if hasattr(value, "tolist"):
        return plain(value.tolist(), path)
    raise InvalidInput(f"{'.'.join(path)}: {type(value).__name__} {value!r} is no value of a job: give numbers, text, "
                       "lists or dicts", path[:1])
