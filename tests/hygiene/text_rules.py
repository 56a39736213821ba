#!/usr/bin/env python3
"""Tracked text holds no path of somebody's machine, no host of a package registry and no unfinished-work mark."""

import re

from repo import ROOT, finish, skip, tracked_files

# Brackets in the patterns keep this file from matching itself.
RULES = [
    ("a path of one machine", re.compile(r"(?<![\w./~-])/(wor[k]|roo[t]|hom[e]/\w+)(?=[/\s\"'`:;,)]|$)")),
    ("a registry's host", re.compile(r"pypi\.or[g]|pythonhosted\.or[g]|debian\.or[g]|npmjs\.(or[g]|co[m])|crates\.i[o]")),
    ("a mark of unfinished work", re.compile(r"\b(TOD[O]|FIXM[E]|XX[X])\b")),
]
# Text that is data: made by a generator or quoted from a book.
DATA = re.compile(r"^tests/(golden|fuzz)/.*\.(json|txt|jinja)$|/testdata/.*\.(json|txt)$|\.svg$")


def violations_in(path, text):
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        for name, pattern in RULES:
            match = pattern.search(line)
            if match:
                found.append(f"{path}:{number}: {name}: {match[0]}")
    return found


def main():
    paths = tracked_files()
    if paths is None:
        skip("not a git checkout, so the tracked files are unknown")
    violations, checked = [], 0
    for path in paths:
        data = (ROOT / path).read_bytes()
        if b"\0" in data or DATA.search(path.as_posix()):
            continue
        checked += 1
        violations += violations_in(path, data.decode("utf-8", "replace"))
    finish(violations, checked)


if __name__ == "__main__":
    main()
