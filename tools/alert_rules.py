"""Reads packaging/prometheus/alerts.yml without a YAML library.

The file keeps to a small part of YAML: mappings and lists indented by two, plain scalars, and ">-"
for a scalar that goes over several lines. Whatever is outside of it is refused, so nothing is
misread; tests/ops compares what is read here with what Prometheus reads.
"""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
RULES = ROOT / "packaging" / "prometheus" / "alerts.yml"
PLAIN = re.compile(r"[A-Za-z0-9(][^\n]*")  # begins with nothing that YAML gives a meaning to
ENTRY = re.compile(r"([a-z_]+):(?: (.+))?")
COMPARED = re.compile(r"^(.+?) (==|!=|>=|<=|>|<) (-?[0-9.]+)(?: |$)")


class Malformed(Exception):
    pass


class Lines:
    """Lines with a meaning, as (number, indentation, text)."""

    def __init__(self, text):
        self.rows, self.at = [], 0
        for number, line in enumerate(text.split("\n"), 1):
            body = line.lstrip(" ")
            if body and not body.startswith("#"):
                self.rows.append((number, len(line) - len(body), body))

    def peek(self):
        return self.rows[self.at] if self.at < len(self.rows) else (0, -1, "")

    def take(self):
        row = self.peek()
        self.at += 1
        return row


def scalar(text, number):
    if text in ("|", ">") or not PLAIN.fullmatch(text) or ": " in text or " #" in text:
        raise Malformed(f"line {number}: '{text}' is not a plain scalar")
    return text


def folded(lines, indent, number):
    parts = []
    while lines.peek()[1] == indent:
        parts.append(lines.take()[2])
    if not parts or lines.peek()[1] > indent:
        raise Malformed(f"line {number}: the lines of '>-' are not indented alike")
    return " ".join(parts)


def mapping(lines, indent):
    found = {}
    while lines.peek()[1] == indent and not lines.peek()[2].startswith("- "):
        number, _, text = lines.take()
        match = ENTRY.fullmatch(text)
        if not match or match.group(1) in found:
            raise Malformed(f"line {number}: '{text}' is not a new 'key: value'")
        key, value = match.groups()
        if value is None:
            below = lines.peek()
            found[key] = (sequence if below[2].startswith("- ") else mapping)(lines, indent + 2)
        elif value == ">-":
            found[key] = folded(lines, indent + 2, number)
        else:
            found[key] = scalar(value, number)
    if not found:
        raise Malformed(f"line {lines.peek()[0]}: nothing where a mapping should be")
    return found


def sequence(lines, indent):
    found = []
    while lines.peek()[1] == indent and lines.peek()[2].startswith("- "):
        number, _, text = lines.rows[lines.at]
        lines.rows[lines.at] = (number, indent + 2, text[2:])
        found.append(mapping(lines, indent + 2))
    return found


def read(text):
    lines = Lines(text)
    found = mapping(lines, 0)
    if lines.peek()[1] >= 0:
        raise Malformed(f"line {lines.peek()[0]}: not indented as what is before")
    return found


def rules(text=None):
    """{name: rule} in the order of the file."""
    text = RULES.read_text(encoding="utf-8") if text is None else text
    found = {}
    for group in read(text)["groups"]:
        for rule in group["rules"]:
            if rule["alert"] in found:
                raise Malformed(f"{rule['alert']} is there twice")
            found[rule["alert"]] = rule
    return found


def threshold(rule):
    """(left side, operator, number) of the first comparison; None when there is none."""
    match = COMPARED.match(rule["expr"])
    if not match or match.group(1).count("(") != match.group(1).count(")"):
        return None
    return match.group(1), match.group(2), float(match.group(3))


def metrics_of(expr):
    """Names of figures in an expression: no label, no function, no word of PromQL."""
    bare = re.sub(r'"[^"]*"', '""', expr)
    bare = re.sub(r"\{[^}]*\}|\[[^\]]*\]", " ", bare)
    bare = re.sub(r"\b(?:on|by|ignoring|without|group_left|group_right)\s*\([^)]*\)", " ", bare)
    names = re.findall(r"\b[a-zA-Z_:][a-zA-Z0-9_:]*\b(?!\s*\()", bare)
    return {n for n in names if "_" in n or n == "up"}
