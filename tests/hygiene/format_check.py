#!/usr/bin/env python3
"""format_check.py CLANG_FORMAT: every C++ file is as clang-format 14 with .clang-format writes it."""

import subprocess
import sys

from repo import ROOT, finish, skip, sources


def violations_of(clang_format, paths):
    """The files that clang-format would change, one line each."""
    done = subprocess.run([clang_format, "--dry-run", "--ferror-limit=1", *map(str, paths)], cwd=ROOT,
                          capture_output=True, text=True)
    if done.returncode != 0:
        return [done.stderr.strip()]
    return [line.split(" warning:")[0] + " run make format" for line in done.stderr.splitlines()
            if "[-Wclang-format-violations]" in line]


def main():
    clang_format = sys.argv[1]
    if not clang_format or clang_format.endswith("NOTFOUND"):
        skip("clang-format 14 is not installed, and other versions format differently")
    paths = sources()
    finish(violations_of(clang_format, paths), len(paths))


if __name__ == "__main__":
    main()
