"""A page of blocks (module_report.py) as HTML: one file, without scripts, which loads nothing."""

import html
import os
import re

from figures import Figure
from inline_svg import inline_svg
from module_report import Bullets, Code, Heading, Link, Listing, Paragraph, Table

NUMBER = re.compile(r"[-+]?[0-9][-+0-9.,()eE% ±]*( s| GB)?|-|")
STYLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "page.css")


def escaped(text):
    return html.escape(str(text))


def plain(words):
    """Without links and code."""
    return "".join(str(one.text if isinstance(one, Code) else one) for one in words)


def word(one):
    if isinstance(one, Code):
        return f"<code>{escaped(one.text)}</code>"
    if isinstance(one, Link):
        return f'<a href="{escaped(one.file)}">{escaped(one.file)}</a>'
    return escaped(one)


def words(several):
    return "".join(word(one) for one in several)


def has_numbers(column):
    """They are aligned on the right."""
    return all(not isinstance(cell, Code) and NUMBER.fullmatch(str(cell)) for cell in column)


def table(one, about):
    kinds = [' class="number"' if has_numbers(column) else "" for column in zip(*one.lines)] or [""] * len(one.head)
    head = "".join(f'<th scope="col"{kind}>{word(name)}</th>' for name, kind in zip(one.head, kinds))
    lines = "\n".join("<tr>" + "".join(f"<td{kind}>{word(cell)}</td>" for cell, kind in zip(line, kinds)) + "</tr>"
                      for line in one.lines)
    return (f'<div class="scroll" role="region" aria-label="{escaped(about)}" tabindex="0"><table>\n<thead><tr>{head}</tr>'
            f"</thead>\n<tbody>\n{lines}\n</tbody></table></div>\n")


def figure(one):
    picture = inline_svg(one.svg, "figure-" + re.sub(r"[^A-Za-z0-9_.-]", "_", one.name), one.caption)
    return (f'<figure><div class="scroll" role="region" aria-label="{escaped(one.caption)}" tabindex="0">{picture}</div>\n'
            f"<figcaption>{escaped(one.caption)}.</figcaption></figure>\n")


class Body:
    """Blocks one after the other, and the list of the sections."""

    def __init__(self):
        self.parts, self.sections, self.about = [], [], "Report"

    def heading(self, one):
        anchor = ""
        if one.level == 2:
            self.sections.append(plain(one.words))
            anchor = f' id="section-{len(self.sections)}"'
        self.about = plain(one.words)
        return f"<h{one.level}{anchor}>{words(one.words)}</h{one.level}>\n"

    def add(self, one):
        if isinstance(one, Heading):
            shown = self.heading(one)
        elif isinstance(one, Paragraph):
            shown = f"<p>{words(one.words)}</p>\n"
        elif isinstance(one, Bullets):
            shown = "<ul>\n" + "".join(f"<li>{word(item)}</li>\n" for item in one.items) + "</ul>\n"
        elif isinstance(one, Table):
            shown = table(one, self.about)
        elif isinstance(one, Listing):
            shown = (f"<details><summary>{escaped(one.title)}</summary>\n<pre tabindex=\"0\">{escaped(one.text)}</pre>"
                     "</details>\n")
        elif isinstance(one, Figure):
            shown = figure(one)
        else:
            raise TypeError(f"no block of a page: {one!r}")
        self.parts.append(shown)

    def contents(self):
        lines = "".join(f'<li><a href="#section-{number}">{escaped(name)}</a></li>\n'
                        for number, name in enumerate(self.sections, 1))
        return f'<nav aria-label="Contents"><ul>\n{lines}</ul></nav>\n' if len(self.sections) > 1 else ""


def page(blocks, title):
    """`blocks` begin with the heading of the page; `title` is what a browser calls it."""
    body = Body()
    for one in blocks:
        body.add(one)
    with open(STYLE) as stream:
        style = stream.read()
    first, *rest = body.parts
    return ('<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; style-src \'unsafe-inline\'">\n'
            f"<title>{escaped(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n{first}{body.contents()}<main>\n"
            f"{''.join(rest)}</main>\n</body>\n</html>\n")
