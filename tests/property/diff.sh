#!/usr/bin/env bash
# Random changes in a sandbox: compares the output of cloche diff with listings from inside.
. "$(dirname "$0")/../harness/lib.sh"

CALLER_ENV=(CLOCHE_SEED="${CLOCHE_SEED-}" CLOCHE_ROUNDS="${CLOCHE_ROUNDS-}" CLOCHE_KEEP="${CLOCHE_KEEP-}")
hang=${CLOCHE_ROUNDS:+36000}
HANG_SECONDS=${hang:-280} python diff.py "$WORK" "$BIN"
[ "$status" = 0 ] || head -c 3000 "$ERR"
cloche rm --all > /dev/null 2>&1
