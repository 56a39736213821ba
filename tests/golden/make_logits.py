"""What transformers computes for the tiny Llama, in fp32 with eager attention.

    make_logits.py SAMPLE.txt TINY_LLAMA_FOLDER OUT.json

OUT.json holds two sequences of 48 and 7 ids: all logits (9 digits: the float32 values exactly), the Euclidean norm of
the residual stream at every position before layer 0, after each layer but the last, and after the final norm; the
negative log-likelihood of ids 1.. in nats; and 64 greedy ids, end tokens not stopping. `fp32_noise` is the largest
distance of these logits from the same model run in double: a correct fp32 forward pass lies about as far away.

Environment: python3 -m venv VENV && VENV/bin/pip install -r requirements.txt
"""

import sys
from pathlib import Path

import torch
from transformers import AutoTokenizer

import oracle

# Greedy ids are a fair test only where no rounding can swap the two best tokens.
MIN_LEAD = 1e-3


def main(sample, folder, out):
    model, exact = oracle.load(folder), oracle.load(folder, torch.float64)
    text = AutoTokenizer.from_pretrained(folder)(Path(sample).read_text(encoding="utf-8")[:200])["input_ids"]
    generator = torch.Generator().manual_seed(10)
    sequences = []
    for ids in (text[:48], torch.randint(0, model.config.vocab_size, (7,), generator=generator).tolist()):
        logits, norms = oracle.forward(model, ids)
        noise = float((logits.double() - oracle.forward(exact, ids)[0]).abs().max())
        new, lead = oracle.greedy(model, ids, 64)
        assert lead > MIN_LEAD and new == oracle.greedy(exact, ids, 64)[0], lead
        assert len(set(new)) > 16, "the continuation repeats itself too soon"
        assert model.config.eos_token_id not in new, "the continuation would stop early"
        sequences.append({
            "ids": ids,
            "fp32_noise": oracle.rounded(noise, 3),
            "hidden_norms": oracle.rounded(norms, 7),
            "nll": oracle.rounded(oracle.nll(logits, ids), 9),
            "greedy": new,
            "greedy_min_lead": oracle.rounded(lead, 3),
            "logits": oracle.rounded(logits.tolist(), 9),
        })
        print(len(ids), "ids: noise", noise, "lead", lead, "distinct greedy ids", len(set(new)))
    oracle.write_json(out, {
        "made_with": oracle.made_with(dtype="float32", attention="eager"),
        "model": "tiny_llama",
        "safetensors_sha256": oracle.sha256(Path(folder) / "model.safetensors"),
        "sequences": sequences,
    })


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
