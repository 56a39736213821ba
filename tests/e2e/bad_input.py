#!/usr/bin/env python3
"""What the command does with bad input: one clear line, the right exit code, nothing half-written.

    bad_input.py --focus build/release/bin/focus --tiny tests/golden/tiny_llama --tmp DIR [--only WORDS]

tiny_llama.gguf, tiny_llama_sharded/ and sample.txt are looked for beside --tiny. Every case runs in a folder of its
own, which is also its TMPDIR and HOME: that folder, and all inputs, must be the same afterwards, byte for byte.
Standard library only. Exit code 1 when a case fails, 77 when all were skipped; what cannot run on this machine is
printed as a skip.
"""

import argparse
import gzip
import hashlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from damage import (Inputs, cut, edit_json, gguf_type_at, gguf_value_at, overwrite, safetensors_entries,
                    scale_norms)

SECONDS = 60  # for one command; those that train for longer must refuse before they train
QUICK = ["--tokens", "256", "--window", "16", "--steps", "3"]
LONG = ["--tokens", "256", "--window", "16", "--minutes", "10"]


@dataclass
class Case:
    name: str
    args: list
    code: int = 1
    names: str = ""  # what the line must name: the file, option or value at fault
    late: bool = False  # fails after work has begun: progress lines may stand beside the error
    file_limit: int = 0  # bytes; a write beyond it fails as on a full disk (0 = none)
    full_disk: bool = False  # "disk/" is a file system with one free page


