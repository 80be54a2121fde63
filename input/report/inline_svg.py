"""A figure of matplotlib as a part of an HTML page: names of its own, no addresses, colours that follow the page."""

import re
from xml.etree import ElementTree

LINK = "{http://www.w3.org/1999/xlink}href"
PAGE_COLORS = {"#000000": "currentColor", "#ffffff": "var(--page)"}  # the others are seen on light and on dark
POINT = 1.5  # CSS pixels: letters are as large as in tables


def without_namespace(name):
    return name.rsplit("}", 1)[-1]


def adopt(element, prefix):
    """In place, with all that is inside."""
    for inside in list(element):
        if without_namespace(inside.tag) in ("metadata", "style"):
            element.remove(inside)
        else:
            adopt(inside, prefix)
    element.tag = without_namespace(element.tag)
    attributes = {}
    for key, value in element.attrib.items():
        if key == "id":
            value = prefix + value
        elif key == LINK:
            value = value.replace("#", "#" + prefix, 1)
        else:
            value = re.sub(r"url\(#", "url(#" + prefix, value)
            value = re.sub(r"#[0-9a-f]{6}\b(?!\))", lambda color: PAGE_COLORS.get(color[0], color[0]), value)
        attributes[without_namespace(key)] = value
    element.attrib.clear()
    element.attrib.update(attributes)


def inline_svg(svg, name, caption):
    """`name`: different for all figures of a page. `caption` is what is said to who cannot see it."""
    root = ElementTree.fromstring(svg)
    adopt(root, f"{name}-")
    width = float(root.get("viewBox").split()[2]) * POINT
    root.attrib = {"viewBox": root.get("viewBox"), "role": "img", "aria-labelledby": f"{name}-caption",
                   "style": f"width: {width:.0f}px"}
    title = ElementTree.Element("title", {"id": f"{name}-caption"})
    title.text = caption
    root.insert(0, title)
    for element in root.iter():
        element.tail = None
        if element is not title:
            element.text = None
    return ElementTree.tostring(root, encoding="unicode")
