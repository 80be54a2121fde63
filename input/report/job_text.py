"""The resolved job of a results.json as YAML."""

import json
import re

PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./+-]*")  # texts that YAML reads as such, but for its words
WORDS = {"true", "false", "null", "yes", "no", "on", "off", "y", "n", ".nan", ".inf"}


def scalar(value):
    if isinstance(value, str) and PLAIN.fullmatch(value) and value.lower() not in WORDS:
        return value
    return json.dumps(value, ensure_ascii=False)


def flow(value):
    """In one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{scalar(key)}: {flow(inside)}" for key, inside in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    return scalar(value)


def lines(value, most=100):
    """A map as lines, with a line for each entry that fits into one."""
    out = []
    for key, inside in value.items():
        one = f"{scalar(key)}: {flow(inside)}"
        if not isinstance(inside, (dict, list)) or not inside or len(one) <= most and key != "run":
            out.append(one)
        elif isinstance(inside, dict):
            out += [f"{scalar(key)}:"] + ["  " + line for line in lines(inside, most - 2)]
        else:
            out.append(f"{scalar(key)}:")
            for entry in inside:
                block = lines(entry, most - 4) if isinstance(entry, dict) and entry else [flow(entry)]
                out += [f"  {'- ' if k == 0 else '  '}{line}" for k, line in enumerate(block)]
    return out


def job_text(job):
    return "".join(line + "\n" for line in lines(job))
