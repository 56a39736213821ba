#!/usr/bin/env python3
"""Writes smollm2_ids.json: ids of SmolLM2-135M-Instruct's tokenizer by the `tokenizers` library
(made with 0.23.3). smollm2_reference.json holds further strings, by transformers 5.24.

  generate_smollm2.py TOKENIZER_JSON
"""
import json
import os
import sys

from tokenizers import Tokenizer

from golden_strings import STRINGS

def main():
    tokenizer = Tokenizer.from_file(sys.argv[1])
    rows = [{"text": s, "ids": tokenizer.encode(s, add_special_tokens=False).ids}
            for s in STRINGS]
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "smollm2_ids.json"), "w") as f:
        f.write("[\n" + ",\n".join(json.dumps(r, separators=(",", ":")) for r in rows) + "\n]\n")


if __name__ == "__main__":
    main()
