#!/usr/bin/env python3
"""Writes the tokenizers of the tests and ids by them: small_*.json and golden_ids.json.

  generate_tokenizers.py [FOLDER]      (default: the folder of this file)

Everything comes from the `tokenizers` library (made with 0.23.3), which trains on the text below.
"""
import json
import os
import sys

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
from tokenizers import trainers

from golden_strings import STRINGS

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")

TEXT = """
The river ran past the mill, and the miller's daughter said that she would not leave the house
before the rain had stopped. It didn't stop. All through the night it fell on the roof, on the
wheel, on the road that led to the town; and in the morning the water stood at the third step.
"We're going to need the boat," said her father, who had been watching from the window. "I'll get
the oars if you'll bring the lantern." They had built it together, the summer that the bridge was
carried away: 12 planks of oak, 240 nails, 3 coats of tar, and a sail that nobody had ever used.

Numbers: 0, 1, 2, 10, 100, 1000, 1984, 2024; prices of 3.50 and 19.99, and 1,000,000 in all.

def count(words):
    total = 0
    for word in words:
        if word != "":
            total = total + 1
    return total

class Mill:
    def __init__(self, wheel, water):
        self.wheel = wheel
        self.water = water

    def turn(self, hours):
        return self.water * hours  # litres

Le moulin de la rivi\u00e8re est vieux, mais la fille du meunier n'est pas f\u00e2ch\u00e9e. O\u00f9 est le caf\u00e9 ?
\u041c\u0435\u043b\u044c\u043d\u0438\u0446\u0430 \u0441\u0442\u043e\u0438\u0442 \u0443 \u0440\u0435\u043a\u0438, \u0438 \u043c\u0435\u043b\u044c\u043d\u0438\u043a \u0441\u043c\u043e\u0442\u0440\u0438\u0442 \u043d\u0430 \u0432\u043e\u0434\u0443.
\u98a8\u8eca\u306f\u5ddd\u306e\u305d\u3070\u306b\u3042\u308a\u307e\u3059\u3002\u6c34\u304c\u6d41\u308c\u307e\u3059\u3002
She went down the stairs with the lantern, and then the oars, and then the old sail; they went out
together into the water, and there they were, the two of them, going where the road had been. They
weren't afraid. "There's the church," he said, "and that's the tower; it's higher than I'd thought."
Then the wind came, and the sail that nobody had used was used at last.
"""


def train(pre_tokenizer, normalizer, size, specials):
    tok = Tokenizer(models.BPE())
    tok.pre_tokenizer = pre_tokenizer
    if normalizer:
        tok.normalizer = normalizer
    tok.decoder = decoders.ByteLevel()
    tok.train_from_iterator([TEXT], trainers.BpeTrainer(
        vocab_size=size, min_frequency=1, show_progress=False, special_tokens=specials,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return tok


def byte_level(use_regex=True, prefix=False):
    return pre_tokenizers.ByteLevel(add_prefix_space=prefix, use_regex=use_regex)


def compact(data):
    return json.dumps(data, ensure_ascii=True, separators=(",", ":"))


def split(pattern, behavior="Isolated", invert=False, kind="Regex"):
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert}


def sequence(*steps, **level):
    last = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    return {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [*steps, {**last, **level}]}}


def added(content, **flags):
    none = dict(single_word=False, lstrip=False, rstrip=False, normalized=False, special=False)
    return {"content": content, **none, **flags}


