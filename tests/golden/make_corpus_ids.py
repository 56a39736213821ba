#!/usr/bin/env python3
"""Writes corpus_ids.json: for every text below a data folder, how many SmolLM2 ids the `tokenizers` library gives and
their FNV-1a hash (each id as eight little-endian bytes), so that a test can compare whole corpora without holding them.

  make_corpus_ids.py DATA TOKENIZER_JSON OUT

Environment: requirements.txt beside this file.
"""
import glob, gzip, json, os, sys

import tokenizers

FNV_START, FNV_PRIME, MASK = 0xCBF29CE484222325, 0x100000001B3, (1 << 64) - 1


def hash_ids(ids):
    state = FNV_START
    for i in ids:
        for byte in i.to_bytes(8, "little"):
            state = (state ^ byte) * FNV_PRIME & MASK
    return f"{state:016x}"


def main(data, tokenizer_json, out):
    tokenizer = tokenizers.Tokenizer.from_file(tokenizer_json)
    files = {}
    for path in sorted(glob.glob(os.path.join(data, "text", "**", "*"), recursive=True)):
        if not path.endswith((".txt", ".raw", ".gz")):
            continue
        opener = gzip.open if path.endswith(".gz") else open
        with opener(path, "rb") as file:
            ids = tokenizer.encode(file.read().decode("utf-8"), add_special_tokens=False).ids
        files[os.path.relpath(path, data)] = {"ids": len(ids), "hash": hash_ids(ids)}
    with open(out, "w", encoding="utf-8") as file:
        json.dump({"made_with": f"tokenizers {tokenizers.__version__}", "files": files}, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