def model_cases(inputs):
    data = inputs.gguf.read_bytes()
    tensors = safetensors_entries(inputs.tiny / "model.safetensors")
    weights = len(data) - sum(end - begin for _, _, begin, end in tensors)
    cuts = {"empty": 0, "in magic": 3, "in version": 6, "in counts": 20, "in first key": 30,
            "in metadata": data.index(b"tokenizer.ggml.tokens") + 500, "in merges": data.index(b"ggml.merges") + 90,
            "in tensor names": data.index(b"blk.1.attn_k"), "before the weights": weights - 1,
            "in the weights": len(data) // 2, "last byte": len(data) - 1}
    q_type = gguf_type_at(data, b"blk.0.attn_q.weight")
    arch = gguf_value_at(data, b"general.architecture")

    def patched(name, offset, new):
        return inputs.copy(inputs.gguf, name, lambda p: overwrite(p, offset, new))

    def config(name, **keys):
        return inputs.copy(inputs.tiny, name, lambda d: edit_json(d / "config.json", lambda c: c.update(keys)))

    def without(name, file, source=inputs.tiny):
        return inputs.copy(source, name, lambda d: (d / file).unlink())

    def short(name, file, size):
        return inputs.copy(inputs.tiny, name, lambda d: cut(d / file, size))

    tensor_file, shard = "model.safetensors", "model-00002-of-00002.safetensors"
    bloom = {"model_type": "bloom", "architectures": ["BloomForCausalLM"]}
    spiral = {"rope_theta": 1e4, "rope_type": "spiral"}
    models = []
    for where, size in cuts.items():
        path = inputs.copy(inputs.gguf, f"cut{size}.gguf", lambda p: cut(p, size))
        models.append((f"GGUF cut {where}", path, path.name))
    models += [
        ("no such model", inputs.root / "absent.gguf", "absent.gguf"),
        ("folder without config", without("no_config", "config.json"), "config.json"),
        ("folder without weights", without("no_weights", tensor_file), "no_weights"),
        ("wrong magic", patched("magic.gguf", 0, b"GGML"), "magic.gguf"),
        ("GGUF version 99", patched("version.gguf", 4, b"\x63\0\0\0"), "99"),
        ("text instead of a model", inputs.copy(inputs.sample, "text.gguf"), "text.gguf"),
        ("unknown architecture in GGUF", patched("arch.gguf", arch, b"bloom"), "bloom"),
        ("unknown tensor type", patched("type.gguf", q_type, b"\x63\0\0\0"), "99"),
        ("tensor type without a reader", patched("iq3_s.gguf", q_type, b"\x15\0\0\0"), "attn_q"),
        ("unknown model_type", config("other_type", **bloom), "bloom"),
        ("config and weights disagree", config("shape", intermediate_size=128), "128"),
        ("unknown rope scaling", config("rope", rope_parameters=spiral), "spiral"),
        ("broken config.json", short("bad_json", "config.json", 40), "config.json"),
        ("safetensors cut in the header", short("cut_head", tensor_file, 100), tensor_file),
        ("safetensors cut in the data", short("cut_data", tensor_file, 600000), tensor_file),
        ("absent shard", without("no_shard", shard, inputs.sharded), shard),
    ]
    for name, path, names in models:
        yield Case(f"{name}: generate", ["generate", "--model", path, "--prompt", "a", "--max-tokens", "1"],
                   names=names)
        yield Case(f"{name}: train", ["train", "--model", path, "--text", inputs.sample, "--out", "out", *LONG],
                   names=names)
        if "GGUF cut" in name or "magic" in name or "no such" in name:
            yield Case(f"{name}: info", ["info", path], names=names)
    path = without("no_tokenizer", "tokenizer.json")
    yield Case("folder without tokenizer", ["generate", "--model", path, "--prompt", "a"], names="tokenizer.json")


def text_cases(inputs, adapter):
    packed = gzip.compress(inputs.sample.read_bytes())
    ten = inputs.text("ten.txt", b"ten words are far too few for so long a window\n")
    texts = [
        ("empty text", inputs.text("empty.txt", b""), "empty.txt"),
        ("text shorter than T", ten, "1024"),
        ("no such text", inputs.root / "absent.txt", "absent.txt"),
        ("glob that matches nothing", inputs.root / "absent*.txt", "absent*.txt"),
        ("gzip cut short", inputs.text("cut.txt.gz", packed[:len(packed) // 2]), "cut.txt.gz"),
    ]
    for name, text, names in texts:
        given = ["--model", inputs.tiny, "--text", text, "--tokens", "1024"]
        yield Case(f"{name}: train", ["train", *given, "--out", "out", "--minutes", "10"], names=names)
        yield Case(f"{name}: eval", ["eval", *given, "--adapter", adapter, "--json", "out.json"], names=names)


def adapter_cases(inputs, adapter):
    weights, config = "focus_model.safetensors", "focus_config.json"
    other = inputs.copy(inputs.tiny, "other_base", lambda d: scale_norms(d / "model.safetensors", 1.5))
    copy = lambda name, change: inputs.copy(adapter, name, change)
    size = (adapter / weights).stat().st_size
    tries = [
        ("adapter of another base", other, adapter, "norm"),
        ("no such adapter", inputs.tiny, inputs.root / "absent_adapter", "absent_adapter"),
        ("adapter without weights", inputs.tiny, copy("a_none", lambda d: (d / weights).unlink()), weights),
        ("adapter without config", inputs.tiny, copy("a_noconf", lambda d: (d / config).unlink()), config),
        ("adapter cut in the data", inputs.tiny, copy("a_cut", lambda d: cut(d / weights, size - 1)), weights),
        ("adapter cut in the header", inputs.tiny, copy("a_head", lambda d: cut(d / weights, 50)), weights),
        ("adapter with an empty file", inputs.tiny, copy("a_empty", lambda d: cut(d / weights, 0)), weights),
        ("adapter config broken", inputs.tiny, copy("a_json", lambda d: cut(d / config, 30)), config),
        ("adapter config with an unknown key", inputs.tiny,
         copy("a_key", lambda d: edit_json(d / config, lambda c: c.update(surprise=1))), "surprise"),
    ]
    yield Case("the other base alone is fine", ["generate", "--model", other, "--prompt", "a", "--max-tokens", "1"],
               code=0)
    for name, model, path, names in tries:
        given = ["--model", model, "--adapter", path]
        yield Case(f"{name}: eval", ["eval", *given, "--text", inputs.sample, "--tokens", "256", "--windows", "1",
                                     "--json", "out.json"], names=names)
        yield Case(f"{name}: generate", ["generate", *given, "--prompt", "a", "--max-tokens", "1"], names=names)


def output_cases(inputs, adapter):
    train = ["train", "--model", inputs.tiny, "--text", inputs.sample]
    evaluate = ["eval", "--model", inputs.tiny, "--adapter", adapter, "--text", inputs.sample, "--tokens", "256",
                "--windows", "1", "--no-copy"]
    yield Case("output below a file: train", [*train, *LONG, "--out", "taken/out"], names="taken")
    yield Case("output is a file: train", [*train, *LONG, "--out", "taken"], names="taken")
    yield Case("output below a file: eval", [*evaluate, "--json", "taken/out.json"], names="taken")
    yield Case("output is a folder: eval", [*evaluate, "--json", "."], names=".")
    yield Case("output is a device: eval", [*evaluate, "--report", "/dev/null"], names="/dev/null")
    yield Case("write fails half way: train", [*train, *QUICK, "--out", "out"], file_limit=4096, late=True)
    yield Case("full disk: train", [*train, *QUICK, "--out", "disk/out"], full_disk=True, late=True)
    yield Case("write fails half way: eval", [*evaluate, "--json", "out.json"], file_limit=16, late=True)


def chat_cases(inputs):
    odd = {"chat_template": "{% for m in messages %}<<{{ m['role'] }}>>{{ m['content'] }}{% endfor %}"}

    def changed(name, change):
        return inputs.copy(inputs.tiny, name, lambda d: edit_json(d / "tokenizer_config.json", change))

    for name, path, code in (("a known chat template is fine", inputs.tiny, 0),
                             ("unknown chat template", changed("odd_chat", lambda c: c.update(odd)), 1),
                             ("no chat template", changed("no_chat", lambda c: c.pop("chat_template")), 1)):
        yield Case(name, ["generate", "--model", path, "--chat", "--prompt", "hello", "--max-tokens", "1"], code=code,
                   names="template" if code else "")


def usage_cases(inputs):
    train = ["train", "--model", inputs.tiny, "--text", inputs.sample, "--out", "out"]
    yield Case("unknown command", ["trian"], code=2, names="trian")
    yield Case("unknown option", [*train, "--stesp", "3"], code=2, names="--stesp")
    yield Case("option without its value", [*train, "--steps"], code=2, names="--steps")
    yield Case("required option absent", train[:3] + train[5:], code=2, names="--text")
    yield Case("a word for a number", [*train, "--tokens", "many"], code=2, names="--tokens")
    yield Case("no tokens", [*train, "--tokens", "0"], code=2, names="--tokens")
    yield Case("an empty path", ["info", ""], code=2, names="path")
    yield Case("an empty adapter", ["generate", "--model", inputs.tiny, "--prompt", "a", "--adapter", ""], code=2,
               names="--adapter")
    yield Case("no prompt", ["generate", "--model", inputs.tiny], code=2, names="prompt")
    yield Case("more tokens than the context", [*train, "--tokens", "4096"], code=2, names="2048")
    yield Case("a budget that the window fills", [*train, "--tokens", "256"], code=2, names="--cost")
    yield Case("a routing of no such name", [*train, *LONG, "--features", "inptu"], code=2, names="inptu")
    yield Case("too wide a projection", [*train, *LONG, "--rank", "32"], code=2, names="rank", late=True)
    yield Case("more groups than keys", [*train, *LONG, "--groups", "1024", "--calibration-windows", "4"], code=2, names="1024", late=True)
    yield Case("windows too short for the copy test", ["eval", *train[1:5], "--tokens", "256"], code=2, names="copy")
    yield Case("negative steps", [*train, "--steps", "-1"], code=2, names="--steps")


def snapshot(folder):
    return {str(p.relative_to(folder)): "folder" if p.is_dir() else hashlib.sha256(p.read_bytes()).hexdigest()
            for p in folder.rglob("*")}


def run(focus, case, cwd):
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # the write then fails with an error code instead
        resource.setrlimit(resource.RLIMIT_FSIZE, (case.file_limit, case.file_limit))

    return subprocess.run([focus, *map(str, case.args)], cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=SECONDS, env={**os.environ, "TMPDIR": str(cwd), "HOME": str(cwd)},
                          preexec_fn=limit if case.file_limit else None, restore_signals=not case.file_limit)


def faults(focus, case, cwd):
    """What is wrong with the command's behaviour in this case, one sentence each."""
    (cwd / "taken").write_text("a regular file\n")
    before = snapshot(cwd)
    try:
        done = run(focus, case, cwd)
    except subprocess.TimeoutExpired:
        return [f"expected an answer within {SECONDS} s, found it still running"]
    found, stderr = [], done.stderr.decode("utf-8", "replace")
    if done.returncode != case.code:
        found.append(f"expected exit code {case.code}, found {done.returncode}; stderr: {stderr.strip()[-300:]!r}")
    if case.code:
        lines = stderr.splitlines()
        errors = [line for line in lines if line.startswith("focus: ")]
        if case.late:
            errors = [line for line in lines if line.startswith("focus: error: ")] or errors
        if len(errors) != 1 or (not case.late and len(lines) != 1):
            found.append(f"expected one line that begins with 'focus: ', found {stderr[-600:]!r}")
        found += [f"expected the line to contain {word!r}, found {errors[0]!r}"
                  for word in ("expected", "found", case.names) if errors and word not in errors[0]]
    after = snapshot(cwd)
    if after != before:
        found.append(f"expected the folder unchanged, found {sorted(set(after.items()) ^ set(before.items()))}")
    return found


def with_full_disk(focus, case, cwd):
    """Runs the case with cwd/disk a full tmpfs; None where this machine cannot mount one."""
    disk = cwd / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", disk]
    if not shutil.which("mount") or subprocess.run(command, capture_output=True).returncode:
        return None
    try:
        (disk / "filler").write_bytes(b"x" * (60 << 10))
        return faults(focus, case, cwd)
    finally:
        subprocess.run(["umount", disk], check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--focus", type=Path, required=True)
    parser.add_argument("--tiny", type=Path, required=True)
    parser.add_argument("--tmp", type=Path, required=True)
    parser.add_argument("--only", default="", help="run the cases whose name contains this")
    options = parser.parse_args()
    options.tmp.mkdir(parents=True, exist_ok=True)
    focus, counts = options.focus.resolve(), {"pass": 0, "FAIL": 0, "skip": 0}
    with tempfile.TemporaryDirectory(dir=options.tmp.resolve(), prefix="bad_input.") as top:
        root = Path(top) / "inputs"
        root.mkdir()
        inputs, adapter = Inputs(root, options.tiny), root / "adapter"
        train = ["train", "--model", inputs.tiny, "--text", inputs.sample, "--out", adapter, *QUICK]
        made = run(focus, Case("an adapter to damage", train), root)
        if made.returncode or not (adapter / "focus_model.safetensors").exists():
            sys.exit(f"bad_input.py: expected an adapter of the tiny model, found exit code {made.returncode}: "
                     f"{made.stderr.decode('utf-8', 'replace')[-500:]}")
        cases = [*model_cases(inputs), *text_cases(inputs, adapter), *adapter_cases(inputs, adapter),
                 *output_cases(inputs, adapter), *chat_cases(inputs), *usage_cases(inputs)]
        before = snapshot(root), snapshot(inputs.tiny.parent)
        for number, case in enumerate(c for c in cases if options.only in c.name):
            cwd = Path(top) / f"case{number}"
            cwd.mkdir()
            found = (with_full_disk if case.full_disk else faults)(focus, case, cwd)
            verdict = "skip" if found is None else "FAIL" if found else "pass"
            counts[verdict] += 1
            print(f"{verdict} {case.name}" + (": no tmpfs can be mounted here" if found is None else ""), flush=True)
            for line in found or []:
                print(f"     {line}")
        if (snapshot(root), snapshot(inputs.tiny.parent)) != before:
            counts["FAIL"] += 1
            print("FAIL the inputs: expected them unchanged, found them changed")
    print(", ".join(f"{n} {verdict}" for verdict, n in counts.items()))
    if not sum(counts.values()):
        sys.exit("bad_input.py: expected a case to run, found none that --only matches")
    sys.exit(1 if counts["FAIL"] else 0 if counts["pass"] else 77)


if __name__ == "__main__":
    main()
