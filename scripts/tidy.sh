#!/usr/bin/env bash
# tidy.sh [JOBS [FILE...]]: clang-tidy with .clang-tidy over the files (default: all of src/ and apps/ but tests),
# compiled as in the folder BUILD.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=${1:-2}
shift || true
if ! command -v clang-tidy-14 >/dev/null; then
  echo "tidy: clang-tidy 14 is missing; run: sudo apt-get install -y --no-install-recommends clang-tidy" >&2
  exit 1
fi
files=("$@")
[ $# -gt 0 ] || mapfile -t files < <(scripts/sources.sh | grep -E '^(src|apps)/.*\.cc$' | grep -v '_test\.cc$')
# The flags are g++'s: clang does not know all its warnings, and without its own OpenMP runtime finds no omp.h.
printf '%s\0' "${files[@]}" | xargs -0 -n 1 -P "$jobs" clang-tidy-14 --quiet -p "${BUILD:-build/release}" \
  --extra-arg=-fno-openmp --extra-arg=-Wno-unknown-warning-option
echo "tidy: ${#files[@]} files are clean"
