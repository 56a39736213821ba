#!/usr/bin/env python3
"""loaded_libraries.py BINARY: what the loader finds for the command, with no help from LD_LIBRARY_PATH.

Everything resolves, one OpenMP runtime is loaded, libtorch's CUDA half is not, and the two CUDA libraries that
libtorch_cpu.so names come from the wheels beside torch, not from a toolkit of this machine.
"""

import os
import subprocess
import sys
from pathlib import Path

from repo import finish, skip


def parse(ldd_output):
    """{name: path} of the libraries in ldd's output; path is None for one that was not found."""
    found = {}
    for line in ldd_output.splitlines():
        name, arrow, rest = line.strip().partition(" => ")
        if arrow:
            found[name] = None if rest.startswith("not found") else rest.split(" (")[0]
    return found


def violations_in(libraries):
    found = [f"{name}: not found by the loader" for name, path in libraries.items() if path is None]
    for name in libraries:
        if name.startswith(("libtorch_cuda", "libc10_cuda")):
            found.append(f"{name} is loaded; a CPU build links only libtorch_cpu and libc10")
    runtimes = sorted(n for n in libraries if n.startswith(("libgomp", "libomp", "libiomp")))
    if len(runtimes) != 1:
        found.append(f"expected one OpenMP runtime, found {runtimes}")
    torch = libraries.get("libtorch_cpu.so")
    if torch is None:
        return found + ["libtorch_cpu.so is not among the loaded libraries"]
    site_packages = Path(torch).resolve().parents[2]
    for name, path in libraries.items():
        if name.startswith(("libcu", "libnv")) and path and site_packages not in Path(path).resolve().parents:
            found.append(f"{name} comes from {path}, expected it under {site_packages}")
    return found


def main():
    binary = Path(sys.argv[1])
    if not binary.exists():
        skip(f"{binary} is not built")
    environment = {k: v for k, v in os.environ.items() if k not in ("LD_LIBRARY_PATH", "LD_PRELOAD")}
    done = subprocess.run(["ldd", str(binary)], env=environment, capture_output=True, text=True, check=True)
    libraries = parse(done.stdout)
    finish(violations_in(libraries), len(libraries))


if __name__ == "__main__":
    main()
