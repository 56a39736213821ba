#!/usr/bin/env python3
"""Writes ../unicode_additions.inc: characters that the `tokenizers` library's regular expressions
(Oniguruma) and its Digits rule (Rust) know and Unicode 14 (PCRE2 10.42) does not.

  generate_unicode_additions.py > ../unicode_additions.inc

Needs `tokenizers` (made with 0.23.3) under a Python whose unicodedata is of Unicode 14 (3.11).
"""
import unicodedata

from tokenizers import Regex, pre_tokenizers

assert unicodedata.unidata_version == "14.0.0"
CATEGORIES = ("Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So "
              "Zs Zl Zp Cc Cf Co").split()
POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]


def removed_by(pattern):
    splitter = pre_tokenizers.Split(Regex(pattern), "removed")
    kept = set()
    for i in range(0, len(POINTS), 4096):
        for piece, _ in splitter.pre_tokenize_str("".join(map(chr, POINTS[i:i + 4096]))):
            kept.update(map(ord, piece))
    return set(POINTS) - kept


def digits():
    found = set()
    for i in range(0, len(POINTS), 4096):
        text = "a" + "a".join(map(chr, POINTS[i:i + 4096])) + "a"
        pieces = pre_tokenizers.Digits(individual_digits=True).pre_tokenize_str(text)
        found.update(ord(p) for p, _ in pieces if len(p) == 1)
    return found - {ord("a")}


def ranges(points):
    out = []
    for c in sorted(points):
        if out and out[-1][1] == c - 1:
            out[-1][1] = c
        else:
            out.append([c, c])
    return out


print("// Made by testdata/generate_unicode_additions.py; {first, last, class}.")
rows = []
for category in CATEGORIES:
    old = {c for c in POINTS if unicodedata.category(chr(c)) == category}
    rows += [(a, b, category) for a, b in ranges(removed_by(r"\p{%s}" % category) - old)]
# Scripts: only Han is used by tokenizers we know of. Its extensions H and I are newer.
rows += [(a, b, "Han") for a, b in ranges(removed_by(r"\p{Han}")) if a in (0x2EBF0, 0x31350)]
rows += [(a, b, "Digits") for a, b in ranges(digits() - removed_by(r"\p{N}"))]
for a, b, name in rows:
    print(f'{{0x{a:X}, 0x{b:X}, "{name}"}},')