def variants(base):
    """Changes to small_digits.json, by name: each is merged into its top level."""
    yield "as it is", {}
    yield "ByteLevel prefix", sequence(add_prefix_space=True, use_regex=True)
    yield "Digits joined", sequence({"type": "Digits", "individual_digits": False}, use_regex=True)
    yield "Digits, prefix", sequence({"type": "Digits", "individual_digits": True},
                                     add_prefix_space=True)
    for behavior in ("Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous"):
        for invert in (False, True):
            for pattern in (r"\s", r"[aeiou]+", r"o*"):
                yield (f"Split {pattern} {behavior} {invert}",
                       sequence(split(pattern, behavior, invert)))
            yield (f"Split String {behavior} {invert}",
                   sequence(split("th", behavior, invert, "String")))
    for pattern in (LLAMA3, LLAMA3.replace("{1,3}", ""), r"\w+|\W", r"\bt\w*", r"\Bt", r"\d{,2}e?",
                    r"[^\S\r\n]+", r"[\S]+", r"^.", r".$", r"\h+", r"[^\h]+", r"(?i)S|THE", r"\v|\f|\e",
                    r"\u0061\x62?", r"[]a]+", r"\p{Lu}\p{Ll}*|\p{^L}", r"\P{N}+", r"\p{Han}+|\p{Cyrillic}+",
                    r"[\p{L}\p{M}]++|.", r"[^\r\n\p{L}\p{N}]?+\p{L}+|\p{P}", r"\p{So}|\p{Mn}|\p{Nd}",
                    r"(?<=e)r|(?<!e)s(?= )", r"(?>a+)|(b|c)+?"):
        yield f"Regex {pattern}", sequence(split(pattern))
    for kind in ("NFC", "NFD", "NFKC", "NFKD"):
        yield kind, {"normalizer": {"type": kind}}
    yield "NFKD, NFC", {"normalizer": {"type": "Sequence",
                                       "normalizers": [{"type": "NFKD"}, {"type": "NFC"}]}}
    old = base["added_tokens"]
    n = len(base["model"]["vocab"])

    def with_added(*more, **top):
        ids, new = base["model"]["vocab"], n - 1
        for token in more:
            new += token["content"] not in ids
            token["id"] = ids.get(token["content"], new)
        return {"added_tokens": old + list(more), **top}

    yield "added", with_added(added("<tool>"), added("<|end|>", special=True), added("<|end"),
                              added(" |>"))
    yield "lstrip", with_added(added("<tool>", lstrip=True), added("<pad>", lstrip=True, special=True))
    yield "rstrip", with_added(added("<tool>", rstrip=True), added("<pad>", rstrip=True, special=True),
                               added(" <pad>"))
    yield "both", with_added(added("<tool>", rstrip=True, lstrip=True), added("\u00a0", rstrip=True))
    yield "single_word", with_added(added("<word>", single_word=True), added("f", single_word=True),
                                    added("\u0967", single_word=True), added("x", single_word=True))
    yield "normalized", with_added(added("<caf\u00e9>", normalized=True), added("caf\u00e9"),
                                   added("\u212b", normalized=True), normalizer={"type": "NFD"})
    yield "normalized, not", with_added(added("Hello", normalized=True), added("Hello, world"),
                                        added("tab", normalized=True, special=True))
    yield "in vocabulary", with_added(added("he"), added("new"))
    yield "prefix after added", with_added(added("<tool>"), **sequence(add_prefix_space=True))


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    special = [AddedToken(t, special=True) for t in ("<|endoftext|>", "<|im_start|>", "<|im_end|>")]
    digits = train(pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                            byte_level()]), None, 700, special)
    llama = train(pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(LLAMA3), "isolated"),
                                           byte_level(False)]), normalizers.NFC(), 800, [])
    llama.add_special_tokens([AddedToken(t, special=True) for t in (
        "<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>", "<|end_header_id|>",
        "<|eot_id|>", "[INST]", "[/INST]", "<|im_start|>", "<|im_end|>")])
    llama.add_tokens([AddedToken("<tool>", normalized=False), AddedToken("<word>", single_word=True)])

    base = json.loads(digits.to_str())
    other = json.loads(llama.to_str())
    other["model"]["ignore_merges"] = True
    # A word that merging does not reach: only ignore_merges finds it.
    del other["model"]["merges"][-1]
    base["model"]["merges"] = [" ".join(m) for m in base["model"]["merges"]]  # the older spelling
    golden = {"tokenizers": tokenizers.__version__, "strings": STRINGS, "cases": []}
    for name, root in (("small_digits", base), ("small_llama3", other)):
        with open(os.path.join(folder, name + ".json"), "w") as f:
            f.write(compact(root) + "\n")
    cases = [("small_digits", name, change) for name, change in variants(base)]
    cases += [("small_llama3", "as it is", {}),
              ("small_llama3", "merging", {"model": {**other["model"], "ignore_merges": False}})]
    firsts = {}
    for name, what, change in cases:
        tok = Tokenizer.from_str(compact({**(base if name == "small_digits" else other), **change}))
        ids = [tok.encode(s, add_special_tokens=False).ids for s in STRINGS]
        tok.encode_special_tokens = True
        plain = [tok.encode(s, add_special_tokens=False).ids for s in STRINGS]
        if "model" in change:
            change = {"ignore_merges": False}
        # Only what differs is kept: of `ids` from the first case of the tokenizer, of `plain`
        # (special tokens as text) from `ids`.
        first = firsts.setdefault(name, ids)
        golden["cases"].append({
            "tokenizer": name, "name": what, "change": change,
            "ids": {str(i): x for i, x in enumerate(ids) if first is ids or x != first[i]},
            "plain": {str(i): x for i, x in enumerate(plain) if x != ids[i]}})
    with open(os.path.join(folder, "golden_ids.json"), "w") as f:
        f.write("{\n" + ",\n".join(
            f'"{k}":' + ("[\n" + ",\n".join(compact(x) for x in v) + "\n]" if k == "cases" else compact(v))
            for k, v in golden.items()) + "\n}\n")


if __name__ == "__main__":
    main()
