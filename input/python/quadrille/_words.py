"""Python values as the YAML words of the library, so that its tables check them and its errors can name the argument."""

import json
import os
import re
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

    def _add(self, tree, path, depth, dash=False):
        """The keys of a dict; with `dash` the first of them begins an item of a list, a level further out."""
        for key, value in tree.items():
            if value is None:
                continue
            here = (*path, _key(key, path))
            head = "  " * (depth - dash) + "- " * dash + _json(key) + ":"
            dash = False
            if _block(value):
                self._append(head, here)
                self._add(value, here, depth + 1)
            elif isinstance(value, (list, tuple)) and any(map(_block, value)):
                self._append(head, here)
                self._add_items(value, here, depth + 1)
            else:
                self._append(f"{head} {_json(plain(value, here))}", here)

    def _add_items(self, items, path, depth):
        for number, item in enumerate(items):
            here = (*path[:-1], f"{path[-1]}[{number}]")
            if _block(item):
                self._add(item, here, depth + 1, dash=True)
            else:
                self._append("  " * depth + "- " + _json(plain(item, here)), here)

    def _append(self, line, path):
        self._lines.append(line)
        self._paths.append(path)


def _block(value):
    """Whether it is a dict with lines of its own."""
    return isinstance(value, dict) and any(one is not None for one in value.values())


def _key(key, path):
    if not isinstance(key, str):
        raise InvalidInput(f"{'.'.join(path) or 'a block'}: the key {key!r} must be text", path[:1])
    return key


# What YAML takes for line breaks or does not read, and halves of pairs that have no partner.
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]")


def _json(value):
    """Characters beyond 16 bits as they are: YAML has no pairs of escapes for them."""
    return _ESCAPED.sub(lambda found: f"\\u{ord(found.group()):04x}", json.dumps(value, ensure_ascii=False))


def plain(value, path=()):
    """`value` as JSON has it: numbers of numpy become Python's, paths text, arrays and tuples lists."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, dict):
        return {_key(key, path): plain(one, (*path, key)) for key, one in value.items() if one is not None}
    if isinstance(value, (list, tuple)):
        return [plain(one, path) for one in value]
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    if hasattr(value, "tolist"):
        return plain(value.tolist(), path)
    raise InvalidInput(f"{'.'.join(path)}: {type(value).__name__} {value!r} cannot be used as a job setting: give "
                       "numbers, text, lists or dicts", path[:1])
