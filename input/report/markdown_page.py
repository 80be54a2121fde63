"""A page of blocks (module_report.py) as Markdown."""

import re

from figures import Figure
from module_report import Bullets, Code, Heading, Link, Listing, Paragraph, Table

MARKUP = re.compile(r"[\\`*|]|<(?=[A-Za-z/!?])|\](?=\()")  # what Markdown would read as its own


def escaped(text):
    return MARKUP.sub(lambda found: "\\" + found[0], " ".join(str(text).split("\n")))


def word(one):
    if isinstance(one, Code):
        return f"`{one.text}`" if "`" not in str(one.text) else escaped(one.text)
    if isinstance(one, Link):
        return f"[{escaped(one.file)}](<{one.file}>)" if " " in one.file else f"[{escaped(one.file)}]({one.file})"
    return escaped(one)


def words(several):
    return "".join(word(one) for one in several)


def row(cells):
    return "| " + " | ".join(word(cell) for cell in cells) + " |\n"


def block(one):
    if isinstance(one, Heading):
        return "#" * one.level + " " + words(one.words) + "\n"
    if isinstance(one, Paragraph):
        return words(one.words) + "\n"
    if isinstance(one, Bullets):
        return "".join(f"- {word(item)}\n" for item in one.items)
    if isinstance(one, Table):
        return row(one.head) + row(["---"] * len(one.head)) + "".join(row(line) for line in one.lines)
    if isinstance(one, Listing):
        return f"{escaped(one.title)}:\n\n" + "".join(f"    {line}\n" for line in one.text.splitlines())
    if isinstance(one, Figure):
        caption = escaped(one.caption)
        return f"![{caption}]({one.file})\n\n{caption}.\n"
    raise TypeError(f"no block of a page: {one!r}")


def page(blocks):
    return "\n".join(block(one) for one in blocks)
