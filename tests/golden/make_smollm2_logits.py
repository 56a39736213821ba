"""What transformers computes for SmolLM2-135M-Instruct, in fp32 with eager attention.

    make_smollm2_logits.py MODEL_FOLDER SAMPLE.txt OUT.json

MODEL_FOLDER is the Hugging Face folder with the values of the quantised GGUF file that `focus` loads, expanded to F32:
`safetensors_sha256` says which. OUT.json holds, for a text of 64 tokens at every position, and for the first 1024
tokens of SAMPLE.txt at four: the logits at 256 fixed vocabulary ids, the eight largest as [id, value], and the log of
the sum of exp over the whole vocabulary. Beside them the mean negative log-likelihood of positions 1.. in nats, and 24
greedy ids after the text of 64, end tokens not stopping. `fp32_noise` is the largest distance of the text's logits
from the same model run in double.

Environment: python3 -m venv VENV && VENV/bin/pip install -r requirements.txt
"""

import sys
from pathlib import Path

import tokenizers
import torch

import oracle

TEXT = (
    "The lighthouse keeper wound the clock every evening at six, wrote the height of the tide in a green book, and "
    "carried two buckets of oil up the 143 steps. \"Nothing to report,\" he'd say to the gulls. On the third night of "
    "the storm a small boat came in without a sail, and a girl stepped out.")
PROBES, TOP, GREEDY = 256, 8, 24
WINDOW, WINDOW_AT = 1024, (255, 511, 767, 1023)
# Greedy ids are a fair test only where no rounding can swap the two best tokens.
MIN_LEAD = 1e-2


def at(logits, positions, probes):
    rows = []
    for p in positions:
        values, ids = logits[p].topk(TOP)
        rows.append({
            "position": p,
            "probes": oracle.rounded(logits[p][probes].tolist(), 7),
            "top": [[i, oracle.rounded(v, 7)] for i, v in zip(ids.tolist(), values.tolist())],
            "logsumexp": oracle.rounded(logits[p].double().logsumexp(-1), 9),
        })
    return rows


def mean(values):
    return oracle.rounded(sum(values) / len(values), 9)


def main(folder, sample, out):
    tokenizer = tokenizers.Tokenizer.from_file(str(Path(folder) / "tokenizer.json"))
    model = oracle.load(folder)
    exact = oracle.load(folder, torch.float64)
    probes = [i * model.config.vocab_size // PROBES for i in range(PROBES)]

    short = tokenizer.encode(TEXT).ids[:64]
    text = tokenizer.decode(short)
    assert len(short) == 64 and tokenizer.encode(text).ids == short, text
    logits, norms = oracle.forward(model, short)
    noise = float((logits.double() - oracle.forward(exact, short)[0]).abs().max())
    del exact
    greedy, lead = oracle.greedy(model, short, GREEDY)
    assert lead > MIN_LEAD, lead

    window = tokenizer.encode(Path(sample).read_text(encoding="utf-8")).ids[:WINDOW]
    window_logits, window_norms = oracle.forward(model, window)
    oracle.write_json(out, {
        "made_with": oracle.made_with(dtype="float32", attention="eager"),
        "model": "SmolLM2-135M-Instruct",
        "safetensors_sha256": oracle.sha256(Path(folder) / "model.safetensors"),
        "tokenizer_sha256": oracle.sha256(Path(folder) / "tokenizer.json"),
        "probe_ids": probes,
        "fp32_noise": oracle.rounded(noise, 3),
        "text": text,
        "ids": short,
        "mean_nll": mean(oracle.nll(logits, short)),
        "last_hidden_norms": oracle.rounded([layer[-1] for layer in norms], 7),
        "greedy": greedy,
        "greedy_text": tokenizer.decode(greedy),
        "greedy_min_lead": oracle.rounded(lead, 3),
        "positions": at(logits, range(len(short)), probes),
        "window_text": "the first 1024 ids of sample_ids.json",
        "window_mean_nll": mean(oracle.nll(window_logits, window)),
        "window_last_hidden_norms": oracle.rounded([layer[-1] for layer in window_norms], 7),
        "window_positions": at(window_logits, WINDOW_AT, probes),
    })
    print(repr(text), repr(tokenizer.decode(greedy)), "lead", lead, "noise", noise)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
