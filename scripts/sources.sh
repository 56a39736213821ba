#!/usr/bin/env bash
# Prints the C++ files that formatting applies to, one a line.
set -euo pipefail
cd "$(dirname "$0")/.."
find src apps tests bench \( -name '*.cc' -o -name '*.h' \) 2>/dev/null | sort
