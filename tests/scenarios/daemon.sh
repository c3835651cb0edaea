#!/usr/bin/env bash
# The daemon comes when it is needed, once, and leaves when it is not.
. "$(dirname "$0")/../harness/lib.sh"
[ "$MODE" != shared ] || skip "an ordinary caller does not start root's daemon"
stop_daemon

try cloche status
check "without a daemon status says so" exits 6
for n in 1 2 3 4 5 6 7 8; do cloche run -- echo "ran $n" > "$T/first.$n" 2> "$T/first.err.$n" & done
wait
check "of eight first commands all run" is "$(cat "$T"/first.[1-8] | sort)" "$(seq -f 'ran %.0f' 8)"
daemons() { for pid in $(our_processes); do readlink "/proc/$pid/exe"; done | grep -c "/cloched$"; }
check "and there is one daemon" is "$(daemons)" 1
pid=$(daemon_pid)
check "which holds nothing of the caller's: no terminal" is "$(readlink "/proc/$pid/fd/0")" /dev/null
if [ "$MODE" = system ]; then
  check "which has given up root" test "$(awk '/^Uid/ {print $2}' "/proc/$pid/status")" != 0
  check "and every capability" grep -q '^CapPrm:.0000000000000000$' "/proc/$pid/status"
fi
check "its socket is there" test -S "$RUN/cloched.sock"

cloche new --name box > /dev/null 2>&1
cloche exec box -- sh -c 'echo kept > file' > /dev/null 2>&1
# Of interest to the sanitizers: a session that waits for its next request when the daemon leaves.
as_caller "$PYTHON" - "$RUN/cloched.sock" > "$T/idle" << 'END' &
import socket, sys
client = socket.socket(socket.AF_UNIX)
client.connect(sys.argv[1])
client.sendall(b"GET /v1/status HTTP/1.1\r\nHost: cloche\r\n\r\n")
print(client.recv(4096).split()[1].decode(), flush=True)
client.recv(4096)
END
check "a client that says no more" until_true grep -q 200 "$T/idle"
kill "$pid"
ended() { [ -z "$(our_processes)" ]; }
check "does not keep SIGTERM from ending the daemon and everything it started" until_true ended
try cloche show box --json
check "the sandbox is known to the next one" field_is name box
check "and stopped, with a reason" not field_is reason ''
try cloche exec box -- cat file
check "with its files" prints kept
try cloche rm box

# The next daemon knows how the last one ended.
ends() { cloche doctor --json > "$OUT"; "$PYTHON" -c 'import json,sys
for check in json.load(sys.stdin)["checks"]:
    if check["name"] == "daemon": print(check["status"], *[(e["kind"], e["why"]) for e in check.get("ends", [])])' < "$OUT"; }
check "one that left on request is nothing to tell of" is "$(ends)" ok
cloche new --name hit > /dev/null 2>&1
gone() { [ ! -e "/proc/$pid" ]; }
pid=$(daemon_pid)
kill -SEGV "$pid"
until_true gone
check "a fatal signal is recorded, with its name" test -n "$(ends | grep "^weak ('bug', 'signal 11 (SIGSEGV)")"
try cloche show hit --json
check "and the sandbox is there" field_is state stopped
pid=$(daemon_pid)
kill -KILL "$pid"
until_true gone
check "one that could not say anything is noticed" test -n "$(ends | grep "('gone', 'ended without a clean shutdown")"
spawn=$(pgrep -P "$(daemon_pid)" -x cloche-spawn)
pid=$(daemon_pid)
kill -KILL "$spawn"
until_true gone
check "so is the death of cloche-spawn, and how it died" test -n "$(ends | grep "cloche-spawn ended.*signal 9 (SIGKILL)")"
try cloche doctor
check "doctor says what to report" mentions 'please report it, with .*ends.jsonl'
try cloche rm hit
check "nothing was lost" exits 0

stop_daemon
if [ "$MODE" = system ]; then
  mkdir -m 700 "$T/closed"
  CALLER_ENV=(CLOCHE_STATE_DIR="$T/closed/state")
  try cloche run -- true
  check "a state it cannot reach without root is refused" exits 125
  check "it says which directory is in the way" says "may not pass $T/closed\$"
  check "and what to do" says "cure:.*chmod o+x $T/closed\$"
  try cloche doctor
  check "doctor shows the same as what is missing" mentions "may not pass $T/closed\$"
  check "and fails" exits 1
  try cloche doctor --json
  check "in JSON too" field_is checks.0.status missing
  check "which has its id" field_is id doctor
  until_true ended
fi

CALLER_ENV=(CLOCHE_LEAVE_AFTER=1)
try cloche run -- true
check "with nothing to do it leaves" until_true ended
try cloche run -- echo back
check "and is back for the next command" prints back
# A daemon that leaves as soon as it has no client, and many clients that come just then.
until_true ended
CALLER_ENV=(CLOCHE_LEAVE_AFTER=0)
lost=0
for _ in $(seq 60); do  # each tells it that it may leave at its next look, five times a second
  try cloche ls
  [ $status = 0 ] || { lost=$((lost + 1)); cat "$ERR"; }
done
check "a command that meets a leaving daemon is never lost" is $lost 0
CALLER_ENV=(CLOCHE_LEAVE_AFTER=1)
cloche run -- sh -c 'sleep 4; echo not disturbed' > "$OUT" 2> "$ERR"
check "it does not leave while a command runs" prints 'not disturbed'
