#!/usr/bin/env python3
"""Writes out/quickstart/kjv-train.txt and kjv-heldout.txt: the King James text, from Debian's bible-kjv packages.

Nothing is installed: the two packages are unpacked under out/.cache and their `bible` command is run from there,
so it works without root. Standard library only.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / "out/.cache/bible"
OUT = ROOT / "out/quickstart"
PACKAGES = ["bible-kjv", "bible-kjv-text"]
VERSES = 31102

# The label that `bible` prints before a verse, and the book's name in full. "Psalm" is singular: it heads a chapter.
BOOKS = {
    "Ge": "Genesis", "Exo": "Exodus", "Lev": "Leviticus", "Num": "Numbers", "Deu": "Deuteronomy",
    "Josh": "Joshua", "Jdgs": "Judges", "Ruth": "Ruth", "1Sm": "1 Samuel", "2Sm": "2 Samuel",
    "1Ki": "1 Kings", "2Ki": "2 Kings", "1Chr": "1 Chronicles", "2Chr": "2 Chronicles", "Ezra": "Ezra",
    "Neh": "Nehemiah", "Est": "Esther", "Job": "Job", "Psa": "Psalm", "Prv": "Proverbs",
    "Eccl": "Ecclesiastes", "SSol": "Song of Solomon", "Isa": "Isaiah", "Jer": "Jeremiah",
    "Lam": "Lamentations", "Eze": "Ezekiel", "Dan": "Daniel", "Hos": "Hosea", "Joel": "Joel",
    "Amos": "Amos", "Obad": "Obadiah", "Jonah": "Jonah", "Mic": "Micah", "Nahum": "Nahum",
    "Hab": "Habakkuk", "Zep": "Zephaniah", "Hag": "Haggai", "Zec": "Zechariah", "Mal": "Malachi",
    "Mat": "Matthew", "Mark": "Mark", "Luke": "Luke", "John": "John", "Acts": "Acts", "Rom": "Romans",
    "1Cor": "1 Corinthians", "2Cor": "2 Corinthians", "Gal": "Galatians", "Eph": "Ephesians",
    "Phi": "Philippians", "Col": "Colossians", "1Th": "1 Thessalonians", "2Th": "2 Thessalonians",
    "1Tim": "1 Timothy", "2Tim": "2 Timothy", "Titus": "Titus", "Phmn": "Philemon", "Heb": "Hebrews",
    "Jas": "James", "1Pet": "1 Peter", "2Pet": "2 Peter", "1Jn": "1 John", "2Jn": "2 John",
    "3Jn": "3 John", "Jude": "Jude", "Rev": "Revelation",
}

# Held out: all books from Romans on (the letters and Revelation), 10% of the verses. No book retells another across
# this cut, as the gospels and the books of Kings and Chronicles do among themselves.
FIRST_HELD_OUT = "Romans"


def fail(message):
    sys.exit(f"fetch_text: {message}")


def apt_download(options):
    command = ["apt-get", "-q", "-o", "Acquire::Retries=3", *options, "download", *PACKAGES]
    return subprocess.run(command, cwd=CACHE, capture_output=True, text=True)


def unpack():
    """Downloads and unpacks the packages into CACHE/root."""
    shutil.rmtree(CACHE, ignore_errors=True)
    CACHE.mkdir(parents=True)
    done = apt_download([])
    if done.returncode != 0:
        # A bare machine has no package lists yet, and without root cannot fetch them into the system's folder.
        own_lists = ["-o", f"Dir::State::Lists={CACHE}/lists", "-o", f"Dir::Cache={CACHE}/cache"]
        for needed in ("lists/partial", "cache/archives/partial"):
            (CACHE / needed).mkdir(parents=True)
        subprocess.run(["apt-get", "-qq", *own_lists, "update"], stderr=subprocess.DEVNULL)
        done = apt_download(own_lists)
    if done.returncode != 0:
        fail(f"apt-get could not download {' and '.join(PACKAGES)}: {done.stderr.strip().splitlines()[-1]}\n"
             f"  check the network, or install them yourself: sudo apt-get install {' '.join(PACKAGES)}")
    for package in CACHE.glob("*.deb"):
        subprocess.run(["dpkg-deb", "-x", str(package), str(CACHE / "root")], check=True)


def verses():
    """Yields (book, chapter, text) for every verse, in order."""
    installed = shutil.which("bible", path="/usr/bin")
    if installed:
        command = [installed, "-f"]
    else:
        if not (CACHE / "root/usr/lib/bible.data").exists():
            unpack()
        command = [str(CACHE / "root/usr/bin/bible"), "-f", "-p", str(CACHE / "root/usr/lib")]
    done = subprocess.run([*command, "gen1:1-rev22:21"], cwd=CACHE.parent, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    if done.returncode != 0 or len(lines) != VERSES:
        fail(f"expected {VERSES} verses from {command[0]}, found {len(lines)} {done.stderr.strip()}")
    for line in lines:
        label = re.fullmatch(r"(\d?[A-Za-z]+)(\d+):\d+ (.+)", line)
        if label is None or label[1] not in BOOKS:
            fail(f"expected a verse with its label, found '{line[:60]}'")
        yield BOOKS[label[1]], label[2], label[3].strip()


def chapters():
    """Returns [(book, text)]: a heading, a blank line, one verse a line, a blank line."""
    result = []
    heading = None
    for book, chapter, text in verses():
        if (book, chapter) != heading:
            heading = (book, chapter)
            result.append((book, [f"{book} {chapter}", ""]))
        result[-1][1].append(text)
    return [(book, "\n".join(lines) + "\n\n") for book, lines in result]


def write(name, text):
    path = OUT / name
    part = path.with_suffix(".part")
    part.write_text(text)
    part.replace(path)
    print(f"fetch_text: {path.relative_to(ROOT)}, {len(text) / 1e6:.1f} MB")


def main():
    # The held-out file is written last: when it is there, both are.
    if (OUT / "kjv-heldout.txt").exists() and (OUT / "kjv-train.txt").exists():
        return
    OUT.mkdir(parents=True, exist_ok=True)
    CACHE.parent.mkdir(parents=True, exist_ok=True)
    names = list(BOOKS.values())
    held_out = set(names[names.index(FIRST_HELD_OUT):])
    text = chapters()
    write("kjv-train.txt", "".join(t for book, t in text if book not in held_out))
    write("kjv-heldout.txt", "".join(t for book, t in text if book in held_out))


if __name__ == "__main__":
    main()
