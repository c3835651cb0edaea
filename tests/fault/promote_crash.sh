#!/usr/bin/env bash
# cloche-promote dies, stands still, or is refused something at every call that can change anything.
# See promote_crash.py.
# Its mounts are nobody else's: a daemon of one's own copies nothing below which something is mounted.
[ "${1-}" = rootless ] || [ -n "${OWN_MOUNTS-}" ] || [ "$(id -u)" != 0 ] || exec env OWN_MOUNTS=1 unshare -m "$0" "$@"
HANG_SECONDS=${HANG_SECONDS:-560}
. "$(dirname "$0")/../harness/lib.sh"
[ -x "$BIN/cloche-promote-fault" ] || skip "the injector knows x86-64 only"
# Of one promotion, a part goes to another file system. A daemon of one's own copies no project with
# mounts in it.
OTHER=
if [ "$MODE" != rootless ]; then
  OTHER=$WORK/other && mkdir "$OTHER"
  mount -t tmpfs -o "mode=755,uid=$CALLER_UID,gid=$CALLER_UID" none "$OTHER" || exit 1
  ending() {
    local code=$?
    cd / && stop_daemon && unmount "$OTHER"
    (exit $code)
    finish
  }
  trap ending EXIT
  stop_daemon  # where mounts do not propagate, only a new one sees them
  cd "$WORK" && $starter ls > "$T/log" 2>&1
fi
mv "$BIN/cloche-promote" "$BIN/cloche-promote.real"
mv "$BIN/cloche-promote-fault" "$BIN/cloche-promote"
: > "$BIN/fault"
: > "$BIN/fault.steps"
chown "$CALLER_UID" "$BIN/fault" "$BIN/fault.steps"
[ -z "${CLOCHE_EVERY_ERROR-}" ] || CALLER_ENV+=(CLOCHE_EVERY_ERROR=1)
python promote_crash.py "$BIN" "$WORK" "$CALLER_HOME" "$OTHER"
