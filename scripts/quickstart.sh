#!/usr/bin/env bash
# Trains an adapter for SmolLM2-135M-Instruct on the King James text, judges it on books held out, and generates with
# it. Every command is printed as one would type it. A step whose inputs are unchanged is not done again; FRESH=1
# starts anew, MINUTES bounds the training.
set -euo pipefail
cd "$(dirname "$0")/.."

focus=build/release/bin/focus
model=out/models/smollm2.gguf
out=out/quickstart
adapter=$out/adapter
train_text=$out/kjv-train.txt
heldout_text=$out/kjv-heldout.txt

# show COMMAND...: prints the command, quoted where a shell needs it.
show() {
  local word line='$'
  for word in "$@"; do
    [[ $word =~ ^[A-Za-z0-9_./=-]+$ ]] || word="'$word'"
    line+=" $word"
  done
  printf '\n%s\n' "$line"
}

# An interrupted step may end well by itself (training saves what it has); the rest is not for it then.
trap 'exit 130' INT TERM

run() {
  show "$@"
  "$@"
}

# stamp TEXT FILE...: one line that changes with the text or with the contents of a file.
stamp() {
  local text=$1
  shift
  printf '%s %s\n' "$text" "$(sha256sum "$@" | sha256sum | cut -c 1-16)"
}

# done_before FILE STAMP: whether the step that leaves FILE has ended with this stamp.
done_before() {
  [ -e "$1" ] && [ "$(cat "$1.stamp" 2>/dev/null)" = "$2" ]
}

[ -z "${FRESH:-}" ] || rm -rf "$adapter" "$adapter.stamp" "$out"/eval.*
scripts/fetch_text.py

train_stamp=$(stamp "train --minutes ${MINUTES:-10}" "$model" "$train_text")
if done_before "$adapter" "$train_stamp"; then
  echo "quickstart: $adapter is there and its inputs are unchanged (make quickstart FRESH=1 trains anew)"
else
  rm -rf "$adapter" "$adapter.stamp"
  run "$focus" train --model "$model" --text "$train_text" --out "$adapter" --minutes "${MINUTES:-10}"
  echo "$train_stamp" >"$adapter.stamp"
fi

eval_stamp=$(stamp eval "$model" "$heldout_text" "$adapter"/focus_*)
if done_before "$out/eval.json" "$eval_stamp"; then
  echo "quickstart: evaluated before with this adapter and text:"
  cat "$out/eval.txt"
else
  rm -f "$out"/eval.*
  eval_command=("$focus" eval --model "$model" --adapter "$adapter" --text "$heldout_text" --json "$out/eval.json"
    --report "$out/report.html")
  show "${eval_command[@]}"
  "${eval_command[@]}" | tee "$out/eval.txt"
  echo "$eval_stamp" >"$out/eval.json.stamp"
fi

run "$focus" generate --model "$model" --adapter "$adapter" --prompt 'And it came to pass in those days' \
  --max-tokens 100
printf '\nquickstart: the table is in %s, a page to look at in %s\n' "$out/eval.json" "$out/report.html"
