#!/usr/bin/env bash
# Random changes in a sandbox and in reality: compares the result of a promotion with a model.
. "$(dirname "$0")/../harness/lib.sh"

CALLER_ENV=(CLOCHE_SEED="${CLOCHE_SEED-}" CLOCHE_ROUNDS="${CLOCHE_ROUNDS-}")
hang=${CLOCHE_ROUNDS:+36000}
HANG_SECONDS=${hang:-280} python promote.py "$WORK" "$BIN"
cloche rm --all > /dev/null 2>&1
