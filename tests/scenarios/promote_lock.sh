#!/usr/bin/env bash
# A sandbox is frozen only while it is read: not while another promotion runs, and not while a
# client reads a diff or an answer, or fails to.
HANG_SECONDS=${HANG_SECONDS:-120}
. "$(dirname "$0")/../harness/lib.sh"
ticks() { wc -l < "$T/ticks"; }
# goes_on: the program in the sandbox prints ten more lines.
goes_on() { local now; now=$(ticks); until_true eval "[ \$(wc -l < '$T/ticks') -ge $((now + 10)) ]"; }

as_caller sh -c 'echo old > file; echo old > other'
cloche new --name box > "$T/log" 2>&1
cloche exec box -- sh -c 'echo new > file' > "$T/log" 2>&1
cloche exec box -- sh -c 'i=0; while [ ! -e /tmp/stop ]; do i=$((i + 1)); echo $i; sleep 0.02; done' > "$T/ticks" 2> "$T/log" &
running=$!
try cloche promote box --yes --json
check "a promotion makes the store" field_is state "done"
check "afterwards the program continues" goes_on

# --- While somebody else holds the lock.
mkfifo "$T/release"
chmod 666 "$T/release"
as_caller flock "$CALLER_HOME/.local/state/cloche/promotions" sh -c 'echo held; read _ < "$1"' sh "$T/release" > "$T/held" &
holder=$!
until_true grep -q held "$T/held"
cloche exec box -- sh -c 'echo new > other' > "$T/log" 2>&1
cloche promote box --yes --json > "$T/promoted" 2>&1 &
promoting=$!
for _ in 1 2 3 4 5 6 7 8; do check "while a promotion waits for another, the program continues" goes_on; done
check "and the promotion still waits" kill -0 $promoting
echo > "$T/release"
wait $promoting
cp "$T/promoted" "$OUT"
check "once the lock is released, it is applied" field_is state "done"
check "with the state at that time" is "$(cat "$WORK/other")" new
wait $holder

# --- Leftovers of a large undo. Removing one file can take milliseconds.
aside=$CALLER_HOME/.local/state/cloche/promotions/.aside.pr_1_x
as_caller sh -c 'mkdir "$1" && cd "$1" && seq 1000 | xargs touch' sh "$aside"
cloche exec box -- sh -c 'echo newer > other' > "$T/log" 2>&1
try cloche promote box --yes --json
check "a promotion is applied" field_is state "done"
check "without waiting until all leftovers are removed" test -e "$aside/1000" -o -e "$aside/1" -o -e "$aside/500"
try cloche promotions
check "they are removed later, when nobody waits" until_true test ! -e "$aside"

# --- A diff.
cloche exec box -- sh -c 'for i in $(seq 80); do head -c 50000 /dev/urandom | base64 > large$i; done' > "$T/log" 2>&1
mkfifo "$T/slow"
cloche diff box --patch > "$T/slow" 2> "$T/log" &
reading=$!
exec 9< "$T/slow"
until_true read -r -u 9 _
for _ in 1 2 3 4; do check "while a client reads a diff, the program continues" goes_on; done
cat <&9 > "$T/patch"
exec 9<&-
wait $reading
check "and the diff is complete" grep -q '^+' "$T/patch"

# --- The answer of a promotion that nobody reads.
cloche exec box -- sh -c 'rm large*; long=$(printf "\001%.0s" $(seq 200)); for i in $(seq 900); do : > "$long$i"; done' > "$T/log" 2>&1
cat > "$T/listener.py" <<'END'
import socket, sys
connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
body = b'{"dry_run":true}'
connection.sendall(b"POST /v1/sandboxes/box/promote HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                   b"Content-Length: %d\r\n\r\n" % len(body) + body)
print(connection.recv(12), flush=True)
open(sys.argv[2]).read()
END
mkfifo "$T/enough"
chmod 666 "$T/enough"
as_caller "$PYTHON" "$T/listener.py" "$RUN/cloched.sock" "$T/enough" > "$T/heard" 2> "$T/log" &
listening=$!
until_true grep -q 'HTTP/1.1 200' "$T/heard"
check "while nobody reads the answer of a promotion, the program continues" goes_on
try cloche promotions
check "other commands work" exits 0
try cloche stop box
check "the sandbox can be stopped" exits 0
try cloche rm box
check "and removed" exits 0
check "and still nobody has read the answer" kill -0 $listening
echo > "$T/enough"
wait $listening $running || true  # its sandbox is gone
