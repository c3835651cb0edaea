#!/usr/bin/env bash
# 10,000 connections of one sandbox: to what is granted and what is not, silent ones, half-closed ones, ones that speak a byte
# at a time. cloche-egress stays up and small, a second sandbox is served, and afterwards everything is released.
. "$(dirname "$0")/../harness/lib.sh"
. "$SCRIPT_DIR/../harness/world.sh"
HANG_SECONDS=200
printf '%s\n' 'granted.test 127.0.1.1' 'other.test 127.0.1.2' > "$SERVERS/names"
openssl req -x509 -newkey rsa:2048 -nodes -keyout "$SERVERS/key.pem" -out "$SERVERS/cert.pem" -days 2 -subj /CN=granted.test 2> "$T/log"
begin_world egress_servers.py ports
await_world
read -r HTTP TLS < "$READY"
CALLER_ENV=("${WORLD_ENV[@]}" CLOCHE_PRODUCTION_HOSTS=/dev/null)
restart_daemon
granted=(--allow "http://granted.test:$HTTP" --allow "tcp://127.0.1.1:$HTTP")
cp "$SCRIPT_DIR/egress_load.py" "$WORK/load.py" && chmod 644 "$WORK/load.py"

cloche new --name flood "${granted[@]}" > "$T/log" 2>&1
cloche new --name calm "${granted[@]}" > "$T/log" 2>&1
calm() { cloche exec -q calm -- curl -sS -m 20 "http://granted.test:$HTTP/"; }
try calm
check "a second sandbox is there" prints "hello from 127.0.1.1"
try cloche exec -q flood -- curl -sS -m 20 "http://granted.test:$HTTP/"
check "and the first" prints "hello from 127.0.1.1"
victim=$(egress_pid)
sockets() { ls -l "/proc/$victim/fd" | grep -c socket:; }
before=$(sockets)
files=$(sed -n 's/^Max open files *\([0-9]*\) .*/\1/p' "/proc/$victim/limits")
check "it may have enough descriptors ($files)" test "$files" -ge 16384

# --- Held: as many as there is room for; the others are turned away at once.
mkfifo "$T/go"
cloche exec -q flood -- "$PYTHON" "$WORK/load.py" hold "$HTTP" < "$T/go" > "$T/held" 2> "$T/held.err" &
holder=$!
exec 8> "$T/go"
check "5,000 connections that say little are made" until_true grep -q '^held' "$T/held"
sed 's/^/     /' "$T/held"
turned() { local held; held=$(sockets); [ "$held" -le $((before + 1024 + 64)) ] || { echo "$held sockets, $before before" >&2; false; }; }
check "no more of them are kept than its share" until_true turned
try calm
check "the second sandbox gets its request through" prints "hello from 127.0.1.1"
resident() { sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$victim/status"; }
echo "     with those: $(resident) KiB, $(sockets) sockets"
check "its owner learns why" until_true grep -q 'its share' <(cloche net flood log --json)
echo >&8
exec 8>&-
wait "$holder"
status=$?
check "they end" exits 0
released() { local now; now=$(sockets); [ "$now" -le "$before" ] || { echo "$now sockets, $before before" >&2; false; }; }
check "and are released" until_true released

# --- One after the other, 5,000 of them, granted and refused by turns.
try cloche exec -q flood -- "$PYTHON" "$WORK/load.py" ask "$HTTP"
check "5,000 requests are answered, each in its way" prints "2500 answered, 2500 refused"
check "those that were refused were heard by nobody" not heard 'GET other\|127.0.1.2'
check "and those are released, too" until_true released
try calm
check "the second sandbox is served" prints "hello from 127.0.1.1"

# --- A limit answers readably.
cloche new --name bounded "${granted[@]}" --net-limit connections=4 --net-limit requests_per_second=1000 > "$T/log" 2>&1
try cloche exec -q bounded -- "$PYTHON" "$WORK/load.py" limit "$HTTP"
check "beyond a limit it is a 429, with the reason" mentions '429 .*more than 4 connections at once'
try cloche net bounded log --json
check "which is in the log" mentions '"decision":"deny".*"reason":"[^"]*more than 4 connections at once'
cloche new --name hasty "${granted[@]}" --net-limit requests_per_second=2 > "$T/log" 2>&1
try cloche exec -q hasty -- curl -sS -m 20 -w '%{http_code} %{num_connects}\n' $(printf "http://granted.test:$HTTP/%s " 1 2 3 4 5 6 7 8)
check "on a connection that is there already, too" mentions 'more than 2 requests a second'
check "as a 429" mentions '^429 0$'
try cloche net hasty log --json
check "and is in the log" mentions '"decision":"deny".*"reason":"[^"]*more than 2 requests a second'

echo "     at most: $(resident) KiB; now $(sockets) sockets, $(ls "/proc/$victim/fd" | wc -l) descriptors"
check "it is the same process" is "$(egress_pid)" "$victim"
if [ -d "$REPORTS" ]; then
  echo "     under a sanitizer that says nothing: most of it is the sanitizer's"
else
  check "and was small all the time" test "$(resident)" -lt 65536
fi
cloche rm flood calm bounded hasty > "$T/log" 2>&1
