#!/usr/bin/env bash
# The daemon of a systemd socket unit: started by the first client, on the socket it is handed.
. "$(dirname "$0")/../harness/lib.sh"
command -v systemd-socket-activate > /dev/null || skip "systemd-socket-activate is missing: tools/deps.sh test"
stop_daemon
rm -f "$RUN/cloched.sock"

as_caller systemd-socket-activate -l "$RUN/cloched.sock" -E CLOCHE_STATE_DIR="$STATE" "$BIN/cloched" \
  --leave-after 2 > "$T/activated" 2>&1 &
until_true test -S "$RUN/cloched.sock"
socket=$(stat -c %i "$RUN/cloched.sock")
check "before a client comes no daemon runs" is "$(our_processes | while read -r pid; do
  readlink "/proc/$pid/exe"; done | grep -c '/cloched$')" 0
try cloche run -- echo activated
check "the first command is served" prints activated
check "on the socket that was there" is "$(stat -c %i "$RUN/cloched.sock")" "$socket"
pid=$(daemon_pid)
check "by the program that was to be started" is "$(readlink "/proc/$pid/exe")" "$BIN/cloched"
check "which got no ready fd" not grep -qz -e --ready-fd "/proc/$pid/cmdline"
check "which keeps its standard error, a journal" test "$(readlink "/proc/$pid/fd/2")" = "$T/activated"
try cloche new --name box
gone() { [ ! -e "/proc/$pid" ]; }
try cloche rm box
check "it leaves when there is nothing to do" until_true gone
check "and leaves the socket to its owner" test -S "$RUN/cloched.sock"

as_caller sh -c 'exec 3< /dev/null; LISTEN_PID=$$ LISTEN_FDS=1 exec "$0"' "$BIN/cloched" > "$OUT" 2> "$ERR"
status=$?
check "a descriptor that is not a socket is refused" exits 1
check "with a reason" says "use systemd's socket"
check "and a cure" says 'cure: .*ListenStream='
check "once" is "$(grep -c "systemd's socket" "$ERR")" 1
# LISTEN_FDS that was meant for another process is ignored.
as_caller env LISTEN_PID=1 LISTEN_FDS=1 "$BIN/cloche" run -- echo own > "$OUT" 2> "$ERR"
check "another process's sockets are not taken" prints own
