#!/usr/bin/env bash
# Installs what the build needs: the Debian packages of debian-packages.txt (as root; without root it prints the
# line to run) and libtorch into .venv. A repeat with nothing missing only looks, and takes well under a second.
set -euo pipefail
cd "$(dirname "$0")/.."

fail() {
  echo "deps: $*" >&2
  exit 1
}

debian_packages() {
  local wanted missing
  wanted=$(grep -v '^#' scripts/debian-packages.txt)
  missing=$(comm -23 <(sort <<<"$wanted") \
    <(dpkg-query -W -f='${db:Status-Status} ${Package}\n' $wanted 2>/dev/null | sed -n 's/^installed //p' | sort))
  [ -n "$missing" ] || return 0
  missing=$(tr '\n' ' ' <<<"$missing")
  if [ "$(id -u)" != 0 ]; then
    echo "deps: these Debian packages are missing, and installing them needs root. Run:" >&2
    echo "  sudo apt-get update && sudo apt-get install -y --no-install-recommends ${missing% }" >&2
    exit 1
  fi
  echo "deps: installing ${missing% }"
  export DEBIAN_FRONTEND=noninteractive
  local apt=(apt-get -q -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300)
  # One unreachable source of many is no reason to stop: the install says whether a package is really out of reach.
  "${apt[@]}" update || echo "deps: apt-get update failed; trying the install all the same" >&2
  "${apt[@]}" install -y --no-install-recommends $missing ||
    fail "apt-get could not install: ${missing% }; see its message above"
}

libtorch() {
  local stamp=.venv/focus-deps.txt
  ! cmp -s scripts/requirements.txt "$stamp" || return 0
  local found
  found="CPython $(/usr/bin/python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])') on $(uname -m)"
  [ "$found" = "CPython 3.11 on x86_64" ] ||
    fail "the pinned wheels are for CPython 3.11 on x86_64, found $found; use Debian 12 on x86-64"
  echo "deps: installing libtorch into .venv (0.5 GB to fetch, 1.3 GB on disk)"
  # Debian's own python, named by its path: another one first in PATH may not match the wheels.
  /usr/bin/python3 -m venv .venv
  .venv/bin/python -m pip install --no-input --disable-pip-version-check --retries 5 --no-deps --require-hashes \
    --only-binary :all: -r scripts/requirements.txt ||
    fail "pip could not install scripts/requirements.txt; check the network and free disk, then run it again"
  cp scripts/requirements.txt "$stamp"
}

command -v dpkg-query >/dev/null ||
  fail "expected Debian 12, found no dpkg-query; use a Debian 12 machine or container"
debian_packages
libtorch
