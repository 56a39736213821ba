"""Cuts a sample text from the King James text and writes its ids in SmolLM2's vocabulary.

    make_sample.py KJV.txt MODEL_FOLDER OUT_FOLDER

KJV.txt is what `bible -f gen1:1-rev22:21` of Debian's package bible-kjv prints: a verse a line, "Ge1:1 In the ...".
MODEL_FOLDER holds SmolLM2's tokenizer.json. Writes OUT_FOLDER/sample.txt and OUT_FOLDER/sample_ids.json.

Environment: python3 -m venv VENV && VENV/bin/pip install -r requirements.txt
"""

import re
import sys
from pathlib import Path

import tokenizers

import oracle

MIN_BYTES = 8000


def main(kjv, model, out):
    chapters, size = [], 0
    label = re.compile(r"^([A-Za-z0-9]+?)(\d+):(\d+) (.*)$")
    for line in Path(kjv).read_text(encoding="utf-8").splitlines():
        _, _, verse, words = label.match(line).groups()
        if verse == "1":
            if size >= MIN_BYTES:
                break
            chapters.append([])
        chapters[-1].append(words.strip())
        size += len(words) + 1
    text = "\n\n".join("\n".join(c) for c in chapters) + "\n"
    (Path(out) / "sample.txt").write_text(text, encoding="utf-8")

    file = Path(model) / "tokenizer.json"
    encoding = tokenizers.Tokenizer.from_file(str(file)).encode(text)
    assert len(encoding.ids) >= 1200, len(encoding.ids)
    oracle.write_json(Path(out) / "sample_ids.json", {
        "made_with": {"tokenizers": tokenizers.__version__},
        "text": "sample.txt",
        "text_sha256": oracle.sha256(Path(out) / "sample.txt"),
        "tokenizer": "SmolLM2-135M-Instruct",
        "tokenizer_sha256": oracle.sha256(file),
        "ids": encoding.ids,
    })
    print(len(text.encode()), "bytes,", len(encoding.ids), "tokens")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
