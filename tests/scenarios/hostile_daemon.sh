#!/usr/bin/env bash
# The deputy rule: a cloched that was taken over gets nothing more out of cloche-spawn.
. "$(dirname "$0")/../harness/lib.sh"
[ "$MODE" = system ] || skip "about what root's cloche-spawn does"
mkdir -m 711 "$T/hostile"
python hostile_daemon.py "$BIN/cloche-spawn" "$T/hostile/state" "$T/hostile"
