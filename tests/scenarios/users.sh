#!/usr/bin/env bash
# One user never sees another's sandboxes, not even their existence.
. "$(dirname "$0")/../harness/lib.sh"
[ "$MODE" = shared ] || skip "about two users of root's daemon"
other=$((CALLER_UID + 1))
other_cloche() { as_user $other "$BIN/cloche" "$@"; }

id=$(cloche new --name mine --label secret=label 2> /dev/null)
try cloche exec mine -- sh -c 'echo private-output'
check "the owner uses it" prints private-output
try other_cloche ls --json --all
check "another user's list is empty" prints '[]'
for ref in "$id" mine "${id:0:8}"; do
  for words in "show $ref" "logs $ref" "stop $ref" "rm $ref" "logs $ref 1"; do
    # shellcheck disable=SC2086
    try other_cloche $words
    check "for another user '${words/$id/ID}' is not found" exits 3
    check "and tells nothing" not mentions private-output
  done
  try other_cloche exec "$ref" -- true
  check "for another user exec is refused" exits 125
  try other_cloche show "$ref" --json
  check "with the code of what does not exist" field_is error.code not_found
done
check "the daemon's files on disk are closed to others" \
  is "$(find "$STATE/daemon" -type f -perm /077 | tr '\n' ' ')" ""
try as_user $other cat "$STATE/daemon/registry.db"
check "and cannot be read by name" exits 1
try other_cloche show no-such-thing
missing=$(sed 's/no-such-thing/X/g' "$ERR")
try other_cloche show "$id"
check "another user gets the error of a missing sandbox" is "$(sed "s/$id/X/g" "$ERR")" "$missing"
try other_cloche new --name mine
check "the name is free for another user" exits 0
try other_cloche rm --all
check "another user's rm --all succeeds" exits 0
try cloche show mine --json
check "and leaves the first one alone" field_is state running
try root_cloche ls --json
check "root has a list of its own" not mentions "$id"
try cloche stop mine
try other_cloche exec "$id" -- true
check "a stopped one is not found either" exits 125

# Inside: not each other's processes, not each other's files.
mark=$((3000000 + $$))
cloche exec -d mine -- sleep $mark > /dev/null
try other_cloche run -- sh -c 'cat /proc/[0-9]*/cmdline | tr "\0" " "'
check "no process of the other is visible" not mentions $mark
try other_cloche run -- sh -c "ls -R '$STATE'"
check "no state is visible" not mentions "$id"
# Outside: the same.
try as_user $other sh -c "ls -R '$STATE' '$RUN' 2>&1"
check "outside the uppers cannot be listed" not mentions "$id"
sleeper=$(pgrep -f "^sleep $mark" | head -1)
check "the sandbox's process runs on the host" test -n "$sleeper"
try as_user $other sh -c "cat /proc/$sleeper/environ; kill $sleeper; ls /proc/$sleeper/root"
check "another user cannot touch it" kill -0 "$sleeper"
try cloche status --json
check "status counts one's own" field_is sandboxes 1

# One user's connections leave some for others. (A daemon with few descriptors.)
cat > "$BIN/crowd.py" << 'END'
import os, socket, sys
crowd = []
for _ in range(400):
    crowd.append(socket.socket(socket.AF_UNIX))
    crowd[-1].connect(os.environ["CLOCHE_SOCKET"])
print("connected", flush=True)
sys.stdin.read()
END
stop_daemon
(ulimit -n 400 && root_cloche ls > /dev/null)
mkfifo "$T/hold"
as_caller "$PYTHON" "$BIN/crowd.py" < "$T/hold" > "$T/crowd" 2>&1 &
exec 9> "$T/hold"
until_true grep -q connected "$T/crowd"
try other_cloche run -- echo served
check "one user's crowd of connections does not lock out another" prints served
exec 9>&-
wait $!

# Nor do unfinished bodies fill the daemon, and heads that never end do not stay. (A daemon as it is.)
cat > "$BIN/flood.py" << 'END'
import os, socket, sys
crowd, refused = [], 0
for _ in range(300):
    client = socket.socket(socket.AF_UNIX)
    client.connect(os.environ["CLOCHE_SOCKET"])
    client.setblocking(False)
    body = b'{"texts": {"f": "' + b"x" * (15 << 20)
    data = b"POST /v1/sandboxes/x/promote HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (16 << 20)
    crowd.append([client, data, body])
# Each sends as much of its 15 MiB as the daemon takes.
moving = True
while moving:
    moving = False
    for entry in crowd:
        for part in (1, 2):
            try:
                while entry[part]:
                    entry[part] = entry[part][entry[0].send(entry[part][:1 << 20]):]
                    moving = True
            except BlockingIOError:
                break
            except OSError:
                entry[part] = b""
for client, _, _ in crowd:
    try:
        refused += b" 429 " in client.recv(4096)
    except OSError:
        pass
print("flooded", refused, flush=True)
sys.stdin.read()
END
stop_daemon
root_cloche ls > /dev/null
as_caller "$PYTHON" "$BIN/flood.py" < "$T/hold" > "$T/crowd" 2>&1 &
exec 9> "$T/hold"
until_true grep -q flooded "$T/crowd"
check "of 300 unfinished bodies most are refused by their head" test "$(sed -n 's/flooded //p' "$T/crowd")" -ge 290
try other_cloche run -- echo served
check "meanwhile another user is served" prints served
memory() { awk '/^VmHWM/ {print int($2 / 1024)}' "/proc/$(daemon_pid)/status"; }
check "and the daemon has not taken 256 MiB" test "$(memory)" -lt 256
try cloche run -- echo served
check "also the one who floods, for small requests" prints served
exec 9>&-
wait $!
