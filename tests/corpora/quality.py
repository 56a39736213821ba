#!/usr/bin/env python3
"""The quality that this version stands for, on the real model and whole books; slow (a few minutes).

  quality.py --focus BINARY --model smollm2.gguf --data DATA [--keep DIR]      (FOCUS_DATA, where set, is the data folder)

Trains an adapter on the training books with default options, judges it on 8 windows of 1024 tokens of each of three
held-out books, and checks the table: cost at most .25, perplexity at most 1.05 times dense and .97 times the window of
equal cost, copying within .7 nats, rivals not cheaper and within 1%, training within 20 minutes and 1.6 dense passes a
token, peak memory within the weights and 1 GiB. Exit code 77: the model or the books are not here.
"""
import argparse, json, os, re, subprocess, sys, tempfile, time

HELDOUT = ["10321-rideout-dragon-s-blood", "10762-eliot-impressions-of-theophrastus-such", "2544-harte-from-sand-hill-to-pine"]


def main():
    parser = argparse.ArgumentParser()
    for name in ("--focus", "--model", "--data"):
        parser.add_argument(name, required=True)
    parser.add_argument("--keep", help="folder for the adapter and the table (default: a temporary one)")
    given = parser.parse_args()
    given.data = os.environ.get("FOCUS_DATA", given.data)
    for path, hint in ((given.model, "run 'make model'"), (given.data, "set FOCUS_DATA to the data folder")):
        if not os.path.exists(path):
            print(f"skipped: {path} is not here; {hint}")
            return 77
    with tempfile.TemporaryDirectory() as temporary:
        out = given.keep or temporary
        adapter, table = os.path.join(out, "adapter"), os.path.join(out, "eval.json")
        start = time.monotonic()
        train = subprocess.run([given.focus, "train", "--model", given.model, "--text", os.path.join(given.data, "text/train/*.gz"),
                                "--out", adapter, "--minutes", "20"], check=True, text=True, stdout=subprocess.PIPE).stdout
        minutes = (time.monotonic() - start) / 60
        print(train, end="")
        texts = [word for name in HELDOUT for word in ("--text", os.path.join(given.data, "text/heldout", name + ".txt"))]
        subprocess.run([given.focus, "eval", "--model", given.model, "--adapter", adapter, "--windows", "8", "--json", table] + texts, check=True)
        with open(table, encoding="utf-8") as file:
            dense, window, random, ours = json.load(file)
    step = float(re.search(r"costs ([\d.]+) times", train).group(1))
    peak, weights = map(int, re.search(r"peak memory (\d+) MiB, weights (\d+) MiB", train).groups())
    checks = [
        ("minutes of training", minutes, 20),
        ("training step / dense forward", step, 1.6),
        ("peak memory over the weights, MiB", peak - weights, 1024),
        ("cost", ours["cost"], 0.25),
        ("perplexity / dense", ours["perplexity"] / dense["perplexity"], 1.05),
        ("perplexity / window of equal cost", ours["perplexity"] / window["perplexity"], 0.97),
        ("copy, nats", ours["copy_nats"], 0.7),
        ("window's cost / ours", window["cost"] / ours["cost"], 1.01),
        ("random groups' cost / ours", random["cost"] / ours["cost"], 1.01),
        ("ours / window's cost", ours["cost"] / window["cost"], 1),
        ("ours / random groups' cost", ours["cost"] / random["cost"], 1),
    ]
    failed = 0
    for name, value, limit in checks:
        good = value <= limit
        failed += not good
        print(f"{'ok  ' if good else 'FAIL'} {name}: {value:.4f} (at most {limit})")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
