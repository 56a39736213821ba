"""What the hygiene tests share: the project's files, and how a test ends."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SKIP = 77


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIP)


def finish(violations, checked):
    """Ends the test: prints the violations, or what was looked at. Nothing to look at is a failure too."""
    if not checked:
        violations = ["expected files to check, found none"]
    for line in violations:
        print(line)
    print(f"{checked} checked, {len(violations)} violations")
    sys.exit(1 if violations else 0)


def sources():
    """C++ files of the project, as paths relative to its root."""
    found = []
    for folder in ("src", "apps", "tests", "bench"):
        found += [p for p in (ROOT / folder).rglob("*") if p.suffix in (".cc", ".h", ".cu", ".cuh")]
    return sorted(p.relative_to(ROOT) for p in found)


def tracked_files():
    """All files that git tracks or would track, as paths relative to the root; None outside a git checkout."""
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    except FileNotFoundError:
        return None
    if done.returncode != 0:
        return None
    return sorted(Path(name) for name in done.stdout.split("\0") if name and (ROOT / name).is_file())
