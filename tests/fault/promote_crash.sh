#!/usr/bin/env bash
# cloche-promote dies, stands still, or is refused something at every call that can change anything.
# See promote_crash.py.
HANG_SECONDS=${HANG_SECONDS:-560}
. "$(dirname "$0")/../harness/lib.sh"
[ -x "$BIN/cloche-promote-fault" ] || skip "the injector knows x86-64 only"
mv "$BIN/cloche-promote" "$BIN/cloche-promote.real"
mv "$BIN/cloche-promote-fault" "$BIN/cloche-promote"
: > "$BIN/fault"
: > "$BIN/fault.steps"
chown "$CALLER_UID" "$BIN/fault" "$BIN/fault.steps"
[ -z "${CLOCHE_EVERY_ERROR-}" ] || CALLER_ENV+=(CLOCHE_EVERY_ERROR=1)
python promote_crash.py "$BIN" "$WORK" "$CALLER_HOME"
