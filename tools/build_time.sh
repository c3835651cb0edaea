#!/usr/bin/env bash
# build_time.sh [JOBS]: measures a build of the programs from nothing, tests off, without ccache.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --preset release -B "$work" -DCLOCHE_TESTS=OFF -DCMAKE_CXX_COMPILER_LAUNCHER= > "$work/log"
export CCACHE_DISABLE=1
TIMEFORMAT='build from nothing: %U s user + %S s system, %R s elapsed'
time cmake --build "$work" -j "${1:-$(nproc)}" > "$work/log" || { tail -n 40 "$work/log"; exit 1; }
