#!/usr/bin/env python3
"""What each command does with good input: files, tables, texts, signals, help.

    commands.py --focus build/release/bin/focus --tiny tests/golden/tiny_llama --tmp DIR [--only WORDS]

tiny_llama.gguf, tiny_llama_sharded/ and sample.txt are looked for beside --tiny. Standard library only. Exit code 1
when a check fails.
"""

import argparse
import fcntl
import gzip
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import traceback
from functools import cached_property
from pathlib import Path

SECONDS = 60  # for one command
TRAIN = {"--tokens": "128", "--window": "8", "--groups": "16", "--rank": "8", "--steps": "4",
         "--calibration-windows": "8"}
KEYS = {"mask", "pairs", "cost", "effective_groups", "perplexity", "copy_nats", "far_mass"}
FILES = {"focus_config.json", "focus_model.safetensors", "metrics.jsonl"}
checks = []


def check(function):
    checks.append(function)
    return function


class Bench:
    """The command, the good inputs and a folder to write into."""

    def __init__(self, focus, tiny, folder):
        self.focus, self.tiny, self.folder = focus, tiny, folder
        self.gguf, self.sharded = tiny.parent / "tiny_llama.gguf", tiny.parent / "tiny_llama_sharded"
        self.sample = tiny.parent / "sample.txt"

    def command(self, *args):
        return [str(self.focus), *map(str, args)]

    def run(self, *args, code=0, given=b"", **keys):
        """Standard output as text; standard error when a failure is expected."""
        done = subprocess.run(self.command(*args), cwd=self.folder, input=given, stderr=subprocess.PIPE,
                              timeout=SECONDS, **{"stdout": subprocess.PIPE, **keys})
        error = done.stderr.decode("utf-8", "replace")
        assert done.returncode == code, f"exit code {done.returncode}, expected {code}: {error[-500:]}"
        return error if code else (done.stdout or b"").decode()

    def training(self, name, *more, text=None):
        """Arguments; `more` replaces the usual ones of the same name."""
        usual = [word for option, value in TRAIN.items() if option not in more for word in (option, value)]
        return ["train", "--model", self.tiny, "--text", text or self.sample, "--out", self.folder / name, *usual,
                *more]

    def train(self, name, *more, text=None, code=0):
        """The adapter's folder; standard error when a failure is expected."""
        said = self.run(*self.training(name, *more, text=text), code=code)
        return said if code else self.folder / name

    def eval(self, *more, **keys):
        return self.run("eval", "--model", self.tiny, "--text", self.sample, *more, **keys)

    def generate(self, *more, model=None, **keys):
        return self.run("generate", "--model", model or self.tiny, "--dtype", "f32", *more, **keys)

    def texts(self, *more, **keys):
        return [one["text"] for one in json.loads(self.generate("--json", *more, **keys))]

    @cached_property
    def adapter(self):
        return self.train("adapter")

    @cached_property
    def long_adapter(self):
        """For windows that hold the copy test."""
        return self.train("long_adapter", "--tokens", "1024", "--window", "64", "--groups", "64")


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def on_terminal(bench, args, wait_for, columns=80):
    """Runs a command with standard error on a terminal, interrupts it once `wait_for` is seen; (exit code, text)."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(bench.command(*args), cwd=bench.folder, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    seen, sent, end = b"", False, time.monotonic() + SECONDS
    while time.monotonic() < end:
        try:
            data = os.read(ours, 65536)
        except OSError:  # the other side is closed
            break
        if not data:
            break
        seen += data
        if not sent and wait_for in seen:
            process.send_signal(signal.SIGINT)
            sent = True
    os.close(ours)
    try:
        code = process.wait(timeout=max(1, end - time.monotonic()))
    except subprocess.TimeoutExpired:
        process.kill()
        raise AssertionError(f"still running {SECONDS} s later")
    assert sent, f"never said {wait_for!r}: {seen[-500:]!r}"
    return code, seen.decode()


@check
def help_fits_a_screen(bench):
    for command in ("", "train", "eval", "generate", "info"):
        lines = bench.run(*filter(None, [command]), "--help").splitlines()
        assert len(lines) <= 40, f"{command}: {len(lines)} lines"
        assert max(map(len, lines)) <= 100, f"{command}: {max(lines, key=len)!r}"
        assert any(line.startswith(f"Usage: focus {command}") for line in lines), lines[:3]


@check
def training_writes_an_adapter(bench):
    assert set(contents(bench.adapter)) == FILES, sorted(contents(bench.adapter))
    metrics = [json.loads(line) for line in (bench.adapter / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in metrics] == [0, 1, 2, 3] and all(line["loss"] > 0 for line in metrics), metrics


@check
def the_same_seed_gives_the_same_bytes(bench):
    assert contents(bench.train("again")) == contents(bench.adapter)
    other = contents(bench.train("seed1", "--seed", "1"))
    assert other["focus_model.safetensors"] != contents(bench.adapter)["focus_model.safetensors"]


@check
def training_replaces_an_older_adapter(bench):
    out = bench.train("replaced", "--seed", "1")
    (out / "notes.txt").write_text("mine")
    bench.train("replaced")
    after = contents(out)
    assert after.pop("notes.txt") == b"mine" and after == contents(bench.adapter), sorted(after)


@check
def gzip_and_globs_are_read(bench):
    texts = bench.folder / "texts"
    texts.mkdir()
    (texts / "a.txt.gz").write_bytes(gzip.compress(bench.sample.read_bytes()))
    packed = bench.train("packed", text=texts / "*.gz")
    assert contents(packed)["focus_model.safetensors"] == contents(bench.adapter)["focus_model.safetensors"]
    (texts / "b.txt").write_bytes(bench.sample.read_bytes())
    read = lambda out: int(json.loads((out / "focus_config.json").read_text())["calibration"]["tokens_read"])
    assert read(bench.train("both", text=texts / "*")) == 2 * read(packed)


@check
def a_budget_that_the_window_fills_is_refused_at_once(bench):
    said = bench.train("refused", "--window", "64", code=2)
    assert len(said.splitlines()) == 1 and "--cost" in said and "window 64 + 4 sinks" in said, said
    assert not (bench.folder / "refused").exists()


def variant(name, *options, costly=False):
    def trains_and_evaluates(bench):
        out = bench.train(name, *options)
        rows = json.loads(bench.eval("--adapter", out, "--tokens", "128", "--windows", "2", "--no-copy", "--json"))
        ours = rows[-1]
        assert len(rows) == 4 and 0 < ours["pairs"] < 1 and ours["perplexity"] > 1, rows
        assert costly or ours["cost"] < 0.3, ours
        assert len(bench.texts("--adapter", out, "--prompt", "the sea", "--max-tokens", "4")) == 1
        facts = json.loads(bench.run("info", out, "--json"))
        shown = options[0].strip("-") if name == "tied" else options[1]
        assert shown in facts["routing"], facts["routing"]

    trains_and_evaluates.__name__ = f"routing_{name}_trains_and_evaluates"
    return check(trains_and_evaluates)


variant("input", "--features", "input")
variant("layer", "--heads", "layer")
variant("threshold", "--membership", "threshold")
variant("frozen", "--balance", "frozen")
variant("running", "--balance", "running")
variant("top", "--read", "top")
variant("mass", "--read", "mass", "--read-mass", "0.2", costly=True)
variant("tied", "--tied", "--features", "input", costly=True)
variant("members", "--members", "2")


@check
def sinkhorn_is_refused_by_name(bench):
    said = bench.train("sinkhorn", "--balance", "sinkhorn", code=1)
    assert len(said.splitlines()) == 1 and "sinkhorn" in said, said


@check
def evaluation_compares_at_equal_cost(bench):
    given = ["--adapter", bench.long_adapter, "--windows", "2", "--copy-windows", "2"]
    rows = json.loads(bench.eval(*given, "--json"))
    assert [row["mask"].split()[0] for row in rows] == ["dense", "window", "random", "adapter"], rows
    assert all(set(row) == KEYS for row in rows), rows
    ours = rows[-1]["cost"]
    for row in rows[1:3]:
        assert ours <= row["cost"] <= 1.01 * ours, (row, ours)
    assert rows[0]["pairs"] == rows[0]["cost"] == rows[0]["far_mass"] == 1, rows[0]
    assert all(0 <= row["far_mass"] <= 1 and row["copy_nats"] > 0 for row in rows), rows
    table = bench.eval(*given, "--json", "made/eval.json", "--report", "made/report.html")
    assert json.loads((bench.folder / "made/eval.json").read_text()) == rows
    assert set(table.split("\n")[0].split()) >= {"mask", "pairs", "cost", "perplexity"}, table
    page = (bench.folder / "made/report.html").read_text()
    assert page.lower().startswith("<!doctype html>") and all(row["mask"] in page for row in rows)


@check
def evaluation_records_the_routing(bench):
    given = ["--tokens", "128", "--windows", "1", "--no-copy", "--record-routing", "made/routing.safetensors"]
    assert "--adapter" in bench.eval(*given, code=2)
    bench.eval("--adapter", bench.adapter, *given)
    facts = json.loads(bench.run("info", "made/routing.safetensors", "--json"))
    shown = {key: facts[f"metadata: {key}"] for key in ("model", "tokens", "groups", "window")}
    assert shown == {"model": "tiny_llama", "tokens": "128", "groups": "16", "window": "8"}, facts
    assert facts["layers.0.queries"].startswith("I64 [128, "), facts


@check
def evaluation_without_an_adapter_is_the_dense_row(bench):
    rows = json.loads(bench.eval("--windows", "1", "--copy-windows", "1", "--json"))
    assert [row["mask"] for row in rows] == ["dense"] and set(rows[0]) == KEYS, rows


@check
def a_prompt_may_come_from_standard_input(bench):
    given = ["--max-tokens", "16"]
    piped = bench.generate(*given, given=b"the long road")
    assert piped == bench.generate(*given, "--prompt", "the long road") and len(piped) > 1, piped
    assert bench.generate(*given, given="naïve – ✓ 漢字\n".encode())
    dashed = bench.generate(*given, "--prompt=-- a list")
    assert dashed == bench.generate(*given, given=b"-- a list")


@check
def several_prompts_give_the_texts_of_each_alone(bench):
    prompts = ["the sea", "In a small house by the road", "7"]
    for more in ([], ["--temperature", "1", "--seed", "5"], ["--adapter", bench.adapter]):
        more = ["--max-tokens", "24", *more]
        together = bench.texts(*more, *(word for prompt in prompts for word in ("--prompt", prompt)))
        assert together == [bench.texts(*more, "--prompt", prompt)[0] for prompt in prompts], together


@check
def draws_follow_the_seed(bench):
    def draw(*more):
        return bench.texts("--prompt", "the", "--max-tokens", "32", "--temperature", "1.5", *more)[0]

    assert draw("--seed", "3") == draw("--seed", "3") != draw("--seed", "4")
    greedy = bench.texts("--prompt", "the", "--max-tokens", "32")[0]
    assert draw("--top-k", "1") == draw("--top-p", "0.0001") == greedy != draw()


@check
def texts_end_where_they_should(bench):
    given = ["--prompt", "the sea", "--temperature", "1", "--ignore-eos", "--json"]
    (whole,) = json.loads(bench.generate(*given, "--max-tokens", "40"))
    assert (whole["tokens"], whole["finish_reason"]) == (40, "length"), whole
    text = whole["text"]
    stop = next(text[n:n + 3] for n in range(8, len(text)) if text[n:n + 3].isascii())
    (cut,) = json.loads(bench.generate(*given, "--max-tokens", "40", "--stop", "never met", "--stop", stop))
    assert (cut["text"], cut["finish_reason"]) == (text[:text.index(stop)], "stop"), (cut, text, stop)
    (one,) = json.loads(bench.generate(*given, "--max-tokens", "1"))
    assert one["tokens"] == 1 and text.startswith(one["text"].rstrip("\ufffd")), one


@check
def chat_wraps_the_prompt(bench):
    tokens = lambda *more: json.loads(bench.generate("--prompt", "hello", "--max-tokens", "2", "--json", *more))[0][
        "prompt_tokens"]
    assert tokens() < tokens("--chat") < tokens("--chat", "--system", "Answer in the style of a much older book.")
    assert "--chat" in bench.generate("--prompt", "hello", "--system", "x", code=2)


@check
def every_form_of_the_model_gives_the_same_text(bench):
    given = ["--prompt", "It was a bright cold day", "--max-tokens", "48", "--ignore-eos"]
    texts = {str(model): bench.texts(*given, model=model)[0] for model in (bench.tiny, bench.gguf, bench.sharded)}
    assert len(set(texts.values())) == 1, texts
    kept = [bench.texts(*given, "--adapter", bench.adapter, model=model) for model in (bench.tiny, bench.gguf)]
    assert kept[0] == kept[1], kept


@check
def batch_invariant_texts_do_not_depend_on_the_chunks(bench):
    given = ["--batch-invariant", "--adapter", bench.adapter, "--max-tokens", "32", "--ignore-eos"]
    prompt = bench.sample.read_bytes()[:700]
    texts = {chunk: bench.texts(*given, "--prefill-chunk", chunk, given=prompt)[0] for chunk in ("1", "7", "64", "512")}
    assert len(set(texts.values())) == 1, texts


@check
def info_knows_each_kind(bench):
    models = {}
    for path, kind in ((bench.tiny, "Hugging Face"), (bench.sharded, "Hugging Face"), (bench.gguf, "GGUF"),
                       (bench.adapter, "adapter"), (bench.tiny / "model.safetensors", "safetensors")):
        facts = json.loads(bench.run("info", path, "--json"))
        assert kind in facts["kind"], facts
        plain = bench.run("info", path)
        assert all(name in plain for name in facts), plain
        if "architecture" in facts:
            models[path] = [facts[name] for name in ("architecture", "layers", "parameters", "expanded", "context")]
    assert len(models) == 3 and len({str(facts) for facts in models.values()}) == 1, models


@check
def output_that_cannot_be_written_is_a_failure(bench):
    with open("/dev/full", "wb") as full:
        said = bench.run("info", bench.tiny, code=1, stdout=full)
    assert len(said.splitlines()) == 1 and "output" in said, said


@check
def an_interrupt_saves_what_was_learned(bench):
    out, columns = bench.folder / "interrupted", 50
    code, said = on_terminal(bench, bench.training("interrupted", "--steps", "1000000", "--minutes", "5"), b"loss",
                             columns)
    assert code == 0 and "stopped early" in said, (code, said[-500:])
    assert set(contents(out)) == FILES, sorted(contents(out))
    assert len(bench.texts("--adapter", out, "--prompt", "the sea", "--max-tokens", "4")) == 1
    bars = [bar for line in said.split("\n") for bar in line.strip("\r").split("\r\033[K") if bar.startswith("train [")]
    assert len(bars) > 8 and max(map(len, bars)) < columns, max(bars, key=len)


@check
def an_early_interrupt_leaves_nothing(bench):
    code, said = on_terminal(bench, bench.training("early/out", "--calibration-windows", "1000000"), b"calibrate")
    assert code == 1 and "nothing was saved" in said.splitlines()[-1], (code, said[-500:])
    assert not (bench.folder / "early").exists()


@check
def an_interrupted_evaluation_leaves_nothing(bench):
    code, said = on_terminal(bench, ["eval", "--model", bench.tiny, "--text", bench.sample, "--adapter",
                                     bench.long_adapter, "--copy-windows", "100000", "--json", "early.json"], b"eval [")
    assert code == 1 and "interrupt" in said.splitlines()[-1], (code, said[-500:])
    assert not (bench.folder / "early.json").exists()


@check
def an_interrupt_ends_the_wait_for_a_prompt(bench):
    waiting = subprocess.Popen(bench.command("generate", "--model", bench.tiny), stdin=subprocess.PIPE,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(1)
        assert waiting.poll() is None, waiting.returncode
        waiting.send_signal(signal.SIGINT)
        assert waiting.wait(timeout=10) == -signal.SIGINT, waiting.returncode
    finally:
        waiting.kill()
        waiting.stdin.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--focus", type=Path, required=True)
    parser.add_argument("--tiny", type=Path, required=True)
    parser.add_argument("--tmp", type=Path, required=True)
    parser.add_argument("--only", default="", help="run the checks whose name contains this")
    options = parser.parse_args()
    chosen = [one for one in checks if options.only in one.__name__]
    if not chosen:
        sys.exit("commands.py: expected a check to run, found none that --only matches")
    options.tmp.mkdir(parents=True, exist_ok=True)
    failed = 0
    with tempfile.TemporaryDirectory(dir=options.tmp.resolve(), prefix="commands.") as folder:
        bench = Bench(options.focus.resolve(), options.tiny.resolve(), Path(folder))
        for one in chosen:
            start = time.monotonic()
            try:
                one(bench)
                verdict = "pass"
            except Exception as error:  # whatever a check meets is its failure
                verdict, failed = "FAIL", failed + 1
                where = traceback.extract_tb(error.__traceback__)[1]
                reason = f"     line {where.lineno}: {where.line}\n     {str(error)[:2000]}"
            print(f"{verdict} {one.__name__} ({time.monotonic() - start:.1f} s)", flush=True)
            if verdict == "FAIL":
                print(reason)
    print(f"{len(chosen) - failed} pass, {failed} FAIL")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
