#!/usr/bin/env bash
# Long random sequences of work, promotions, undos, snapshots, rollbacks, forks and restarts.
. "$(dirname "$0")/../harness/lib.sh"

CALLER_ENV=(CLOCHE_SEED="${CLOCHE_SEED-}" CLOCHE_ROUNDS="${CLOCHE_ROUNDS-}" CLOCHE_STEPS="${CLOCHE_STEPS-}")
hang=${CLOCHE_ROUNDS:+36000}
HANG_SECONDS=${hang:-280} python sequence.py "$WORK" "$BIN" "$MODE"
[ "$status" = 0 ] || head -c 3000 "$ERR"
cloche rm --all > /dev/null 2>&1
