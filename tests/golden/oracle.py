"""What the generators share: one forward pass by transformers, a greedy loop, and compact JSON."""

import hashlib
import json
import platform
from pathlib import Path

import safetensors
import tokenizers
import torch
import transformers
from transformers import AutoModelForCausalLM


def made_with(**more):
    versions = {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "tokenizers": tokenizers.__version__,
        "safetensors": safetensors.__version__,
    }
    return {**versions, **more}


def load(path, dtype=torch.float32):
    """The model with plain softmax(QK')V attention: no fused kernel stands between the file and the formula."""
    torch.set_num_threads(1)
    model = AutoModelForCausalLM.from_pretrained(path, dtype=dtype, attn_implementation="eager")
    return model.eval()


@torch.no_grad()
def forward(model, ids):
    """(logits [T, V], hidden norms [layers + 1][T]) of one sequence."""
    out = model(torch.tensor([ids]), output_hidden_states=True, use_cache=False)
    return out.logits[0], [h[0].double().norm(dim=-1).tolist() for h in out.hidden_states]


def nll(logits, ids):
    """Negative log-likelihood, in nats, of ids[1:], taken in double."""
    logp = logits[:-1].double().log_softmax(-1)
    return (-logp[torch.arange(len(ids) - 1), torch.tensor(ids[1:])]).tolist()


@torch.no_grad()
def greedy(model, ids, count):
    """(the next `count` ids, the smallest lead of a winner over the runner-up). The whole text runs again for each
    token: no cache stands between the file and the formula. End tokens do not stop it."""
    ids, lead = list(ids), float("inf")
    start = len(ids)
    for _ in range(count):
        top = model(torch.tensor([ids]), use_cache=False).logits[0, -1].topk(2)
        lead = min(lead, float(top.values[0] - top.values[1]))
        ids.append(int(top.indices[0]))
    return ids[start:], lead


def sha256(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def rounded(values, digits):
    """Floats cut to `digits` significant digits, lists in lists kept: 9 give a float32 back bit for bit."""
    if isinstance(values, (list, tuple)):
        return [rounded(v, digits) for v in values]
    return float(f"{float(values):.{digits}g}")


def write_json(path, value):
    """One line per top-level key and per item of a top-level list of objects or lists."""
    def item(v):
        if isinstance(v, list) and v and isinstance(v[0], (dict, list)):
            return "[\n  " + ",\n  ".join(json.dumps(x, ensure_ascii=False) for x in v) + "\n ]"
        return json.dumps(v, ensure_ascii=False)

    body = ",\n".join(f" {json.dumps(k)}: {item(v)}" for k, v in value.items())
    Path(path).write_text("{\n" + body + "\n}\n", encoding="utf-8")
