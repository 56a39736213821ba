#!/usr/bin/env python3
"""isa_objects.py BUILD_DIR NM: an object compiled for a special instruction set exports no weak symbol.

The linker keeps one of several equal weak symbols, for all callers: were it the one from such an object, a CPU
without these instructions would stop with an illegal instruction.
"""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

from repo import finish, skip

ISA_NAME = re.compile(r"_(avx\w*|sse\w*|amx\w*|neon|sve\w*)\.(cc|cpp)$")
ISA_FLAG = re.compile(r"^-m(avx|amx|sse[34]|fma|bmi|f16c|arch=|cpu=)")
# Weak (W, w, V, v) and unique (u) symbols that are defined here, in the form of `nm --defined-only`.
WEAK = re.compile(r"^[0-9a-fA-F]+ ([WwVvu]) (.+)$")


def isa_objects(build, commands):
    """Paths of the existing objects that compile_commands.json builds for a special instruction set."""
    found = []
    for entry in commands:
        words = shlex.split(entry["command"])
        if ISA_NAME.search(entry["file"]) or any(ISA_FLAG.match(word) for word in words):
            path = Path(entry["directory"]) / words[words.index("-o") + 1]
            if path.exists():
                found.append(path)
    return found


def weak_symbols(nm_output):
    return [match[2] for match in map(WEAK.match, nm_output.splitlines()) if match]


def main():
    build, nm = Path(sys.argv[1]), sys.argv[2]
    objects = isa_objects(build, json.loads((build / "compile_commands.json").read_text()))
    if not objects:
        skip("no object is compiled for a special instruction set")
    violations = []
    for path in objects:
        done = subprocess.run([nm, "--defined-only", "-C", str(path)], check=True, capture_output=True, text=True)
        violations += [f"{path.name}: weak symbol {name}" for name in weak_symbols(done.stdout)]
    finish(violations, len(objects))


if __name__ == "__main__":
    main()
